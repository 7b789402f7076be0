"""The rules of the advice, one after the other: a range of 8 MiB on a link of 10 bytes a nanosecond."""

from typing import Any

import pytest

from tracelode.mining.managed_advice import Advice, Saving, advise, chosen, lines, saving
from tracelode.mining.managed_needs import COUNTED, Need
from tracelode.mining.uvm_rules import uvm_rules

MIB = 1 << 20
RULES = uvm_rules("advice")
LINK = 1e10


def _need(**more: Any) -> Need:
    plain: dict[str, Any] = dict.fromkeys(Need.__dataclass_fields__) | dict.fromkeys(COUNTED, 0)
    plain |= {
        "range": 0,
        "process": 1,
        "granularity": "object",
        "address": 64 * MIB,
        "bytes": 8 * MIB,
        "kind": "managed",
    }
    plain |= {"device": 0, "cost_ns": 2_000_000, "stall_ns": 2_000_000, "kernel_ns": 10_000_000, "executions": 1}
    plain |= {"kernel": "k", "occurrence": 0, "last_kernel": "z", "last_occurrence": 4}
    return Need(**plain | more)


PLAIN = _need(faults=30, moves=40, unasked_bytes=6 * MIB)
BOUNCED = {"faults": 30, "moves": 40, "unasked_bytes": 6 * MIB, "again_bytes": 3 * MIB, "returned_bytes": 3 * MIB}


def _advise(need: Need, role: str | None = None, memory: int | None = None) -> tuple[str, int, str]:
    advice = advise(need, role, memory, RULES)
    return advice.action, advice.bytes, advice.confidence


def test_what_moves_on_demand_is_prefetched() -> None:
    assert _advise(PLAIN) == ("prefetch", 6 * MIB, "high")
    assert _advise(_need(moves=40, unasked_bytes=6 * MIB, stall_ns=None)) == ("prefetch", 6 * MIB, "medium")
    assert _advise(_need(moves=3, unasked_bytes=6 * MIB)) == ("prefetch", 6 * MIB, "low")  # fewer than 8 events


def test_what_costs_kernels_little_is_left_alone() -> None:
    cheap = _need(faults=30, moves=40, unasked_bytes=6 * MIB, cost_ns=99_999)
    assert _advise(cheap)[0] == "leave"  # 1 % of 10 ms are 100,000 ns
    assert _advise(_need(faults=30, moves=40, unasked_bytes=6 * MIB, cost_ns=100_000))[0] == "prefetch"
    little = advise(_need(faults=30, moves=1, unasked_bytes=63 * 1024), None, None, RULES)
    assert (little.action, little.rule) == ("leave", "63 KiB move unasked, less than 64 KiB")


def test_what_both_only_read_and_goes_back_and_forth_is_read_mostly() -> None:
    assert _advise(_need(**BOUNCED, told_accesses=30)) == ("read_mostly", 3 * MIB, "medium")
    assert _advise(_need(**BOUNCED, told_accesses=30, writes=1))[0] == "prefetch"
    assert _advise(_need(**BOUNCED, told_accesses=30, cpu_writes=1))[0] == "prefetch"
    assert _advise(_need(**BOUNCED))[0] == "prefetch"  # what the accesses were is not known


def test_a_little_of_a_large_range_that_goes_back_and_forth_is_read_where_it_is() -> None:
    sparse = {"faults": 30, "moves": 40, "unasked_bytes": MIB, "again_bytes": MIB // 2, "returned_bytes": MIB // 2}
    assert _advise(_need(**sparse, writes=9, told_accesses=30)) == ("accessed_by", MIB // 2, "medium")  # 1/16 of it
    unnamed = _need(**sparse, writes=9, told_accesses=30, granularity="addresses")
    assert _advise(unnamed)[0] == "prefetch"  # how large the allocation is, a sixteenth of which moves, is not known


def test_what_is_evicted_and_comes_back_is_pinned_if_it_fits() -> None:
    evicted = {"faults": 30, "moves": 40, "unasked_bytes": 12 * MIB, "again_bytes": 6 * MIB, "evicted_bytes": 6 * MIB}
    assert _advise(_need(**evicted), memory=16 * MIB) == ("pin", 6 * MIB, "high")
    assert _advise(_need(**evicted), memory=15 * MIB)[0] == "leave"  # 8 MiB are more than half of it
    assert _advise(_need(**evicted)) == ("pin", 6 * MIB, "high")


def test_what_is_evicted_and_does_not_come_back_is_offloaded() -> None:
    gone = {"faults": 30, "moves": 40, "unasked_bytes": 8 * MIB, "evicted_bytes": 8 * MIB}
    assert _advise(_need(**gone)) == ("offload", 8 * MIB, "low")


def test_measured_accesses_decide_before_faults_do() -> None:
    assert _advise(PLAIN, "pin") == ("pin", 8 * MIB, "high")
    assert _advise(PLAIN, "evict") == ("offload", 8 * MIB, "high")
    assert _advise(PLAIN, "keep")[0] == "prefetch"
    assert [advise(PLAIN, role, None, RULES).measured for role in ("pin", "evict", "keep", None)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_saving_of_a_prefetch_is_what_faults_cost_with_its_transfer_hidden_or_not() -> None:
    # The line to paste asks for all 8 MiB, of which 6 moved: at 10 bytes a nanosecond 838,861 ns, of 2,000,000 ns now.
    advice = Advice("prefetch", 6 * MIB, "", "high")
    assert saving(advice, PLAIN, LINK, None) == Saving(838_861, 2_000_000 - 838_861, 2_000_000)
    slow = saving(advice, PLAIN, 1e9, None)
    assert slow == Saving(8_388_608, 0, 2_000_000)  # the transfer takes longer than the faults: perhaps nothing
    assert saving(advice, PLAIN, None, None) == Saving(None, 0, 2_000_000)


def test_what_keeps_pages_where_they_are_saves_at_most_their_part_of_the_cost() -> None:
    advice = Advice("pin", 3 * MIB, "", "high")
    assert saving(advice, _need(**BOUNCED), LINK, None) == Saving(314_573, 0, 1_000_000)  # 3 of 6 MiB of 2,000,000 ns


def test_a_prefetch_before_each_use_moves_what_moves_now_where_that_is_more_than_the_range() -> None:
    advice = Advice("prefetch", 20 * MIB, "", "high")
    assert saving(advice, PLAIN, LINK, None) == Saving(2_097_152, 0, 2_000_000)


def test_an_offload_saves_at_most_the_transfer_of_what_was_evicted() -> None:
    advice = Advice("offload", 8 * MIB, "", "low")
    assert saving(advice, _need(evicted_bytes=8 * MIB), LINK, 2 * LINK) == Saving(419_430, 0, 419_430)
    assert saving(advice, _need(), LINK, 2 * LINK) == Saving(419_430, 0, None)
    assert saving(Advice("leave", 0, "", "low"), _need(), LINK, LINK) == Saving(None, 0, 0)


@pytest.mark.parametrize(
    ("action", "cuda", "hip"),
    [
        (
            "prefetch",
            "cudaMemPrefetchAsync(p, 8388608, 0, stream);",
            "hipMemPrefetchAsync(p, 8388608, 0, stream);",
        ),
        (
            "offload",
            "cudaMemPrefetchAsync(p, 8388608, cudaCpuDeviceId, stream);",
            "hipMemPrefetchAsync(p, 8388608, hipCpuDeviceId, stream);",
        ),
        (
            "pin",
            "cudaMemAdvise(p, 8388608, cudaMemAdviseSetPreferredLocation, 0);",
            "hipMemAdvise(p, 8388608, hipMemAdviseSetPreferredLocation, 0);",
        ),
        (
            "read_mostly",
            "cudaMemAdvise(p, 8388608, cudaMemAdviseSetReadMostly, 0);",
            "hipMemAdvise(p, 8388608, hipMemAdviseSetReadMostly, 0);",
        ),
        (
            "accessed_by",
            "cudaMemAdvise(p, 8388608, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId); "
            "cudaMemAdvise(p, 8388608, cudaMemAdviseSetAccessedBy, 0);",
            "hipMemAdvise(p, 8388608, hipMemAdviseSetPreferredLocation, hipCpuDeviceId); "
            "hipMemAdvise(p, 8388608, hipMemAdviseSetAccessedBy, 0);",
        ),
        ("leave", None, None),
    ],
)
def test_the_lines_to_paste(action: str, cuda: str | None, hip: str | None) -> None:
    assert lines(Advice(action, 1, "", "high"), _need(), None) == (cuda, hip)


def test_a_tensor_is_told_by_where_it_begins_in_its_object() -> None:
    assert lines(Advice("prefetch", 1, "", "high"), _need(), 4096)[0] == (
        "cudaMemPrefetchAsync((char *)p + 4096, 8388608, 0, stream);"
    )


WITHIN = "/* each allocation within 0x4000000 to 0x47fffff */ "  # 8 MiB from 64 MiB on


@pytest.mark.parametrize(
    ("action", "cuda"),
    [
        ("prefetch", "cudaMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);"),
        ("offload", "cudaMemPrefetchAsync(<allocation>, <its bytes>, cudaCpuDeviceId, stream);"),
        ("pin", "cudaMemAdvise(<allocation>, <its bytes>, cudaMemAdviseSetPreferredLocation, 0);"),
        ("read_mostly", "cudaMemAdvise(<allocation>, <its bytes>, cudaMemAdviseSetReadMostly, 0);"),
        (
            "accessed_by",
            "cudaMemAdvise(<allocation>, <its bytes>, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId); "
            "cudaMemAdvise(<allocation>, <its bytes>, cudaMemAdviseSetAccessedBy, 0);",
        ),
    ],
)
def test_where_no_allocation_is_known_the_line_is_a_template_for_each_in_the_range(action: str, cuda: str) -> None:
    told = lines(Advice(action, 1, "", "low"), _need(granularity="addresses", kind=None), None)
    assert told == (WITHIN + cuda, WITHIN + cuda.replace("cuda", "hip"))
    assert lines(Advice("leave", 0, "", "low"), _need(granularity="addresses"), None) == (None, None)


def test_a_tensor_in_no_known_object_is_told_by_its_own_address() -> None:
    alone = _tensor(2, MIB, 2 * MIB)
    unnamed = _need(granularity="addresses", kind=None, moves=9)
    assert chosen([unnamed, alone], {}, uvm_rules("prefetch")) == [(alone, None)]
    assert lines(Advice("prefetch", 1, "", "high"), alone, None)[0] == (
        "cudaMemPrefetchAsync(<address of the tensor>, 2097152, 0, stream);"
    )


def test_without_kernels_nothing_says_what_a_prefetch_or_a_pin_saves() -> None:
    for kernel_ns in (None, 0):
        need = _need(**BOUNCED, kernel_ns=kernel_ns, cost_ns=0)
        assert saving(Advice("prefetch", 6 * MIB, "", "low"), need, LINK, None) == Saving(838_861, None, None)
        assert saving(Advice("pin", 3 * MIB, "", "low"), need, LINK, None) == Saving(314_573, None, None)


def _tensor(number: int, offset: int, size: int, **more: Any) -> Need:
    return _need(range=number, granularity="tensor", address=64 * MIB + offset, bytes=size, moves=1, **more)


def test_an_object_gives_way_to_its_tensors_where_a_prefetch_of_it_is_mostly_waste() -> None:
    small, large = _tensor(1, 0, MIB // 2), _tensor(2, MIB, 2 * MIB)
    rules, whole = uvm_rules("prefetch"), _need(moves=9)
    # Of 8 MiB one tensor of 2 MiB is touched: 6 MiB, three quarters, would be moved in vain; 512 KiB are too small.
    assert chosen([whole, small, large], {}, rules) == [(large, MIB)]
    full = _tensor(3, 0, 6 * MIB)
    assert chosen([whole, full], {}, rules) == [(whole, None)]
    # All objects together are larger than the device: then only what is needed.
    assert chosen([whole, full], {(1, 0): 7 * MIB}, rules) == [(full, 0)]
    # Of two objects that had the same addresses in turn it is in the one that lived when it was born.
    first, second = _need(moves=9, death_ns=50), _need(range=5, moves=9, birth_ns=60)
    later = _tensor(2, MIB, 2 * MIB, birth_ns=70)
    assert chosen([first, second, later], {}, rules) == [(first, None), (later, MIB)]
    # They take 8 MiB together, since they have the same: less than the device's 9.
    second_full = _tensor(3, 0, 6 * MIB, birth_ns=70)
    assert chosen([first, second, second_full], {(1, 0): 9 * MIB}, rules) == [(first, None), (second, None)]
    untouched = _need(range=4, granularity="tensor", bytes=2 * MIB)
    assert chosen([whole, untouched], {}, rules) == [(whole, None)]
