#!/usr/bin/env bash
# Measures what recording costs on a machine with a GPU: at most five minutes, no network, nothing installed.
#
#   benchmarks/gpu/record.sh [-o FOLDER] [--seconds N] [--python PYTHON] [--programs FOLDER]
#
# The results go to FOLDER, else to $OUT, else to benchmarks/results. It uses the checkout's .venv where that runs here,
# else python3 with what it has and with the wheels in .whl, if that folder is there. docs/recording-costs.md says more.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=.venv/bin/python
if ! "$python" -c '' 2>/dev/null; then
    python=$(command -v python3) || { echo 'error: no Python: neither .venv/bin/python nor python3 runs' >&2; exit 2; }
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
if compgen -G '.whl/*.whl' >/dev/null; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .whl/*.whl
    export PYTHONPATH="$site:$PYTHONPATH"
fi
command -v nvcc >/dev/null || export PATH="$PATH:/usr/local/cuda/bin"
"$python" -m benchmarks.gpu.record "$@"
