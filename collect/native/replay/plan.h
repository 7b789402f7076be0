// The plan of prefetches, as `tracelode replay` hands it over: a file of numbers and texts that it has checked.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace tracelode {

// An object of managed memory: `occurrence` counts those of its size as the program allocates them, from 0.
struct Memory {
  uint64_t bytes, occurrence;
};

// A part of an object that is to be on the device; `memory` is its place in the plan's list.
struct Part {
  uint64_t memory, offset, bytes;
};

struct Kernel {
  std::string name;
  std::unordered_map<uint64_t, std::vector<Part>> steps;  // by the number of its execution, from 0
  uint64_t executions = 0;                                // so far
};

class Plan {
 public:
  // The plan of a file; an empty one where there is none, or it is not as described in plan.cpp.
  explicit Plan(const std::string& path);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<Memory>& memory() const { return memory_; }
  uint64_t steps() const { return steps_; }

  // The kernel that a function of this name is, as its compiler wrote the name; nullptr if the plan has none.
  Kernel* find(const std::string& name);

 private:
  bool read(const std::string& content);
  void index();

  std::vector<Memory> memory_;
  std::deque<Kernel> kernels_;
  uint64_t steps_ = 0;
  std::unordered_map<std::string, Kernel*> exact_, alike_;  // nullptr: several kernels are alike
  std::unordered_map<std::string, Kernel*> found_;          // what was asked for before
};

}  // namespace tracelode
