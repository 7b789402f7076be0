import math
from collections.abc import Iterable
from dataclasses import replace

import pytest
from prometheus_client import Metric, parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import ALL, SAME, SIGNS, SLOWER, hostile, judged
from tracelode.reports.formats.openmetrics import SUFFIX, render
from tracelode.reports.report import Report
from tracelode.reports.text import clean
from tracelode.store.errors import Error
from tracelode.store.parts import load

Values = dict[tuple[str, str, str, str], float]
"""Values by the name of the sample and its labels series, metric and verdict."""


def values(families: Iterable[Metric]) -> Values:
    return {
        (sample.name, sample.labels["series"], sample.labels["metric"], sample.labels.get("verdict", "")): sample.value
        for family in families
        for sample in family.samples
    }


def read(report: Report) -> Values:
    """The samples, which a parser of OpenMetrics and one of Prometheus' older text find alike."""
    text = render(report)
    found = list(openmetrics_parser.text_string_to_metric_families(text))
    assert {family.type for family in found} == {"gauge"}
    assert str(values(found)) == str(values(parser.text_string_to_metric_families(text)))
    return values(found)


def test_a_check_is_written_as_here() -> None:
    assert (
        render(judged(SLOWER))
        == """\
# TYPE tracelode_check gauge
# HELP tracelode_check 1 for the verdict of the check.
tracelode_check{series="5f1e0a",metric="iteration_p50_ns",verdict="regression"} 1.0
tracelode_check{series="5f1e0a",metric="iteration_p50_ns",verdict="improvement"} 0.0
tracelode_check{series="5f1e0a",metric="iteration_p50_ns",verdict="neutral"} 0.0
tracelode_check{series="5f1e0a",metric="iteration_p50_ns",verdict="inconclusive"} 0.0
# TYPE tracelode_metric_baseline_seconds gauge
# HELP tracelode_metric_baseline_seconds The median of the runs before.
tracelode_metric_baseline_seconds{series="5f1e0a",metric="iteration_p50_ns"} 0.01
# TYPE tracelode_metric_high_limit_seconds gauge
# HELP tracelode_metric_high_limit_seconds The limit above which it is a change.
tracelode_metric_high_limit_seconds{series="5f1e0a",metric="iteration_p50_ns"} 0.0103
# TYPE tracelode_metric_low_limit_seconds gauge
# HELP tracelode_metric_low_limit_seconds The limit below which it is a change.
tracelode_metric_low_limit_seconds{series="5f1e0a",metric="iteration_p50_ns"} 0.0097
# TYPE tracelode_metric_value_seconds gauge
# HELP tracelode_metric_value_seconds What was measured.
tracelode_metric_value_seconds{series="5f1e0a",metric="iteration_p50_ns"} 0.01065
# EOF
"""
    )


def test_a_gauge_is_named_by_its_unit_and_one_not_collected_is_absent() -> None:
    found = read(ALL)
    assert {key[:3]: value for key, value in found.items() if "_metric_value" in key[0]} == {
        ("tracelode_metric_value", "77aa00", "kernels"): 120.0,
        ("tracelode_metric_value_bytes", "5f1e0a", "peak_memory_bytes"): 1024.0,
        ("tracelode_metric_value_ratio", "5f1e0a", "busy_share"): 0.9,
        ("tracelode_metric_value_seconds", "5f1e0a", "iteration_p50_ns"): 0.01065,
    }
    assert {key[2:] for key, value in found.items() if key[0] == "tracelode_check" and value == 1} == {
        ("kernels", "neutral"),
        ("peak_memory_bytes", "improvement"),
        ("busy_share", "inconclusive"),
        ("iteration_p50_ns", "regression"),
        ("uvm_bytes", "inconclusive"),
    }


def test_numbers_keep_all_their_digits() -> None:
    for number in (1 / 3, 2.0**70, 1e-300, math.inf, -math.inf, math.nan, -0.0, 7):
        found = read(judged(replace(SAME, value=number)))
        assert str(found["tracelode_metric_value", "77aa00", "kernels", ""]) == str(float(number))


def test_of_two_checks_of_one_metric_the_worse_is_kept() -> None:
    found = read(judged(SAME, replace(SAME, verdict="regression", value=140.0)))
    assert found["tracelode_metric_value", "77aa00", "kernels", ""] == 140.0
    assert found["tracelode_check", "77aa00", "kernels", "regression"] == 1
    assert found["tracelode_check", "77aa00", "kernels", "neutral"] == 0


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE, *SIGNS])
def test_any_text_is_read_back_as_it_is_shown(text: str) -> None:
    found = read(hostile(text))
    assert {key[1:3] for key in found} == {(clean(text), clean(text))}
    assert found["tracelode_metric_value_seconds", clean(text), clean(text), ""] == 2e-9
    assert len(found) == 6


def test_a_report_without_checks_is_an_error() -> None:
    with pytest.raises(Error, match="openmetrics"):
        render(judged())


def test_it_is_found_by_its_suffix() -> None:
    assert load("format", "openmetrics").SUFFIX == SUFFIX == ".prom"
