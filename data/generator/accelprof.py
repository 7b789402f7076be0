"""Writes AccelProf's logs from numbers, faults included: samples, and logs that give PASTA's Table V.

`python -m data.generator.accelprof FOLDER` writes the samples. Names and numbers are made up; the form is the tool's.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

__all__ = [
    "TABLE_V", "Allocation", "Group", "Launch", "Published", "app_analysis", "app_metric", "hotness_launch",
    "hotness_totals", "main", "table_v", "time_hotness", "totals", "uvm_advisor", "write_samples",
]  # fmt: skip

MIB = 1 << 20
WRAP = 1 << 32
BLOCK = 2 * MIB
Sizes = Mapping[int, int]
"""Address to size of live memory, by address."""

GEMM = "void gemm_tile_kernel<float, 128, 64>(float const*, float const*, float*, int, int, int)"
ADD = "void elementwise_kernel<4, AddFunctor<float> >(int, AddFunctor<float>)"
COLUMNS = "void columns_of_image_kernel<float>(long, float const*, long, long, float*)"
NORM = "norm_rows(float*, int)"


@dataclass(frozen=True)
class Launch:
    """A kernel launch: accesses, objects touched, working sets and footprints in bytes."""

    name: str
    accesses: int
    objects: int = 0
    tensor_working_set: int = 0
    memory_working_set: int = 0
    tensor_footprint: int = 0
    memory_footprint: int = 0


@dataclass(frozen=True)
class Allocation:
    """A memory object as `app_metric` lists it; `flags` are Compute Sanitizer's (0 device, 6 managed, 8 pinned)."""

    address: int
    size: int
    flags: int = 0


@dataclass(frozen=True)
class Group:
    """An outermost operator with its launches: name, id, and the (key, address, size) of objects and of tensors."""

    name: str
    key: int
    launches: Sequence[tuple[str, int, Sequence[tuple[int, int, int]], Sequence[tuple[int, int, int]]]]
    ops: int = 1
    pending: int = 1


def app_metric(
    allocations: Sequence[Allocation], launches: Sequence[Launch], *, peak: int | None = None, unset: int = 0
) -> str:
    """The log of `app_metric`; `unset` is what its counters held before they counted. By default nothing is freed."""
    peak = (sum(a.size for a in allocations) if peak is None else peak) + unset
    lines = [
        f"Alloc({a.flags}) {number}:\t{a.address} {a.size} ({_size(a.size)})" for number, a in enumerate(allocations)
    ]
    touched = [launch.memory_working_set % WRAP for launch in launches]
    lines.append("")
    lines += [
        f"Kernel {number} (refs={one.accesses}, objs={one.objects}, obj_size={size}, {_size(size)}):\t{one.name}"
        for number, (one, size) in enumerate(zip(launches, touched, strict=True))
    ]
    lines.append("")
    lines += [f"InvCount={count}\t{name}" for name, count in Counter(one.name for one in launches).most_common()]
    count = len(launches) or 1
    accesses, objects = sum(one.accesses for one in launches), sum(one.objects for one in launches)
    most = max(launches, key=lambda one: one.accesses, default=Launch("", 0))
    per_page = accesses / (peak / 4096) if peak else float("nan")
    lines += [
        "",
        f"Number of allocations: {len(allocations) + unset}",
        f"Number of kernels: {len(launches) + unset}",
        f"Maximum memory usage: {accesses}B ({_size(peak)})",
        "-" * 30,
        f"Maximum objects per kernel: {max((one.objects for one in launches), default=0)}",
        f"Average objects per kernel: {objects // count}",
        f"Total objects per kernel: {objects}",
        f"Maximum object size per kernel: {max(touched, default=0)}B ({_size(max(touched, default=0))})",
        f"Average object size per kernel: {sum(touched) // count}B ({_size(sum(touched) // count)})",
        "-" * 30,
        f"Maximum memory accesses kernel: {most.name} (Kernel ID: {launches.index(most) if launches else 0})",
        f"Maximum memory accesses per kernel: {most.accesses} ({_count(most.accesses)})",
        f"Average memory accesses per kernel: {accesses // count} ({_count(accesses // count)})",
        f"Total memory accesses: {accesses} ({_count(accesses)})",
        f"Average accesses per page: {per_page:.6g}",
    ]
    return _text(lines)


def app_analysis(
    launches: Iterable[Launch],
    *,
    tensors: tuple[int, int, int, int] = (0, 0, 0, 0),
    memory: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> str:
    """The log of `app_analysis`; the sums are allocations, bytes still allocated, frees and bytes freed."""
    lines: list[str] = []
    for name, sums in (("Tensor", tensors), ("Memory", memory)):
        labels = ("Alloc Count", "Alloc Size", "Free Count", "Free Size")
        lines += [f"{name} Stats:", *(f"  {label}: {value}" for label, value in zip(labels, sums, strict=True))]
    lines.append("Kernel Stats:")
    for number, one in enumerate(launches):
        lines += [f"Kernel ID: {number}", f"  Kernel Name: {one.name}", f"  Access Count: {one.accesses}"]
        for label, size in (
            ("Tensor Working Set Size", one.tensor_working_set),
            ("Memory Working Set Size", one.memory_working_set),
            ("Tensor Footprint Size", one.tensor_footprint),
            ("Memory Footprint Size", one.memory_footprint),
        ):
            lines.append(f"  {label}: {size} ({_size(size)})")
    return _text(lines)


def uvm_advisor(
    groups: Iterable[Group], *, peak: int, tensor_peak: int, objects: tuple[int, int], tensors: tuple[int, int]
) -> str:
    """The log of `uvm_advisor`; `objects` and `tensors` are counts and bytes of allocations, none of them freed."""
    found = list(groups)
    sums = {"MemMalloc": objects, "MemFree": (0, 0), "TenMalloc": tensors, "TenFree": (0, 0)}
    told = {name: f"count: {count:<10}, size: {size} ({_size(size)})" for name, (count, size) in sums.items()}
    told |= {"Memory": f"max_size: {peak} ({_size(peak)})", "Tensor": f"max_size: {tensor_peak} ({_size(tensor_peak)})"}
    told |= {"Op": f"count: {sum(g.ops for g in found):<10}", "OpGroup": f"count: {len(found):<10}"}
    order = ("Memory", "MemMalloc", "MemFree", "Tensor", "TenMalloc", "TenFree", "Op", "OpGroup")
    lines = ["-" * 80, *(f"{f'[{name}]':<12} {told[name]}" for name in order), "-" * 80, "=" * 80]
    for group in found:
        lines.append(
            f"Op - {group.name[:30]}, op_id: {group.key}, pending_ops: {group.ops}, pending_kernels: {group.pending}, "
            "pending_mem_alloc: 0, pending_ten_alloc: 0"
        )
        for name, key, mem, ten in group.launches:
            lines.append(f"   Kernel: {name[:30]}, kernel_id: {key}")
            lines.append(f"       MemAlloc ({len(mem)}): " + "".join(f"{k}:({a}, {s}), " for k, a, s in mem))
            lines.append(f"       TenAlloc ({len(ten)}): " + "".join(f"{k}:({a}, {s}), " for k, a, s in ten))
    return _text(lines)


def hotness_launch(objects: Sizes, tensors: Sizes, counts: Mapping[int, int]) -> str:
    """A launch's file of `hot_analysis`; `counts` are accesses by first address of a block, 0 where there is none."""
    waiting, lines = list(tensors.items()), list[str]()
    for start, end in blocks(objects):
        if waiting and waiting[0][0] == start:
            lines.append(f"Tensor start {'-' * 42}{start}")
        lines.append(f"{start} {end} {counts.get(start, 0)}")
        if waiting and sum(waiting[0]) == end:
            lines.append(f"Tensor end {'-' * 42}{end}")
            waiting.pop(0)
    lines += ["", *(f"{a} {s}" for a, s in objects.items()), "", *(f"{a} {s}" for a, s in tensors.items())]
    return _text(lines)


def hotness_totals(objects: Sizes, launches: Iterable[Mapping[int, int]]) -> str:
    """The file `all_kernels.txt`: sums over the launches, of which the tool keeps 32 bits."""
    sums = Counter[int]()
    for counts in launches:
        sums.update(counts)
    return _text(f"{start} {end} {sums[start] % WRAP}" for start, end in blocks(objects))


def blocks(objects: Sizes) -> list[tuple[int, int]]:
    """The blocks of at most 2 MiB that objects are divided into."""
    return [
        (at, min(at + BLOCK, start + size))
        for start, size in objects.items()
        for at in range(start, start + size, BLOCK)
    ]


def time_hotness(objects: Sizes, windows: Iterable[Mapping[int, int]]) -> str:
    """The matrix of `time_hotness_cpu`; a window's counts are by number of MiB, of which every second has a column."""
    columns = sorted({at >> 20 for start, size in objects.items() for at in range(start, start + size, BLOCK)})
    rows = [columns, *([window.get(column, 0) for column in columns] for window in windows)]
    return _text("".join(f"{number} " for number in row) for row in rows)


def totals(changes: Iterable[int]) -> str:
    """A list of `event_trace`: the bytes allocated after each change."""
    return _text(str(total) for total in accumulate(changes))


@dataclass(frozen=True)
class Published:
    """A row of PASTA's Table V: launches, and bytes of footprint (mean) and of tensor working sets."""

    launches: int
    footprint: float
    most: float
    least: float
    mean: float
    median: float
    p90: float


def _row(launches: int, *sizes: float, least: float) -> Published:
    footprint, most, mean, median, p90 = (size * MIB for size in sizes)
    return Published(launches, footprint, most, least, mean, median, p90)


TABLE_V = {
    "inference AlexNet": _row(1428, 1528.13, 876.12, 216.25, 148.26, 406.33, least=1.01 * MIB),
    "inference ResNet18": _row(1497, 1232.13, 1024.00, 86.07, 64.00, 172.27, least=1024),
    "inference ResNet34": _row(2657, 1261.59, 1024.00, 76.61, 43.25, 164.00, least=1024),
    "inference BERT": _row(487, 1179.64, 212.62, 75.23, 37.69, 141.75, least=47.5 * 1024),
    "inference GPT-2": _row(583, 4148.10, 1493.85, 59.02, 25.08, 138.00, least=4096),
    "inference Whisper": _row(663, 2304.15, 627.44, 78.54, 20.81, 153.81, least=2.25 * MIB),
    "training AlexNet": _row(4040, 3285.17, 1512.09, 188.60, 144.62, 406.33, least=512),
    "training ResNet18": _row(1542, 3165.13, 1024.00, 84.58, 43.25, 172.27, least=512),
    "training ResNet34": _row(2734, 4316.86, 1024.00, 75.33, 43.25, 164.00, least=512),
    "training BERT": _row(554, 5679.03, 235.47, 77.71, 37.97, 209.30, least=1024),
    "training GPT-2": _row(2004, 7862.10, 2240.77, 51.37, 24.00, 137.66, least=512),
    "training Whisper": _row(665, 2104.80, 937.01, 80.42, 20.81, 153.81, least=2.25 * MIB),
}
"""Table V of the paper (CGO 2026), in bytes: what its logs say once they are printed as it prints them."""


def table_v(seed: int = 5) -> dict[str, str]:
    """The `app_analysis` log of each row of Table V: made-up launches whose statistics are the published ones."""
    return {
        name: app_analysis(_launches(row, random.Random(seed + at))) for at, (name, row) in enumerate(TABLE_V.items())
    }


def _launches(row: Published, numbers: random.Random) -> list[Launch]:
    working_sets = _working_sets(row)
    numbers.shuffle(working_sets)
    made: list[Launch] = []
    for number, size in enumerate(working_sets):
        # The first half of the launches finds 5 % less memory than the mean, the second 5 % more: the peak is not it.
        half = (number >= row.launches - row.launches // 2) - (number < row.launches // 2)
        footprint = round(row.footprint * (1 + 0.05 * half) / 512) * 512
        objects = min(footprint, (size // BLOCK + 1) * BLOCK)
        made.append(
            Launch(
                name=(GEMM, ADD, COLUMNS, NORM)[numbers.randrange(4)],
                accesses=size // 4 + 32 * numbers.randrange(1000),
                objects=1 + size // (20 * MIB),
                tensor_working_set=size,
                memory_working_set=objects,
                tensor_footprint=max(size, footprint * 9 // 10 // 512 * 512),
                memory_footprint=footprint,
            )
        )
    return made


def _working_sets(row: Published) -> list[int]:
    """Sizes whose extremes, median and 90th percentile (linear, as numpy's) are given, bent until the mean fits."""
    last = row.launches - 1
    middle, high = (last // 2, (last + 1) // 2), (last * 9 // 10, -(-last * 9 // 10))
    fixed = {0: row.least, **dict.fromkeys(middle, row.median), **dict.fromkeys(high, row.p90), last: row.most}
    places = sorted(fixed)

    def bent(power: float) -> list[float]:
        sizes = [row.least]
        for left, right in pairwise(places):
            span = fixed[right] - fixed[left]
            sizes += [fixed[left] + span * ((at - left) / (right - left)) ** power for at in range(left + 1, right + 1)]
        return sizes

    low, most = 0.0, 64.0
    for _ in range(40):  # the mean falls as the power rises
        power = (low + most) / 2
        low, most = (power, most) if sum(bent(power)) / row.launches > row.mean else (low, power)
    return [round(size / 512) * 512 for size in bent(low)]


def write_samples(folder: Path) -> None:
    """Writes one log of each kind, all of a program of four launches that never ran."""
    base, other = 0x7F20_0000_0000, 0x7F20_1000_0000
    objects, tensors = {base: 5 * MIB, other: 2 * MIB}, {base: 4 * MIB, other: 2 * MIB}
    launches = [
        Launch(COLUMNS, 1_310_720, 2, 6 * MIB, 7 * MIB, 6 * MIB, 7 * MIB),
        Launch(GEMM, 3_932_160, 2, 6 * MIB, 7 * MIB, 6 * MIB, 7 * MIB),
        Launch(ADD, 524_288, 1, 2 * MIB, 2 * MIB, 6 * MIB, 7 * MIB),
        Launch(GEMM, 3_932_160, 1, 4 * MIB, 5 * MIB, 4 * MIB, 7 * MIB),
    ]
    shares = [{base: 700_000, base + BLOCK: 500_000, other: 110_720}, {base: 3_000_000, other: 932_160}]
    shares += [{other: 524_288}, {base: 2_000_000, base + BLOCK: 1_932_000, base + 2 * BLOCK: 160}]
    allocations = [
        Allocation(address, size, flags) for (address, size), flags in zip(objects.items(), (0, 6), strict=True)
    ]
    first, second = (1, base, 5 * MIB), (2, other, 2 * MIB)
    groups = [
        Group("aten::conv2d", 1, [(COLUMNS, 1, [first, second], [(1, base, 4 * MIB)]), (GEMM, 2, [first], [])], 4, 2),
        Group("aten::add_", 5, [(ADD, 3, [second], [(2, other, 2 * MIB)])], 1, 2),
    ]
    windows = [{base >> 20: 600_000, (base >> 20) + 1: 150_000, other >> 20: 250_000}, {(base >> 20) + 2: 1_000_000}]
    written = {
        "net_2026-02-01_12-00-00.log": app_metric(allocations, launches),
        "net_app_analysis.log": app_analysis(launches, tensors=(2, 4 * MIB, 1, 2 * MIB), memory=(2, 7 * MIB, 0, 0)),
        "uvm_advisor_opt.log": uvm_advisor(
            groups, peak=7 * MIB, tensor_peak=6 * MIB, objects=(2, 7 * MIB), tensors=(2, 6 * MIB)
        ),
        "net.time_hotness_cpu.log": time_hotness(objects, windows),
        "memory_gpu.txt": totals([5 * MIB, 2 * MIB]),
        "tensor_gpu.txt": totals([4 * MIB, 2 * MIB, -2 * MIB]),
        "memory_gpu_0.txt": totals([5 * MIB, 0, 2 * MIB, 0, 0]),
        "tensor_gpu_0.txt": totals([4 * MIB, 2 * MIB, -2 * MIB]),
        "hotness_net_2026-02-01_12-00-00/all_kernels.txt": hotness_totals(objects, shares),
    }
    for number, counts in enumerate(shares):
        live = tensors if number < 3 else {base: 4 * MIB}
        written[f"hotness_net_2026-02-01_12-00-00/kernel_{number}.txt"] = hotness_launch(objects, live, counts)
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _size(size: int) -> str:
    if size <= 1024:
        return f"{size} bytes"
    power = next((p for p in (1, 2, 3) if size <= 1024 ** (p + 1)), 4)
    return f"{size / 1024**power:.2f} {'KMGT'[power - 1]}B"


def _count(number: int) -> str:
    if number <= 1000:
        return str(number)
    power = next((p for p in (1, 2, 3) if number <= 1000 ** (p + 1)), 4)
    return f"{number / 1000**power:.2f} {'KMBT'[power - 1]}"


def main() -> None:
    """Reads the command line and writes the samples."""
    parser = argparse.ArgumentParser(prog="python -m data.generator.accelprof", description="Writes AccelProf's logs.")
    parser.add_argument("folder", type=Path)
    write_samples(parser.parse_args().folder)


if __name__ == "__main__":
    main()
