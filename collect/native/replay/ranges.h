// A set of bytes as ranges that do not touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace tracelode {

struct Range {
  uint64_t begin, end;
};

class Ranges {
 public:
  void add(Range one) {
    auto next = ends_.upper_bound(one.begin);
    if (next != ends_.begin() && std::prev(next)->second >= one.begin) --next;
    while (next != ends_.end() && next->first <= one.end) {
      one = {std::min(one.begin, next->first), std::max(one.end, next->second)};
      next = ends_.erase(next);
    }
    ends_[one.begin] = one.end;
  }

  // The parts of the range that are not in the set.
  std::vector<Range> missing(Range one) const {
    std::vector<Range> parts;
    auto next = ends_.upper_bound(one.begin);
    if (next != ends_.begin()) one.begin = std::max(one.begin, std::prev(next)->second);
    for (; next != ends_.end() && next->first < one.end; ++next) {
      parts.push_back({one.begin, next->first});
      one.begin = next->second;
    }
    if (one.begin < one.end) parts.push_back(one);
    return parts;
  }

  void clear() { ends_.clear(); }

 private:
  std::map<uint64_t, uint64_t> ends_;  // by their beginnings
};

}  // namespace tracelode
