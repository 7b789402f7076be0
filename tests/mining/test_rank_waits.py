import numpy as np

from tracelode.mining.rank_collectives import Calls, Key
from tracelode.mining.rank_waits import together

KEY = Key("allreduce", None, None, None, "nccl")


def _calls(spans: list[tuple[int, int]]) -> Calls:
    start, end = (np.array(times, dtype=np.int64) for times in zip(*spans, strict=True))
    return Calls([KEY], np.zeros(len(spans), dtype=np.int64), np.full(len(spans), -1), start, end, 0)


def test_who_comes_early_waits_for_who_comes_late_whatever_the_clocks_say() -> None:
    early = [(0, 90_000), (100_000, 200_000), (300_000, 400_000)]
    late = [(60_000, 90_000), (160_000, 200_000), (350_000, 400_000)]
    for offset in (0, 5_000_000, -5_000_000):
        found = together([_calls(early), _calls([(start + offset, end + offset) for start, end in late])])
        assert found.wait_ns.tolist() == [[60_000, 60_000, 50_000], [0, 0, 0]]
        assert found.late_ns.tolist() == [[0, 0, 0], [60_000, 60_000, 50_000]]
        assert found.used.all()


def test_what_does_not_end_together_is_no_collective() -> None:
    one = [(0, 30_000), (100_000, 130_000), (200_000, 230_000), (300_000, 330_000)]
    other = [(0, 30_000), (100_000, 130_000), (200_000, 230_000), (700_000, 730_000)]
    found = together([_calls(one), _calls(other)])
    assert found.used.tolist() == [[True, True, True, False]] * 2
    assert found.wait_ns.sum() == found.late_ns.sum() == 0


def test_ranks_without_collectives_wait_for_nobody() -> None:
    none = Calls((), *[np.zeros(0, dtype=np.int64)] * 4, None)
    found = together([none, none])
    assert found.wait_ns.shape == (2, 0)
    assert found.clocks == [None, None]
