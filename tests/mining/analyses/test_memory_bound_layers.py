from pathlib import Path

from tests.mining.operators.traces import DEVICE, Op, made
from tracelode.mining.mine import find

WIDE = [[1024, 1024]]  # 2 MiB
MIB = 2**20


def test_a_chain_saves_the_traffic_of_what_it_hands_on(tmp_path: Path) -> None:
    # BERT's residual sum and normalisation: the sum is written and read once more
    chain = [
        Op("aten::add", [*WIDE, *WIDE, None], [4000], module="BertOutput_3"),
        Op("aten::native_layer_norm", [*WIDE, None, [1024], [1024], None], [6000]),
    ]
    product = Op("aten::mm", [*WIDE, *WIDE], [50_000])
    trace, archive = made(tmp_path, product, *chain, product, *chain)
    found = find(trace, archive, "memory_bound_layers")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    (row,) = found.rows.to_dicts()
    assert (row["operators"], row["module"]) == ("add → native_layer_norm", "BertOutput")
    assert (row["length"], row["chains"], row["time_ns"]) == (2, 2, 20_000)
    assert row["bytes"] == 2 * (3 * 2 * MIB + 2 * 2 * MIB + 4096)
    assert row["merged_bytes"] == 2 * 2 * 2 * MIB
    assert row["saving_ns"] == round(2 * 2 * 2 * MIB / 3350e9 * 1e9)
    assert row["most_ns"] == 2 * 4000
    assert row["bound"] == "memory"
    assert found.sentence == (
        "2 chains of operators bound by memory take 16.7 % of the kernel time of operators; merging each into one "
        "kernel saves at most 8 µs, 2.5 µs (2.1 %) of it the traffic of what they hand on; most in add → "
        "native_layer_norm in BertOutput."
    )


def test_products_part_chains_and_do_not_belong_to_them(tmp_path: Path) -> None:
    ops = [Op("aten::relu", WIDE, [4000]), Op("aten::mm", [*WIDE, *WIDE], [50_000]), Op("aten::relu", WIDE, [4000])]
    trace, archive = made(tmp_path, *ops)
    found = find(trace, archive, "memory_bound_layers")
    assert len(found.rows) == 0
    assert found.sentence == "No operators bound by memory hand a tensor on to the next, as far as shapes tell."


def test_the_traffic_of_a_chain_is_no_more_than_its_shorter_operators(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, *[Op("aten::relu", WIDE, [100])] * 3)
    row = find(trace, archive, "memory_bound_layers").rows.row(0, named=True)
    assert row["merged_bytes"] == 2 * 2 * 2 * MIB
    assert row["saving_ns"] == row["most_ns"] == 200


def test_without_a_bandwidth_only_the_most_is_told(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, *[Op("aten::relu", WIDE, [100])] * 6, device=DEVICE | {"name": "Something"})
    found = find(trace, archive, "memory_bound_layers")
    row = found.rows.row(0, named=True)
    assert (row["saving_ns"], row["most_ns"]) == (None, 500)
    # a relu does 1 FLOP for each element that it reads and writes, in 2 bytes
    assert (row["bound"], row["intensity"]) == ("not known", 0.25)
    assert found.sentence == (
        "1 chain of operators with at most 0.25 FLOPs a byte of their operands takes 100.0 % of the kernel time of "
        "operators; merging it into one kernel saves at most 500 ns; most in relu → relu → relu → relu → 2 more."
    )


def test_without_a_roof_operators_that_are_no_chain_are_not_called_bound(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::relu", WIDE, [4000]), device=None)
    assert find(trace, archive, "memory_bound_layers").sentence == (
        "No operators with little arithmetic hand a tensor on to the next, as far as shapes tell."
    )
