// What the replayer calls of the CUDA driver. Declared here, so that building it needs none of NVIDIA's headers; a test
// compares the declarations with theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tracelode {

using Address = unsigned long long;
using Handle = void*;

struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

struct Driver {
  static constexpr int success = 0, not_initialized = 3;
  static constexpr int concurrent_managed_access = 89;  // an attribute of devices
  static constexpr unsigned non_blocking = 1;           // a flag of streams
  static constexpr int relaxed = 2;                     // a mode of capturing
  static inline const Handle per_thread_stream = reinterpret_cast<Handle>(2);

  // Always there where complete() is true.
  int (*prefetch)(Address, size_t bytes, int device, Handle stream) = nullptr;
  int (*memory)(size_t* free, size_t* total) = nullptr;
  int (*current_context)(Handle*) = nullptr;
  int (*current_device)(int*) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;
  int (*create_stream)(Handle*, unsigned flags) = nullptr;
  int (*query_stream)(Handle) = nullptr;
  int (*synchronize_stream)(Handle) = nullptr;
  int (*is_capturing)(Handle stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;

  // Since CUDA 12.3.
  int (*function_name)(const char**, Handle) = nullptr;
  int (*kernel_name)(const char**, Handle) = nullptr;

  // Looks them all up in the driver that the process has loaded.
  void bind() noexcept;
  bool complete() const;
};

}  // namespace tracelode
