import json
from pathlib import Path

from tracelode.collect.replay import Orders, counts, summed


def test_orders_are_packed_like_this() -> None:
    orders = Orders([(5, 0), (6, 1)], ["π", ""], [(1, 7, [(0, 1, 2)]), (0, 0, [])])
    numbers = [2, 5, 0, 6, 1], [2, 2], [0], [2, 1, 7, 1, 0, 1, 2, 0, 0, 0]
    memory, kernels, second, steps = (b"".join(one.to_bytes(8, "little") for one in part) for part in numbers)
    assert orders.packed() == b"tracelode replay 1\n" + memory + kernels + "π".encode() + second + steps


def test_counts_of_processes_are_summed_and_may_be_missing(tmp_path: Path) -> None:
    assert (counts(tmp_path), summed("")) == ("", {})
    lines = "".join(json.dumps({"process": 1, "asked": number}) + "\n" for number in (2, 3))
    (tmp_path / "counts").write_text(lines)
    assert summed(counts(tmp_path)) == {"asked": 5}
