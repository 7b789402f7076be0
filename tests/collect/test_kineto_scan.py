import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collect.kineto_traces import read_bytes
from tracelode.collect import kineto_batch
from tracelode.collect.kineto_vocabulary import CATEGORIES, ROLE_OF, Kind

WORDS = st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF), max_size=12)
NUMBERS = st.one_of(
    st.integers(-5, 50),
    st.integers(-(10**20), 10**20),
    st.decimals(-(10**6), 10**16, places=3),
    st.decimals(0, 100, places=6),
)
LANES = st.one_of(st.integers(-1, 12), st.sampled_from(["Spans", "stream 7", "12", ""]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, st.sampled_from(["0x1f", "7"])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(
    st.one_of(st.sampled_from([*ROLE_OF, "cbid", "queued", "bp", "s"]), WORDS),
    st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=3, max_size=3), VALUES),
    max_size=8,
)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from([*"Msfi", *5 * "X"])},  # every other event has a duration, as in real traces most have
    optional={
        "cat": st.sampled_from([*CATEGORIES, "ac2g", "xpu_runtime", "nobody"]),
        "name": st.one_of(WORDS, st.sampled_from(["[memory]", "Memcpy HtoD (Pageable -> Device)", "process_name"])),
        "pid": LANES,
        "tid": LANES,
        "ts": NUMBERS,
        "dur": NUMBERS,
        "id": st.integers(0, 5),
        "bp": st.just("e"),
        "s": st.sampled_from(["t", {"a": 1}]),
        "args": ARGUMENTS,
        "sf": st.just(7),
    },
)


def _text(value: Any, gap: str, ascii_only: bool) -> str:
    """The JSON text of a value with that white space between its parts, decimals digit by digit."""
    if isinstance(value, dict):
        members = (f"{_text(k, gap, ascii_only)}:{gap}{_text(v, gap, ascii_only)}" for k, v in value.items())
        return f"{{{gap}{f',{gap}'.join(members)}{gap}}}"
    if isinstance(value, list):
        return f"[{f',{gap}'.join(_text(v, gap, ascii_only) for v in value)}]"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=ascii_only)


def _read(content: bytes) -> dict[str, list[str]]:
    """The rows of all tables in any order, as text; notes as well."""
    with tempfile.TemporaryDirectory() as folder:
        trace = read_bytes(Path(folder), content)
        tables = {name: trace.arrow(name).to_pylist() for name in trace.files}
    for row in (row for rows in tables.values() for row in rows):
        for key in {"args", "shapes", "types", "json"} & row.keys():
            row[key] = row[key] and json.loads(row[key], parse_float=Decimal)
        # Numbers given by the order of rows that start at once: it may differ.
        row |= dict.fromkeys({"id", "parent", "op"} & row.keys() if "depth" in row or "op" in row else (), None)
    tables["note"] = [{"kind": row["kind"], "count": row["count"]} for row in tables.get("note", [])]
    return {name: sorted(json.dumps(row, default=str, sort_keys=True) for row in rows) for name, rows in tables.items()}


@settings(max_examples=150, deadline=None)
@given(
    events=st.lists(EVENTS, min_size=1, max_size=12),
    gap=st.sampled_from(["", " ", "\n      ", "\r\n\t"]),
    ascii_only=st.booleans(),
)
@pytest.mark.exhaustive
def test_the_scanner_reads_what_the_json_path_reads(events: list[Any], gap: str, ascii_only: bool) -> None:
    body = f",{gap}".join(_text(event, gap, ascii_only) for event in events)
    content = f'{{"schemaVersion": 1, "traceEvents": [{gap}{body}{gap}]}}'.encode()
    scanned = _read(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kineto_batch, "NEEDS", np.full(len(Kind), -1, np.int64))
        assert _read(content) == scanned


def test_events_with_and_without_blanks_may_stand_in_one_file() -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"stream": 7}}
    later = [event | {"ts": 10 * number} for number in range(6)]
    styles = [(",", ":"), (", ", ": "), (",", ":"), (" , ", " : "), (",\n", ":\t"), (",", ":")]
    texts = [json.dumps(one, separators=style) for one, style in zip(later, styles, strict=True)]
    content = f'{{"schemaVersion": 1, "traceEvents": [{", ".join(texts)}]}}'.encode()
    scanned = _read(content)
    assert len(scanned["kernel"]) == 6
    assert "other" not in scanned


def test_the_scanner_itself_takes_the_usual_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, the test above would compare the JSON path with itself."""
    left: list[int] = []
    add = kineto_batch.Batch.add
    monkeypatch.setattr(kineto_batch.Batch, "add", lambda batch, record: left.append(1) or add(batch, record))
    usual = [
        {"ph": "X", "cat": "kernel", "name": 'k"', "pid": 0, "tid": 7, "ts": Decimal("1712195495505582.988")}
        | {
            "dur": Decimal("2.5"),
            "args": {"device": 0, "stream": 7, "grid": [1, 2, 3], "blocks per SM": Decimal("0.1")},
        },
        {"ph": "X", "cat": "cpu_op", "name": "é", "pid": 10, "tid": "11", "ts": 1606910596297023, "dur": 1}
        | {"args": {"Input Dims": [[2], []], "Comms Id": 10**30}},
        {"args": {"name": "python"}, "ph": "M", "pid": 10, "tid": 0, "name": "process_name"},
        {"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 1, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    ]
    scanned = _read(f'{{"schemaVersion": 1, "traceEvents": {_text(usual, " ", True)}}}'.encode())
    assert left == []
    assert {name: len(rows) for name, rows in scanned.items() if name not in ("note", "process")} == {
        "kernel": 1,
        "op": 1,
        "track": 1,
        "flow": 1,
    }
