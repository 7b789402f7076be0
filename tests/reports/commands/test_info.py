from pathlib import Path

from click.testing import CliRunner

from tests.building import build
from tracelode.reports.cli import tracelode


def test_the_longest_kernel_without_a_name_is_told_by_its_time_alone(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1_000_000, "name": None}])
    done = CliRunner().invoke(tracelode, ["info", trace.id, "--archive", str(archive.path)])
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("longest_kernel")]
    assert line == f"{'longest_kernel':<24}1.00\u202fms"
