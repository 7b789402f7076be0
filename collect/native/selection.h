// Which kernels are kept: by ordinal, by name, and one of so many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demangle.h"
#include "options.h"

namespace tracelode {

class Selection {
 public:
  explicit Selection(const Options& options)
      : first_(options.first_launch), last_(options.last_launch), sample_(options.sample), names_(options.names) {}

  // Whether the next kernel lies in the range.
  bool next_in_range() {
    const uint64_t ordinal = ordinal_++;
    return ordinal >= first_ && ordinal < last_;
  }

  // Whether a text has one of the parts, encoded or as it is shown; judged once a name, unless the name stands for
  // further texts, too.
  bool wants(uint32_t name, const std::string& named, const char* text) {
    if (names_.empty()) return true;
    if (named != text) return has_a_part(text) || has_a_part(demangled(text));
    if (name >= judged_.size()) judged_.resize(name + 1, unknown);
    if (judged_[name] == unknown) judged_[name] = has_a_part(text) || has_a_part(demangled(text));
    return judged_[name];
  }

  // Whether the next kernel is the one kept of its block. The place within the block changes from block to block:
  // a fixed stride would always meet the same kernel of a loop.
  bool next_in_sample() {
    if (sample_ == 1) return true;
    const uint64_t place = taken_ % sample_, block = taken_ / sample_;
    ++taken_;
    return place == mixed(block) % sample_;
  }

 private:
  static constexpr uint8_t unknown = 2;

  bool has_a_part(const std::string& text) const {
    for (const std::string& part : names_) {
      if (text.find(part) != std::string::npos) return true;
    }
    return false;
  }

  // Spreads a number over 64 bits: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
  static uint64_t mixed(uint64_t number) {
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
  }

  const uint64_t first_, last_, sample_;
  const std::vector<std::string> names_;
  std::vector<uint8_t> judged_;
  uint64_t ordinal_ = 0, taken_ = 0;
};

}  // namespace tracelode
