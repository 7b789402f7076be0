// What all kernels of a name took on a device: count, sum, extremes and a histogram of powers of two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tracelode {

// The bucket of a duration: 2^bucket <= nanoseconds < 2^(bucket + 1); 0 ns are in bucket 0.
inline unsigned bucket_of(uint64_t nanoseconds) { return 63 - static_cast<unsigned>(__builtin_clzll(nanoseconds | 1)); }

struct Total {
  uint64_t count = 0, time = 0, shortest = ~uint64_t{0}, longest = 0;
  unsigned first_bucket = 0;
  std::vector<uint64_t> buckets;  // from first_bucket on

  void add(uint64_t nanoseconds) {
    ++count;
    time += nanoseconds;
    shortest = std::min(shortest, nanoseconds);
    longest = std::max(longest, nanoseconds);
    const unsigned bucket = bucket_of(nanoseconds);
    if (bucket - first_bucket >= buckets.size()) widen(bucket);
    ++buckets[bucket - first_bucket];
  }

 private:
  void widen(unsigned bucket) {
    if (buckets.empty()) first_bucket = bucket;
    if (bucket < first_bucket) {
      buckets.insert(buckets.begin(), first_bucket - bucket, 0);
      first_bucket = bucket;
    }
    if (bucket - first_bucket >= buckets.size()) buckets.resize(bucket - first_bucket + 1);
  }
};

class Totals {
 public:
  struct Device {
    uint32_t device;
    std::vector<Total> by_name;
  };

  void add(uint32_t name, uint32_t device, uint64_t nanoseconds) {
    if (last_ >= devices_.size() || devices_[last_].device != device) last_ = find(device);
    std::vector<Total>& by_name = devices_[last_].by_name;
    if (name >= by_name.size()) by_name.resize(name + 1);
    by_name[name].add(nanoseconds);
  }

  const std::vector<Device>& devices() const { return devices_; }

 private:
  size_t find(uint32_t device) {
    size_t at = 0;
    while (at < devices_.size() && devices_[at].device != device) ++at;
    if (at == devices_.size()) devices_.push_back({device, {}});
    return at;
  }

  std::vector<Device> devices_;
  size_t last_ = 0;
};

}  // namespace tracelode
