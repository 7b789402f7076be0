#include "cupti.h"

#include <dlfcn.h>

namespace tracelode {

namespace {

const char* const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The copy that the program uses already, since two in a process steal each other's buffers; then ours.
void* open_cupti(const std::string& preferred) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  }
  if (!preferred.empty()) {
    if (void* library = dlopen(preferred.c_str(), RTLD_LAZY)) return library;
  }
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_LAZY)) return library;
  }
  return nullptr;
}

}  // namespace

void* open_driver() { return dlopen("libcuda.so.1", RTLD_LAZY); }

int device_count(void* driver) {
  int (*count_devices)(int*) = nullptr;
  int count = 0;
  return bind(driver, "cuDeviceGetCount", count_devices) && count_devices(&count) == 0 ? count : 0;
}

std::string Cupti::load(const std::string& preferred) {
  void* driver_library = open_driver();
  if (!driver_library) return "there is no CUDA driver";
  int (*driver_version)(int*) = nullptr;
  if (bind(driver_library, "cuDriverGetVersion", driver_version)) driver_version(&driver);
  void* library = open_cupti(preferred);
  if (!library) return "libcupti was not found";
  if (!bind(library, "cuptiGetVersion", get_version)) return "libcupti has no cuptiGetVersion";
  Dl_info place{};
  if (dladdr(reinterpret_cast<void*>(get_version), &place) && place.dli_fname) path = place.dli_fname;
  const bool complete =
      bind(library, "cuptiGetResultString", get_result_string) && bind(library, "cuptiSubscribe", subscribe) &&
      bind(library, "cuptiActivityRegisterCallbacks", register_callbacks) &&
      bind(library, "cuptiActivityEnable", enable) && bind(library, "cuptiActivityDisable", disable) &&
      bind(library, "cuptiActivityGetNextRecord", next_record) && bind(library, "cuptiActivityFlushAll", flush_all);
  if (!complete) return path + " lacks functions of the activity interface";
  if (const CUptiResult result = get_version(&version); result != CUPTI_SUCCESS) {
    return "cuptiGetVersion of " + path + " says " + error(result);
  }
  if (version < oldest) return path + " is of version " + std::to_string(version) + ", older than CUDA 12.1";
  bind(library, "cuptiUnsubscribe", unsubscribe);
  bind(library, "cuptiSetThreadIdType", set_thread_id_type);
  bind(library, "cuptiActivityGetAttribute", get_attribute);
  bind(library, "cuptiActivitySetAttribute", set_attribute);
  bind(library, "cuptiActivityGetNumDroppedRecords", dropped_records);
  bind(library, "cuptiActivityConfigureUnifiedMemoryCounter", configure_uvm);
  bind(library, "cuptiActivityPushExternalCorrelationId", push_external);
  bind(library, "cuptiActivityPopExternalCorrelationId", pop_external);
  bind(library, "cuptiEnableCallback", enable_callback);
  bind(library, "cuptiGetCallbackName", callback_name);
  bind(library, "cuptiActivityFlushPeriod", flush_period);
  bind(library, "cuptiActivityRegisterTimestampCallback", register_timestamp);
  bind(library, "cuptiActivityEnableAllSyncRecords", enable_all_syncs);
  bind(library, "InitializeInjectionNvtx2", initialize_nvtx);
  return "";
}

std::string Cupti::error(CUptiResult result) const {
  const char* text = nullptr;
  if (!get_result_string || get_result_string(result, &text) != CUPTI_SUCCESS || !text) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  return std::string(text) + " (" + std::to_string(static_cast<int>(result)) + ")";
}

}  // namespace tracelode
