// Launch configurations as numbers: equal ones get the same.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace tracelode {

struct Config {
  uint32_t name;
  int32_t grid[3];
  int32_t block[3];
  uint32_t registers;
  int32_t static_shared;
  int32_t dynamic_shared;
  uint32_t launch_type;
  uint32_t cluster[3];
};
static_assert(std::has_unique_object_representations_v<Config> && sizeof(Config) % 8 == 0);

class Configs {
 public:
  // So many are remembered; then all are forgotten, and equal ones may get further numbers.
  static constexpr size_t most = 1 << 20;

  struct Found {
    uint32_t id;
    bool is_new;
  };

  Found of(const Config& config) {
    if (known_.size() * 2 >= slots_.size()) grow();
    size_t at = hash(config) & (slots_.size() - 1);
    for (; slots_[at]; at = (at + 1) & (slots_.size() - 1)) {
      if (std::memcmp(&known_[slots_[at] - 1], &config, sizeof config) == 0) return {first_ + slots_[at] - 1, false};
    }
    known_.push_back(config);
    slots_[at] = static_cast<uint32_t>(known_.size());
    return {first_ + slots_[at] - 1, true};
  }

 private:
  static size_t hash(const Config& config) {
    uint64_t words[sizeof(Config) / 8], even = 0, odd = 0;
    std::memcpy(words, &config, sizeof config);
    for (size_t at = 0; at + 1 < sizeof(Config) / 8; at += 2) {
      even = (even ^ words[at]) * 0x9e3779b97f4a7c15u;
      odd = (odd ^ words[at + 1]) * 0xc2b2ae3d27d4eb4fu;
      even ^= even >> 29, odd ^= odd >> 31;
    }
    const uint64_t all = (even ^ (odd + words[sizeof(Config) / 8 - 1])) * 0x9e3779b97f4a7c15u;
    return all ^ (all >> 32);
  }

  void grow() {
    if (known_.size() >= most) {
      first_ += static_cast<uint32_t>(known_.size());
      known_.clear();
      slots_.assign(slots_.size(), 0);
      return;
    }
    slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, 0);
    for (uint32_t id = 0; id < known_.size(); ++id) {
      size_t at = hash(known_[id]) & (slots_.size() - 1);
      while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = id + 1;
    }
  }

  uint32_t first_ = 0;
  std::vector<Config> known_;
  std::vector<uint32_t> slots_;  // place in known_, counted from 1; 0 is free
};

}  // namespace tracelode
