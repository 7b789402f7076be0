import math
from pathlib import Path
from typing import Any

from tracelode.collect.rowwise import Gathered, Rowwise, as_json
from tracelode.collect.sink import Sink
from tracelode.store import Archive, stored


def test_values_that_json_lacks_become_text() -> None:
    values = {"nan": math.nan, "deep": {"list": [math.inf, b"\x01\xff", True]}, "long": b"x" * 65, "none": None}
    assert as_json(values) == '{"nan":"nan","deep":{"list":["inf","01ff",true]},"long":"65 bytes","none":null}'
    assert as_json({}) is None


def test_a_number_too_large_is_null_where_it_may_be_and_takes_its_row_where_not(tmp_path: Path) -> None:
    with Archive(tmp_path).stage() as staging:
        sink = Sink(staging)
        rows = Rowwise(sink)
        span = {"process": 1, "device": 0, "stream": 3, "start_ns": 5, "end_ns": 9}
        rows.add("kernel", span | {"name": "kept", "grid_x": 1 << 31})
        rows.add("kernel", span | {"name": "lost", "end_ns": 1 << 63})
        rows.finish()
        notes = {note.kind: note for note in sink.finish()}
        list(staging.finish())
        kernels = stored.read(staging.path / "kernel.parquet").to_pylist()
    assert [(k["name"], k["end_ns"], k["grid_x"]) for k in kernels] == [("kept", 9, None)]
    assert notes["out-of-range"].count == 2


def test_rows_come_in_pieces_of_one_table_and_the_rest_at_the_end() -> None:
    taken: list[tuple[str, list[dict[str, Any]]]] = []
    rows = Gathered(lambda table, piece: taken.append((table, piece)), 2)
    for number in range(3):
        rows.add("range", {"id": number})
        rows.add("api", {"id": 10 + number})
    assert taken == [("range", [{"id": 0}, {"id": 1}]), ("api", [{"id": 10}, {"id": 11}])]
    rows.finish()
    assert taken[2:] == [("api", [{"id": 12}]), ("range", [{"id": 2}])]
    rows.finish()
    assert len(taken) == 4
