// What the replayer declares of the driver, against NVIDIA's own header: compiled, never run.
#include <cuda.h>

#include <cstddef>

#include "../../collect/native/replay/driver.h"

namespace {

using tracelode::Address;
using tracelode::Driver;
using tracelode::LaunchConfig;

static_assert(sizeof(CUdeviceptr) == sizeof(Address) && sizeof(CUdevice) == sizeof(int));
static_assert(sizeof(CUstream) == sizeof(tracelode::Handle) && sizeof(CUresult) == sizeof(int));
static_assert(sizeof(CUlaunchConfig) == sizeof(LaunchConfig));
static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(LaunchConfig, block));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(LaunchConfig, shared_bytes));
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(LaunchConfig, stream));
static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(LaunchConfig, attributes));
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(LaunchConfig, attribute_count));
static_assert(CUDA_SUCCESS == Driver::success && CUDA_ERROR_NOT_INITIALIZED == Driver::not_initialized);
static_assert(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS == Driver::concurrent_managed_access);
static_assert(CU_STREAM_NON_BLOCKING == Driver::non_blocking);
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == Driver::relaxed && CU_STREAM_CAPTURE_STATUS_NONE == 0);
static_assert(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM == 2);

[[maybe_unused]] bool same_stream() { return CU_STREAM_PER_THREAD == Driver::per_thread_stream; }

}  // namespace
