"""The lines that AMD's kernel driver writes; those with ids are the examples of rocprofiler-sdk's own tests."""

import pytest

from tracelode.collect.kfd_events import Event, Pairs, event_of


def told(line: str) -> Event:
    event = event_of(line)
    assert event is not None
    return event


@pytest.mark.parametrize(
    ("line", "name", "process", "time", "said"),
    [
        (
            "5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:0 1",
            *("migrate start", 152990, 14601738586508),
            {"page": 0x7F0F15200, "pages": 0x2C02, "source": 0, "target": 0x1EA0, "prefetch": 0x1EA0, "preferred": 0}
            | {"trigger": 1},
        ),
        (
            "6 15202910515905 -152990 @7f0f15200(2c02) 0->1ea0 1 75",
            *("migrate end", 152990, 15202910515905),
            {"page": 0x7F0F15200, "pages": 0x2C02, "source": 0, "target": 0x1EA0, "trigger": 1, "error": 75},
        ),
        ("6 9 -1 @1(2) 0->3 1", "migrate end", 1, 9, {"page": 1, "pages": 2, "source": 0, "target": 3, "trigger": 1}),
        (
            "6 9 -1 @1(2) 0->3 1 -14",
            *("migrate end", 1, 9),
            {"page": 1, "pages": 2, "source": 0, "target": 3, "trigger": 1, "error": -14},
        ),
        (
            "7 40507688414784 -156893 @7fa608127(ad5c) R",
            *("page fault start", 156893, 40507688414784),
            {"page": 0x7FA608127, "node": 0xAD5C, "access": "R"},
        ),
        (
            "8 40507688514376 -156893 @7fa608127(ad5c) U",
            *("page fault end", 156893, 40507688514376),
            {"page": 0x7FA608127, "node": 0xAD5C, "resolved": "U"},
        ),
        (
            "9 38086928279363 -125752 1ea0 3",
            *("queue eviction", 125752, 38086928279363, {"node": 0x1EA0, "trigger": 3}),
        ),
        ("a 38652512365099 -131057 fc7d", "queue restore", 131057, 38652512365099, {"node": 0xFC7D}),
        ("a 38652512365099 -131057 fc7d 0", "queue restore", 131057, 38652512365099, {"node": 0xFC7D, "again": "0"}),
        ("a 38652512365099 -131057 fc7d \0", "queue restore", 131057, 38652512365099, {"node": 0xFC7D, "again": ""}),
        ("a 40082605896929 -148516 fc7d R", "queue restore", 148516, 40082605896929, {"node": 0xFC7D, "again": "R"}),
        (
            "b 15203214457186 -152990 @7f93ac200(200) 1ea0 2",
            *("unmap from gpu", 152990, 15203214457186),
            {"page": 0x7F93AC200, "pages": 0x200, "node": 0x1EA0, "trigger": 2},
        ),
        ("e 18203445217186 -323990 5", "dropped events", 323990, 18203445217186, {"count": 5}),
        ("c a0f0 python3", "process start", 41200, None, {"task": "python3"}),
        ("1 a0f0:my task", "vm fault", 41200, None, {"task": "my task"}),
        ("2 0:ff", "thermal throttle", 0, None, {"bitmask": "0", "count": "ff"}),
        ("3 1 ring gfx hang", "gpu pre-reset", 0, None, {"number": "1", "reason": "ring gfx hang"}),
        ("4 1", "gpu post-reset", 0, None, {"number": "1"}),
    ],
)
def test_every_event_is_understood(
    line: str, name: str, process: int, time: int | None, said: dict[str, object]
) -> None:
    event = told(line)
    assert (event.name, event.process, event.time_ns, event.said) == (name, process, time, said)


@pytest.mark.parametrize(
    "line",
    [
        *("", "7", "7 ", "f 1 -2 3", "ff 1 -2 3", "100 1 -2 3", "0 1 -2 3", "5 1 2 @3(4) 0->5 0:0 1"),
        *("7 1 -2 @3(4) X", "7 1 -2 @3(4) R ", "7 1 -2 @g(4) R", "5 1 -2 @3(4) 0->5 0:0", "7 -1 -2 @3(4) R"),
        *("7 9223372036854775807 -2 @3(4) R", "7 1 -2 @00000000000000003(4) R", "8 1 -2 @3(4) R"),
    ],
)
def test_what_the_driver_does_not_write_is_no_event(line: str) -> None:
    assert event_of(line) is None


def test_of_begins_alike_the_first_ends_first_and_others_are_not_theirs() -> None:
    pairs = Pairs()
    lines = ("7 10 -1 @5(2) R", "7 11 -1 @5(2) W", "7 12 -1 @5(3) R", "7 13 -9 @5(2) R", "7 14 -1 @6(2) R")
    for line in lines:
        pairs.begin(told(line))
    ends = [pairs.end(told("8 20 -1 @5(2) M")) for _ in range(3)]
    assert [end and end.time_ns for end in ends] == [10, 11, None]
    assert [left.time_ns for left in pairs.left()] == [12, 13, 14]


def test_a_move_ends_with_the_same_pages_way_and_trigger_only() -> None:
    pairs = Pairs()
    pairs.begin(told("5 10 -1 @5(2) 0->3 0:0 1"))
    for other in ("6 20 -1 @5(3) 0->3 1", "6 20 -1 @5(2) 3->0 1", "6 20 -1 @5(2) 0->3 0", "6 20 -2 @5(2) 0->3 1"):
        assert pairs.end(told(other)) is None
    assert pairs.end(told("6 20 -1 @5(2) 0->3 1 0")) is not None
