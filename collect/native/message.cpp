#include "message.h"

#include <cerrno>
#include <ctime>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tracelode {

namespace {

constexpr int quiet[] = {SIGPIPE, SIGXFSZ};

// The user's: what a program puts in its place later, such as the file of a daemon, is not for our lines.
struct Stderr {
  struct stat file = {};
  const bool open = fstat(STDERR_FILENO, &file) == 0;

  bool is(const Stderr& other) const {
    return open && other.open && file.st_dev == other.file.st_dev && file.st_ino == other.file.st_ino;
  }
};
const Stderr at_first;

}  // namespace

QuietSignals::QuietSignals() noexcept {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (int signal : quiet) sigaddset(&blocked, signal);
  sigpending(&pending_);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

QuietSignals::~QuietSignals() {
  const int error = errno;
  sigset_t now;
  sigpending(&now);
  for (int signal : quiet) {
    if (!sigismember(&now, signal) || sigismember(&pending_, signal)) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    const timespec at_once{0, 0};
    sigtimedwait(&one, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

void say(const std::string& line) noexcept {
  if (!at_first.is(Stderr())) return;
  try {
    const std::string text = "tracelode: " + line + "\n";
    const QuietSignals quiet_signals;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  } catch (...) {  // no memory for a message: the program matters more
  }
}

}  // namespace tracelode
