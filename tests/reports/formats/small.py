"""A report with one of everything, small enough to write its outputs out in full."""

from functools import cache
from typing import Any

import numpy as np

from tracelode.reports.charts.bars import pareto
from tracelode.reports.charts.iterations import iteration_series
from tracelode.reports.report import Chart, Column, Lane, Overlay, Report, Section, Table, Text, Timeline

KERNELS: list[dict[str, Any]] = [
    {
        "name": "void at::native::add<float>(float*)",
        "calls": 1234,
        "total_ns": 9_876_543,
        "share": 0.7654,
        "note": None,
    },
    {"name": "gemm [clone .kd] [/bold]", "calls": 7, "total_ns": 2_500_000, "share": 0.1937, "note": "<new>"},
    {"name": "copy\x1b[31m", "calls": 9_007_199_254_740_993, "total_ns": 527_000, "share": 0.0409, "note": "x"},
]
ITERATIONS: list[dict[str, Any]] = [
    {"iteration": at, "duration_ns": 30_000_000 if at == 4 else 10_000_000, "mark": "slow" if at == 4 else None}
    for at in range(6)
]
TIMELINE = Timeline(
    "All operations",
    0,
    ["gemm", "copy"],
    [
        Lane(
            "stream 7", np.array([0, 500, 600]), np.array([400, 200, 200]), np.array([0, 1, 0]), "select * from kernel"
        ),
        Lane("stream 8", np.array([900]), np.array([100]), np.array([1])),
    ],
    "select * from kernel",
    (Overlay("iterations", [(0, 500, "iteration 0"), (500, 1000, "iteration 1")]),),
    left_out=12,
)


@cache
def small() -> Report:
    """The report."""
    columns = (
        Column("name", "Kernel"),
        Column("calls", "Calls", "count"),
        Column("total_ns", "Total", "ns"),
        Column("share", "Share", "share"),
        Column("note", "Note"),
    )
    bars = [row | {"cumulative_share": share} for row, share in zip(KERNELS, (0.77, 0.96, 1.0), strict=True)]
    return Report(
        topic="perf",
        title="Where the time goes",
        verdict="One iteration of six takes three times as long.",
        trace_id="3f9a" * 16,
        identity=(("host", "node17"), ("device", "H100")),
        health=("2 kernels have no launch.",),
        sections=(
            Section("timeline", "Timeline", "Two streams.", (TIMELINE,)),
            Section(
                "iterations",
                "Iterations",
                "Iteration 4 takes 30 ms.",
                (Chart("Six iterations", iteration_series(ITERATIONS), "Line.", "select * from iteration"),),
                ("Iterations were found without markers.",),
            ),
            Section(
                "kernels",
                "Kernels",
                "One kernel takes 77 %.",
                (
                    Text("A kernel is named\nas recorded.\n\nTemplates stay."),
                    Chart("Kernels by time", pareto(bars), "Bars.", "select name from kernel"),
                    Table("Kernels", columns, KERNELS, "select *\nfrom kernel", limit=2),
                    Table("Gaps", (Column("cause", "Cause"),), [], "select 1 where false"),
                ),
            ),
            Section("uvm", "Unified memory", "Not collected."),
        ),
        glossary={"busy": "Something runs."},
    )
