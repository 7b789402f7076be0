"""What mutants have found, each as the smallest change to a sample that shows it."""

import gzip
import shutil
import sqlite3
import tracemalloc
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.mutation.mutate import mutant
from tests.samples import sample
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read
from tracelode.collect.jsonrepair import load, text_of
from tracelode.store import Archive, Trace, UnreadableFile


def changed(format: str, old: bytes, new: bytes, folder: Path) -> Trace:
    """The trace of a sample in which the first place with those bytes has others."""
    path = folder / "files" / sample(format).name
    shutil.copytree(sample(format).parent, path.parent)
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))
    trace, _ = read(path, Archive(folder / "archive"))
    return trace


NOTED = [
    ("execution_trace", b'"pid": 4711,', b'"pid": 4711', "mended"),
    ("execution_trace", b'"nodes": [', b'"nodes": [,', "mended"),
    ("kfd_smi", b"0->7fef 1 0\n", b"0->7fef 1 9\n", "failed-move"),
    ("kfd_smi", b"(7fef) R", b"(7fee) R", "unknown-agent"),
    ("kfd_smi", b"\n8 864", b"\n8  64", "not-understood"),
    ("kfd_smi", b"(10) 0->7fef 1 0", b"(11) 0->7fef 1 0", "without-begin"),
    ("kfd_smi", b'"gpus"', b"'gpus'", "bad-header"),
    ("rocpd", b"CPUAMD EPYC", b"XPUAMD EPYC", "unknown-processor"),
    ("rocprofv3_json", b'"bytes": 65536,', b'"bytes": 1e308,', "no-number"),
    ("rocprofv3_json", b'"x": 256', b'"x": 2.5', "no-number"),
    ("rocprofv3_json", b'"dst_agent_id"', b'"dst-agent_id"', "no-number"),
    ("rocprofv3_json", b'"error_code": 0', b'"error_code": 1.5', "no-number"),
    ("rocprofv3_json", b'"end_timestamp": 86400001406432,', b"", "no-number"),
    ("rocprofv3_json", b"WRITE_FAULT_UPDATED", b"WRIXE_FAULT_UPDATED", "unnamed-operation"),
    ("unified_memory", b'"count": 3', b'"count": -3', "no-number"),
    ("kineto", b'"name": "cudaMemcpyAsync"', b'"name": "\xffMemcpyAsync"', "invalid-utf8"),
    ("nsys_jsonl", b"small_gemm", b"small\xffgemm", "bad-text"),
    ("nsys_jsonl", b"ProfilerStep#0", b"ProfilerStep\xff0", "bad-text"),
    ("nsys_jsonl", b'"name": "python3", ', b'"name": "\xff", "more": [1], ', "bad-text"),
    ("nvprof_text", b"[CUDA memset]", b"\xff[CUDA memset]", "invalid-utf8"),
    ("nvprof_text", b"65536.000000", b"-1", "negative-size"),
    ("nvprof_text", b",,65536.000000,", b",,,", "no-size"),
    ("nvprof_text", b'"Size"', b'"Sice"', "unknown-column"),
    ("nvprof_text", b'[CUDA memcpy HtoD]",1\n', b'[CUDA memcpy HtoD]",\n', "no-correlation"),
    ("nvprof_text", b"1.007738,4.259000", b"1.007738,-4.259000", "negative-duration"),
    ("nvprof_text", b"1.007738,4.259000", b"1.007738,", "no-end"),
    ("nvprof_text", b"1.007738,4.259000", b"-1.007738,4.259000", "lost-line"),
    ("nvprof_text", b'[CUDA memcpy HtoD]",1\n', b'[CUDA memcpy HtoD]",1e308\n', "no-number"),
    ("nvprof_text", b",4,1,1,128,1,1,122", b",4,1,1,128,1,1,4294967296", "no-number"),
    ("nvprof_text", b",4,1,1,128,1,1,122", b",\\4,1,1,128,1,1,122", "unknown-work"),
    ("nvprof_text", b'gemm_f32_f32_f32_tn_n_tilesize64x64x8_kernel",3\n', b'gemm","1","7","other",4\n', "lost-line"),
    ("perfetto", b"\x18\x02P\x11\xf9", b"\x18\x02Q\x11\xf9", "bad-packet"),
    ("perfetto", b"\x18\x02P\x11\xf9", b"\x10\x02P\x11\xf9", "no-category"),
    ("perfetto", b"\x18\x02P\x11\xf9", b"\x18\x02\x10\x11\xf9", "unnamed-call"),
    ("perfetto", b'"\x04\x08\x04\x18\x11', b'"\x04\x08\x04\x10\x11', "no-correlation"),
    ("perfetto", b"THREAD 1", b"\xff\xff\xff\xff\xff\xff\xff\xff", "invalid-utf8"),
    ("perfetto", b"\x08\xb7\xc2\x02\x12", b"\x08\xb7\xff\xff\xff", "damaged-track"),
    ("rocprof_v1", b'"ph": "X"', b'"ph": "Q"', "unknown-event"),
    (
        "rocprof_v1",
        b'"CopyHostToDevice", "pid": "41200"',
        b'"CopyHostToDevice", "pid": "9223372036854775808"',
        "incomplete",
    ),
    ("rocprof_v1", b'"ph": "M", "pid": 1', b'"ph": "M", "pad": 1', "damaged-track"),
    ("rocprof_v1", b'"BeginNs": "', b'"BeginNs": "x', "coarse-times"),
    ("rocprofv3_json", b'"kernel_symbols"', b'"kernel_zymbols"', "unnamed-kernel"),
    ("rocprofv3_json", b'"pid": 41200', b'"pid": -9223372036854775809', "no-process"),
    ("rocprofv3_json", b'"kind": 3,', b'"kind": 33,', "unnamed-operation"),
    ("rpd_json", b'"ph": "X"', b'"ph": "Q"', "unknown-event"),
    ("rpd_json", b'"args": {"name": "GPU2"}', b'"arks": {"name": "GPU2"}', "damaged-track"),
    ("rpd_json", b'"dur"', b'"dux"', "no-end"),
    ("rpd_json", b'{"pid": "41200"', b'{"pid": "41201"', "no-process"),
    ("rocprofv3_csv", b'"void small::', b'"void "small::', "loose-quote"),
    ("rocprofv3_csv", b"41200,2,10,", b"{},2,10,", "no-number"),
    ("nvprof_text", b'"20","nccl', b'"20","nccl" ', "loose-quote"),
    ("nvprof_text", b"==41200== Profiling result:\n", b"", "no-process"),
    ("rocprofv3_json", b'"operation": 6,\n      "thread_id"', b'"operation": 6,\n      "txread_id"', "no-thread"),
    ("rocprofv3_json", b'"correlation_id"', b'"correlation_ix"', "no-correlation"),
    ("rocprofv3_json", b'"handle": 9', b'"handle": 7', "unknown-agent"),
    ("rpd_json", b'"desc": "Kernel', b'"desx": "Kernel', "undescribed-work"),
    ("rocprof_v1", b'"pid": "41200"', b'"pid": "41 00"', "no-process"),
    ("perfetto", b"\x08\x032\x13", b"\x08\x7f2\x13", "unknown-name"),
    ("perfetto", b'"\x06\x08\x02\x18', b'"\x06\x18\x02\x18', "unknown-name"),
    ("xplane", b"size:65536", b"sixe:65536", "no-size"),
    ("xplane", b'MemcpyH2D"', b'MemcpyX2D"', "no-direction"),
    ("xplane", b"\x08\x04*Nregs", b"\x08\x5e*Nregs", "unknown-name"),
    ("xplane", b'"R\x08\x04*N', b" R\x08\x04*N", "bad-event"),
    ("nsys_arrow", b"TYPE\0\0\0\0\n\0\0\0table_name", b"TYPE\0\0\0\0\n\0\0\0tabld_name", "unnamed-table"),
    ("memory_snapshot", b"allocX\x04\0\0\0addr", b"allocX\x04\0\0\0addx", "bad-entry"),
    ("memory_snapshot", b"time_us", b"time_ux", "untimed-entry"),
    ("memory_snapshot", b"device_traces", b"device_trbces", "no-history"),
    ("memory_snapshot", b"address", b"addrexx", "no-place"),
    ("memory_snapshot", b"time_us\x8a\x07", b"time_us\x8a\x08\x7f", "out-of-range"),
    ("xplane", b"small::reduce_kernel", b"small::\xffeduce_kernel", "invalid-utf8"),
]


@pytest.mark.parametrize(("format", "old", "new", "note"), NOTED)
def test_what_is_lost_or_changed_is_noted(format: str, old: bytes, new: bytes, note: str, tmp_path: Path) -> None:
    assert note in {one.kind for one in changed(format, old, new, tmp_path).notes}


def test_two_printed_rows_that_run_into_one_are_no_kernel_with_a_long_name(tmp_path: Path) -> None:
    old = b'gemm_f32_f32_f32_tn_n_tilesize64x64x8_kernel",3\n'
    trace = changed("nvprof_text", old, b'gemm_f32,16,1,1,"Tesla (0)","1","7","other",4\n', tmp_path)
    assert len(trace.kernel.collect()) == 26


@pytest.mark.parametrize("depth", [150, 500, 3000])
@pytest.mark.parametrize("around", [(b'{"args": {"', b'desc": "x"}}'), (b'{"ts', b'": 1, "args": {"a": 1}}')])
def test_brackets_behind_a_missing_quote_are_no_recursion_error(depth: int, around: tuple[bytes, bytes]) -> None:
    for opening in (b'{"a":', b"["):
        with suppress(ValueError):  # beyond mending is a fine answer
            assert text_of(load(around[0] + opening * depth + around[1])[0])


def test_a_long_text_without_an_end_takes_no_more_memory_than_it_has() -> None:
    raw = b'{"a": [1, nan], "b": [' + b"[" * 300 + b'"' + b"1" * (1 << 22)
    tracemalloc.start()
    try:
        with suppress(ValueError):
            load(raw)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(raw)
    finally:
        tracemalloc.stop()


def test_a_small_package_that_grows_comes_in_blocks_of_a_few_megabytes(tmp_path: Path) -> None:
    path, content = tmp_path / "bomb.gz", b'{"traceEvents": [\n' + b"\n" * (40 << 20)
    path.write_bytes(gzip.compress(content, 1))
    sizes = [len(block) for block in open_file(path).blocks()]
    assert max(sizes) <= 4 << 20
    assert sum(sizes) == len(content)


@pytest.mark.parametrize("seed", [3866, 14148])
def test_where_sqlite_says_that_memory_is_out_the_file_is_refused(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "small.rpd"
    path.write_bytes(mutant(sample("rpd").read_bytes(), seed))
    with closing(sqlite3.connect(path)) as database, pytest.raises(MemoryError):
        database.execute("pragma quick_check").fetchall()
    with pytest.raises(UnreadableFile, match=r"small\.rpd: ") as caught:
        read(path, Archive(tmp_path / "archive"))
    assert caught.value.hint
