"""AccelProf's hot_analysis: of each launch the accesses to every block of 2 MiB, and what was live then.

A folder of all launches, or one of its files alone.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tests.oracle.accelprof_text import lines_of, whole
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows

BLOCK = 2 << 20
MARK = re.compile(r"Tensor (start|end) -+(\d+)")
Block = tuple[int, int, int]
Sizes = dict[int, int]


class Launch(NamedTuple):
    """The three parts of a launch's file: blocks with their accesses, sizes of live objects and tensors by address."""

    number: int
    blocks: list[Block]
    objects: Sizes
    tensors: Sizes


def read(folder: Path) -> Rows:
    numbers = {re.fullmatch(r"kernel_(\d+)\.txt", path.name): path for path in folder.iterdir()}
    launches = sorted(_launch(whole(name[1]), path) for name, path in numbers.items() if name)
    if [launch.number for launch in launches] != list(range(len(launches))):
        raise Damaged("a launch without a file")
    _check(launches, folder / "all_kernels.txt")
    accesses = [row for launch in launches for row in _accesses(launch.number, launch.blocks)]
    labels = [("tool", "hot_analysis"), ("launches", str(len(launches)))]
    lives = [*_lives("object", [launch.objects for launch in launches])]
    lives += _lives("tensor", [launch.tensors for launch in launches])
    return rows(launch_memory=map(_memory, launches), access=accesses, allocation=lives, label=labels)


def read_launch(path: Path) -> Rows:
    """The file of one launch: what was live has neither birth nor death."""
    number = whole(re.sub(r"\D", "", path.name))
    launch = _launch(number, path)
    lives = [*_lives("object", [launch.objects]), *_lives("tensor", [launch.tensors])]
    return rows(
        launch_memory=[_memory(launch)],
        access=_accesses(number, launch.blocks),
        allocation=lives,
        label=[("tool", "hot_analysis")],
    )


def read_totals(path: Path) -> Rows:
    """The file of the sums over all launches."""
    blocks = [_block(line) for line in lines_of(path)]
    return rows(access=_accesses(None, blocks), label=[("tool", "hot_analysis")])


def _accesses(launch: int | None, blocks: list[Block]) -> list[Row]:
    return [(launch, None, start, None, end - start, "block", None, count) for start, end, count in blocks if count]


def _launch(number: int, path: Path) -> Launch:
    parts: list[list[str]] = [[]]
    for line in lines_of(path):
        if line:
            parts[-1].append(line)
        else:
            parts.append([])
    if len(parts) != 3:
        raise Damaged(f"{path.name} has not three parts")
    objects, tensors = _sizes(parts[1]), _sizes(parts[2])
    blocks = [_block(line) for line in parts[0] if not MARK.fullmatch(line)]
    if [block[:2] for block in blocks] != _divided(objects):
        raise Damaged(f"{path.name}: blocks that are not those of its objects")
    marks = [(told[1], whole(told[2])) for told in map(MARK.fullmatch, parts[0]) if told]
    if marks != _marks(blocks, tensors):
        raise Damaged(f"{path.name}: marks that are not those of its tensors")
    return Launch(number, blocks, objects, tensors)


def _block(line: str) -> Block:
    told = re.fullmatch(r"(\d+) (\d+) (\d+)", line)
    if not told:
        raise Damaged(f"a line that is no block: {line[:60]}")
    start, end, count = map(whole, told.groups())
    return start, end, count


def _sizes(lines: list[str]) -> Sizes:
    told = [re.fullmatch(r"(\d+) (\d+)", line) for line in lines]
    found = {whole(one[1]): whole(one[2]) for one in told if one}
    if not all(told) or len(found) < len(lines):
        raise Damaged("a line that is no address and size, or an address that is there twice")
    return found


def _divided(objects: Sizes) -> list[tuple[int, int]]:
    divided: list[tuple[int, int]] = []
    for address, size in objects.items():
        if size > 2**40:
            raise Odd("more memory than a device has")
        starts = range(address, address + max(size, 1), BLOCK)
        divided += [(start, min(start + BLOCK, address + size)) for start in starts]
    return divided


def _marks(blocks: list[Block], tensors: Sizes) -> list[tuple[str, int]]:
    """The marks as the tool prints them: of one tensor after the other, where a block begins or ends with it."""
    waiting, marks = [*tensors.items()], list[tuple[str, int]]()
    for start, end, _ in blocks:
        if waiting and start == waiting[0][0]:
            marks.append(("start", start))
        if waiting and end == sum(waiting[0]):
            marks.append(("end", end))
            waiting.pop(0)
    return marks


def _memory(launch: Launch) -> Row:
    touched = [
        size
        for address, size in launch.objects.items()
        if any(count and address <= start < address + size for start, _, count in launch.blocks)
    ]
    footprints = sum(launch.objects.values()), sum(launch.tensors.values())
    accesses = sum(count for _, _, count in launch.blocks)
    return launch.number, None, None, None, accesses, len(touched), sum(touched), None, *footprints, None


def _lives(kind: str, live: list[Sizes]) -> list[Row]:
    """From the launch that first finds the memory to the one that does not any more; neither is known at the ends."""
    found: list[Row] = []
    for address, size in {item for sizes in live for item in sizes.items()}:
        there = [sizes.get(address) == size for sizes in live]
        births = [at for at, now in enumerate(there) if now and (at == 0 or not there[at - 1])]
        deaths = [at for at, now in enumerate(there) if at and not now and there[at - 1]]
        for birth, death in zip(births, [*deaths, None], strict=False):
            found.append((None, kind, address, size, birth or None, death))
    return found


def _check(launches: list[Launch], totals: Path) -> None:
    blocks = [block for launch in launches for block in launch.blocks]
    printed = [_block(line) for line in lines_of(totals)]
    if not {block[:2] for block in printed} <= {block[:2] for block in blocks}:
        raise Damaged("totals of blocks that no launch has")
    if _summed(blocks) != _summed(printed):
        raise Damaged("totals that are not those of the launches")


def _summed(blocks: list[Block]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for start, _, count in blocks:
        sums[start] = sums.get(start, 0) + count
    return sums
