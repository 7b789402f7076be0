// Stands in for libcupti.so.13 in tests: replays a file of records through the collector's callbacks.
//
// STUB_REPLAY   files of records, one for each synchronisation, separated by colons
// STUB_THREADS  threads that deliver the records of a file, each with buffers of its own
// STUB_FAIL     function:code,...  functions that fail, such as cuptiSubscribe:39
// STUB_FAIL_KIND kind:code,...     kinds that cannot be enabled
// STUB_VERSION  what cuptiGetVersion tells
// STUB_DROPPED  records that each buffer is told to have lost
// STUB_OWN_WAY  1: the size and number of device buffers cannot be changed
// STUB_HOLD     1: only a forced flush gives the rest of the buffers
// STUB_HANG     1: flushes never return
// STUB_LATE     1: the next file is delivered in a forced flush
// STUB_TIMES    a file to write to: nanoseconds of all callbacks, and bytes of the process that are no file's
#include <cupti_activity.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replay.h"

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int setting(const char* name, int otherwise) {
  const std::string text = setting(name);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The code that the list has for the name; 0 if none.
CUptiResult failure(const char* list, const std::string& name) {
  for (const std::string& part : split(setting(list), ',')) {
    const size_t colon = part.find(':');
    if (part.substr(0, colon) == name) return static_cast<CUptiResult>(std::atoi(part.c_str() + colon + 1));
  }
  return CUPTI_SUCCESS;
}

#define FAIL_IF_ASKED                                                      \
  static const CUptiResult asked_to_fail = failure("STUB_FAIL", __func__); \
  if (asked_to_fail) return asked_to_fail

uint64_t thread_time() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

// The thread's time since then, without what it takes to ask for it.
uint64_t time_since(uint64_t before) {
  const uint64_t after = thread_time(), again = thread_time();
  const uint64_t passed = after - before, asking = again - after;
  return passed > asking ? passed - asking : 0;
}

// Bytes in memory that belong to no file.
uint64_t own_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kibibytes = 0;
  while (status >> word && word != "RssAnon:") continue;
  status >> kibibytes;
  return kibibytes * 1024;
}

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, valid = 0;
};

struct Stub {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc requested = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  CUpti_CallbackFunc called = nullptr;
  void* called_with = nullptr;
  std::set<std::pair<int, uint32_t>> calls;  // the callbacks that are asked for
  std::atomic<bool> enabled[replay_kinds] = {};
  std::vector<Buffer> open;  // partly filled, kept for the next flush
  std::atomic<uint64_t> next_file{0}, lost{0}, callback_ns{0};
  std::atomic<const ReplayHeader*> header{nullptr};
  std::atomic<int> pushed{0};
  char* texts = static_cast<char*>(std::calloc(replay_slots, replay_slot_bytes));
};

Stub& stub() {
  static Stub* const the = new Stub;
  return *the;
}

Buffer request() {
  Buffer buffer;
  size_t most = 0;
  const uint64_t before = thread_time();
  stub().requested(&buffer.data, &buffer.size, &most);
  stub().callback_ns += time_since(before);
  return buffer;
}

void complete(const Buffer& buffer) {
  const uint64_t before = thread_time();
  stub().completed(nullptr, 0, buffer.data, buffer.size, buffer.valid);
  stub().callback_ns += time_since(before);
}

// A file of records in memory, its texts put where the records' pointers shall point.
struct Replay {
  const ReplayHeader* header;
  const uint8_t* records;

  explicit Replay(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY);
    struct stat status;
    fstat(file, &status);
    header = static_cast<const ReplayHeader*>(
        mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0));
    close(file);
    records = reinterpret_cast<const uint8_t*>(header + 1);
    // The same slots for each file: names come again at the same addresses with other texts.
    const char* text = reinterpret_cast<const char*>(records + header->bytes);
    for (uint64_t slot = 0; slot < header->texts; ++slot) {
      // A long text reaches into the slots behind its own, which hold nothing then.
      char* const place = stub().texts + slot * replay_slot_bytes;
      if (*text && std::strcmp(place, text) != 0) std::strcpy(place, text);
      text += std::strlen(text) + 1;
    }
  }

  size_t stride(const uint8_t* record) const { return header->stride[*reinterpret_cast<const uint32_t*>(record)]; }
};

void put(const Replay& replay, const uint8_t* record, size_t stride, uint8_t* target) {
  std::memcpy(target, record, stride);
  for (const uint32_t at : replay.header->pointer[*reinterpret_cast<const uint32_t*>(record)]) {
    uint64_t number;
    if (!at) continue;
    std::memcpy(&number, target + at, 8);
    const char* const text = number ? stub().texts + (number - 1) * replay_slot_bytes : nullptr;
    std::memcpy(target + at, &text, 8);
  }
}

// Delivers every record whose place in the file is in the thread's part.
void deliver(const Replay& replay, uint64_t first, uint64_t last) {
  const uint8_t* record = replay.records;
  for (uint64_t skipped = 0; skipped < first; ++skipped) record += replay.stride(record);
  Buffer buffer;
  for (uint64_t number = first; number < last; ++number) {
    const size_t stride = replay.stride(record);
    const uint32_t kind = *reinterpret_cast<const uint32_t*>(record);
    if (kind < CUPTI_ACTIVITY_KIND_COUNT && !stub().enabled[kind]) {
      record += stride;
      continue;
    }
    if (buffer.data && buffer.valid + stride > buffer.size) complete(std::exchange(buffer, Buffer()));
    if (!buffer.data) buffer = request();
    if (buffer.data && stride <= buffer.size) {
      put(replay, record, stride, buffer.data + buffer.valid);
      buffer.valid += stride;
    } else {
      ++stub().lost;
    }
    record += stride;
  }
  const std::lock_guard<std::mutex> lock(stub().mutex);
  if (buffer.data) stub().open.push_back(buffer);
}

void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (stub().calls.count({domain, id})) stub().called(stub().called_with, domain, id, data);
}

// A context that ends takes along what has not been flushed.
void end_contexts(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  CUpti_CallbackData data{};
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    call(domain, id, &data);
    const std::lock_guard<std::mutex> lock(stub().mutex);
    stub().open.clear();
  }
}

bool any_enabled() {
  const auto& kinds = stub().enabled;
  return std::any_of(std::begin(kinds), std::end(kinds), [](const auto& kind) { return kind.load(); });
}

bool ready() {
  const std::lock_guard<std::mutex> lock(stub().mutex);
  return stub().requested && any_enabled();
}

}  // namespace

extern "C" {

void stub_replay() {
  const std::vector<std::string> files = split(setting("STUB_REPLAY"), ':');
  const uint64_t number = stub().next_file++;
  if (number >= files.size() || !ready()) return;
  static std::vector<std::unique_ptr<Replay>>& replays = *new std::vector<std::unique_ptr<Replay>>;
  const Replay& replay = [&]() -> const Replay& {
    const std::lock_guard<std::mutex> lock(stub().mutex);
    replays.push_back(std::make_unique<Replay>(files[number]));  // its strides are used to the end
    return *replays.back();
  }();
  stub().header = replay.header;
  const auto parts = static_cast<uint64_t>(setting("STUB_THREADS", 1));
  const uint64_t records = replay.header->records;
  std::vector<std::thread> threads;
  for (uint64_t part = 1; part < parts; ++part) {
    threads.emplace_back(deliver, std::cref(replay), records * part / parts, records * (part + 1) / parts);
  }
  deliver(replay, 0, records / parts);
  for (std::thread& thread : threads) thread.join();
  if (!setting("STUB_TIMES").empty()) {
    std::ofstream(setting("STUB_TIMES")) << stub().callback_ns << " " << own_bytes() << "\n";
  }
}

// Lets records be walked that are not replayed.
void stub_strides(const ReplayHeader* header) { stub().header = header; }

void stub_create_context() {
  CUpti_ResourceData data{};
  call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void stub_reset() { end_contexts(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020); }

void stub_reset_primary() {
  end_contexts(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2);
}

void stub_destroy_context() { end_contexts(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2); }

// Asks NVTX for its functions, as libcupti does to put its own there.
int InitializeInjectionNvtx2(const void* (*tables)(uint32_t)) {
  tables(1);
  return 1;
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  FAIL_IF_ASKED;
  *version = static_cast<uint32_t>(setting("STUB_VERSION", CUPTI_API_VERSION));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  static std::map<int, std::string> texts;
  const std::lock_guard<std::mutex> lock(stub().mutex);
  *text = texts.emplace(result, "STUB_ERROR_" + std::to_string(result)).first->second.c_str();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc called, void* data) {
  FAIL_IF_ASKED;
  stub().called = called;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&stub());
  stub().called_with = data;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) { return CUPTI_SUCCESS; }

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) {
  FAIL_IF_ASKED;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
  FAIL_IF_ASKED;
  return any_enabled() ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  FAIL_IF_ASKED;
  const std::lock_guard<std::mutex> lock(stub().mutex);
  stub().requested = requested;
  stub().completed = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_ASKED;
  if (const CUptiResult asked = failure("STUB_FAIL_KIND", std::to_string(kind))) return asked;
  stub().enabled[kind] = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAIL_IF_ASKED;
  stub().enabled[kind] = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t) {
  FAIL_IF_ASKED;
  return CUPTI_SUCCESS;
}

// Buffers on the device: as many and as large as CUPTI 13.0 says that they are.
static size_t device_buffer_bytes = 3200000, device_buffers = 250;

static size_t* attribute(CUpti_ActivityAttribute which, const size_t* size) {
  if (*size != sizeof(size_t)) return nullptr;
  if (which == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE) return &device_buffer_bytes;
  return which == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT ? &device_buffers : nullptr;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  FAIL_IF_ASKED;
  const size_t* const held = attribute(which, size);
  if (!held) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(value, held, sizeof *held);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
  FAIL_IF_ASKED;
  size_t* const held = attribute(which, size);
  if (!held) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!setting("STUB_OWN_WAY", 0)) std::memcpy(held, value, sizeof *held);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, uint32_t) {
  FAIL_IF_ASKED;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  FAIL_IF_ASKED;
  if (enable) stub().calls.emplace(domain, id);
  else stub().calls.erase({domain, id});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t function, const char** name) {
  FAIL_IF_ASKED;
  static std::set<std::string> names;
  const std::lock_guard<std::mutex> lock(stub().mutex);
  const std::string prefix = domain == CUPTI_CB_DOMAIN_DRIVER_API ? "cuStub" : "cudaStub";
  *name = names.insert(prefix + std::to_string(function)).first->c_str();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t) {
  FAIL_IF_ASKED;
  ++stub().pushed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t* last) {
  FAIL_IF_ASKED;
  if (!stub().pushed) return CUPTI_ERROR_QUEUE_EMPTY;
  --stub().pushed;
  *last = 42;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  FAIL_IF_ASKED;
  *dropped = static_cast<size_t>(setting("STUB_DROPPED", 0)) + stub().lost.exchange(0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  FAIL_IF_ASKED;
  const ReplayHeader* const header = stub().header;
  uint8_t* next = buffer;
  if (*record) next = reinterpret_cast<uint8_t*>(*record) + header->stride[(*record)->kind];
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  if ((*record)->kind < replay_kinds && header->stride[(*record)->kind]) return CUPTI_SUCCESS;
  return CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiActivityFlushAll(uint32_t how) {
  FAIL_IF_ASKED;
  while (setting("STUB_HANG", 0)) sleep(1);
  if (how == 0 && setting("STUB_HOLD", 0)) return CUPTI_SUCCESS;
  const bool forced = how == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
  if (forced && setting("STUB_LATE", 0)) stub_replay();
  std::vector<Buffer> open;
  {
    const std::lock_guard<std::mutex> lock(stub().mutex);
    open.swap(stub().open);
  }
  for (const Buffer& buffer : open) complete(buffer);
  if (forced && stub().lost) complete(Buffer());  // there is nothing but a loss to tell
  return CUPTI_SUCCESS;
}

}  // extern "C"
