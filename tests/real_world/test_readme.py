import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = [line.split("|")[1:-1] for line in (HERE / "README.md").read_text().splitlines() if re.match(r"\| [\d–]", line)]


def test_every_complaint_has_a_row() -> None:
    numbers: list[int] = []
    for number, *_ in ROWS:
        for part in number.split(","):
            ends = [int(n) for n in re.findall(r"\d+", part)]
            numbers += range(ends[0], ends[-1] + 1) if ends else []
    assert sorted(numbers) == list(range(1, 67))


def test_every_row_names_tests_that_are_there_or_is_not_about_input() -> None:
    for number, complaint, tests in ROWS:
        named = re.findall(r"((?:\w+/)*test_\w+)", tests)
        assert named or tests.strip().startswith("not about input"), number
        for name in named:
            path = HERE.parent / f"{name}.py" if "/" in name else HERE / f"{name}.py"
            assert path.exists(), f"{complaint.strip()}: {name}"
