// What the driver, the agent and the system call. Nothing that goes wrong here may reach the program.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "collector.h"
#include "process.h"

namespace tracelode {

namespace {

// What this process has of the library; a forked child begins with a new one.
struct Life {
  std::mutex mutex;  // of all
  std::string folder;
  Collector* collector = nullptr;  // never destroyed: CUPTI may call until the very end
  Life* parent = nullptr;
};

std::atomic<Life*> life{new Life};

// Libraries whose ranges of NVTX wait for a recording: a list without a lock, since a child may be forked at any time.
struct Ranges {
  NvtxTables tables;
  Ranges* next;
};

std::atomic<Ranges*> waiting_ranges{nullptr};

void hand_over_ranges() {
  Collector* const collector = current;
  if (!collector) return;
  for (Ranges* one = waiting_ranges.exchange(nullptr); one;) {
    collector->take_ranges(one->tables);
    delete std::exchange(one, one->next);
  }
}

void finish() noexcept {
  try {
    if (Collector* const collector = current) collector->finish();
  } catch (...) {  // the program is ending: it shall end as it would have
  }
}

// CUDA does not work in a forked child, and the thread that records is not there. Should the child not have used CUDA
// before the fork and use it now, it records into a folder of its own.
void forget() noexcept {
  current = nullptr;
  Life* const parent = life;
  try {
    life = new Life{{}, "", nullptr, parent};
  } catch (...) {
    life = nullptr;
  }
}

// Hooks of the system, once in a process and its children. CUPTI, the worker and the hooks hold addresses of this
// library: it must stay where it is.
void install_hooks() {
  static const bool installed = [] {
    Dl_info place{};
    const bool found = dladdr(reinterpret_cast<void*>(forget), &place);
    if (found) dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    std::atexit(finish);
    std::at_quick_exit(finish);
    pthread_atfork(nullptr, nullptr, forget);
    return true;
  }();
  static_cast<void>(installed);
}

const std::string& folder_of(Life& own, const std::string& recording) {
  install_hooks();  // a child must not think the parent's folder its own
  if (own.folder.empty()) own.folder = recording + "/" + process_folder(recording);
  return own.folder;
}

// Begins the recording where it is asked for and can be; the collector, also one that could not begin.
Collector* begin(Life& own) {
  if (own.collector) return own.collector;
  const Options options = read_options();
  if (options.folder.empty() || !open_driver()) return nullptr;
  own.collector = new Collector(options, folder_of(own, options.folder));
  if (own.collector->begin()) hand_over_ranges();
  return own.collector;
}

// Calls the function with this process's collector; 0 if it could and did what it should, else -1.
template <class Function>
int with_current(Function function) noexcept {
  try {
    Collector* const collector = current;
    return collector && function(*collector) ? 0 : -1;
  } catch (...) {
    return -1;
  }
}

}  // namespace

}  // namespace tracelode

// The interface to C. Programs look the functions up in the library that CUDA_INJECTION64_PATH names, once CUDA has
// loaded it (dlopen with RTLD_NOLOAD, then dlsym). Any thread may call them, also where nothing is recorded. Those that
// return int return 0 if they did what they should, else -1.
//
//   int tracelode_start(void);           begins to record, or goes on
//   int tracelode_stop(void);            pauses
//   int tracelode_flush(void);           writes all that there is; waits for it, at most ten seconds
//   int tracelode_push(uint64_t number); gives this thread's calls a number until the pop (table `external`); where it
//   int tracelode_pop(void);             returns -1 nothing was pushed, and nothing is to be popped
//   int tracelode_active(void);          1 while events are recorded, else 0
//   const char* tracelode_state(void);   what has been recorded, as JSON; valid until this thread's next call

#define TRACELODE_EXPORT extern "C" __attribute__((visibility("default")))

// Called by the driver for CUDA_INJECTION64_PATH, in cuInit.
TRACELODE_EXPORT int InitializeInjection() {
  using namespace tracelode;
  try {
    if (Life* const own = life) {
      const std::lock_guard<std::mutex> lock(own->mutex);
      begin(*own);
    }
  } catch (...) {  // no memory: no recording
  }
  return 1;
}

// Called for NVTX_INJECTION64_PATH when a library first uses NVTX, with or without CUDA: its ranges go to the CUPTI
// that records, as soon as there is one. Loads nothing.
TRACELODE_EXPORT int InitializeInjectionNvtx2(tracelode::NvtxTables tables) {
  using namespace tracelode;
  try {
    auto* const one = new Ranges{tables, waiting_ranges};
    while (!waiting_ranges.compare_exchange_weak(one->next, one)) continue;
    hand_over_ranges();
  } catch (...) {  // no memory: no ranges
  }
  return 1;
}

TRACELODE_EXPORT int tracelode_start() {
  using namespace tracelode;
  try {
    Life* const own = life;
    if (!own) return -1;
    const std::lock_guard<std::mutex> lock(own->mutex);
    Collector* const collector = begin(*own);
    return collector && collector->resume() ? 0 : -1;
  } catch (...) {
    return -1;
  }
}

// What has ended by now is written; synchronise the device before to have it all.
TRACELODE_EXPORT int tracelode_stop() {
  return tracelode::with_current([](tracelode::Collector& collector) { return collector.pause(); });
}

// For programs that end without running exit handlers.
TRACELODE_EXPORT int tracelode_flush() {
  return tracelode::with_current([](tracelode::Collector& collector) { return collector.flush(); });
}

TRACELODE_EXPORT int tracelode_push(uint64_t external) {
  return tracelode::with_current([=](tracelode::Collector& collector) { return collector.push(external); });
}

TRACELODE_EXPORT int tracelode_pop() {
  return tracelode::with_current([](tracelode::Collector& collector) { return collector.pop(); });
}

TRACELODE_EXPORT int tracelode_active() {
  tracelode::Collector* const collector = tracelode::current;
  return collector && collector->recording();
}

// The process's folder is in it also where nothing is recorded.
TRACELODE_EXPORT const char* tracelode_state() {
  using namespace tracelode;
  static thread_local std::string text;
  try {
    Life* const own = life;
    if (!own) return "{}";
    const std::lock_guard<std::mutex> lock(own->mutex);
    if (own->collector) return (text = own->collector->state()).c_str();
    const std::string recording = recording_folder();
    Json json;
    json.add("what", "state").add("active", false);
    if (!recording.empty()) json.add("folder", folder_of(*own, recording));
    return (text = json.text()).c_str();
  } catch (...) {
    return "{}";
  }
}
