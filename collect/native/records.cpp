// From CUPTI's structs to rows. Only the older version of each struct is named, whose fields later versions have at
// the same places: so these lines compile with the headers of CUDA 12.1 to 13.5 and read the records of any of them.
#include "recorder.h"

#include "clocks.h"

namespace tracelode {

namespace {

constexpr uint32_t no_device = 0xffffffff;

// How many copies a record stands for: records of versions older than CUDA 12.8 end before the field.
uint64_t copies(const CUpti_ActivityMemcpy5& record, uint32_t version) {
#if CUPTI_API_VERSION >= 26
  if (version >= 26) return reinterpret_cast<const CUpti_ActivityMemcpy6&>(record).copyCount;
#endif
  static_cast<void>(record), static_cast<void>(version);
  return 1;
}

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

void Recorder::take(const CUpti_Activity& record) {
  switch (static_cast<uint32_t>(record.kind)) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return take(as<CUpti_ActivityKernel9>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY: return take(as<CUpti_ActivityMemcpy5>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return take(as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET: return take(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return take(as<CUpti_ActivitySynchronization>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2: return take(as<CUpti_ActivityMemory3>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return take(as<CUpti_ActivityMemoryPool2>(record));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return take(as<CUpti_ActivityGraphTrace>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return take(as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_MARKER: return take(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return take(as<CUpti_ActivityOverhead>(record));
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: return take(as<CUpti_ActivityUnifiedMemoryCounter2>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return take(as<CUpti_ActivityExternalCorrelation>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE: return take(as<CUpti_ActivityDevice4>(record));
    default: ++counts_.unknown[record.kind];
  }
}

void Recorder::take(const CUpti_ActivityKernel9& r) {
  const Kind kind = r.graphId ? Kind::graph_kernel : Kind::kernel;
  ++counts_.records[kind];
  const bool in_range = selection_.next_in_range();
  if (!valid(r.start, r.end)) return;
  if (!in_range) return void(++counts_.outside_range);
  const char* const text = r.name ? r.name : "";
  const uint32_t name = name_of(text);
  if (!selection_.wants(name, names_.text(name), text)) return void(++counts_.filtered);
  totals_.add(name, r.deviceId, r.end - r.start);
  if (!selection_.next_in_sample()) return void(++counts_.sampled_out);
  if (!keep()) return;
  const uint32_t config = config_of(r, name);
  if (kind == Kind::kernel) {
    add(tables_.kernel, r.start, r.end, r.correlationId, config, r.deviceId, r.contextId, r.streamId);
  } else {
    add(tables_.graph_kernel, r.start, r.end, r.correlationId, config, r.deviceId, r.contextId, r.streamId, r.graphId,
        r.graphNodeId);
  }
}

uint32_t Recorder::config_of(const CUpti_ActivityKernel9& r, uint32_t name) {
  const Config config{name, {r.gridX, r.gridY, r.gridZ}, {r.blockX, r.blockY, r.blockZ}, r.registersPerThread,
                      r.staticSharedMemory, r.dynamicSharedMemory, r.launchType,
                      {r.clusterX, r.clusterY, r.clusterZ}};
  const auto [id, is_new] = configs_.of(config);
  if (is_new) {
    add(tables_.config, id, name, r.gridX, r.gridY, r.gridZ, r.blockX, r.blockY, r.blockZ, config.registers,
        r.staticSharedMemory, r.dynamicSharedMemory, r.launchType, r.clusterX, r.clusterY, r.clusterZ);
  }
  return id;
}

void Recorder::take(const CUpti_ActivityMemcpy5& r) {
  ++counts_.records[Kind::copy];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.copy, r.start, r.end, r.correlationId, r.deviceId, r.contextId, r.streamId, r.bytes, r.copyKind,
      r.srcKind, r.dstKind, r.flags, no_device, no_device, r.graphId, r.graphNodeId, copies(r, cupti_.version));
}

void Recorder::take(const CUpti_ActivityMemcpyPtoP4& r) {
  ++counts_.records[Kind::copy];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.copy, r.start, r.end, r.correlationId, r.deviceId, r.contextId, r.streamId, r.bytes, r.copyKind,
      r.srcKind, r.dstKind, r.flags, r.srcDeviceId, r.dstDeviceId, r.graphId, r.graphNodeId, u8{1});
}

void Recorder::take(const CUpti_ActivityMemset4& r) {
  ++counts_.records[Kind::fill];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.fill, r.start, r.end, r.correlationId, r.deviceId, r.contextId, r.streamId, r.bytes, r.value,
      u4{r.memoryKind}, r.graphId, r.graphNodeId);
}

void Recorder::take(const CUpti_ActivitySynchronization& r) {
  ++counts_.records[Kind::sync];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.sync, r.start, r.end, r.correlationId, r.contextId, r.streamId, u4{r.type}, r.cudaEventId);
}

void Recorder::take(const CUpti_ActivityMemory3& r) {
  ++counts_.records[Kind::memory];
  if (!valid(r.timestamp, r.timestamp) || !keep()) return;
  add(tables_.memory, r.timestamp, r.address, r.bytes, u4{r.memoryOperationType}, u4{r.memoryKind}, r.correlationId,
      r.deviceId, r.contextId, r.streamId, r.isAsync, u4{r.memoryPoolConfig.memoryPoolType},
      r.memoryPoolConfig.address, r.PC, name_of(r.name));
}

void Recorder::take(const CUpti_ActivityMemoryPool2& r) {
  ++counts_.records[Kind::pool];
  if (!valid(r.timestamp, r.timestamp) || !keep()) return;
  add(tables_.pool, r.timestamp, r.address, r.size, r.utilizedSize, r.releaseThreshold, u8{r.minBytesToKeep},
      u4{r.memoryPoolOperationType}, u4{r.memoryPoolType}, r.correlationId, r.deviceId);
}

void Recorder::take(const CUpti_ActivityGraphTrace& r) {
  ++counts_.records[Kind::graph_launch];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.graph_launch, r.start, r.end, r.correlationId, r.deviceId, r.contextId, r.streamId, r.graphId);
}

void Recorder::take(const CUpti_ActivityAPI& r) {
  ++counts_.records[Kind::call];
  if (!valid(r.start, r.end) || !keep()) return;
  const uint8_t interface = r.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  name_call(interface, r.cbid);
  add(tables_.call, r.start, r.end, r.correlationId, r.threadId, r.cbid, r.returnValue, interface);
}

void Recorder::name_call(uint8_t interface, uint32_t function) {
  if (!cupti_.callback_name || !calls_.emplace(interface, function).second) return;
  const char* name = nullptr;
  const auto domain = interface ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (cupti_.callback_name(domain, function, &name) != CUPTI_SUCCESS || !name) return;
  add(tables_.call_name, interface, function, name_of(name));
}

void Recorder::take(const CUpti_ActivityMarker2& r) {
  ++counts_.records[Kind::marker];
  if (!valid(r.timestamp, r.timestamp) || !keep()) return;
  const uint32_t name = name_of(r.name), domain = name_of(r.domain);
  add(tables_.marker, r.timestamp, r.id, u4{r.flags}, u4{r.objectKind}, r.objectId.pt.processId,
      r.objectId.pt.threadId, name, domain);
}

void Recorder::take(const CUpti_ActivityOverhead& r) {
  ++counts_.records[Kind::overhead];
  if (!valid(r.start, r.end) || !keep()) return;
  add(tables_.overhead, r.start, r.end, u4{r.overheadKind}, u4{r.objectKind}, r.objectId.pt.processId,
      r.objectId.pt.threadId);
}

void Recorder::take(const CUpti_ActivityUnifiedMemoryCounter2& r) {
  ++counts_.records[Kind::uvm];
  // Faults on the CPU, thrashing and remote maps are moments: their end says nothing.
  const uint32_t counter = r.counterKind;
  const bool moment = counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT ||
                      counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING ||
                      counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP;
  const uint64_t end = moment ? r.start : r.end;
  if (!valid(r.start, end) || !keep()) return;
  add(tables_.uvm, r.start, end, r.value, r.address, counter, r.srcId, r.dstId, r.streamId, r.processId, r.flags);
}

void Recorder::take(const CUpti_ActivityExternalCorrelation& r) {
  ++counts_.records[Kind::external];
  if (!keep()) return;
  add(tables_.external, r.correlationId, u4{r.externalKind}, r.externalId);
}

void Recorder::take(const CUpti_ActivityDevice4& r) {
  if (!devices_.insert(r.id).second) return;
  const std::string capability =
      std::to_string(r.computeCapabilityMajor) + "." + std::to_string(r.computeCapabilityMinor);
  Json json;
  json.add("what", "device").add("device", r.id).add("name", r.name ? r.name : "");
  json.add("compute_capability", capability).add("multiprocessors", r.numMultiprocessors);
  json.add("memory_bytes", u8{r.globalMemorySize}).add("bandwidth_kB_s", u8{r.globalMemoryBandwidth});
  spool_.text(json.add("clock_kHz", r.coreClockRate).text());
}

}  // namespace tracelode
