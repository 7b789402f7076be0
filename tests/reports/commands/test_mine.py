import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from tracelode.mining.sequence import ENCODINGS
from tracelode.reports.cli import main, tracelode
from tracelode.reports.commands import mine
from tracelode.store import Archive

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
RANK0, RANK1 = (str(SAMPLES / "two-ranks" / f"rank{rank}.json.gz") for rank in (0, 1))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(tracelode, ["mine", *arguments], catch_exceptions=True)


def _ok(*arguments: str) -> bytes:
    done = _run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout_bytes


def test_an_analysis_is_shown_with_its_sentence() -> None:
    text = _ok(RANK0, "--analysis", "states").decode()
    assert text.startswith("The device is busy 96.6 % of 36.7 ms")
    assert text.splitlines()[1].split() == ["process", "device", "state", "time_ns", "share", "span_ns"]


def test_a_miner_shows_the_tables_it_derives() -> None:
    document = json.loads(_ok(RANK0, "--analysis", "patterns", "--format", "json"))
    assert sorted(document["data"]) == ["occurrence", "pattern"]
    assert [len(row["symbols"]) for row in document["data"]["pattern"]][:2] == [25, 11]


def test_of_several_traces_each_row_begins_with_its_trace() -> None:
    rows = pl.read_csv(io.BytesIO(_ok(RANK0, RANK1, "--analysis", "states", "--format", "csv")))
    assert rows.columns[0] == "trace_id"
    assert rows["trace_id"].n_unique() == 2
    one = pl.read_csv(io.BytesIO(_ok(RANK1, "--analysis", "states", "--format", "csv")))
    assert rows.filter(pl.col("process") == 41350).drop("trace_id").equals(one)


def test_json_of_several_traces_is_a_document_a_line() -> None:
    lines = _ok(RANK0, RANK1, "--format", "json").splitlines()
    found = [json.loads(line) for line in lines]
    assert len({one["trace_id"] for one in found}) == 2
    assert all(one["schema"] == "tracelode.mine/1" and one["data"]["iteration"] for one in found)
    assert lines[1] + b"\n" == _ok(RANK1, "--format", "json")


def test_text_of_several_traces_names_each() -> None:
    text = _ok(RANK0, RANK1, "--table", "level").decode()
    assert [line for line in text.splitlines() if line.endswith(".json.gz")] == [RANK0, RANK1]


def test_the_first_trace_is_the_base_of_a_comparison() -> None:
    (document,) = [
        json.loads(line) for line in _ok(RANK0, RANK1, "--analysis", "differences", "--format", "json").splitlines()
    ]
    (finding,) = document["findings"]
    assert finding["name"] == "differences"
    (total,) = [row for row in finding["rows"] if row["kind"] == "total"]
    parts = [row["delta_ns"] for row in finding["rows"] if row["kind"] in ("operation", "gaps")]
    assert sum(parts) == pytest.approx(total["delta_ns"], rel=1e-9)


def test_other_symbols_give_other_results_and_are_not_kept() -> None:
    usual = pl.read_csv(io.BytesIO(_ok(RANK0, "--table", "member", "--format", "csv")))
    other = pl.read_csv(io.BytesIO(_ok(RANK0, "--table", "member", "--symbols", "name", "--format", "csv")))
    again = pl.read_csv(io.BytesIO(_ok(RANK0, "--table", "member", "--format", "csv")))
    assert other["symbol"].n_unique() < usual["symbol"].n_unique()
    assert again.equals(usual)


def test_a_trace_given_twice_is_mined_once_and_shown_twice() -> None:
    arguments = ("--table", "level", "--symbols", "name", "--format", "csv")
    once = pl.read_csv(io.BytesIO(_ok(RANK0, *arguments)))
    twice = pl.read_csv(io.BytesIO(_ok(RANK0, RANK0, *arguments)))
    assert twice.drop("trace_id").equals(pl.concat([once, once]))


def test_the_encodings_offered_are_those_there_are() -> None:
    assert mine.ENCODINGS == ENCODINGS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "csv"), "holds one table"),
        (("--analysis", "patterns", "--format", "csv"), "there are: occurrence, pattern"),
        (("--analysis", "differences"), "give the base first"),
    ],
)
def test_what_cannot_be_shown_is_a_usage_error(arguments: tuple[str, ...], words: str) -> None:
    done = _run(RANK0, *arguments)
    assert done.exit_code == 2
    assert words in done.output


def _refused(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Runs the whole command line; the exit code."""
    monkeypatch.setattr(sys, "argv", ["tracelode", "mine", *arguments])
    with pytest.raises(SystemExit) as done:
        main()
    return int(done.value.code or 0)


def test_an_unknown_analysis_is_named_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _refused(monkeypatch, RANK0, "--analysis", "horoscope") == 2
    said = capsys.readouterr().err
    assert "there is no analysis named horoscope" in said
    assert "repeats" in said


def test_a_trace_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("no trace")
    assert _refused(monkeypatch, str(broken), RANK1, "--table", "level", "--format", "csv") == 5
    out, err = capfd.readouterr()
    assert "broken.json" in err
    assert err.splitlines()[-2:] == ["error: 1 of 2 not mined", "hint: the errors above say why"]
    assert out.startswith("trace_id,level,")


def test_without_a_base_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("no trace")
    assert _refused(monkeypatch, str(broken), RANK0, RANK1, "--analysis", "differences") == 5
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error: {broken}: not a trace")
    assert "of 3" not in err


def test_text_of_strangers_commands_no_terminal_and_makes_no_line(tmp_path: Path) -> None:
    name = "a\x1b[2J\nFine\u202e"
    files = [tmp_path / f"{at}\x1b[1m.json" for at in range(2)]
    for at, file in enumerate(files):
        event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": 2 + at}
        file.write_text(json.dumps({"deviceProperties": [], "traceEvents": [event]}))
    arguments = tuple(map(str, files))
    for text in (_ok(*arguments, "--table", "level"), _ok(*arguments, "--analysis", "differences")):
        assert not set(text.decode()) & {"\x1b", "\u202e"}
        assert "\nFine" not in text.decode()
    (line,) = _ok(*arguments, "--analysis", "differences", "--format", "json").splitlines()
    assert name in json.loads(line)["findings"][0]["sentence"]


def test_text_and_json_of_a_trace_are_written_before_the_next_one_is_mined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mined: list[int] = []
    write = mine.write_output

    def spy(data: bytes, output: Path | None) -> None:
        mined.append(len(list(tmp_path.glob("tracelode/*/derived/segments@*/*"))))
        write(data, output)

    monkeypatch.setattr(mine, "write_output", spy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    together = _ok(RANK0, RANK1, "--analysis", "states")
    assert mined == [1, 2]
    _ok(RANK0, RANK1, "--analysis", "states", "-o", str(tmp_path / "states"))
    assert (tmp_path / "states").read_bytes() == together
    assert len(mined) == 3


def test_the_catalogue_of_an_archive_is_made_anew_once_for_all_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = str(tmp_path / "archive")
    assert CliRunner().invoke(tracelode, ["ingest", RANK0, RANK1, "--archive", archive]).exit_code == 0
    ids = [manifest.id[:12] for manifest in Archive(archive).manifests()]
    made: list[Path] = []
    catalogue = Archive.catalogue
    monkeypatch.setattr(Archive, "catalogue", lambda self: made.append(catalogue(self)))
    _ok(*ids, "--archive", archive, "--analysis", "states")
    assert made == [tmp_path / "archive" / "catalog.duckdb"]
    _ok(*ids, "--archive", archive, "--analysis", "states")
    assert len(made) == 1
    # What was derived before the fault is shown as well.
    assert _run(*ids, "--archive", archive, "--analysis", "patterns", "--format", "csv").exit_code == 2
    assert len(made) == 2


def test_mined_tables_are_in_the_catalogue_of_an_archive(tmp_path: Path) -> None:
    import duckdb

    archive = str(tmp_path / "archive")
    ingested = CliRunner().invoke(tracelode, ["ingest", RANK0, "--archive", archive])
    assert ingested.exit_code == 0, ingested.output
    (manifest,) = Archive(archive).manifests()
    _ok(manifest.id[:12], "--archive", archive, "--table", "level")
    with duckdb.connect(f"{archive}/catalog.duckdb", read_only=True) as client:
        assert client.sql("select count(*) > 0 from iteration").fetchall() == [(True,)]


def test_the_same_trace_gives_the_same_bytes_when_all_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: list[bytes] = []
    for name in ("one", "two"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        outputs.append(_ok(RANK1, "--format", "json") + _ok(RANK0, RANK1, "--analysis", "differences"))
    assert outputs[0] == outputs[1]
