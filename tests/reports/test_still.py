import re

import numpy as np

from tests.reports.formats.small import TIMELINE
from tracelode.reports.report import Lane, Timeline
from tracelode.reports.still import COLUMNS, still


def test_each_lane_is_a_strip_with_its_busy_share() -> None:
    text = still(TIMELINE).text
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert labels == [
        "stream 7: busy 70.0\u202f%",
        "stream 8: busy 10.0\u202f%",
        "0\u202fns after the beginning",
        "1.00\u202fµs",
    ]
    assert 'aria-label="All operations, from the first operation to the last, 1.00\u202fµs later."' in text


def test_a_column_is_painted_where_something_runs_in_the_colour_of_the_name_with_most_time() -> None:
    lane = Lane("x", np.array([0, 340]), np.array([34, 340]), np.array([0, 1]))
    text = still(Timeline("T", 0, ["short", "long"], [lane], "")).text
    paths = {fill: d for d, fill in re.findall(r'<path d="([^"]*)" fill="([^"]*)" opacity="1.0"', text)}
    columns = {fill: [int(x) for x in re.findall(r"M(\d+) ", d)] for fill, d in paths.items()}
    assert columns == {"#e69f00": list(range(34)), "#1b7fc1": list(range(340, COLUMNS))}


def test_hostile_labels_stay_text_and_lanes_beyond_the_first_are_counted() -> None:
    lanes = [Lane("<script>x", np.array([0]), np.array([1]), np.array([0]))] * 20
    text = still(Timeline("<b>", 0, ["a"], lanes, "")).text
    assert "<script>" not in text
    assert "4 more lanes are not shown." in text
