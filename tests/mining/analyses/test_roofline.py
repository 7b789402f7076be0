from pathlib import Path

import pytest

from tests.mining.operators.traces import DEVICE, Op, made
from tracelode.mining.mine import find
from tracelode.store import NotCollected

# A product of 2·1024³ FLOPs and 6 MiB takes 2.171 µs of compute and 1.878 µs of memory on the device.
PRODUCT = [[1024, 1024], [1024, 1024]]
FLOPS, BYTES = 2 * 1024**3, 3 * 2 * 1024**2
# A sum of 1 Mi elements: 6 MiB as well, far to the left of the ridge.
SUM = [[1024, 1024], [1024, 1024], None]


def test_least_times_are_flops_over_the_peak_and_bytes_over_the_bandwidth(tmp_path: Path) -> None:
    ops = [Op("aten::mm", PRODUCT, [5000]), Op("aten::add", SUM, [4000]), Op("aten::add", [[8], [8], None], [2000])]
    trace, archive = made(tmp_path, *ops)
    found = find(trace, archive, "roofline")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    added, product = found.rows.to_dicts()
    assert (product["kind"], product["arithmetic"], product["bound"]) == ("mm", "bf16", "compute")
    assert (product["flops"], product["bytes"]) == (FLOPS, BYTES)
    assert product["intensity"] == pytest.approx(FLOPS / BYTES)
    assert product["ridge"] == pytest.approx(989.4e12 / 3350e9)
    assert product["tflops_per_s"] == pytest.approx(FLOPS / 5000e-9 / 1e12)
    assert product["gb_per_s"] == pytest.approx(BYTES / 5000e-9 / 1e9)
    assert product["roof_share"] == pytest.approx(FLOPS / 989.4e12 * 1e9 / 5000)
    assert (added["calls"], added["bound"], added["arithmetic"]) == (2, "memory", "vector fp32")
    assert added["roof_share"] == pytest.approx((BYTES + 48) / 3350e9 * 1e9 / 6000)
    assert found.rows["share"].sum() == pytest.approx(1)
    assert found.sentence == (
        "Of the kernel time of operators (11 µs) 54.5 % is bound by memory, 45.5 % is bound by compute."
    )
    assert found.notes[0] == "Peaks of NVIDIA H100 SXM5: NVIDIA H100 data sheet, 2023 (halved: printed with sparsity)."


def test_what_is_far_below_both_roofs_is_latency(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", [[8, 8], [8, 8]], [2000]))
    assert find(trace, archive, "roofline").rows["bound"].to_list() == ["latency"]


def test_collectives_have_no_roof(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("c10d::broadcast_", [[1024]], [2000]))
    rows = find(trace, archive, "roofline").rows
    assert rows.select("bound", "roof_share", "bytes_per_s").rows() == [("communication", None, None)]


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (None, "a device without a name"),
        (DEVICE | {"name": "Something else"}, "Something else"),
        (DEVICE | {"name": None}, "a device without a name"),
    ],
)
def test_without_peaks_no_bound_is_told(tmp_path: Path, device: dict[str, object] | None, name: str) -> None:
    ops = [Op("aten::mm", PRODUCT, [6000], module="Linear_0"), Op("my::op", None, [4000])]
    trace, archive = made(tmp_path, *ops, device=device)
    found = find(trace, archive, "roofline")
    row = found.rows.row(0, named=True)
    assert (row["bound"], row["roof_share"], row["ridge"], row["peak_tflops_per_s"]) == ("not known", None, None, None)
    assert row["tflops_per_s"] == pytest.approx(FLOPS / 6000e-9 / 1e12)
    assert found.notes[0].startswith("Peak or bandwidth not known of ")
    assert found.sentence == (
        f"Peak or bandwidth of {name} is not known, so what bounds operators is not either; of their kernel time "
        "(10 µs) 60.0 % is of kinds whose FLOPs a byte are known."
    )
    assert find(trace, archive, "layer_roofline").sentence == (
        "1 module holds 60.0 % of the kernel time of operators (10 µs); what bounds them is not known."
    )


def test_the_bandwidth_of_the_trace_helps_where_the_row_has_none(tmp_path: Path) -> None:
    device = DEVICE | {"name": "NVIDIA A100-PG509-200", "memory_bandwidth": 10**12}
    trace, archive = made(tmp_path, Op("aten::add", SUM, [10_000]), device=device)
    row = find(trace, archive, "roofline").rows.row(0, named=True)
    assert row["bandwidth_gb_per_s"] == 1000
    assert row["roof_share"] == pytest.approx(BYTES / 1e12 * 1e9 / 10_000)


def test_a_device_of_another_number_is_like_those_listed(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", PRODUCT, [5000]), device=DEVICE | {"device": 5})
    assert find(trace, archive, "roofline").rows["bound"].to_list() == ["compute"]


def test_32_bit_products_above_their_roof_are_explained(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", PRODUCT, [9000], type="float"))
    found = find(trace, archive, "roofline")
    assert found.rows["roof_share"][0] > 1
    assert "unless names of kernels tell TF32" in found.notes[-1]


def test_modules_add_up_to_the_whole(tmp_path: Path) -> None:
    ops = [
        Op("aten::mm", PRODUCT, [5000], module="Linear_0"),
        Op("aten::add", SUM, [4000], module="Block_0"),
        Op("aten::add", SUM, [1000]),
    ]
    trace, archive = made(tmp_path, *ops)
    layers, kinds = find(trace, archive, "layer_roofline"), find(trace, archive, "roofline")
    assert layers.rows.select("layer", "bound", "time_ns").rows() == [
        ("Linear_0", "compute", 5000), ("Block_0", "memory", 4000), ("no module", "memory", 1000),
    ]  # fmt: skip
    for column in ("flops", "bytes", "time_ns", "calls", "kernels"):
        assert layers.rows[column].sum() == kinds.rows[column].sum()
    assert layers.sentence == (
        "2 modules hold 90.0 % of the kernel time of operators (10 µs); 1 of them, with 40.0 % of it, is bound by "
        "memory."
    )


def test_one_module_holds_and_none_is_bound_by_memory(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", PRODUCT, [5000], module="Linear_0"))
    sentence = find(trace, archive, "layer_roofline").sentence
    assert sentence == ("1 module holds 100.0 % of the kernel time of operators (5 µs); none is bound by memory.")


def test_without_modules_or_operators_it_is_not_collected(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", PRODUCT, [5000]))
    with pytest.raises(NotCollected, match="no modules"):
        find(trace, archive, "layer_roofline")
    trace, archive = made(tmp_path / "b", Op("aten::mm", PRODUCT))
    for name in ("roofline", "roofline_calls", "layer_roofline", "operator_flops", "precision", "memory_bound_layers"):
        with pytest.raises(NotCollected, match="no operator of the framework"):
            find(trace, archive, name)


def test_equal_calls_are_one_point(tmp_path: Path) -> None:
    ops = [Op("aten::mm", PRODUCT, [5000])] * 3 + [Op("aten::add", SUM, [5000]), Op("aten::copy_", [[8], [8]], [100])]
    trace, archive = made(tmp_path, *ops)
    found = find(trace, archive, "roofline_calls")
    assert found.rows.select("kind", "calls", "time_ns", "share").rows() == [
        ("mm", 3, 15_000, 0.75), ("arithmetic", 1, 5000, 0.25),
    ]  # fmt: skip
    assert found.rows["tflops_per_s"][0] == pytest.approx(FLOPS / 5000e-9 / 1e12)
    assert found.rows["roof_share"][0] == pytest.approx(FLOPS / 989.4e12 * 1e9 / 5000)
    assert found.sentence == "4 calls of 2 sizes with 100.0 % of the time of calls whose FLOPs and bytes are known."


def test_calls_without_flops_have_no_point(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::copy_", [[8], [8]], [100]))
    found = find(trace, archive, "roofline_calls")
    assert (len(found.rows), found.sentence) == (0, "No call has both FLOPs and bytes that are known.")


def test_without_shapes_it_is_said_and_what_to_record(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", None, [100]), Op("aten::mm", None, [100]), Op("my::op", None, [5]))
    found = find(trace, archive, "roofline")
    assert found.sentence == "Neither FLOPs nor bytes of operators are known: shapes not recorded."
    assert found.notes == ("To see this, let the profiler record shapes too: record_shapes=True in PyTorch.",)
