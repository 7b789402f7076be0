from typing import Any

import pytest

from tracelode.reports.charts.matrix import SHADES, matrix
from tracelode.reports.pictures import NARROW, WIDE, draw


def _rows(*amounts: int, label: str = "0x1000") -> list[dict[str, Any]]:
    return [
        {"label": f"{at % 2} {label}", "left": at, "right": at + 1, "amount": amount, "tip": f"{amount} accesses"}
        for at, amount in enumerate(amounts)
    ]


def _matrix(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return matrix(rows, x="Window", y="Blocks", what="Accesses")


def test_each_decade_below_the_most_is_a_shade_and_nothing_is_not_drawn() -> None:
    values = _matrix(_rows(1_000_000, 100_001, 99_999, 5_000, 500, 50, 5, 1, 0))["data"]["values"]
    shades = [SHADES.index(value["shade"]) for value in values]
    assert shades == [0, 0, 1, 2, 3, 4, 5, 5]
    assert (values[1]["left"], values[1]["right"], values[1]["tip"]) == (1, 2, "100001 accesses")


def test_the_axes_reach_over_all_rows_also_those_with_nothing() -> None:
    specification = _matrix(_rows(0, 5, 0, 0))
    assert specification["encoding"]["x"]["scale"]["domain"] == [0, 4]
    assert specification["encoding"]["y"]["scale"]["domain"] == ["0 0x1000", "1 0x1000"]
    told = specification["usermeta"]["terminal"]
    assert (told["unit"], told["values"]) == ("count", [0, 5])
    bytes_ = matrix(_rows(0, 5, 0, 0), x="Time", y="Addresses", what="Bytes moved", unit="bytes")
    assert bytes_["usermeta"]["terminal"]["unit"] == "bytes"


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="matrix: no rows to draw"):
        _matrix(_rows(0))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_is_drawn_at_both_widths_whatever_the_labels(width: int) -> None:
    svg = draw(_matrix(_rows(1, 2, label="<i>\u202e\x1b")), width=width, label="", name="m", class_="").text
    assert svg.startswith("<svg")
    assert "<i>" not in svg
    assert "\u202e" not in svg
