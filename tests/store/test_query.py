from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tracelode.store import TABLES, Archive, ArchiveError, Error, NotCollected
from tracelode.store.query import SQL_TYPES, run

from .rows import add, kernel

A, B = "a" * 64, "b" * 64


def test_a_view_gives_the_trace_id_and_the_duration(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    add(archive, B, kernel("x", 5, 6))
    rows = archive.sql("select trace_id, duration_ns from kernel order by 1").rows()
    assert rows == [(A, 4), (B, 1)]


def test_a_trace_sees_only_itself(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    trace = add(archive, B, kernel("x", 5, 6))
    assert trace.sql("select count(*) from kernel").rows() == [(1,)]


def test_a_table_no_trace_has_is_not_collected_rather_than_empty(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 5, 9))
    with pytest.raises(NotCollected, match="table fault was not collected") as caught:
        archive.sql("select count(*) from fault")
    assert caught.value.hint == "there are: kernel"
    with pytest.raises(NotCollected, match="fault"):
        trace.fault  # noqa: B018 - the look-up is what is tested


def test_bad_sql_is_the_users_error(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    for query in ("selec", "select nothing from kernel", "select 1 from nowhere"):
        with pytest.raises(Error, match="sql: "):
            archive.sql(query)


def test_odd_folder_names_do_not_break_out_of_the_statement(tmp_path: Path) -> None:
    archive = Archive(tmp_path / 'it\'s "odd" [*] archive')
    add(archive, A, kernel("x", 5, 9))
    assert archive.sql("select trace_id from kernel").rows() == [(A,)]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "communication"),
        ("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", "communication"),
        ("void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>", "communication"),
        ("__amd_rocclr_copyBuffer", "copy"),
        ("flash_fwd_kernel", "attention"),
        ("implicit_convolve_sgemm", "convolution"),
        ("Cijk_Alik_Bljk_SB_MT64x16x32", "gemm"),
        ("nvjet_sm103_tst_128x16", "gemm"),
        ("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", "elementwise"),
        ("convert_to_half", "other"),
        ("void clover::par_ranged2d_kernel<PdV_kernel(bool, int)::[lambda(int, int) (instance 2)]>(T1)", "other"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl::{lambda()#1}>",
            "elementwise",
        ),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps<float>>>", "reduction"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128>(Params)", "gemm"),
        ("void (anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>", "optimizer"),
        ("lamb_stage_1_kernel", "other"),
        ("apex::lamb_stage_1", "optimizer"),
        ("_combined_routing_memset", "other"),
        ("Memset (Device)", "fill"),
        ("__amd_rocclr_fillBufferAligned", "fill"),
        ("__amd_rocclr_fillBufferAligned.kd", "fill"),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "convolution"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", "normalization"),
        ("at::native::normal_kernel", "other"),
        ("triton_tem_fused_addmm_3", "gemm"),
        ("saxpy(double *)", "elementwise"),
    ],
)
def test_a_kernels_name_tells_its_category(tmp_path: Path, name: str, category: str) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel(name, 0, 1))
    assert archive.sql("select category from kernel").rows() == [(category,)]


def test_the_catalogue_can_be_looked_at(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 5, 9))
    assert trace.sql("show tables").rows() == [("kernel",)]
    assert trace.sql("select view_name from duckdb_views() where not internal").rows() == [("kernel",)]
    assert "category" in trace.sql("describe kernel")["column_name"].to_list()
    assert trace.sql("select 1 as one").rows() == [(1,)]


def test_sums_of_whole_numbers_are_whole_numbers(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 5, 9))
    rows = trace.sql(
        "select sum(duration_ns) as s, sum(grid_x) as nothing, 99999999999999999999999::hugeint as h from kernel"
    )
    assert str(rows.schema["s"]) == "Int64"
    assert rows.row(0)[:2] == (4, None)
    assert int(rows["h"][0]) == 99999999999999999999999


def test_columns_with_one_name_are_told_apart() -> None:
    rows = run({}, "select 1 as a, 2 as b, 3 as a, 4 as a_1, 5 as a")
    assert rows.to_dicts() == [{"a": 1, "b": 2, "a_2": 3, "a_1": 4, "a_3": 5}]


def test_more_than_one_statement_is_refused(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 5, 9))
    for query in ("", "select 1; select 2"):
        with pytest.raises(Error, match="not exactly one statement"):
            trace.sql(query)


def test_a_damaged_file_is_an_archive_problem(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 5, 9))
    trace.files["kernel"].write_bytes(b"PAR1 nothing of the kind")
    with pytest.raises(ArchiveError):
        trace.sql("select count(*) from kernel")


def test_a_table_that_was_not_mined_says_how_to_mine_it(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 5, 9))
    with pytest.raises(NotCollected, match="nothing was mined") as caught:
        trace.sql("select * from level")
    assert caught.value.hint == "mine a trace first: tracelode mine TRACE"


def test_a_row_with_a_flaw_has_no_duration(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 5, 9), kernel("y", 7, 7, flaw="overlong"), kernel("z", 8, 8))
    assert trace.sql("select name, duration_ns from kernel order by name").rows() == [("x", 4), ("y", None), ("z", 0)]


@pytest.mark.parametrize("old", [(A,), (B,), (A, B)])
def test_columns_that_files_of_an_earlier_version_lack_are_null(tmp_path: Path, old: tuple[str, ...]) -> None:
    archive = Archive(tmp_path)
    for id in (A, B):
        trace = add(archive, id, kernel("x", 5, 9))
        if id in old:
            path = trace.files["kernel"]
            pq.write_table(pq.ParquetFile(path).read().drop_columns(["flaw", "op"]), path)
    rows = archive.sql("select trace_id, name, duration_ns, flaw, op from kernel order by 1").rows()
    assert rows == [(id, "x", 4, None, None) for id in (A, B)]


def test_every_type_of_a_column_has_a_name_in_sql() -> None:
    assert {str(column.type) for table in TABLES.values() for column in table.columns} == SQL_TYPES.keys()
