// Turns activity records into counts, totals and rows of the spool. Used by one thread.
#pragma once

#include "configs.h"
#include "cupti.h"
#include "names.h"
#include "selection.h"
#include "spool.h"
#include "tables.h"
#include "totals.h"

#include <map>
#include <set>

namespace tracelode {

// What became of the records. Each record that is not in `unknown` is counted once in `records` and, of the others,
// either in `kept` or in one of the reasons why there is no row of it; those that wait to be written in none yet.
struct Counts {
  uint64_t records[kinds] = {}, kept[kinds] = {};
  uint64_t zero = 0, inverted = 0, future = 0;  // of their times
  uint64_t filtered = 0, sampled_out = 0, outside_range = 0;
  uint64_t reduced = 0;       // only in the totals, as asked
  uint64_t beyond_limit = 0;  // the spool had reached its size
  uint64_t unwritten = 0;     // writing had failed
  uint64_t broken_buffers = 0;
  std::map<uint32_t, uint64_t> unknown;
};

class Recorder {
 public:
  // `first` is the text that begins the spool, `clock` the one that the records' times are of.
  Recorder(const Options& options, const Cupti& cupti, clockid_t clock, const std::string& folder,
           const std::string& first);

  // Takes all records of a buffer.
  void take(uint8_t* data, size_t valid);

  // Writes what has been taken.
  void flush();

  // Writes the totals of all kernels so far; how many rows they are.
  size_t report_totals();

  Spool& spool() { return spool_; }
  const Counts& counts() const { return counts_; }
  const Names& names() const { return names_; }
  bool at_limit() const { return at_limit_; }

 private:
  void take(const CUpti_Activity& record);
  void take(const CUpti_ActivityKernel9& record);
  void take(const CUpti_ActivityMemcpy5& record);
  void take(const CUpti_ActivityMemcpyPtoP4& record);
  void take(const CUpti_ActivityMemset4& record);
  void take(const CUpti_ActivitySynchronization& record);
  void take(const CUpti_ActivityMemory3& record);
  void take(const CUpti_ActivityMemoryPool2& record);
  void take(const CUpti_ActivityGraphTrace& record);
  void take(const CUpti_ActivityAPI& record);
  void take(const CUpti_ActivityMarker2& record);
  void take(const CUpti_ActivityOverhead& record);
  void take(const CUpti_ActivityUnifiedMemoryCounter2& record);
  void take(const CUpti_ActivityExternalCorrelation& record);
  void take(const CUpti_ActivityDevice4& record);

  // Whether the times can be true; counts those that cannot.
  bool valid(uint64_t start, uint64_t end);
  // Whether there shall be a row; counts why not if not.
  bool keep();
  uint32_t name_of(const char* text);
  uint32_t config_of(const CUpti_ActivityKernel9& record, uint32_t name);
  void name_call(uint8_t interface, uint32_t function);
  template <class Table, class... Values>
  void add(Table& table, Values... values) {
    table.add(values...);
    waiting_bytes_ += (sizeof(values) + ...);
    if (table.full()) flush();
  }

  const Cupti& cupti_;
  const clockid_t clock_;
  const bool rows_;
  const uint64_t stop_bytes_;
  Selection selection_;
  Tables tables_;
  Spool spool_;
  Names names_;
  Configs configs_;
  Totals totals_;
  Counts counts_;
  std::string name_tail_;
  std::set<uint32_t> devices_;
  std::set<std::pair<uint8_t, uint32_t>> calls_;
  uint64_t latest_ = 0;  // times after it lie in the future
  uint64_t waiting_bytes_ = 0;  // of rows and names
  bool at_limit_ = false;
};

}  // namespace tracelode
