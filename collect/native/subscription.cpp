// How the collector gets hold of CUPTI: subscribing, the clock, the kinds of events.
#include "collector.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <link.h>

#include <utility>

#include "clocks.h"
#include "message.h"
#include "process.h"

namespace tracelode {

namespace {

struct EventKinds {
  const char* event;
  CUpti_ActivityKind kinds[2];
};

// Never KERNEL, which runs one kernel at a time.
const EventKinds event_kinds[] = {
    {"kernel", {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_INVALID}},
    {"copy", {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2}},
    {"fill", {CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_INVALID}},
    {"sync", {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_INVALID}},
    {"memory", {CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_INVALID}},
    {"pool", {CUPTI_ACTIVITY_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_INVALID}},
    {"graph", {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_INVALID}},
    {"marker", {CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_INVALID}},
    {"overhead", {CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_INVALID}},
    {"runtime", {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_INVALID}},
    {"driver", {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_INVALID}},
    {"uvm", {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_INVALID}},
    {"external", {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_INVALID}},
};

// What CUPTI holds of a device must be taken before the program calls one of these.
const std::pair<CUpti_CallbackDomain, CUpti_CallbackId> resets[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2},
};

uint64_t monotonic_raw() { return now(CLOCK_MONOTONIC_RAW); }

// The tool that has CUPTI, as the libraries in the process tell.
std::string other_tool() {
  std::string tool;
  const auto look = [](dl_phdr_info* library, size_t, void* found) {
    const std::string path = library->dlpi_name ? library->dlpi_name : "";
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool nsight_systems = name.rfind("libToolsInjection", 0) == 0;
    const bool torch = name.rfind("libtorch", 0) == 0 || name.rfind("libkineto", 0) == 0;
    auto& tool_name = *static_cast<std::string*>(found);
    if (nsight_systems) tool_name = "Nsight Systems";
    else if (torch && tool_name.empty()) tool_name = "perhaps torch.profiler";
    return nsight_systems ? 1 : 0;
  };
  dl_iterate_phdr(look, &tool);
  return tool.empty() ? "a profiler or debugger" : tool;
}

}  // namespace

bool Collector::begin() {
  if (!open_driver()) return false;
  const std::string why = cupti_.load(options_.cupti);
  if (!why.empty()) return fail(why, "set TRACELODE_CUPTI to the path of libcupti.so");
  if (!subscribe()) return false;
  if (prepare() && (options_.paused || resume())) return true;
  finish();
  if (cupti_.unsubscribe) cupti_.unsubscribe(subscriber_);  // for another tool
  return false;
}

// What is on its way to the host lies in buffers on the device, of which CUPTI makes more as it needs them, in each
// context. Whether they stay within the limit: where CUPTI does not say, it is not known, and not told.
bool Collector::bound_device_memory() {
  if (!cupti_.get_attribute || !cupti_.set_attribute) return true;
  constexpr size_t fewest = 8;  // three are made at once: with fewer than some more, the times of records get lost
  size_t size = sizeof(size_t), bytes = 0;
  if (cupti_.get_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes) != CUPTI_SUCCESS || !bytes) return true;
  if (options_.device_bytes / bytes < fewest) {
    bytes = options_.device_bytes / fewest;
    cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes);
  }
  size_t buffers = options_.device_bytes / bytes;
  cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &buffers);
  // What holds is what CUPTI says, not what it was asked for.
  cupti_.get_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes);
  cupti_.get_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &buffers);
  const uint64_t most = uint64_t{bytes} * buffers;
  device_memory_.add("buffer_bytes", uint64_t{bytes}).add("buffers", uint64_t{buffers}).add("most_bytes", most);
  if (most <= options_.device_bytes) return true;
  const auto mib = [](uint64_t number) { return std::to_string(number >> 20) + " MiB"; };
  return fail("CUPTI would take up to " + mib(most) + " of a device's memory, more than " + mib(options_.device_bytes) +
                  ": nothing is recorded, the program runs on",
              "allow more: tracelode record --device-memory");
}

bool Collector::prepare() {
  if (!bound_device_memory()) return false;
  if (cupti_.set_thread_id_type) cupti_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  choose_clock();
  start_clocks_ = clock_triple().text();
  recorder_ = std::make_unique<Recorder>(options_, cupti_, clock_, folder_, first_facts().text());
  publish("");
  const CUptiResult result = cupti_.register_callbacks(requested, completed);
  if (result != CUPTI_SUCCESS) return fail("cuptiActivityRegisterCallbacks says " + cupti_.error(result));
  if (!start_worker()) return fail("the thread that records could not be started");
  current = this;
  if (cupti_.flush_period) cupti_.flush_period(static_cast<uint32_t>(options_.flush_ms));
  // Without it each poll of an event that has not happened yet is a record.
  if (cupti_.enable_all_syncs) cupti_.enable_all_syncs(0);
  for (const auto& [domain, function] : resets) {
    if (cupti_.enable_callback) cupti_.enable_callback(1, subscriber_, domain, function);
  }
  return true;
}

// Before anything else: two clients that do not subscribe would silently take each other's records.
bool Collector::subscribe() {
  const CUptiResult result = cupti_.subscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(called), this);
  if (result == CUPTI_SUCCESS) return true;
  subscriber_ = nullptr;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return fail("another tool (" + other_tool() + ") already uses CUPTI: nothing is recorded, the program runs on",
                "record without that tool, or import what it writes");
  }
  return fail("cuptiSubscribe says " + cupti_.error(result));
}

// CUPTI's own clock is the wall clock, which can step; this one cannot.
void Collector::choose_clock() {
  const CUptiResult result =
      cupti_.register_timestamp ? cupti_.register_timestamp(monotonic_raw) : CUPTI_ERROR_API_NOT_IMPLEMENTED;
  if (result != CUPTI_SUCCESS) clock_ = CLOCK_REALTIME;
}

bool Collector::resume() {
  const std::lock_guard<std::mutex> lock(switching_);
  if (recording_) return true;
  if (ended_ || current != this) return false;
  return recording_ = enable_kinds();
}

bool Collector::pause() {
  {
    const std::lock_guard<std::mutex> lock(switching_);
    if (!recording_.exchange(false)) return true;
    disable_kinds();
  }
  return flush();
}

bool Collector::enable_kinds() {
  std::string refused;
  bool any = false;
  cupti_.enable(CUPTI_ACTIVITY_KIND_DEVICE);  // tells what the devices are
  for (const auto& [event, kinds] : event_kinds) {
    const bool graphs_as_nodes = options_.graph_nodes && std::string(event) == "graph";
    if (!options_.wants(event) || graphs_as_nodes) continue;
    for (const CUpti_ActivityKind kind : kinds) {
      if (kind == CUPTI_ACTIVITY_KIND_INVALID) continue;
      CUptiResult result = CUPTI_SUCCESS;
      if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) result = configure_uvm();
      if (result == CUPTI_SUCCESS) result = cupti_.enable(kind);
      if (uvm_pending_ && kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) continue;
      if (result == CUPTI_SUCCESS) any = true;
      else refused += (refused.empty() ? "" : "; ") + std::string(event) + ": " + cupti_.error(result);
    }
  }
  if (!any) return fail(refused.empty() ? "no kind of event is asked for" : "CUPTI records nothing: " + refused);
  if (!refused.empty() && refused != refused_) say("CUPTI does not record " + refused);
  refused_ = refused;
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_.clear();
  return true;
}

void Collector::disable_kinds() {
  for (const auto& [event, kinds] : event_kinds) {
    for (const CUpti_ActivityKind kind : kinds) {
      if (kind != CUPTI_ACTIVITY_KIND_INVALID && options_.wants(event)) cupti_.disable(kind);
    }
  }
}

// Counters of managed memory need an initialised driver: what cannot be yet is tried again at the first context.
CUptiResult Collector::configure_uvm() {
  if (!cupti_.configure_uvm) return CUPTI_ERROR_API_NOT_IMPLEMENTED;
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> configs;
  const int devices = device_count(open_driver());
  for (int device = 0; device < devices; ++device) {
    for (uint32_t counter = 1; counter <= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD; ++counter) {
      configs.push_back({CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
                         static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(counter), static_cast<uint32_t>(device),
                         1});
    }
  }
  const CUptiResult result = configs.empty()
                                 ? CUPTI_ERROR_NOT_INITIALIZED
                                 : cupti_.configure_uvm(configs.data(), static_cast<uint32_t>(configs.size()));
  uvm_pending_ = result == CUPTI_ERROR_NOT_INITIALIZED && cupti_.enable_callback &&
                 cupti_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                        CUPTI_CBID_RESOURCE_CONTEXT_CREATED) == CUPTI_SUCCESS;
  return result;
}

void Collector::called(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) noexcept {
  auto& collector = *static_cast<Collector*>(self);
  if (current != self || !collector.recording_) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return collector.enable_uvm();
  const auto* const call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) collector.cupti_.flush_all(CUPTI_ACTIVITY_FLAG_NONE);
}

void Collector::enable_uvm() noexcept {
  try {
    // Whoever is turning kinds on or off may wait for what CUPTI holds during this callback: never wait for them here.
    const std::unique_lock<std::mutex> lock(switching_, std::try_to_lock);
    if (!lock || !recording_ || !uvm_pending_.exchange(false)) return;
    CUptiResult result = configure_uvm();
    uvm_pending_ = false;
    if (result == CUPTI_SUCCESS) result = cupti_.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    if (result != CUPTI_SUCCESS) say("CUPTI does not record uvm: " + cupti_.error(result));
  } catch (...) {  // no memory: without these counters, then
  }
}

}  // namespace tracelode
