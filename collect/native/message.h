// Lines for the user on stderr, and writing that no signal can turn into the program's death.
#pragma once

#include <csignal>
#include <string>

namespace tracelode {

// Writes "tracelode: <line>" to stderr in one write; not to another file that has been put in its place since.
void say(const std::string& line) noexcept;

// While it lives, SIGPIPE and SIGXFSZ that this thread raises by writing are swallowed: the error number is enough.
class QuietSignals {
 public:
  QuietSignals() noexcept;
  ~QuietSignals();
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_;
  sigset_t pending_;
};

}  // namespace tracelode
