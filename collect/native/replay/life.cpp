#include "life.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>

#include "../message.h"

namespace tracelode {

namespace {

// nullptr until CUDA is used. Never destroyed: threads may use CUDA until the very end.
std::atomic<Replayer*> current{nullptr};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

void tell_counts() noexcept {
  try {
    Replayer* const own = current;
    const std::string path = variable("TRACELODE_REPLAY_COUNTS");
    if (!own || own->idle() || path.empty()) return;
    const std::string line = own->counts();
    if (line.empty()) return;
    const QuietSignals quiet;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
    close(file);
  } catch (...) {  // the program is ending: it shall end as it would have
  }
}

// Of a forked child's parent, whose threads may have left it half changed: neither used nor freed.
Replayer* inherited = nullptr;

// Should the child use CUDA, it begins anew.
void forget() noexcept { inherited = current.exchange(nullptr); }

void install() {
  static const bool installed = [] {
    std::atexit(tell_counts);
    std::at_quick_exit(tell_counts);
    pthread_atfork(nullptr, nullptr, forget);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

Replayer& replayer() {
  if (Replayer* const own = current) return *own;
  install();
  auto made = std::make_unique<Replayer>(variable("TRACELODE_REPLAY_PLAN"));
  Replayer* other = nullptr;
  return current.compare_exchange_strong(other, made.get()) ? *made.release() : *other;
}

}  // namespace tracelode
