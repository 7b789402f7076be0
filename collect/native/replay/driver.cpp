#include "driver.h"

#include <dlfcn.h>

#include "interposed.h"

namespace tracelode {

namespace {

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(real_symbol(library, name));
}

}  // namespace

void Driver::bind() noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return;
  look_up(library, "cuMemPrefetchAsync", prefetch);  // the first version, with a device's number, which drivers keep
  look_up(library, "cuMemGetInfo_v2", memory);
  look_up(library, "cuCtxGetCurrent", current_context);
  look_up(library, "cuCtxGetDevice", current_device);
  look_up(library, "cuDeviceGetAttribute", device_attribute);
  look_up(library, "cuStreamCreate", create_stream);
  look_up(library, "cuStreamQuery", query_stream);
  look_up(library, "cuStreamSynchronize", synchronize_stream);
  look_up(library, "cuStreamIsCapturing", is_capturing);
  look_up(library, "cuThreadExchangeStreamCaptureMode", exchange_capture_mode);
  look_up(library, "cuFuncGetName", function_name);
  look_up(library, "cuKernelGetName", kernel_name);
}

bool Driver::complete() const {
  return prefetch && memory && current_context && current_device && device_attribute && create_stream &&
         query_stream && synchronize_stream && is_capturing && exchange_capture_mode;
}

}  // namespace tracelode
