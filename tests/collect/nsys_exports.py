"""The same tables of an Nsight Systems recording, written in each form that it can be exported in."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from data.generator import nsys_forms
from data.generator.nsys_forms import arrow, tables_of
from tests.collect.reading import Tables, write
from tracelode.collect.readers import nsys, nsys_arrow, nsys_jsonl, nsys_parquet

__all__ = ["FORMS", "arrow", "tables_of", "write_arrow", "write_arrow_folder", "write_lines", "write_parquet"]


def write_parquet(folder: Path, tables: Tables) -> Path:
    """Writes `--type parquetdir`."""
    path = folder / "report_pqtdir"
    nsys_forms.write_parquet(path, tables)
    return path


def write_arrow(folder: Path, tables: Tables) -> Path:
    """Writes `--type arrow` in small batches."""
    path = folder / "report.arrows"
    nsys_forms.write_arrow(path, tables, batch_rows=3)
    return path


def write_arrow_folder(folder: Path, tables: Tables) -> Path:
    """Writes `--type arrowdir`."""
    path = folder / "report_arwdir"
    nsys_forms.write_arrow_folder(path, tables)
    return path


def write_lines(folder: Path, tables: Tables) -> Path:
    """Writes `--type jsonlines`."""
    path = folder / "report.jsonl"
    nsys_forms.write_lines(path, tables)
    return path


def write_database(folder: Path, tables: Tables) -> Path:
    """Writes `--type sqlite`."""
    return write(folder / "report.sqlite", tables)


FORMS: dict[str, tuple[ModuleType, Callable[[Path, Tables], Path]]] = {
    "sqlite": (nsys, write_database),
    "parquetdir": (nsys_parquet, write_parquet),
    "arrow": (nsys_arrow, write_arrow),
    "arrowdir": (nsys_arrow, write_arrow_folder),
    "jsonlines": (nsys_jsonl, write_lines),
}
"""Each form's reader, and how it is written into a folder."""
