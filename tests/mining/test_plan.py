"""P60: a plan as a file; whatever is wrong with one is told, and nothing else comes of it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.plan import Key, Plan, Prefetch, Step, read_plan, write_plan
from tracelode.store import Error

KEYS = (Key("managed", 1 << 20, None, 0), Key("managed", 1 << 20, "weights", 1))
PLAN = Plan("a" * 64, "tensor", "accesses", 1 << 20, 1, KEYS, (Step("gemm<float>", 3, (Prefetch(1, 65536, 65536),)),))
TEXT = """\
{
 "format": "tracelode.uvm-plan",
 "version": 1,
 "trace": "t",
 "level": "object",
 "evidence": "faults",
 "capacity_bytes": 100,
 "look_ahead": 1,
 "memory": [
  {
   "kind": "managed",
   "bytes": 64,
   "owner": null,
   "occurrence": 0
  }
 ],
 "steps": [
  {
   "before": {
    "kernel": "\\u03c0",
    "occurrence": 0
   },
   "prefetch": [
    {
     "memory": 0,
     "offset": 0,
     "bytes": 64
    }
   ]
  }
 ]
}
"""


def test_a_plan_is_written_like_this_and_read_back() -> None:
    plan = Plan("t", "object", "faults", 100, 1, (Key("managed", 64, None, 0),), (Step("π", 0, (Prefetch(0, 0, 64),)),))
    assert write_plan(plan) == TEXT
    assert read_plan(TEXT.encode()) == plan
    assert plan.bytes == 64


EMPTY = Plan("t", "object", "faults", 100, 1, (), (), "nothing names its steps")


def test_an_empty_plan_says_why_and_one_written_without_that_is_read_all_the_same() -> None:
    text = write_plan(EMPTY)
    assert text.endswith(' "steps": [],\n "why_empty": "nothing names its steps"\n}\n')
    assert read_plan(text.encode()) == EMPTY
    told = json.loads(text)
    del told["why_empty"]
    assert read_plan(json.dumps(told).encode()).why_empty is None


def test_a_plan_with_steps_is_not_empty() -> None:
    assert _refused(_told() | {"why_empty": "why"}) == "plan: top level: 'why_empty' is not known"
    for value in ("", 5, None, []):
        assert "why_empty: no text" in _refused(json.loads(write_plan(EMPTY)) | {"why_empty": value})


def _told() -> dict[str, Any]:
    return json.loads(write_plan(PLAN))


def _refused(told: Any) -> str:
    with pytest.raises(Error, match="plan: ") as caught:
        read_plan(json.dumps(told).encode())
    return caught.value.message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "other"),
        (["version"], 2),
        (["version"], True),
        (["version"], 1.0),
        (["trace"], ""),
        (["level"], "page"),
        (["level"], []),
        (["evidence"], None),
        (["capacity_bytes"], 0),
        (["capacity_bytes"], 2**63),
        (["look_ahead"], -1),
        (["memory"], {}),
        (["memory", 0, "bytes"], 0),
        (["memory", 0, "kind"], None),
        (["memory", 0, "owner"], 5),
        (["memory", 1], {"kind": "managed", "bytes": 1 << 20, "owner": None, "occurrence": 0}),  # the first again
        (["steps"], "all"),
        (["steps", 0], 1),
        (["steps", 0, "before", "kernel"], "k" * 65_537),
        (["steps", 0, "before", "occurrence"], "0"),
        (["steps", 0, "prefetch", 0, "memory"], 2),
        (["steps", 0, "prefetch", 0, "offset"], (1 << 20) - 65_535),  # ends one byte behind its object
        (["steps", 0, "prefetch", 0, "bytes"], 0),
    ],
)
def test_a_wrong_value_is_refused(path: list[Any], value: Any) -> None:
    told = _told()
    place = told
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    _refused(told)


def test_another_format_or_version_is_told_before_what_it_lacks() -> None:
    told = "plan: not tracelode.uvm-plan, version 1"
    assert _refused({"format": "tracelode.uvm-plan", "version": 2}) == told
    assert _refused({"traceEvents": []}) == told


def test_a_field_too_many_or_too_few_is_refused_by_its_name() -> None:
    assert _refused(_told() | {"extra": 1}) == "plan: top level: 'extra' is not known"
    told = _told()
    del told["steps"][0]["before"]
    assert "steps[0]: 'before' is missing" in _refused(told)


def test_a_field_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(Error, match="a field stands there twice"):
        read_plan(TEXT.replace('"version": 1,', '"version": 1, "version": 1,').encode())


def test_a_step_that_exceeds_the_device_is_refused() -> None:
    told = _told()
    told["steps"][0]["prefetch"] *= 17  # 17 times 64 KiB are more than 1 MiB
    assert "more than the device's" in _refused(told)


def test_two_steps_of_one_execution_are_refused() -> None:
    told = _told()
    told["steps"] *= 2
    assert "two of the same execution" in _refused(told)


@pytest.mark.parametrize(
    "text", [b"", b"[", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b"null", b"[1]", b"1e999"]
)
def test_what_is_no_plan_is_refused(text: bytes) -> None:
    with pytest.raises(Error, match="plan: "):
        read_plan(text)


@settings(max_examples=40)
@given(st.integers(0, len(TEXT) - 1), st.binary(max_size=3))
def test_cut_and_changed_bytes_are_a_plan_or_an_error(at: int, junk: bytes) -> None:
    content = TEXT.encode()
    for text in (content[:at], content[:at] + junk + content[at + 1 :]):
        try:
            assert read_plan(text).capacity_bytes >= 1
        except Error as error:
            assert error.message.startswith("plan: ")


@settings(max_examples=40)
@given(st.text(min_size=1), st.integers(0, 2**63 - 1), st.none() | st.text(min_size=1))
def test_any_names_come_back(kernel: str, occurrence: int, owner: str | None) -> None:
    step = Step(kernel, occurrence, (Prefetch(0, 0, 1),))
    plan = Plan("t", "object", "faults", 1, 0, (Key("managed", 1, owner, 0),), (step,))
    assert read_plan(write_plan(plan).encode()) == plan
