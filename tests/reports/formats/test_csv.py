import csv
from io import StringIO

from tests.browser.hostile import HOSTILE
from tests.reports.formats.judged import ABSENT, SLOWER, judged
from tests.reports.formats.small import small
from tracelode.reports.formats.csv import SUFFIX, files, render
from tracelode.reports.report import Column, Report, Section, Table
from tracelode.reports.rows import csv_cell
from tracelode.store.parts import load


def test_the_tables_stand_one_below_the_other_with_exact_numbers() -> None:
    assert render(small()) == (
        "kernels,Kernels\n"
        "Kernel,Calls,Total (ns),Share,Note\n"
        "void at::native::add<float>(float*),1234,9876543,0.7654,\n"
        "gemm [clone .kd] [/bold],7,2500000,0.1937,<new>\n"
        "copy\x1b[31m,9007199254740993,527000,0.0409,x\n"
        "\n"
        "kernels,Gaps\n"
        "Cause\n"
    )


def test_a_folder_gets_a_file_for_each_table_with_the_columns_of_the_json_report() -> None:
    found = files(small())
    assert list(found) == ["01-kernels-kernels.csv", "02-kernels-gaps.csv"]
    assert found["01-kernels-kernels.csv"].splitlines()[0] == "name,calls,total_ns,share,note"
    assert found["02-kernels-gaps.csv"] == "cause\n"


def test_checks_come_first_with_exact_numbers() -> None:
    assert render(judged(SLOWER, ABSENT)) == (
        "checks,Checks\n"
        "series,metric,title,unit,verdict,sentence,value,baseline,low,high\n"
        '5f1e0a,iteration_p50_ns,"Iteration time, median",ns,regression,Three runs are above the limit.,'
        "10650000.0,10000000.0,9700000.0,10300000.0\n"
        "77aa00,uvm_bytes,UVM bytes,bytes,inconclusive,Not collected.,,,,\n"
    )
    assert list(files(judged(SLOWER))) == ["01-checks-checks.csv"]


def test_it_is_found_by_its_suffix() -> None:
    assert load("format", "csv").SUFFIX == SUFFIX == ".csv"


def test_no_name_is_a_formula_and_none_leaves_its_cell() -> None:
    names = [*HOSTILE, "=1+1", "+1", "-1", "@a", "\ta", "a\nb", 'a"b', "a,b"]
    table = Table("=c", (Column("n", "=N"),), [{"n": name} for name in names], "")
    page = render(Report("perf", "t", "v", "a" * 64, (), (), (Section("=k", "h", "", (table,)),)))
    rows = list(csv.reader(StringIO(page, newline="")))
    assert rows == [["'=k", "'=c"], ["'=N"], *([csv_cell(name)] for name in names)]


def test_names_of_files_hold_no_path() -> None:
    table = Table("../../etc/passwd\x00", (Column("n", "N"),), [], "")
    assert list(files(Report("perf", "t", "v", "a" * 64, (), (), (Section("../k", "h", "", (table,)),)))) == [
        "01-k-etc-passwd.csv"
    ]
