// Prints where NVIDIA's structs have their fields, as JSON: {kind: {field: [offset, bytes]}}.
#include <cupti_activity.h>

#include <cstddef>
#include <cstdio>

namespace {

const char* before = "";

void begin(int kind) { std::printf("%s\"%d\": {\"kind\": [0, 4]", before, kind), before = "},\n"; }
void field(const char* name, size_t offset, size_t bytes) { std::printf(", \"%s\": [%zu, %zu]", name, offset, bytes); }

}  // namespace

#define FIELD(name) field(#name, offsetof(Struct, name), sizeof(Struct::name));
#define NESTED(name, outer, inner) field(#name, offsetof(Struct, outer.inner), sizeof(Struct::outer.inner));
#define FIELDS_5(a, b, c, d, e) FIELD(a) FIELD(b) FIELD(c) FIELD(d) FIELD(e)
#define KIND(name, type)                \
  {                                     \
    using Struct = CUpti_Activity##type; \
    begin(CUPTI_ACTIVITY_KIND_##name);
#define END }

int main() {
  std::printf("{");
  KIND(CONCURRENT_KERNEL, Kernel9)
  FIELDS_5(start, end, deviceId, contextId, streamId)
  FIELDS_5(gridX, gridY, gridZ, blockX, blockY)
  FIELDS_5(blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, launchType)
  FIELDS_5(correlationId, name, graphId, graphNodeId, clusterX)
  FIELD(clusterY) FIELD(clusterZ)
  END
  KIND(MEMCPY, Memcpy6)
  FIELDS_5(start, end, deviceId, contextId, streamId)
  FIELDS_5(correlationId, bytes, copyKind, srcKind, dstKind)
  FIELD(flags) FIELD(graphId) FIELD(graphNodeId) FIELD(copyCount)
  END
  KIND(MEMCPY2, MemcpyPtoP4)
  FIELDS_5(start, end, deviceId, contextId, streamId)
  FIELDS_5(correlationId, bytes, copyKind, srcKind, dstKind)
  FIELDS_5(flags, graphId, graphNodeId, srcDeviceId, dstDeviceId)
  END
  KIND(MEMSET, Memset4)
  FIELDS_5(start, end, deviceId, contextId, streamId)
  FIELDS_5(correlationId, bytes, value, memoryKind, graphId)
  FIELD(graphNodeId)
  END
  KIND(SYNCHRONIZATION, Synchronization)
  FIELDS_5(start, end, correlationId, contextId, streamId)
  FIELD(type) FIELD(cudaEventId)
  END
  KIND(MEMORY2, Memory3)
  FIELDS_5(timestamp, address, bytes, memoryOperationType, memoryKind)
  FIELDS_5(correlationId, deviceId, contextId, streamId, isAsync)
  FIELD(PC) FIELD(name)
  NESTED(poolType, memoryPoolConfig, memoryPoolType) NESTED(poolAddress, memoryPoolConfig, address)
  END
  KIND(MEMORY_POOL, MemoryPool2)
  FIELDS_5(timestamp, address, size, utilizedSize, releaseThreshold)
  FIELDS_5(minBytesToKeep, memoryPoolOperationType, memoryPoolType, correlationId, deviceId)
  END
  KIND(GRAPH_TRACE, GraphTrace)
  FIELDS_5(start, end, deviceId, contextId, streamId)
  FIELD(correlationId) FIELD(graphId)
  END
  KIND(RUNTIME, API)
  FIELDS_5(start, end, correlationId, threadId, cbid)
  FIELD(returnValue)
  END
  KIND(DRIVER, API)
  FIELDS_5(start, end, correlationId, threadId, cbid)
  FIELD(returnValue)
  END
  KIND(MARKER, Marker2)
  FIELDS_5(timestamp, id, flags, objectKind, name)
  FIELD(domain)
  NESTED(processId, objectId.pt, processId) NESTED(threadId, objectId.pt, threadId)
  END
  KIND(OVERHEAD, Overhead)
  FIELD(start) FIELD(end) FIELD(overheadKind) FIELD(objectKind)
  NESTED(processId, objectId.pt, processId) NESTED(threadId, objectId.pt, threadId)
  END
  KIND(UNIFIED_MEMORY_COUNTER, UnifiedMemoryCounter2)
  FIELDS_5(start, end, value, address, counterKind)
  FIELDS_5(srcId, dstId, streamId, processId, flags)
  END
  KIND(EXTERNAL_CORRELATION, ExternalCorrelation)
  FIELD(externalId) FIELD(externalKind) FIELD(correlationId)
  END
  KIND(DEVICE, Device4)
  FIELDS_5(id, name, computeCapabilityMajor, computeCapabilityMinor, numMultiprocessors)
  FIELD(globalMemorySize) FIELD(globalMemoryBandwidth) FIELD(coreClockRate)
  END
  std::printf("}}\n");
}
