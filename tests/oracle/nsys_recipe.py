"""Output of the recipes of Nsight Systems: ranges with projected times. Arrow decodes the files, and nothing else."""

from pathlib import Path

import pyarrow.parquet as pq

from tests.oracle.nsys_parquet import cells
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows

TIMES = ("Projected Start", "Projected Duration")
WANTED = {"Name", "PID", "TID", *TIMES}


def read(path: Path) -> Rows:
    found: list[Row] = []
    for member in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        names = pq.read_schema(member).names
        if not {"Name", *TIMES} <= set(names):
            continue
        for row in cells(member, WANTED):
            start, length, process = row[TIMES[0]], row[TIMES[1]], row.get("PID")
            if start is None or length is None or process is None:
                raise Damaged("a range without a time or a process")
            if any(type(value) is not int for value in (start, length, process)):
                raise Odd("a number that is no whole one")
            name = row["Name"]  # bytes, where the schema has lost that they are text
            name = name.decode() if isinstance(name, bytes) else name
            found.append((process, row.get("TID"), start, start + length, name))
    return rows(range=found)
