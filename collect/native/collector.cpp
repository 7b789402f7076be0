#include "collector.h"

#include <chrono>
#include <csignal>
#include <pthread.h>
#include <thread>

#include "clocks.h"
#include "message.h"
#include "process.h"

namespace tracelode {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds patience(10);  // for the worker, where the program has to wait for it
constexpr uint64_t second_ns = 1'000'000'000;
constexpr uint64_t totals_every_ns = 10 * second_ns;

}  // namespace

std::atomic<Collector*> current{nullptr};

Collector::Collector(Options options, std::string folder)
    : options_(std::move(options)), folder_(std::move(folder)),
      buffers_(options_.buffer_bytes, options_.buffers_bytes) {}

void Collector::requested(uint8_t** buffer, size_t* size, size_t* records) noexcept {
  Collector* const collector = current;
  const bool first = collector && !collector->buffers_.used();
  *buffer = collector ? collector->buffers_.request() : nullptr;
  *size = *buffer ? collector->buffers_.buffer_bytes() : 0;
  *records = 0;  // as many as fit
  if (first) collector->wake();  // from now on there is something to flush
}

void Collector::completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) noexcept {
  Collector* const collector = current;
  if (!collector) return;
  size_t dropped = 0;
  if (collector->cupti_.dropped_records &&
      collector->cupti_.dropped_records(context, stream, &dropped) != CUPTI_SUCCESS) {
    dropped = 0;
  }
  collector->buffers_.complete(buffer, valid, dropped);
  collector->wake();
}

void Collector::wake() {
  bool asleep;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asleep = !std::exchange(awake_, true);
  }
  if (asleep) wakened_.notify_one();
}

bool Collector::fail(const std::string& message, const std::string& hint) {
  say(message);
  Json json;
  json.add("what", "error").add("message", message);
  if (!hint.empty()) json.add("hint", hint);
  bool working;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = message;
    state_ = Json().add("what", "state").add("active", false).add("folder", folder_).add("error", message).text();
    working = working_;
    if (working) errors_.push_back(json.text());
  }
  if (!working) {
    recorder_ = std::make_unique<Recorder>(options_, cupti_, clock_, folder_, first_facts().text());
    recorder_->spool().text(json.text());
    publish("exit");
    recorder_->spool().text(state());
  }
  return false;
}

bool Collector::start_worker() {
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { work(); }).detach();
    const std::lock_guard<std::mutex> lock(mutex_);
    working_ = true;
  } catch (...) {  // no thread: said by the caller
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return working_;
}

bool Collector::flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!working_ || finished_) return false;
  const uint64_t mine = ++flushes_asked_;
  wakened_.notify_one();
  const auto until = steady_clock::now() + patience;
  const bool done = answered_.wait_until(lock, until, [&] { return flushes_done_ >= mine || finished_; });
  return done && flushes_done_ >= mine && !failed_;
}

void Collector::finish() {
  recording_ = false;
  std::unique_lock<std::mutex> lock(mutex_);
  if (!working_) return;
  finish_asked_ = true;
  wakened_.notify_one();
  const auto until = steady_clock::now() + patience;
  const bool done = answered_.wait_until(lock, until, [&] { return finished_; });
  current = nullptr;
  if (!done) say("the recording could not be finished in time: its last part is missing");
}

// Also in a pause: what one pushes, the other must find, whatever happens in between.
bool Collector::push(uint64_t external) {
  return options_.wants("external") && cupti_.push_external &&
         cupti_.push_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, external) == CUPTI_SUCCESS;
}

bool Collector::pop() {
  uint64_t last = 0;
  return options_.wants("external") && cupti_.pop_external &&
         cupti_.pop_external(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) == CUPTI_SUCCESS;
}

void Collector::take_ranges(NvtxTables tables) {
  if (options_.wants("marker") && cupti_.initialize_nvtx) cupti_.initialize_nvtx(tables);
}

std::string Collector::state() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

void Collector::work() noexcept {
  pthread_setname_np(pthread_self(), "tracelode");
  try {
    serve();
  } catch (...) {
    // Out of memory, most likely. The records are the lesser loss.
    say("the recording has failed: the program runs on without it");
    current = nullptr;
    const std::lock_guard<std::mutex> lock(switching_);
    recording_ = false;
    disable_kinds();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  finished_ = true;
  answered_.notify_all();
}

void Collector::serve() {
  for (;;) {
    wait_for_work();
    uint64_t flushes;
    bool flush, finish;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      flushes = flushes_asked_, flush = flushes_asked_ != flushes_done_, finish = finish_asked_;
    }
    drain();
    const uint64_t period = (options_.flush_ms ? options_.flush_ms : 1000) * 1'000'000;
    if (!next_flush_ && buffers_.used()) next_flush_ = now(CLOCK_MONOTONIC_RAW) + period;
    const bool due = next_flush_ && now(CLOCK_MONOTONIC_RAW) >= next_flush_;
    if (!flush && !finish && !due) continue;
    if (flush || finish) collect(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    else if (options_.flush_ms) collect(CUPTI_ACTIVITY_FLAG_NONE);
    write(finish ? Why::end : flush ? Why::asked : Why::due);
    next_flush_ = now(CLOCK_MONOTONIC_RAW) + period;
    if (finish) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    flushes_done_ = flushes;
    answered_.notify_all();
  }
}

// Sleeps until there is something to do; without an end before the first buffer, so that idle processes stay idle.
void Collector::wait_for_work() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ready = [&] { return awake_ || finish_asked_ || flushes_asked_ != flushes_done_; };
  if (!buffers_.used()) {
    wakened_.wait(lock, ready);
  } else {
    const uint64_t time = now(CLOCK_MONOTONIC_RAW);
    const uint64_t wait = next_flush_ > time ? next_flush_ - time : 0;
    wakened_.wait_until(lock, steady_clock::now() + std::chrono::nanoseconds(wait), ready);
  }
  awake_ = false;
}

void Collector::drain() {
  for (std::vector<Filled> filled = buffers_.take(); !filled.empty(); filled = buffers_.take()) {
    for (const Filled& buffer : filled) {
      tell_start();
      recorder_->take(buffer.data, buffer.valid);
      buffers_.give_back(buffer.data);
      end_if_full();
    }
  }
}

void Collector::tell_start() {
  if (!start_clocks_.empty()) recorder_->spool().text(std::exchange(start_clocks_, ""));
}

// Has CUPTI deliver what it holds. An unforced flush leaves the buffers with unfinished records.
void Collector::collect(CUpti_ActivityFlag how) {
  if (!buffers_.used()) return;
  cupti_.flush_all(static_cast<uint32_t>(how));
  drain();
}

void Collector::write(Why why) {
  std::vector<std::string> errors;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    errors.swap(errors_);
  }
  Spool& spool = recorder_->spool();
  const uint64_t delivered = buffers_.delivered(), time = now(CLOCK_MONOTONIC_RAW);
  if (!delivered && errors.empty() && !spool.bytes()) return;  // nothing that is worth a folder
  if (ended_ && why != Why::end) return publish("");
  tell_start();
  for (const std::string& error : errors) spool.text(error);
  recorder_->flush();
  if (why == Why::end || time >= next_clocks_) {
    spool.text(clock_triple().text());
    next_clocks_ = time + second_ns;
  }
  write_totals(why);
  publish(why == Why::end ? "exit" : recording_ ? "" : "pause");
  if (why == Why::end || delivered != told_buffers_) spool.text(state());
  told_buffers_ = delivered;
  end_if_full();
  if (why == Why::end && failed_) spool.last_text(state());
}

void Collector::write_totals(Why why) {
  const uint64_t delivered = buffers_.delivered(), time = now(CLOCK_MONOTONIC_RAW);
  if (delivered == totalled_buffers_ || (why == Why::due && time < next_totals_)) return;
  const size_t rows = recorder_->report_totals();
  // Soon at first, then every ten seconds, and the more there is to tell the rarer: reports stay small beside rows.
  totals_pause_ = std::min(2 * totals_pause_ + second_ns / 2, totals_every_ns) * (1 + rows / 10'000);
  next_totals_ = time + totals_pause_;
  totalled_buffers_ = delivered;
}

void Collector::end_if_full() {
  Spool& spool = recorder_->spool();
  if (ended_ || (spool.error().empty() && !recorder_->at_limit())) return;
  ended_ = true;
  {
    const std::lock_guard<std::mutex> lock(switching_);
    if (recording_.exchange(false)) disable_kinds();
  }
  write_totals(Why::asked);
  publish("");
  if (spool.error().empty()) return void(spool.text(state()));
  failed_ = true;
  say("cannot write " + spool.error() + ": the recording ends here, the program runs on");
  spool.last_text(state());
}

Json Collector::first_facts() const {
  Json json;
  json.add("what", "process").add("collector", "cupti").add("version", options_.version);
  json.add("cupti", cupti_.version).add("cupti_path", cupti_.path).add("driver", cupti_.driver);
  json.add("clock", clock_ == CLOCK_MONOTONIC_RAW ? "monotonic_raw" : "realtime");
  if (!device_memory_.empty()) json.add("device_memory", device_memory_);
  return json.merge(process_facts()).add("options", options_.described());
}

void Collector::publish(const char* stopped) {
  const Counts& counts = recorder_->counts();
  Json records, kept, unknown, invalid;
  for (unsigned kind = 0; kind < kinds; ++kind) {
    if (counts.records[kind]) records.add(kind_names[kind], counts.records[kind]);
    if (counts.kept[kind]) kept.add(kind_names[kind], counts.kept[kind]);
  }
  for (const auto& [kind, count] : counts.unknown) unknown.add(std::to_string(kind).c_str(), count);
  invalid.add("zero", counts.zero).add("inverted", counts.inverted).add("future", counts.future);
  const std::string error = recorder_->spool().error();
  const bool unwritable = !error.empty(), at_end = std::string(stopped) == "exit";
  Json json;
  json.add("what", "state").add("final", unwritable || at_end).add("active", recording_.load());
  json.add("folder", folder_).add("records", records).add("kept", kept).add("dropped", buffers_.dropped());
  json.add("refused_buffers", buffers_.refused()).add("unknown", unknown).add("invalid", invalid);
  json.add("filtered", counts.filtered).add("sampled_out", counts.sampled_out);
  json.add("outside_range", counts.outside_range).add("reduced", counts.reduced);
  json.add("beyond_limit", counts.beyond_limit).add("unwritten", counts.unwritten);
  json.add("broken_buffers", counts.broken_buffers).add("names_beyond", recorder_->names().beyond());
  json.add("buffers", buffers_.delivered()).add("buffer_bytes", uint64_t{buffers_.allocated_bytes()});
  json.add("spool_bytes", recorder_->spool().bytes());
  const std::lock_guard<std::mutex> lock(mutex_);
  json.add("worker_cpu_ns", working_ ? now(CLOCK_THREAD_CPUTIME_ID) : uint64_t{0});
  const bool failed = !failure_.empty();
  json.add("stopped", unwritable ? "disk" : recorder_->at_limit() ? "size" : at_end && failed ? "error" : stopped);
  if (unwritable || failed) json.add("error", unwritable ? error : failure_);
  state_ = json.text();
}

}  // namespace tracelode
