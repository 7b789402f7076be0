import json
import multiprocessing
from pathlib import Path

import pytest

from tracelode.store import Archive, ArchiveError
from tracelode.store.history import Damage, History, Record, key_of


def put_many(folder: Path, first: int) -> None:
    for number in range(first, first + 20):
        History(folder).put("runs", "series", key_of(number), {"number": number})


def test_a_record_comes_back_as_it_went_in(tmp_path: Path) -> None:
    history = History(tmp_path)
    content = {"name": "night\ud800 ü", "values": {"a": 1.5, "b": None}}
    history.put("runs", "abc", "key", content)
    assert history.read("runs") == [Record("abc", "key", content)]
    assert history.keys("runs") == {"key"}
    assert history.read("decisions") == []
    assert list((tmp_path / ".staging").iterdir()) == []


def test_records_are_read_by_series_and_key(tmp_path: Path) -> None:
    history = History(tmp_path)
    for series, key in (("b", "2"), ("a", "9"), ("b", "1")):
        history.put("decisions", series, key, {})
    assert [(one.series, one.key) for one in history.read("decisions")] == [("a", "9"), ("b", "1"), ("b", "2")]
    assert [one.key for one in history.read("decisions", "b")] == ["1", "2"]


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.put("runs", "abc", "key", {"number": 1})
    history.put("runs", "abc", "key", {"number": 2})
    assert history.read("runs")[0].content == {"number": 1}


def test_eight_writers_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=put_many, args=(tmp_path, 10 * (at % 4))) for at in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert sorted(one.content["number"] for one in History(tmp_path).read("runs")) == list(range(50))


def test_a_record_with_any_byte_flipped_is_refused_and_named_by_fsck(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.history().put("runs", "abc", "key", {"number": 1.25, "name": "x"})
    path = tmp_path / "history" / "runs" / "abc" / "key.json"
    content = path.read_bytes()
    assert list(archive.fsck()) == []
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        try:
            same = archive.history().read("runs") == [Record("abc", "key", {"number": 1.25, "name": "x"})]
        except ArchiveError as error:
            assert error.exit_code == 6
            assert [damage.file for damage in archive.fsck()] == ["history/runs/abc/key.json"]
        else:
            assert same  # white space between the two entries
    path.write_bytes(content[:-20])
    with pytest.raises(ArchiveError, match=r"key\.json: is damaged"):
        archive.history().read("runs")


def test_a_number_that_became_infinite_is_damage_and_a_lost_decision_is_not_measured_anew(tmp_path: Path) -> None:
    history = History(tmp_path)
    for shelf, hint in (("runs", "a run is measured anew"), ("decisions", "the decision is to be made again")):
        history.put(shelf, "abc", "key", {"number": 1e-05})
        path = tmp_path / "history" / shelf / "abc" / "key.json"
        path.write_text(path.read_text().replace("1e-05", "1e905"))
        with pytest.raises(ArchiveError, match=r"key\.json: is damaged") as told:
            history.read(shelf)
        assert hint in told.value.hint
    assert [fault for _, fault in history.damaged()] == ["is damaged"] * 2


def test_what_is_sound_is_read_past_what_is_damaged(tmp_path: Path) -> None:
    history = History(tmp_path)
    for key in ("one", "two"):
        history.put("runs", "abc", key, {"key": key})
    path = tmp_path / "history" / "runs" / "abc" / "one.json"
    path.write_text("{")
    damage: Damage = {}
    assert [record.key for record in history.read("runs", damage=damage)] == ["two"]
    assert [(where, error.message) for where, error in damage.items()] == [(path, f"{path}: is damaged")]
    assert damage[path].hint.endswith(f"then check the rest: tracelode fsck --archive {tmp_path}")


def test_the_file_is_plain_json_with_its_digest(tmp_path: Path) -> None:
    History(tmp_path).put("runs", "abc", "key", {"b": 1, "a": 2})
    told = json.loads((tmp_path / "history/runs/abc/key.json").read_text())
    assert told == {
        "sha256": "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
        "content": {"a": 2, "b": 1},
    }


def test_a_disk_that_takes_nothing_is_an_archive_error(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file where the folder should be")
    with pytest.raises(ArchiveError, match="history"):
        History(tmp_path).put("runs", "abc", "key", {})


def test_a_key_tells_contents_apart() -> None:
    assert key_of(1, "a") == key_of(1, "a")
    assert len({key_of(1, "a"), key_of(1, "b"), key_of([1, "a"]), key_of("1", "a")}) == 4
