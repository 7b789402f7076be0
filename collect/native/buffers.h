// The memory CUPTI writes records into: a pool with a limit, and the full buffers that wait for the worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tracelode {

struct Filled {
  uint8_t* data;
  size_t valid;  // bytes that hold records
};

class Buffers {
 public:
  Buffers(size_t buffer_bytes, size_t bytes_in_all)
      : buffer_bytes_(buffer_bytes), most_(bytes_in_all / buffer_bytes) {}

  // A buffer for CUPTI, or nullptr at the limit or without memory: then CUPTI drops records, and counts them.
  uint8_t* request() noexcept;

  // Puts a buffer that CUPTI gave back into the queue of the worker.
  void complete(uint8_t* data, size_t valid, size_t dropped) noexcept;

  // The waiting buffers, in the order of their delivery.
  std::vector<Filled> take();

  // Makes a buffer free again.
  void give_back(uint8_t* data) noexcept;

  size_t buffer_bytes() const { return buffer_bytes_; }
  size_t allocated_bytes() const { return allocated_ * buffer_bytes_; }
  uint64_t refused() const { return refused_; }
  uint64_t dropped() const { return dropped_; }
  uint64_t delivered() const { return delivered_; }
  bool used() const { return allocated_ != 0; }

 private:
  const size_t buffer_bytes_;
  const size_t most_;
  std::mutex mutex_;
  std::vector<uint8_t*> free_;
  std::vector<Filled> filled_;
  std::atomic<size_t> allocated_{0};
  std::atomic<uint64_t> refused_{0}, dropped_{0}, delivered_{0};
};

}  // namespace tracelode
