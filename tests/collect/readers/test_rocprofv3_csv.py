import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collect.reading import Told, damaged, read
from tracelode.collect import rocprof_csv
from tracelode.collect.files import open_file
from tracelode.collect.readers import rocprofv3_csv

KERNELS = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
)
KERNEL = '"KERNEL_DISPATCH","Agent 4",2,5,71,1,10,"gemm(float*, int)",33,1000,1400,512,0,16,0,128,64,2,1,1000,4,1'
CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
LAUNCH = '"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,71,33,900,950'
COPIES = (
    '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"'
)
MEMORY = '"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"'
AGENTS = '"Node_Id","Agent_Type","Cu_Count","Max_Engine_Clk_Fcompute","Name","Vendor_Name","Product_Name"'


def text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(content: str, name: str = "table.csv", **beside: str) -> Told:
        for other, text in beside.items():
            (tmp_path / f"{other}.csv").write_text(text)
        (tmp_path / name).write_text(content)
        return read(rocprofv3_csv, tmp_path / name, tmp_path)

    return tell


def test_a_kernel_is_read_with_its_grid_in_blocks(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNELS, KERNEL))
    assert told["kernel"] == [
        {
            "process": 0,
            "device": 4,
            "stream": 2,
            "start_ns": 1000,
            "end_ns": 1400,
            "name": "gemm(float*, int)",
            "grid_x": 16,
            "grid_y": 2,
            "grid_z": 1,
            "block_x": 64,
            "block_y": 2,
            "block_z": 1,
            "registers": 16,
            "shared_bytes": 512,
            "correlation": 33,
            "args": '{"Stream_Id": "5", "Thread_Id": "71", "Dispatch_Id": "1", "Kernel_Id": "10", "SGPR_Count": "128"}',
        }
    ]
    assert told["device"] == [{"process": 0, "device": 4, "vendor": "amd"}]
    assert told["process"] == [{"process": 0}]


def test_a_kernel_trace_is_linked_to_the_calls_that_lie_beside_it(tell: Callable[..., Told]) -> None:
    agents = text(AGENTS, '0,"CPU",64,3000,"EPYC","CPU","EPYC"', '4,"GPU",256,2400,"gfx950","AMD","MI350X"')
    told = tell(
        text(KERNELS, KERNEL),
        "run_kernel_trace.csv",
        run_hip_api_trace=text(CALLS, LAUNCH),
        run_agent_info=agents,
        other_hip_api_trace=text(CALLS, LAUNCH.replace("70", "99")),
    )
    (kernel,) = told["kernel"]
    assert (kernel["process"], kernel["launch_ns"], kernel["launch_thread"]) == (70, 900, 71)
    assert told["api"] == [
        {
            "process": 70,
            "thread": 71,
            "start_ns": 900,
            "end_ns": 950,
            "name": "hipLaunchKernel",
            "kind": "runtime",
            "correlation": 33,
            "args": '{"domain": "HIP_RUNTIME_API_EXT"}',
        }
    ]
    assert told["device"] == [
        {
            "process": 70,
            "device": 4,
            "name": "MI350X",
            "vendor": "amd",
            "compute_units": 256,
            "clock_hz": 2_400_000_000,
            "architecture": "gfx950",
            "args": '{"Agent_Type": "GPU"}',
        }
    ]
    assert told.facts.labels == {"files": "run_kernel_trace.csv, run_hip_api_trace.csv, run_agent_info.csv"}
    assert told.notes == {}


def test_the_prefix_is_the_process_where_no_call_tells_it(tell: Callable[..., Told]) -> None:
    assert [r["process"] for r in tell(text(KERNELS, KERNEL), "4711_kernel_trace.csv")["kernel"]] == [4711]


def test_a_companion_that_cannot_be_read_is_said_to_be_missing(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNELS, KERNEL), "run_kernel_trace.csv", run_hip_api_trace="no table\n")
    assert told.counts() == {"unreadable-companion": 1, "no-launch": 1}


def test_calls_are_runtime_or_driver_and_what_calls_no_device_is_a_range(tell: Callable[..., Told]) -> None:
    told = tell(
        text(
            CALLS,
            LAUNCH,
            '"HSA_CORE_API","hsa_init",70,71,1,10,20',
            '"MARKER_CORE_API","step",70,71,2,10,30',
            '"MARKER_CORE_API","here",70,71,3,15,15',
            '"RCCL_API","ncclAllReduce",70,71,4,40,50',
        )
    )
    assert [(r["name"], r["kind"]) for r in told["api"]] == [("hsa_init", "driver"), ("hipLaunchKernel", "runtime")]
    assert [(r["name"], r["kind"], r["domain"], r["id"]) for r in told["range"]] == [
        ("step", "annotation", "MARKER_CORE_API", 2),
        ("here", "mark", "MARKER_CORE_API", 3),
        ("ncclAllReduce", "rccl", "RCCL_API", 4),
    ]


def test_copies_belong_to_the_gpu_of_their_two_agents(tell: Callable[..., Told]) -> None:
    told = tell(
        text(
            COPIES,
            '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",1,"Agent 0","Agent 4",1,10,20',
            '"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_DEVICE",1,"Agent 4","Agent 5",2,20,30',
            '"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST",0,"GPU 4","CPU 0",3,30,40',
            '"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST",0,"Agent 5","Agent 0",4,40,50',
            '"MEMORY_COPY","MEMORY_COPY_HOST_TO_HOST",0,"Agent 1","Agent 0",5,50,60',
        )
    )
    assert [(r["kind"], r["device"], r["stream"], r.get("peer_device"), r["correlation"]) for r in told["copy"]] == [
        ("DtoH", 4, 0, None, 3),
        ("HtoD", 4, 1, None, 1),
        ("DtoH", 5, 0, None, 4),
        ("DtoD", 5, 1, 4, 2),
    ]
    assert all("bytes" not in row for row in told["copy"])
    assert [r["device"] for r in told["device"]] == [4, 5]
    assert [(r["name"], r["kind"], r["start_ns"]) for r in told["range"]] == [("HtoH", "host_copy", 50)]
    assert told.counts() == {"host-copy": 1, "no-launch": 4}


def test_the_table_of_agents_tells_the_gpu_of_a_copy_whose_direction_is_not_known(tell: Callable[..., Told]) -> None:
    agents = text(AGENTS, '0,"CPU",64,3000,"EPYC","CPU","EPYC"', '4,"GPU",256,2400,"gfx950","AMD","MI350X"')
    copies = text(COPIES, '"MEMORY_COPY","MEMORY_COPY_NONE",1,"Agent 4","Agent 0",1,10,20')
    told = tell(text(KERNELS, KERNEL), "run_kernel_trace.csv", run_agent_info=agents, run_memory_copy_trace=copies)
    assert [(r.get("kind"), r["device"], r.get("peer_device")) for r in told["copy"]] == [(None, 4, None)]
    assert [r["device"] for r in told["device"]] == [4]


def test_an_allocation_and_its_release_are_one_life(tell: Callable[..., Told]) -> None:
    told = tell(
        text(
            MEMORY,
            '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 4",1024,"0x0010",1,10,12',
            '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","CPU 0",8,"0x0020",2,20,22',
            '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_FREE","",0,"0x0010",3,30,32',
            '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_FREE","",0,"0x0099",4,40,42',
        )
    )
    lives = [{k: v for k, v in row.items() if k != "args"} for row in told["allocation"]]
    assert sorted(lives, key=lambda r: r["address"]) == [
        {"process": 0, "device": 4, "kind": "device", "address": 16, "bytes": 1024, "birth_ns": 10, "death_ns": 32},
        {"process": 0, "kind": "host", "address": 32, "bytes": 8, "birth_ns": 20},
    ]
    assert told.counts() == {"unknown-release": 1}


def test_kernels_run_for_their_counters_are_ranges(tell: Callable[..., Told]) -> None:
    header = (
        '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Kernel_Name","Counter_Name",'
        '"Counter_Value","Start_Timestamp","End_Timestamp"'
    )
    row = '7,3,"Agent 4",1,70,71,"gemm","SQ_WAVES",16384.5,100,140'
    told = tell(text(header, row, row.replace("SQ_WAVES", "GRBM_COUNT")))
    assert [(r["process"], r["device"], r["name"], r["time_ns"], r["value"]) for r in told["counter"]] == [
        (70, 4, "GRBM_COUNT", 100, 16384.5),
        (70, 4, "SQ_WAVES", 100, 16384.5),
    ]
    assert [(r["name"], r["kind"], r["start_ns"], r["end_ns"]) for r in told["range"]] == [
        ("gemm", "counted_kernel", 100, 140)
    ]
    assert "kernel" not in told.tables


def test_statistics_and_samples_go_to_other(tell: Callable[..., Told]) -> None:
    header = '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"'
    assert [r["kind"] for r in tell(text(header, '"gemm",1,2,2,100,2,2,0'))["other"]] == ["statistics"]
    samples = '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id"'
    assert [(r["kind"], r["time_ns"]) for r in tell(text(samples, '77,1,2,"s_nop","",3'))["other"]] == [("sample", 77)]


def test_numbers_that_cannot_be_are_kept_in_other_or_null(tell: Callable[..., Told]) -> None:
    told = tell(
        text(KERNELS, KERNEL.replace("1400", "99999999999999999999"), KERNEL.replace("1000,4", "99999999999999,4"))
    )
    assert ("grid_x" in told["kernel"][0], told.counts()["incomplete"], told.counts()["out-of-range"]) == (False, 1, 1)
    assert json.loads(told["other"][0]["json"])["End_Timestamp"] == "99999999999999999999"


def test_lines_that_are_no_csv_are_counted_and_the_next_one_is_read(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNELS, "a\rb", KERNEL))
    assert len(told["kernel"]) == 1
    assert told.counts() == {"lost-line": 1, "no-launch": 1}
    assert told["other"] == [{"kind": "damaged", "json": '"a\\rb\\n"'}]


def test_a_long_name_is_read_and_the_limit_of_the_csv_module_stays(tell: Callable[..., Told]) -> None:
    before = csv.field_size_limit()
    names = ["N" * 1_100_000, 'a"b,\n' + "M" * 200_000, "gemm(float*, int)"]
    quoted = [name.replace('"', '""') for name in names]
    told = tell(text(KERNELS, *(KERNEL.replace("gemm(float*, int)", name) for name in quoted)))
    assert sorted(row["name"] for row in told["kernel"]) == sorted(names)
    assert told.counts() == {"no-launch": 3, "overlap": 2}
    assert csv.field_size_limit() == before


def test_a_value_beyond_every_name_is_cut_in_other_and_the_next_row_is_read(tell: Callable[..., Told]) -> None:
    long = KERNEL.replace("gemm(float*, int)", "N" * (rocprof_csv.LONGEST_VALUE + 1))
    told = tell(text(KERNELS, long, KERNEL))
    assert [row["name"] for row in told["kernel"]] == ["gemm(float*, int)"]
    assert told.counts() == {"lost-line": 1, "no-launch": 1}
    (kept,) = told["other"]
    assert (kept["kind"], json.loads(kept["json"])) == ("damaged", long[: rocprof_csv.LONGEST_KEPT])


def test_quotes_that_do_not_pair_up_are_text_and_counted(tell: Callable[..., Told]) -> None:
    loose = KERNEL.replace('"gemm(float*, int)"', '"gemm"<"x">')
    told = tell(text(KERNELS, loose, KERNEL, KERNEL.replace('int)"', "int)"), KERNEL))
    assert [row["name"] for row in told["kernel"]] == ['gemm<"x">', "gemm(float*, int)"]
    (kept,) = told["other"]
    assert kept["kind"] == "damaged"
    assert kept["json"].count("KERNEL_DISPATCH") == 2
    assert (told.notes["loose-quote"].count, told.notes["damaged"].count) == (2, 1)


def test_cells_that_should_hold_a_number_are_counted_and_empty_ones_are_not(tell: Callable[..., Told]) -> None:
    told = tell(text(KERNELS, KERNEL.replace(",71,", ",x71,").replace(",16,0,128,", ",,0,128,")))
    assert "registers" not in told["kernel"][0]
    assert (told.notes["no-number"].count, told.notes["no-number"].example) == (1, "Thread_Id x71")


def test_calls_without_a_thread_and_copies_without_a_stream_are_counted(tell: Callable[..., Told]) -> None:
    told = tell(text(CALLS, LAUNCH.replace(",71,", ",,")))
    assert [(row["name"], row.get("thread")) for row in told["api"]] == [("hipLaunchKernel", None)]
    assert told.notes["no-thread"].count == 1
    copy = '"MEMORY_COPY","MEMORY_COPY_HOST_TO_SOMEWHERE","Agent 0","Agent 4",34,10,20'
    told = tell(text(COPIES.replace('"Stream_Id",', ""), copy))
    assert [(row["stream"], row.get("kind")) for row in told["copy"]] == [(0, None)]
    assert (told.notes["no-stream"].count, told.notes["no-direction"].count) == (1, 1)


def test_what_stands_in_for_a_process_or_a_processor_is_counted(tell: Callable[..., Told]) -> None:
    silent = LAUNCH.replace("70,71", '"",71')
    told = tell(text(CALLS, LAUNCH, silent))
    assert [row["process"] for row in told["api"]] == [70, 70]
    assert (told.notes["assumed-process"].count, told.notes["assumed-process"].example) == (1, "hipLaunchKernel")
    agents = text(AGENTS, '4,"CPU",64,3000,"EPYC","CPU","EPYC"', '4,"GPU",256,2400,"gfx950","AMD","MI350X"')
    told = tell(text(KERNELS, KERNEL), "run_kernel_trace.csv", run_agent_info=agents)
    assert (told.notes["repeated-agent"].count, told.notes["repeated-agent"].example) == (1, "4")


def test_a_header_whose_quote_is_open_ends_with_its_line(tell: Callable[..., Told]) -> None:
    agents = text(AGENTS.replace('"Product_Name"', '"Product_Name'), '4,"GPU",256,2400,"gfx950","AMD","MI350X"')
    told = tell(text(KERNELS, KERNEL), "run_kernel_trace.csv", run_agent_info=agents)
    assert told["device"][0]["architecture"] == "gfx950"
    assert told.notes["loose-quote"].count == 1


def test_damage_gives_rows_and_notes_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for content in (text(KERNELS, KERNEL, KERNEL), text(MEMORY, '"M","M_ALLOCATE","Agent 4",1024,"0x0010",1,10,12')):
        path.write_text(content)
        for at, changed in enumerate(damaged(path, 12)):
            file = tmp_path / f"damaged{at}.csv"
            file.write_bytes(changed)
            if rocprofv3_csv.recognises(open_file(file)):
                told = read(rocprofv3_csv, file, tmp_path / f"{len(content)}-{at}")
                assert told.tables.keys() <= {"kernel", "allocation", "range", "device", "process", "other"}
