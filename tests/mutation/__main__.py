"""Reads many mutants of each sample and keeps the counts: `python -m tests.mutation --count 20000 --format rpd`."""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.mutation.running import ROOT, Tally, run
from tests.samples import FORMATS

PACKAGES = ("tracelode", "pyarrow", "duckdb", "numpy", "numba")
OUTCOMES = ("accepted", "noted", "refused", "other", "failure")


def main() -> None:
    """Reads the command line, runs the workers, writes `benchmarks/results/mutations-<date>.json`; 1 for failures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description="Reads damaged copies of the samples."
    )
    parser.add_argument("--count", type=int, default=20_000, help="mutants of each format (default %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (default %(default)s)")
    parser.add_argument("--format", action="append", choices=FORMATS, help="may be given again (default: every format)")
    parser.add_argument("--output", type=Path, help="where to write (default: benchmarks/results)")
    options = parser.parse_args()
    today = datetime.now(tz=UTC).strftime("%Y-%m-%d")
    output = options.output or ROOT / "benchmarks" / "results" / f"mutations-{today}.json"
    kept = json.loads(output.read_text()) if output.is_file() else {}
    formats = kept.get("formats", {})
    failed = False
    for format in options.format or FORMATS:
        tally = run([format], options.count, options.first)[format]
        formats[format] = _said(tally, options.first, options.count)
        failed |= bool(tally.failures)
        output.write_text(json.dumps({"date": today, **_machine(), "formats": dict(sorted(formats.items()))}, indent=1))
        counts = ", ".join(f"{tally.outcomes[name]} {name}" for name in OUTCOMES) + f", {tally.compared} compared"
        sys.stderr.write(f"{format}: {counts}\n" + "".join(f"{json.dumps(f)}\n" for f in tally.failures[:20]))
    raise SystemExit(int(failed))


def _said(tally: Tally, first: int, count: int) -> dict[str, object]:
    return {
        "first_seed": first,
        "mutants": count,
        **{name: tally.outcomes[name] for name in OUTCOMES},
        "compared": tally.compared,
        "peak_bytes": tally.peak_bytes,
        "slowest_seconds": tally.slowest[0],
        "slowest_seed": tally.slowest[1],
        "finished": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "revision": _revision(),
        "by_error": dict(tally.errors.most_common(60)),
        "failures": tally.failures[:20],
    }


def _revision() -> str:
    """The commit whose code was run, and whether that was changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty= and changes in the working tree"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "working tree"


def _machine() -> dict[str, object]:
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


if __name__ == "__main__":
    main()
