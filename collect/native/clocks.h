// The system's clocks in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

#include "json.h"

namespace tracelode {

inline uint64_t now(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// The three clocks read as close together as can be: the tightest of a few tries, and how long that one took.
inline Json clock_triple() {
  uint64_t best[3] = {}, spread = ~uint64_t{0};
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = now(CLOCK_MONOTONIC_RAW);
    const uint64_t realtime = now(CLOCK_REALTIME), boottime = now(CLOCK_BOOTTIME);
    const uint64_t after = now(CLOCK_MONOTONIC_RAW);
    if (after - before >= spread) continue;
    spread = after - before;
    best[0] = realtime, best[1] = before + spread / 2, best[2] = boottime;
  }
  Json json;
  json.add("what", "clocks").add("realtime", best[0]).add("monotonic_raw", best[1]).add("boottime", best[2]);
  return json.add("spread", spread);
}

}  // namespace tracelode
