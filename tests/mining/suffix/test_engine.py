import numpy as np
import pytest

from tracelode.mining.suffix import build, device, engine


def test_short_texts_stay_on_the_cpu_wherever_there_is_a_device(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device, "is_there", lambda: True)
    monkeypatch.setattr(device, "has_room", lambda size: size < 40_000_000)
    assert engine.choose(engine.LEAST_FOR_DEVICE - 1) == "cpu"
    assert engine.choose(engine.LEAST_FOR_DEVICE) == "cuda"
    assert engine.choose(40_000_000) == "cpu"
    assert engine.choose(2**31 - 2) == "cpu"


def test_without_a_device_the_cpu_sorts_long_texts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device, "is_there", lambda: False)
    assert engine.choose(engine.LEAST_FOR_DEVICE) == "cpu"


def test_the_cpu_sorts_what_the_device_has_no_memory_for_after_all(monkeypatch: pytest.MonkeyPatch):
    def full(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(engine, "choose", lambda _: "cuda")
    monkeypatch.setattr(device, "sort", full)
    structure = build(np.array([1, 0, 1], np.int32))
    assert structure.engine == "cpu"
    assert structure.sa.tolist() == [1, 2, 0]
    with pytest.raises(MemoryError):
        build(np.array([1, 0, 1], np.int32), engine="cuda")


@pytest.mark.parametrize("name", ["cpu", "array"])
def test_an_engine_that_is_named_is_the_one_used(name: str):
    assert build(np.arange(3, dtype=np.int32), engine=name).engine == name


def test_an_engine_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no engine 'fpga': there are cpu, array, cuda"):
        build(np.arange(3, dtype=np.int32), engine="fpga")


def test_a_text_too_long_for_the_array_engine_is_refused_before_any_work():
    symbols = np.broadcast_to(np.int32(0), engine.MOST_FOR_ARRAYS + 1)
    with pytest.raises(ValueError, match="too long for the engine 'array': use 'cpu'"):
        engine.sort_with("array", symbols)
