"""Fields of Perfetto's packets by name: those that the reader of its bytes understands, and what goes with them.

Numbers and types as in protos/perfetto/trace of google/perfetto.
"""

from collections.abc import Mapping

from .protobuf import BYTES, FIXED64, VARINT
from .textproto import Schema

__all__ = ["PERFETTO", "WIRES"]

MESSAGES = {
    "TracePacket": """
        clock_snapshot 6 ClockSnapshot, timestamp 8 int, trusted_uid 3 int, trusted_packet_sequence_id 10 int,
        track_event 11 TrackEvent, interned_data 12 InternedData, sequence_flags 13 SequenceFlags,
        trace_stats 35 TraceStats, synchronization_marker 36 text, incremental_state_cleared 41 bool,
        previous_packet_dropped 42 int, system_info 45 SystemInfo, compressed_packets 50 text,
        gpu_render_stage_event 53 GpuRenderStageEvent, timestamp_clock_id 58 Clock,
        trace_packet_defaults 59 TracePacketDefaults, track_descriptor 60 TrackDescriptor, trusted_pid 79 int,
        first_packet_on_sequence 87 bool, machine_id 98 int
    """,
    "TrackEvent": """
        category_iids 3 int, debug_annotations 4 DebugAnnotation, type 9 EventType, name_iid 10 int,
        track_uuid 11 int, extra_counter_values 12 int, categories 22 text, name 23 text, counter_value 30 int,
        extra_counter_track_uuids 31 int, flow_ids_old 36 int, terminating_flow_ids_old 42 int,
        double_counter_value 44 double, extra_double_counter_track_uuids 45 int,
        extra_double_counter_values 46 double, flow_ids 47 fixed64, terminating_flow_ids 48 fixed64,
        correlation_id 52 int, correlation_id_str 53 text, correlation_id_str_iid 54 int,
        [perfetto.protos.GpuTrackEvent.gpu_correlation] 3000 GpuCorrelation
    """,
    "InternedData": """
        event_categories 1 Named, event_names 2 Named, debug_annotation_names 3 Named,
        graphics_contexts 23 GraphicsContext, gpu_specifications 24 StageSpecification,
        debug_annotation_string_values 29 InternedString,
        [perfetto.protos.GpuInternedData.compute_kernels] 1000 ComputeKernel,
        [perfetto.protos.GpuInternedData.compute_arg_names] 1001 Named
    """,
    "DebugAnnotation": """
        name_iid 1 int, bool_value 2 bool, uint_value 3 int, int_value 4 int, double_value 5 double,
        string_value 6 text, pointer_value 7 int, nested_value 8 NestedValue, legacy_json_value 9 text,
        name 10 text, dict_entries 11 DebugAnnotation, array_values 12 DebugAnnotation,
        string_value_iid 17 int
    """,
    "NestedValue": """
        nested_type 1 NestedType, dict_keys 2 text, dict_values 3 NestedValue, array_values 4 NestedValue,
        int_value 5 int, double_value 6 double, bool_value 7 bool, string_value 8 text
    """,
    "GpuRenderStageEvent": """
        event_id 1 int, duration 2 int, hw_queue_id 3 int, stage_id 4 int, context 5 int,
        extra_data 6 ExtraData, render_target_handle 8 int, render_pass_handle 9 int, submission_id 10 int,
        gpu_id 11 int, command_buffer_handle 12 int, hw_queue_iid 13 int, stage_iid 14 int,
        render_subpass_index_mask 15 int, render_pass_instance_id 16 int, name 17 text, event_wait_ids 18 int,
        kernel_iid 19 int, name_iid 20 int, launch 21 KernelLaunch, logical_queue_id 22 int
    """,
    "TrackDescriptor": """
        uuid 1 int, name 2 text, process 3 Process, thread 4 Thread, parent_uuid 5 int, counter 8 Counter,
        disallow_merging_with_system_tracks 9 bool, static_name 10 text, sibling_order_rank 12 int,
        description 14 text
    """,
    "Named": "iid 1 int, name 2 text",
    "InternedString": "iid 1 int, str 2 text",
    "GraphicsContext": "iid 1 int, pid 2 int, api 3 GraphicsApi",
    "StageSpecification": "iid 1 int, name 2 text, description 3 text, category 4 StageCategory",
    "ComputeKernel": "iid 1 int, name 2 text, demangled_name 3 text, arch 4 text, args 5 ComputeArgument",
    "ComputeArgument": """
        name_iid 1 int, name 2 text, int_value 3 int, uint_value 4 int, double_value 5 double,
        string_value 6 text, string_value_iid 7 int
    """,
    "ExtraData": "name 1 text, value 2 text",
    "KernelLaunch": "grid_size 1 Size, workgroup_size 2 Size, args 3 ComputeArgument",
    "Size": "x 1 int, y 2 int, z 3 int",
    "GpuCorrelation": "render_stage_submission_event_ids 1 int, render_stage_wait_event_ids 2 int",
    "ClockSnapshot": "clocks 1 ClockTime, primary_trace_clock 2 Clock",
    "ClockTime": "clock_id 1 Clock, timestamp 2 int, is_incremental 3 bool, unit_multiplier_ns 4 int",
    "TracePacketDefaults": "track_event_defaults 11 TrackEventDefaults, timestamp_clock_id 58 Clock",
    "TrackEventDefaults": """
        track_uuid 11 int, extra_counter_track_uuids 31 int, extra_double_counter_track_uuids 45 int
    """,
    "Process": """
        pid 1 int, cmdline 2 text, legacy_sort_index 3 int, process_priority 5 int, process_name 6 text,
        start_timestamp_ns 7 int
    """,
    "Thread": """
        pid 1 int, tid 2 int, legacy_sort_index 3 int, thread_name 5 text, reference_timestamp_us 6 int,
        reference_thread_time_us 7 int
    """,
    "Counter": """
        type 1 CounterType, categories 2 text, unit 3 Unit, unit_multiplier 4 int, is_incremental 5 bool,
        unit_name 6 text, y_axis_share_key 7 text
    """,
    "TraceStats": "buffer_stats 1 BufferStats",
    "BufferStats": "chunks_overwritten 3 int, chunks_discarded 18 int, trace_writer_packet_loss 19 int",
    "SystemInfo": "tracing_service_version 4 text",
}
"""Message: its fields, each with its number and type."""

ENUMS = {
    "Clock": """
        UNKNOWN 0, REALTIME 1, REALTIME_COARSE 2, MONOTONIC 3, MONOTONIC_COARSE 4, MONOTONIC_RAW 5, BOOTTIME 6,
        BUILTIN_CLOCK_UNKNOWN 0, BUILTIN_CLOCK_REALTIME 1, BUILTIN_CLOCK_REALTIME_COARSE 2,
        BUILTIN_CLOCK_MONOTONIC 3, BUILTIN_CLOCK_MONOTONIC_COARSE 4, BUILTIN_CLOCK_MONOTONIC_RAW 5,
        BUILTIN_CLOCK_BOOTTIME 6
    """,
    "SequenceFlags": "SEQ_INCREMENTAL_STATE_CLEARED 1, SEQ_NEEDS_INCREMENTAL_STATE 2",
    "EventType": "TYPE_UNSPECIFIED 0, TYPE_SLICE_BEGIN 1, TYPE_SLICE_END 2, TYPE_INSTANT 3, TYPE_COUNTER 4",
    "NestedType": "UNSPECIFIED 0, DICT 1, ARRAY 2",
    "GraphicsApi": "UNDEFINED 0, OPEN_GL 1, VULKAN 2, OPEN_CL 3, CUDA 4, HIP 5",
    "StageCategory": "OTHER 0, GRAPHICS 1, COMPUTE 2",
    "CounterType": "COUNTER_UNSPECIFIED 0, COUNTER_THREAD_TIME_NS 1, COUNTER_THREAD_INSTRUCTION_COUNT 2",
    "Unit": "UNIT_UNSPECIFIED 0, UNIT_TIME_NS 1, UNIT_COUNT 2, UNIT_SIZE_BYTES 3",
}
"""Enum: its names, each with its number."""


def _fields(text: str) -> dict[str, tuple[int, str]]:
    parts = (entry.split() for entry in text.split(","))
    return {name: (int(number), kind) for name, number, kind in parts}


def _names(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (entry.split() for entry in text.split(","))}


PERFETTO = Schema(
    {message: _fields(text) for message, text in MESSAGES.items()},
    {enum: _names(text) for enum, text in ENUMS.items()},
)
"""The packets of a trace, kind `TracePacket`."""


def _wires(message: str) -> dict[int, int]:
    kinds = {"int": VARINT, "bool": VARINT, "fixed64": FIXED64, "double": FIXED64, **dict.fromkeys(ENUMS, VARINT)}
    return {number: kinds.get(kind, BYTES) for number, kind in PERFETTO.messages[message].values()}


WIRES: Mapping[str, Mapping[int, int]] = {message: _wires(message) for message in MESSAGES}
"""Message: the wire type of each of its fields, for `protobuf.check`."""
