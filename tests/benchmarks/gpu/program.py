"""Stands in for launch, clock and a Python that runs steps.py (as `steps`): has records replayed, prints as it is told.

Its folder holds `<name>.json`, its output, and `<name>.replay`, its records; `<name>-node.replay` where graphs are
recorded node by node; `check.replay` for --check. `fail` names the way of recording graphs with which it fails. Each
recorded operation takes half a microsecond more.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

if "-c" in sys.argv:  # asked whether PyTorch is there
    sys.exit()
program, checks = Path(sys.argv[0]), "--check" in sys.argv
recorded = os.environ.get("TRACELODE_RECORD_GRAPHS", "") if "CUDA_INJECTION64_PATH" in os.environ else "none"
with Path(program.parent, "log").open("a") as log:
    log.write(f"{program.name} {recorded}\n")
special = program.with_name(f"{program.name}-{recorded}.replay")
usual = program.with_name("check.replay" if checks else f"{program.name}.replay")
os.environ["STUB_REPLAY"] = str(special if special.exists() and not checks else usual)
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
driver.cuInit(0)
driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
driver.cuCtxSynchronize()
if checks:
    sys.stdout.write("the sum is 42\n")
    sys.exit(7)
if Path(program.parent, "fail").read_text() == recorded:
    sys.exit("it fell over")
told = json.loads(program.with_suffix(".json").read_text())
if "--modes" in sys.argv:
    modes = sys.argv[sys.argv.index("--modes") + 1].split(",")
    told["sections"] = [section for section in told["sections"] if section["name"].split()[1] in modes]
for section in told.get("sections", []):
    if "--profiler" in sys.argv:
        section["kernels"] = 5 * section["steps"]
    for figure in section:
        if figure.endswith("_us") and (recorded != "none" or "--profiler" in sys.argv):
            section[figure]["median"] += 0.5
sys.stdout.write(json.dumps(told))
