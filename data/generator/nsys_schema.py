"""The tables of an Nsight Systems SQLite export (schema 3.25) that a run of CUDA work fills, and their enumerations."""

__all__ = ["ENUMERATIONS", "TABLES"]

# Column names as the exporter has them; `!` marks NOT NULL, `*` the primary key, and a type other than INTEGER follows
# a colon.
_GPU = """vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount
    pwGpuId uuid:TEXT luid chipName:TEXT cuDevice ctxswDevPath:TEXT ctrlDevPath:TEXT revision nodeMask constantMemory
    maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp
    asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX
    maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"""
_PLACE = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid"
_KERNEL = f"""{_PLACE} demangledName! shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY!
    gridZ! blockX! blockY! blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal!
    gridId! sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone
    graphId clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters
    sharedMemoryRequestedPercentage tensorSizeMinusOneElements!:TEXT"""
_COPY = f"""{_PLACE} bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId
    migrationCause graphNodeId virtualAddress copyCount"""
_RANGE = """start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId uint64Value
    int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId jsonText:TEXT binaryData:TEXT"""
_ENUMERATION = "id* name:TEXT label:TEXT"
_COLUMNS = {
    "StringIds": "id* value!:TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName!:TEXT name!:TEXT nameEnum! value!:TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT systemClockNs",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": _COPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_PLACE} value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_PLACE} deprecatedSyncType syncType! eventId! eventSyncId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId",
    "NVTX_EVENTS": _RANGE,
    "PROCESSES": "globalPid pid name:TEXT",
    "ThreadNames": "nameId! priority globalTid",
    "TARGET_INFO_GPU": _GPU,
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:TEXT numMultiprocessors",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId "
    "isGreenContext numMultiprocessors",
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "ENUM_NSYS_EVENT_TYPE": _ENUMERATION,
    "ENUM_NSYS_EVENT_CLASS": _ENUMERATION,
    "ENUM_CUDA_MEMCPY_OPER": _ENUMERATION,
    "ENUM_CUDA_MEM_KIND": _ENUMERATION,
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": _ENUMERATION,
    "ENUM_CUPTI_STREAM_TYPE": _ENUMERATION,
    "ENUM_CUPTI_SYNC_TYPE": _ENUMERATION,
    "META_DATA_CAPTURE": "name!:TEXT value:TEXT",
    "META_DATA_EXPORT": "name!:TEXT value:TEXT",
}


def _declared(column: str) -> str:
    name, _, kind = column.partition(":")
    bare = name.rstrip("!*")
    rule = {"!": " NOT NULL", "*": " NOT NULL PRIMARY KEY"}.get(name[-1], "")
    return f"{bare} {kind or 'INTEGER'}{rule}"


TABLES = {
    table: f"CREATE TABLE {table} ({', '.join(map(_declared, columns.split()))})" for table, columns in _COLUMNS.items()
}


def _numbered(prefix: str, **labels: str) -> list[tuple[int, str, str]]:
    """Returns an enumeration's rows, whose numbers count from 0."""
    return [(number, prefix + name, label) for number, (name, label) in enumerate(labels.items())]


ENUMERATIONS = {
    "ENUM_NSYS_EVENT_TYPE": [
        (59, "NvtxPushPopRange", "NvtxPushPopRange"),
        (75, "NvtxDomainCreate", "NvtxDomainCreate"),
    ],
    "ENUM_NSYS_EVENT_CLASS": _numbered("TRACE_PROCESS_EVENT_", CUDA_RUNTIME="CUDA runtime", CUDA_DRIVER="CUDA driver"),
    "ENUM_CUDA_MEMCPY_OPER": [
        (0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"),
        (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
    ],
    "ENUM_CUDA_MEM_KIND": _numbered(
        "CUDA_MEMOPR_MEMORY_KIND_", PAGEABLE="Pageable", PINNED="Pinned", DEVICE="Device", ARRAY="Array"
    ),
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": _numbered("CUDA_KERNEL_LAUNCH_TYPE_", UNKNOWN="Unknown", REGULAR="Regular"),
    "ENUM_CUPTI_STREAM_TYPE": _numbered(
        "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_",
        UNKNOWN="Unknown stream type",
        DEFAULT="Default stream",
        NON_BLOCKING="Non-blocking stream",
        NULL="Null stream",
    ),
    "ENUM_CUPTI_SYNC_TYPE": _numbered(
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
        UNKNOWN="Unknown",
        EVENT_SYNCHRONIZE="Event sync",
        STREAM_WAIT_EVENT="Stream wait sync",
        STREAM_SYNCHRONIZE="Stream sync",
        CONTEXT_SYNCHRONIZE="Context sync",
    ),
}
