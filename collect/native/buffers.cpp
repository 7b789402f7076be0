#include "buffers.h"

#include <cstdlib>

namespace tracelode {

uint8_t* Buffers::request() noexcept {
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      uint8_t* const data = free_.back();
      free_.pop_back();
      return data;
    }
    if (allocated_ < most_) {
      free_.reserve(most_);  // giving back never allocates
      filled_.reserve(most_);
      if (void* const data = std::aligned_alloc(4096, (buffer_bytes_ + 4095) / 4096 * 4096)) {
        ++allocated_;
        return static_cast<uint8_t*>(data);
      }
    }
  } catch (...) {  // no memory: as at the limit
  }
  ++refused_;
  return nullptr;
}

void Buffers::complete(uint8_t* data, size_t valid, size_t dropped) noexcept {
  dropped_ += dropped;
  ++delivered_;
  if (!data) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_.push_back({data, valid});
}

std::vector<Filled> Buffers::take() {
  std::vector<Filled> empty;
  empty.reserve(most_);
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_.swap(empty);
  return empty;
}

void Buffers::give_back(uint8_t* data) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(data);
}

}  // namespace tracelode
