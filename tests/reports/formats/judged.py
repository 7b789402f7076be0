"""A report that judges, with a check of each verdict, and one whose every text is a stranger's."""

from tracelode.reports.report import Check, Report, Section, Text, Verdict

SLOWER = Check(
    "5f1e0a", "iteration_p50_ns", "Iteration time, median", "ns", "regression", "Three runs are above the limit.",
    value=10_650_000.0, baseline=10_000_000.0, low=9_700_000.0, high=10_300_000.0,
)  # fmt: skip
UNDECIDED = Check(
    "5f1e0a", "busy_share", "GPU busy", "share", "inconclusive", "Run it two more times.",
    value=0.9, baseline=0.95, low=0.92,
)  # fmt: skip
SMALLER = Check(
    "5f1e0a", "peak_memory_bytes", "Peak memory", "bytes", "improvement", "It is below the limit.",
    value=1024.0, baseline=2048.0, high=2100.0,
)  # fmt: skip
SAME = Check("77aa00", "kernels", "Kernels", "count", "neutral", "As before.", value=120.0, baseline=120.0)
ABSENT = Check("77aa00", "uvm_bytes", "UVM bytes", "bytes", "inconclusive", "Not collected.")
UNMEASURED = Check(
    "night-9", "measurement", "Measurement of the run", "count", "inconclusive", "Not measured: no kernels."
)


def judged(*checks: Check) -> Report:
    """A report with those checks."""
    section = Section("why", "Why", "One kernel is slower.", (Text("gemm"),))
    return Report("watch", "Nightly", "Regression.", "", (), (), (section,), checks=checks)


ALL = judged(SAME, SMALLER, SLOWER, ABSENT, UNDECIDED)


def hostile(text: str, verdict: Verdict = "regression") -> Report:
    """A report in which that text stands wherever text can stand."""
    return judged(Check(text, text, text, "ns", verdict, text, value=2.0, baseline=1.0))


SIGNS = (
    *(
        "a%0Ab%25",
        "::error::x",
        "::set-output name=a::b",
        "##[error]x",
        "a,b:c=d",
        "x\r\n::stop-commands::t",
        "\x01\x02",
    ),
    *(
        '"quoted" \\back\\ \\n',
        "a|b",
        "`code`",
        "<b>",
        "@someone",
        "\ufffe\uffff",
        "series}",
        "# EOF\n",
        "]]>",
        "&amp;",
    ),
    *("\nnewline first", "trailing \\", "   ", "", "--> <!--", "x" * 5000),
)
"""What means something to one of the readers of these formats."""
