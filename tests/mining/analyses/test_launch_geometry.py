"""Grids and blocks, what limits the threads that fit, waves and tails, of kernels small enough to do by hand."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.finding import Finding
from tracelode.mining.mine import find
from tracelode.mining.occupancy import held
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
KINETO = {
    "warpSize": 32,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65_536,
    "sharedMemPerMultiprocessor": 102_400,
    "sharedMemPerBlockOptin": 101_376,
}
NSIGHT = {
    "threadsPerWarp": 32,
    "maxWarpsPerSm": 64,
    "maxRegistersPerSm": 65_536,
    "maxShmemPerSm": 102_400,
    "maxShmemPerBlockOptin": 101_376,
    "maxBlocksPerSm": 16,
}


def _device(args: Any = KINETO, **more: Any) -> dict[str, Any]:
    text = args if isinstance(args, str) else json.dumps(args)
    return {"process": 1, "device": 0, "vendor": "nvidia", "compute_units": 10, "args": text} | more


def _kernel(name: str, time: int, blocks: Any, threads: Any, registers: int | None = 16, shared: int | None = 0) -> Any:
    grid, block = ((size, 1, 1) if isinstance(size, int) else size for size in (blocks, threads))
    sizes = {f"grid_{axis}": size for axis, size in zip("xyz", grid, strict=True)}
    sizes |= {f"block_{axis}": size for axis, size in zip("xyz", block, strict=True)}
    return {"name": name, "start_ns": 0, "end_ns": time, "registers": registers, "shared_bytes": shared, **sizes}


# a: 64 registers x 32 threads are 2048 a warp: 32 warps, 4 blocks of 8; 60 blocks in waves of 40
# b: 24 KiB and the 1 KiB that the device takes: 4 blocks; 10 blocks in a wave of 40
# c: 2 blocks of 1024 threads are all; 40 blocks in waves of 20
# d: 2 blocks of 768 threads, for a third there is no room; 20 blocks in a wave of 20
KERNELS = [
    _kernel("a", 100, (6, 5, 2), 256, 64),
    _kernel("b", 200, 10, (16, 8, 1), 32, 24_576),
    _kernel("c", 100, 40, 1024, 32),
    _kernel("d", 100, 20, 768),
]


def _found(folder: Path, name: str, kernels: list[Any] = KERNELS, **device: Any) -> Finding:
    trace, archive = build(folder, kernel=kernels, device=[_device(**device)])
    found = find(trace, archive, name)
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    return found


def test_launches_and_time_are_told_by_powers_of_two(tmp_path: Path) -> None:
    found = _found(tmp_path, "launch_geometry", [*KERNELS, _kernel("e", 0, 33, 256)])
    assert found.rows.drop("launch_share").rows() == [
        ("blocks", 8, 10, 10, 1, 200, 0.4),
        ("blocks", 16, 20, 20, 1, 100, 0.2),
        ("blocks", 32, 33, 60, 3, 200, 0.4),
        ("threads", 128, 128, 128, 1, 200, 0.4),
        ("threads", 256, 256, 256, 2, 100, 0.2),
        ("threads", 512, 768, 768, 1, 100, 0.2),
        ("threads", 1024, 1024, 1024, 1, 100, 0.2),
    ]
    assert found.rows["launch_share"].to_list() == [0.2, 0.2, 0.6, 0.2, 0.4, 0.2, 0.2]
    assert found.sentence == (
        "Of the kernel time the largest part is in grids of 10 blocks (40.0 %) and in blocks of 128 threads (40.0 %)."
    )
    assert found.notes == ()


def test_without_times_the_launches_are_told(tmp_path: Path) -> None:
    found = _found(
        tmp_path, "launch_geometry", [_kernel("a", 0, 9, 32), _kernel("b", 0, 12, 64), _kernel("c", 0, 1, 64)]
    )
    assert found.rows["share"].null_count() == len(found.rows)
    assert found.sentence == (
        "Of the launches the largest part is in grids of 9 to 12 blocks (66.7 %) and in blocks of 64 threads (66.7 %)."
    )


def test_kernels_without_a_grid_are_left_out_and_counted(tmp_path: Path) -> None:
    bare = {"name": "x", "start_ns": 0, "end_ns": 900}
    found = _found(tmp_path, "launch_geometry", [*KERNELS, bare, bare | {"grid_x": 1, "grid_y": 1, "grid_z": 0}])
    assert found.rows.filter(found.rows["measure"] == "blocks")["launches"].sum() == 4
    assert found.notes == ("Of 2 kernels grid and block were not recorded: these are left out.",)


def test_grids_that_kineto_tells_in_threads_are_warned_of(tmp_path: Path) -> None:
    assert "AMD" in _found(tmp_path, "launch_geometry", vendor="amd").notes[0]


def test_what_is_scarcest_limits_the_threads_that_fit(tmp_path: Path) -> None:
    found = _found(tmp_path, "launch_limits")
    columns = ("limited_by", "kernels", "launches", "time_ns", "share", "occupancy", "least_occupancy")
    assert found.rows.select(columns).rows() == [
        ("shared memory", 1, 1, 200, 0.4, 0.25, 0.25),
        ("block size", 1, 1, 100, 0.2, 0.75, 0.75),
        ("nothing", 1, 1, 100, 0.2, 1.0, 1.0),
        ("registers", 1, 1, 100, 0.2, 0.5, 0.5),
    ]
    # (0.25 x 200 + 0.75 x 100 + 1 x 100 + 0.5 x 100) / 500
    assert found.sentence == (
        "On average at most 55.0 % of the threads of a multiprocessor have a place: shared memory limits 40.0 %, the "
        "size of blocks limits 20.0 %, registers limit 20.0 % of the kernel time."
    )


@pytest.mark.parametrize(
    ("kernel", "limited_by", "occupancy"),
    [
        (_kernel("tiny", 10, 1, 32), "number of blocks", 16 * 32 / 2048),
        (
            _kernel("odd", 10, 1, 256, 33),
            "registers",
            6 * 256 / 2048,
        ),  # 40 registers x 32: 12 warps a quarter, 6 blocks of 8
        (_kernel("88", 10, 1, 64, 88, 3328), "registers", 640 / 2048),  # 5 warps a quarter: 31 % as Kineto has it
        (_kernel("33", 10, 1, 33), "number of blocks", 16 * 64 / 2048),  # 33 threads take two warps
        (_kernel("none", 10, 1, 1024, 65), "not known", None),  # 72 registers x 1024 are more than there are
    ],
)
def test_registers_and_threads_are_taken_in_whole_pieces(
    tmp_path: Path, kernel: Any, limited_by: str, occupancy: float | None
) -> None:
    found = _found(tmp_path, "launch_limits", [kernel, KERNELS[2]], args=NSIGHT)
    rows = found.rows.filter(found.rows["limited_by"] != "nothing")
    assert rows.select("limited_by", "occupancy").rows() == [(limited_by, occupancy)]


@pytest.mark.parametrize(
    ("device", "occupancy"),
    [
        ({"architecture": "6.0"}, 22 * 32 / 2048),  # 11 warps a half
        ({"vendor": "amd"}, 22 * 32 / 2048),  # 23 warps, 11 blocks
        ({}, 20 * 32 / 2048),
    ],
)
def test_registers_of_each_part_of_a_multiprocessor_are_its_own(
    tmp_path: Path, device: dict[str, Any], occupancy: float
) -> None:
    found = _found(tmp_path, "launch_limits", [_kernel("88", 10, 1, 64, 88)], **device)
    assert found.rows["occupancy"].to_list() == [occupancy]


def test_shared_memory_counts_where_no_block_takes_more_than_its_own(tmp_path: Path) -> None:
    # as on a V100: 96 KiB, all of which a block may have; 24 704 B fit three times
    limits = KINETO | {"sharedMemPerMultiprocessor": 98_304, "sharedMemPerBlockOptin": 98_304}
    found = _found(tmp_path, "launch_limits", [_kernel("v", 10, 1, 256, 64, 24_704)], args=limits)
    assert found.rows.select("limited_by", "occupancy").rows() == [("shared memory", 0.375)]


def test_waves_are_counted_and_the_last_ones_tail_is_an_estimate(tmp_path: Path) -> None:
    found = _found(tmp_path, "launch_waves")
    assert found.rows.drop("launch_share", "share").rows() == [
        (0, "up to 1 wave", 0.2, 1, 200, 150),  # b: 10 of 40 places, 30 empty throughout
        (0, "up to 1 wave", 0.9, 1, 100, 0),  # d
        (1, "1 to 2 waves", 0.5, 1, 100, 25),  # a: 20 of 40 places empty in the second of two waves
        (1, "1 to 2 waves", 0.9, 1, 100, 0),  # c
    ]
    assert found.sentence == (
        "40.0 % of the kernel time is in launches that fill less than 90 % of the device with blocks; empty places of "
        "last waves come to about 175 ns (35.0 %)."
    )
    assert "an estimate" in found.notes[0]


def test_the_longest_tails_stand_first_and_the_rest_is_one_row(tmp_path: Path) -> None:
    many = [_kernel(f"k{at:02}", 10, 20, 1024) for at in range(20)]
    found = _found(tmp_path, "launch_tails", [*KERNELS, *many])
    assert len(found.rows) == 21
    assert found.rows.head(2).drop("process", "device").rows() == [
        (1, "b", 1, 200, 150, 10, 128, 32, 24_576, 4, "shared memory", 0.25, 0.25, 0.25),
        (2, "a", 1, 100, 25, 60, 256, 64, 0, 4, "registers", 0.5, 1.5, 0.5),
    ]
    rest = found.rows.tail(1).to_dicts()[0]
    assert (rest["rank"], rest["name"], rest["launches"], rest["time_ns"], rest["tail_ns"]) == (
        None, "(all others)", 4, 40, 0
    )  # fmt: skip
    assert rest["blocks"] is None
    assert found.sentence == "Empty places of last waves come to about 175 ns."


def test_all_shapes_are_as_a_loop_over_them_finds(tmp_path: Path) -> None:
    random = Random(7)
    kernels = [
        _kernel(
            f"k{at:03}",
            1_000_000,
            random.randrange(1, 500),
            random.randrange(1, 1025),
            random.randrange(1, 64),
            random.choice((0, 512, 9_000, 60_000)),
        )
        for at in range(150)
    ]
    trace, archive = build(tmp_path, kernel=kernels, device=[_device(NSIGHT)])
    rows = find(trace, archive, "launch_waves").rows
    assert len(rows) == len(rows.unique(["above_waves", "fill_from"]))
    tail, counted = 0, dict.fromkeys((0, 1, 2, 4, 8), 0)
    for one in kernels:
        warps = -(-one["block_x"] // 32)
        fit = 0
        while (
            (fit + 1) * warps <= 64
            and (fit + 1) * warps <= 4 * (16_384 // (-(-one["registers"] // 8) * 8 * 32))
            and (fit + 1) * (one["shared_bytes"] + 1024) <= 102_400
            and fit < 16
        ):
            fit += 1
        left, waves, empty = one["grid_x"], 0, 0
        while left > 0:
            empty = max(10 * fit - left, 0)
            left -= 10 * fit
            waves += 1
        tail += empty * 1_000_000 // (waves * 10 * fit)
        counted[max(above for above in counted if above < waves)] += 1
    assert rows["tail_ns"].sum() == tail
    assert {above: rows.filter(rows["above_waves"] == above)["launches"].sum() for above in counted} == counted


def test_sizes_beyond_all_devices_are_only_counted(tmp_path: Path) -> None:
    top = 2**31 - 1
    strange = _kernel("x", 10, (top, top, top), (top, top, top), top, 2**63 - 1)
    found = _found(tmp_path, "launch_geometry", [strange])
    assert found.rows.select("from_size", "most_size").rows() == [(2**62, 2**63 - 1)] * 2
    with pytest.raises(NotCollected):
        _found(tmp_path / "limits", "launch_limits", [strange])


@pytest.mark.parametrize("name", ["launch_limits", "launch_waves", "launch_tails"])
@pytest.mark.parametrize("args", ["no JSON", "[1]", "{}", {"warpSize": True}, KINETO | {"regsPerMultiprocessor": -1}])
def test_without_limits_of_the_device_nothing_is_said_to_limit(tmp_path: Path, name: str, args: Any) -> None:
    trace, archive = build(tmp_path, kernel=KERNELS, device=[_device(args)])
    with pytest.raises(NotCollected) as missing:
        find(trace, archive, name)
    assert missing.value.message == "how many blocks of a kernel a device runs at once"


def test_without_the_number_of_multiprocessors_there_are_limits_and_no_waves(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=KERNELS, device=[_device(compute_units=None)])
    assert len(find(trace, archive, "launch_limits").rows) == 4
    with pytest.raises(NotCollected):
        find(trace, archive, "launch_waves")


def test_a_kernel_without_registers_is_not_known_beside_those_that_are(tmp_path: Path) -> None:
    found = _found(tmp_path, "launch_limits", [KERNELS[2], _kernel("x", 300, 1, 32, None)])
    assert found.rows.select("limited_by", "launches", "occupancy").rows() == [
        ("nothing", 1, 1.0), ("not known", 1, None)
    ]  # fmt: skip
    assert found.sentence == "On average at most 100.0 % of the threads of a multiprocessor have a place."
    assert found.notes[1] == "What limits them was not recorded in full for launches: 1."


def test_without_kernels_or_grids_it_is_not_collected(tmp_path: Path) -> None:
    nothing = build(tmp_path / "nothing", copy=[{"start_ns": 0, "end_ns": 1}])
    bare = build(tmp_path / "bare", kernel=[{"name": "x", "start_ns": 0, "end_ns": 1}])
    for name in ("launch_geometry", "launch_limits", "launch_waves", "launch_tails"):
        with pytest.raises(NotCollected, match="table kernel was not collected"):
            find(*nothing, name)
        with pytest.raises(NotCollected, match="grids and blocks of kernels"):
            find(*bare, name)


@pytest.mark.parametrize("sample", ["train.json.gz", "train.sqlite"])
def test_one_run_is_alike_by_both_profilers(tmp_path: Path, sample: str) -> None:
    archive = Archive(tmp_path / "archive")
    trace: Trace = read(SAMPLES / sample, archive)[0]
    limits = find(trace, archive, "launch_limits").rows
    assert limits["launches"].sum() == trace.sql("select count(*) from kernel").item()
    assert "not known" not in limits["limited_by"].to_list()
    assert limits["least_occupancy"].min() > 0


@pytest.mark.corpus
def test_the_places_that_are_taken_are_as_kineto_estimates_them(corpus: Path, tmp_path: Path) -> None:
    """Its estimate is of the threads of all blocks, or of those that fit, in whole percent."""
    archive = Archive(tmp_path / "archive")
    trace = read(corpus / "kineto" / "hta-trace-diff-test" / "test.json.gz", archive)[0]
    ours = trace.sql(
        f"{held(trace)}\nselect distinct blocks::bigint, threads::bigint, registers, shared_bytes, "
        "occupancy * least(waves, 1) as taken from held"
    )
    taken = {tuple(key): share for *key, share in ours.rows()}
    kernels = trace.sql(
        "select distinct grid_x::bigint * grid_y * grid_z, block_x::bigint * block_y * block_z, registers, "
        "shared_bytes, args from kernel"
    )
    told = [(tuple(key), json.loads(args)["est. achieved occupancy %"]) for *key, args in kernels.rows()]
    assert len(told) > 100
    assert all(abs(100 * taken[key] - percent) <= 1 for key, percent in told)
