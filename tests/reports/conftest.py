from typing import Any

import altair as alt
import pytest

from tests.native.conftest import builds, programs

__all__ = ["builds", "programs"]

_PLAIN = alt.TopLevelMixin.to_dict


@pytest.fixture(autouse=True)
def charts_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds every chart against the schema of Vega-Lite, for which reports take no time."""
    monkeypatch.setattr(alt.TopLevelMixin, "to_dict", _checked)


def _checked(chart: Any, validate: bool = True, **options: Any) -> dict[str, Any]:
    return _PLAIN(chart, validate or not options.get("context"), **options)  # layers alone are not valid
