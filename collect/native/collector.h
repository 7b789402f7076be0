// The recording of one process: subscribes to CUPTI, hands out buffers, and has a thread that records what comes back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "buffers.h"
#include "cupti.h"
#include "options.h"
#include "recorder.h"

namespace tracelode {

class Collector {
 public:
  // `folder` is where this process's files go.
  Collector(Options options, std::string folder);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Subscribes and begins; false, with a line on stderr, where that cannot be. Not without a driver.
  bool begin();

  // Turns the kinds of events on or off, to begin again or to pause.
  bool resume();
  bool pause();

  // Has all that CUPTI holds recorded and written; false if that took too long or could not be written.
  bool flush();

  // Records the rest and ends the thread, within a time limit. Nothing is recorded after it.
  void finish();

  bool push(uint64_t external);
  bool pop();

  // Hands a library's ranges of NVTX over to CUPTI.
  void take_ranges(NvtxTables tables);

  bool recording() const { return recording_; }
  // The state as JSON, as it was at the last flush.
  std::string state();

 private:
  // Callbacks of CUPTI, in the program's threads.
  static void requested(uint8_t** buffer, size_t* size, size_t* records) noexcept;
  static void completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) noexcept;
  static void called(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

  bool subscribe();
  bool prepare();
  bool bound_device_memory();
  void choose_clock();
  bool enable_kinds();
  void disable_kinds();
  CUptiResult configure_uvm();
  void enable_uvm() noexcept;
  // Tells the user and the recording why there is none; false.
  bool fail(const std::string& message, const std::string& hint = "");
  bool start_worker();
  void wake();
  Json first_facts() const;

  // The worker's.
  void work() noexcept;
  void serve();
  void wait_for_work();
  void drain();
  void tell_start();
  void collect(CUpti_ActivityFlag how);
  enum class Why { due, asked, end };
  void write(Why why);
  void write_totals(Why why);
  // Ends it for good where the file has its size, or cannot be written.
  void end_if_full();
  void publish(const char* stopped);

  const Options options_;
  const std::string folder_;
  Cupti cupti_;
  clockid_t clock_ = CLOCK_MONOTONIC_RAW;
  Json device_memory_;  // that CUPTI takes, for each context
  CUpti_SubscriberHandle subscriber_ = nullptr;
  Buffers buffers_;
  std::unique_ptr<Recorder> recorder_;

  std::atomic<bool> recording_{false};
  std::atomic<bool> uvm_pending_{false};
  std::mutex switching_;  // held while kinds are turned on or off
  std::string refused_;   // the kinds that CUPTI does not record; under switching_
  std::atomic<bool> ended_{false};   // for good
  std::atomic<bool> failed_{false};  // writing has

  std::mutex mutex_;  // of the following
  std::condition_variable wakened_, answered_;
  bool awake_ = false, working_ = false;
  uint64_t flushes_asked_ = 0, flushes_done_ = 0;
  bool finish_asked_ = false, finished_ = false;
  std::vector<std::string> errors_;  // to be written
  std::string failure_;              // why nothing is recorded
  std::string state_;

  // The worker's alone.
  uint64_t next_flush_ = 0, next_clocks_ = 0, next_totals_ = 0, totals_pause_ = 0;
  uint64_t told_buffers_ = 0, totalled_buffers_ = 0;
  std::string start_clocks_;
};

// The recording that takes buffers; nullptr where there is none, or after a fork.
extern std::atomic<Collector*> current;

}  // namespace tracelode
