#include "recorder.h"

#include "clocks.h"
#include "demangle.h"

namespace tracelode {

namespace {

// A device's clock is converted by interpolation: so much later than now is no error yet.
constexpr uint64_t tolerance_ns = 1'000'000;
constexpr size_t most_tail_bytes = 1 << 20;

std::string schema_of(Tables& tables) {
  std::string list;
  uint16_t kind = Spool::text_kind;
  tables.each([&](auto& table) { list += (list.empty() ? "" : ",") + table.describe(++kind); });
  return "{\"spool\":1,\"tables\":{" + list + "}}";
}

}  // namespace

Recorder::Recorder(const Options& options, const Cupti& cupti, clockid_t clock, const std::string& folder,
                   const std::string& first)
    : cupti_(cupti), clock_(clock), rows_(options.rows), stop_bytes_(options.stop_bytes), selection_(options),
      spool_(folder, schema_of(tables_), first) {}

void Recorder::take(uint8_t* data, size_t valid) {
  latest_ = now(clock_) + tolerance_ns;
  CUpti_Activity* record = nullptr;
  CUptiResult result;
  // The records' sizes differ between versions of CUPTI: only its own function knows where the next one is.
  while ((result = cupti_.next_record(data, valid, &record)) == CUPTI_SUCCESS) take(*record);
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++counts_.broken_buffers;
}

bool Recorder::valid(uint64_t start, uint64_t end) {
  if (start && start <= end && end <= latest_) return true;
  ++(!start || !end ? counts_.zero : end < start ? counts_.inverted : counts_.future);
  return false;
}

bool Recorder::keep() {
  if (!spool_.error().empty()) return ++counts_.unwritten, false;
  if (!rows_) return ++counts_.reduced, false;
  at_limit_ = at_limit_ || (stop_bytes_ && spool_.bytes() + waiting_bytes_ >= stop_bytes_);
  if (at_limit_) return ++counts_.beyond_limit, false;
  return true;
}

uint32_t Recorder::name_of(const char* text) {
  const uint32_t before = names_.size(), id = names_.of(text);
  if (names_.size() == before) return id;
  const std::string shown = demangled(names_.text(id));
  name_tail_ += shown;
  waiting_bytes_ += shown.size();
  add(tables_.name, id, static_cast<uint32_t>(shown.size()));
  if (name_tail_.size() >= most_tail_bytes) flush();
  return id;
}

void Recorder::flush() {
  tables_.name.write(spool_, std::exchange(name_tail_, ""));
  unsigned number = 0;
  tables_.each([&](auto& table) {
    const unsigned kind = number++ - Tables::before_kinds;
    const uint32_t rows = table.rows();
    const bool written = table.write(spool_);
    if (kind < kinds) (written ? counts_.kept[kind] : counts_.unwritten) += rows;
  });
  waiting_bytes_ = 0;
  at_limit_ = at_limit_ || (stop_bytes_ && spool_.bytes() >= stop_bytes_);
}

size_t Recorder::report_totals() {
  flush();
  size_t rows = 0;
  for (const auto& [device, by_name] : totals_.devices()) {
    for (uint32_t name = 0; name < by_name.size(); ++name) {
      const Total& total = by_name[name];
      if (!total.count) continue;
      ++rows;
      add(tables_.total, name, device, total.count, total.time, total.shortest, total.longest);
      for (unsigned at = 0; at < total.buckets.size(); ++at) {
        if (!total.buckets[at]) continue;
        ++rows;
        add(tables_.histogram, name, device, static_cast<uint8_t>(total.first_bucket + at), total.buckets[at]);
      }
    }
  }
  flush();
  return rows;
}

}  // namespace tracelode
