import json
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.reports.formats.judged import ABSENT, SLOWER, judged
from tests.reports.formats.small import KERNELS, small
from tracelode import __version__
from tracelode.reports.formats.json import SUFFIX, render
from tracelode.reports.report import Chart, Column, Report, Section, Table
from tracelode.store.parts import load


def of_rows(rows: list[dict[str, Any]], *keys: str) -> Report:
    table = Table("T", tuple(Column(key, key, "ns") for key in keys), rows, "select 1")
    return Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (table,)),))


def rows_of(report: Report) -> list[dict[str, Any]]:
    return json.loads(render(report))["sections"][0]["blocks"][0]["rows"]


def test_it_is_found_among_the_formats() -> None:
    assert load("format", "json").render is render
    assert SUFFIX == ".json"


def test_the_whole_report_is_there() -> None:
    content = json.loads(render(small()))
    assert list(content) == [
        "schema", "tool", "topic", "title", "trace_id", "health", "verdict", "checks", "identity", "sections",
        "glossary",
    ]  # fmt: skip
    sections = content.pop("sections")
    assert content == {
        "schema": "tracelode.report/1",
        "tool": __version__,
        "topic": "perf",
        "title": "Where the time goes",
        "verdict": "One iteration of six takes three times as long.",
        "trace_id": "3f9a" * 16,
        "checks": [],
        "identity": [{"label": "host", "value": "node17"}, {"label": "device", "value": "H100"}],
        "health": ["2 kernels have no launch."],
        "glossary": {"busy": "Something runs."},
    }
    assert sections[0] == {
        "key": "timeline",
        "heading": "Timeline",
        "sentence": "Two streams.",
        "notes": [],
        "blocks": [
            {
                "type": "timeline",
                "title": "All operations",
                "base_ns": 0,
                "lanes": [
                    {"label": "stream 7", "operations": 3, "busy_ns": 700, "share": 0.7, "sql": "select * from kernel"},
                    {"label": "stream 8", "operations": 1, "busy_ns": 100, "share": 0.1, "sql": ""},
                ],
                "overlays": [{"label": "iterations", "spans": 2}],
                "left_out": 12,
                "sql": "select * from kernel",
            }
        ],
    }
    assert sections[1]["notes"] == ["Iterations were found without markers."]
    assert sections[2]["blocks"][0] == {"type": "text", "text": "A kernel is named\nas recorded.\n\nTemplates stay."}
    assert sections[2]["blocks"][2] == {
        "type": "table",
        "caption": "Kernels",
        "columns": [
            {"key": "name", "title": "Kernel", "unit": "text"},
            {"key": "calls", "title": "Calls", "unit": "count"},
            {"key": "total_ns", "title": "Total", "unit": "ns"},
            {"key": "share", "title": "Share", "unit": "share"},
            {"key": "note", "title": "Note", "unit": "text"},
        ],
        "rows": KERNELS,
        "sql": "select *\nfrom kernel",
    }
    assert sections[3] == {
        "key": "uvm", "heading": "Unified memory", "sentence": "Not collected.", "notes": [], "blocks": [],
    }  # fmt: skip


def test_checks_are_exact_in_the_order_given() -> None:
    slower = {
        "series": "5f1e0a", "metric": "iteration_p50_ns", "title": "Iteration time, median", "unit": "ns",
        "verdict": "regression", "sentence": "Three runs are above the limit.",
        "value": 10_650_000.0, "baseline": 10_000_000.0, "low": 9_700_000.0, "high": 10_300_000.0,
    }  # fmt: skip
    absent = {
        "series": "77aa00", "metric": "uvm_bytes", "title": "UVM bytes", "unit": "bytes",
        "verdict": "inconclusive", "sentence": "Not collected.",
        "value": None, "baseline": None, "low": None, "high": None,
    }  # fmt: skip
    assert json.loads(render(judged(ABSENT, replace(SLOWER, value=math.nan))))["checks"] == [
        absent,
        slower | {"value": None},
    ]
    assert json.loads(render(judged(SLOWER, ABSENT)))["checks"] == [slower, absent]


def test_a_chart_carries_its_data() -> None:
    report = small()
    chart = report.sections[1].blocks[0]
    assert isinstance(chart, Chart)
    assert json.loads(render(report))["sections"][1]["blocks"][0] == {
        "type": "chart",
        "title": "Six iterations",
        "description": "Line.",
        "specification": chart.specification,
        "sql": "select * from iteration",
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**63 - 1, "9223372036854775807"),
        (2**100, str(2**100)),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e300, "1e+300"),
        (1.0, "1.0"),
        (1, "1"),
        (True, "true"),
        (None, "null"),
        (math.nan, "null"),
        (math.inf, "null"),
        (np.int64(2**62 + 1), str(2**62 + 1)),
        (np.float64(0.1), "0.1"),
        (np.float64(math.nan), "null"),
        (np.bool_(True), "true"),
        (Decimal(2**70), str(2**70)),
        (Decimal("0.5"), "0.5"),
        ([1, math.nan, "a"], '[1, null, "a"]'),
        ({"x": 2**60}, '{"x": 1152921504606846976}'),
        ("<\u202e\x00\ud83d>", '"<\\u202e\\u0000\\ud83d>"'),
    ],
)
def test_values_are_exact(value: Any, written: str) -> None:
    text = render(of_rows([{"a": value}], "a"))
    assert rows_of(of_rows([{"a": value}], "a")) == [{"a": json.loads(written)}]
    found = text.split('"rows": [')[1].split('"sql"')[0]
    assert '"a": ' + written in " ".join(found.split()).replace("[ ", "[").replace(" ]", "]").replace(
        "{ ", "{"
    ).replace(" }", "}")


def test_every_row_is_there_whatever_the_limit_and_whatever_its_columns() -> None:
    rows = [{"a": at, "extra": str(at)} for at in range(3000)]
    assert rows_of(of_rows(rows, "a")) == rows


def test_the_text_is_ascii_and_the_same_each_time() -> None:
    report = replace(small(), title="名前 ♥ \ud83d")
    text = render(report)
    assert text.isascii()
    assert text == render(report)
    assert text.endswith("}\n")
