"""Logs of AccelProf. Which of its tools wrote one tells its name."""

import re
from pathlib import Path

from tests.oracle import accelprof_analysis, accelprof_counts, accelprof_hotness, accelprof_metric, accelprof_uvm
from tests.oracle.rows import Rows

TOOLS = {
    r"hotness_.*": accelprof_hotness.read,
    r"kernel_\d+\.txt": accelprof_hotness.read_launch,
    r"all_kernels\.txt": accelprof_hotness.read_totals,
    r".*_app_analysis\.log": accelprof_analysis.read,
    r"uvm_advisor_opt\.log": accelprof_uvm.read,
    r".*\.time_hotness_cpu\.log": accelprof_counts.read_windows,
    r"(memory|tensor)_gpu(_\d+)?\.txt": accelprof_counts.read_totals,
    r".*\.log": accelprof_metric.read,
}


def read(path: Path) -> Rows:
    return next(tool for name, tool in TOOLS.items() if re.fullmatch(name, path.name))(path)
