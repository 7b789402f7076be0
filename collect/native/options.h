// What is asked of the collector: TRACELODE_RECORD_* in the environment.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "json.h"

namespace tracelode {

struct Options {
  std::string folder;  // absolute; empty: nothing is to be recorded
  std::set<std::string> events;
  bool graph_nodes = false;
  bool rows = true;
  uint64_t first_launch = 0;
  uint64_t last_launch = ~uint64_t{0};  // exclusive
  uint64_t sample = 1;
  std::vector<std::string> names;  // parts of kernel names; empty: all
  uint64_t buffers_bytes = 64u << 20;
  uint64_t buffer_bytes = 2048u << 10;
  uint64_t device_bytes = 256u << 20;  // on the device, for each context
  uint64_t flush_ms = 500;  // 0: only full buffers, and the rest at the end
  bool paused = false;
  uint64_t stop_bytes = 0;  // 0: no limit
  std::string cupti;
  std::string version;

  bool wants(const char* event) const { return events.count(event) != 0; }
  Json described() const;
};

// Where recordings go, as an absolute path; empty where nothing is to be recorded.
std::string recording_folder();

// Reads the environment; what cannot be understood is said on stderr and replaced by the default.
Options read_options();

}  // namespace tracelode
