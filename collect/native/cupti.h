// CUPTI's functions, found in the process or on disk when the program runs: nothing is linked.
#pragma once

#include <cupti_activity.h>
#include <cupti_version.h>

#include <string>

namespace tracelode {

// Where NVTX, in one of the libraries of the process, keeps its functions.
using NvtxTables = const void* (*)(uint32_t);

struct Cupti {
  // The oldest that is used: CUDA 12.1. Before it the clock cannot be chosen.
  static constexpr uint32_t oldest = 18;

  uint32_t version = 0;
  int driver = 0;
  std::string path;

  // Always there after load().
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;

  // May be missing.
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiSetThreadIdType) set_thread_id_type = nullptr;
  decltype(&cuptiActivityGetAttribute) get_attribute = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&cuptiActivityConfigureUnifiedMemoryCounter) configure_uvm = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
  // Their declarations are missing in some of the headers.
  CUptiResult (*flush_period)(uint32_t) = nullptr;
  CUptiResult (*register_timestamp)(uint64_t (*)()) = nullptr;
  CUptiResult (*enable_all_syncs)(uint8_t) = nullptr;
  int (*initialize_nvtx)(NvtxTables) = nullptr;

  // What keeps CUPTI from being used; empty if nothing does.
  std::string load(const std::string& preferred);

  // The name of an error, such as CUPTI_ERROR_INVALID_KIND.
  std::string error(CUptiResult result) const;
};

// Opens the driver's library; nullptr where there is none. CUPTI's must not be called without it: some versions crash.
void* open_driver();

// How many devices the driver sees; 0 before it is initialised.
int device_count(void* driver);

}  // namespace tracelode
