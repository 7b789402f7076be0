from collections.abc import Mapping

import numpy as np

from tracelode.mining.symmetry import Use, signature

STEP = [0, 50, 100, 80, 100, 60, 0]
"""What a rank allocates in a step, in MiB."""


def _ranks(one: list[int], two: list[int], calls: Mapping[tuple[str, str | None], int]) -> list[Use]:
    return [Use(f"rank {at}", np.array(curve) << 20, calls) for at, curve in enumerate((one, two))]


def test_equal_curves_with_reductions_in_backward_hint_at_data_parallelism() -> None:
    found = signature(_ranks(STEP, STEP, {("allreduce", "backward"): 8}))
    assert (found.symmetric, found.difference, found.parallelism) == (True, 0.0, "data")


def test_equal_curves_with_reductions_in_forward_hint_at_tensor_parallelism() -> None:
    calls = {("AllReduce", "forward"): 8, ("AllReduce", "backward"): 8}
    assert signature(_ranks(STEP, STEP, calls)).parallelism == "tensor"


def test_unlike_curves_with_transfers_hint_at_pipeline_parallelism() -> None:
    # the second rank holds the logits: 30 MiB more at the peak of 130 MiB
    found = signature(_ranks(STEP, [0, 50, 130, 80, 100, 60, 0], {("send", None): 4, ("recv", None): 4}))
    assert (found.symmetric, found.parallelism) == (False, "pipeline")
    assert found.difference == 30 / 130


def test_unlike_curves_alone_are_undetermined() -> None:
    found = signature(_ranks(STEP, [0, 10, 20, 10, 5, 1, 0], {}))
    assert (found.symmetric, found.parallelism) == (False, "undetermined")
    assert found.reason == "curves differ by up to 95.0 % of the peak, and no transfers between ranks are known"


def test_equal_curves_alone_are_undetermined() -> None:
    assert signature(_ranks(STEP, STEP, {})).parallelism == "undetermined"


def test_reductions_of_unknown_phase_are_undetermined() -> None:
    assert signature(_ranks(STEP, STEP, {("allreduce", None): 8})).parallelism == "undetermined"


def test_gathered_and_scattered_shards_alone_hint_at_sharded_data() -> None:
    calls = {("_allgather_base", "forward"): 8, ("allgather", None): 1, ("reduce_scatter", "backward"): 8}
    assert signature(_ranks(STEP, STEP, calls)).parallelism == "sharded data"


def test_equal_curves_of_unequal_numbers_of_changes_are_not_alike() -> None:
    twice = [size for size in STEP for _ in range(2)]
    assert not signature(_ranks(STEP, twice, {})).symmetric
