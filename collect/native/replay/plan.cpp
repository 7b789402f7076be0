#include "plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "../demangle.h"
#include "kernel_name.h"

namespace tracelode {

namespace {

// The file: this text; then, as numbers of 64 bits with the lowest byte first,
//   the number of objects, and of each its bytes and its occurrence;
//   the number of kernels, and of each the length of its name, and the name's bytes;
//   the number of steps, and of each its kernel's place, the execution, the number of its parts, and of each part the
//   object's place, the offset and the bytes.
constexpr char magic[] = "tracelode replay 1\n";

// What is left of a file. Once something does not fit it gives only zeros and empty texts.
class Rest {
 public:
  explicit Rest(const std::string& content) : at_(content.data()), end_(at_ + content.size()) {}

  uint64_t number() {
    const char* const bytes = take(8);
    uint64_t value = 0;
    for (unsigned byte = 0; bytes && byte < 8; ++byte) {
      value |= uint64_t{static_cast<uint8_t>(bytes[byte])} << (8 * byte);
    }
    return value;
  }

  std::string text(uint64_t length) {
    const char* const begin = take(length);
    return begin ? std::string(begin, length) : "";
  }

  // How many things of so many bytes at least follow: a number that the rest cannot hold is none.
  uint64_t count(uint64_t least_bytes) {
    const uint64_t value = number();
    fits_ = fits_ && value <= static_cast<uint64_t>(end_ - at_) / least_bytes;
    return fits_ ? value : 0;
  }

  bool fits() const { return fits_; }
  bool over() const { return at_ == end_; }

 private:
  const char* take(uint64_t bytes) {
    fits_ = fits_ && bytes <= static_cast<uint64_t>(end_ - at_);
    return fits_ ? std::exchange(at_, at_ + bytes) : nullptr;
  }

  const char* at_;
  const char* const end_;
  bool fits_ = true;
};

std::string content_of(const std::string& path) {
  std::string content;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char part[1 << 16];
  for (ssize_t got; file >= 0 && (got = ::read(file, part, sizeof part)) > 0;) {
    content.append(part, static_cast<size_t>(got));
  }
  if (file >= 0) close(file);
  return content;
}

}  // namespace

Plan::Plan(const std::string& path) {
  if (read(content_of(path))) {
    index();
    return;
  }
  memory_.clear();
  kernels_.clear();
  steps_ = 0;
}

bool Plan::read(const std::string& content) {
  Rest rest(content);
  if (rest.text(std::strlen(magic)) != magic) return false;
  memory_.resize(rest.count(16));
  for (Memory& one : memory_) one.bytes = rest.number(), one.occurrence = rest.number();
  kernels_.resize(rest.count(8));
  for (Kernel& one : kernels_) one.name = rest.text(rest.number());
  steps_ = rest.count(24);
  for (uint64_t step = 0; step < steps_; ++step) {
    const uint64_t kernel = rest.number(), occurrence = rest.number();
    std::vector<Part> parts(rest.count(24));
    for (Part& part : parts) {
      part.memory = rest.number(), part.offset = rest.number(), part.bytes = rest.number();
      if (part.memory >= memory_.size()) return false;
      const uint64_t whole = memory_[part.memory].bytes;
      if (part.bytes == 0 || part.offset > whole || part.bytes > whole - part.offset) return false;
    }
    if (!rest.fits() || kernel >= kernels_.size()) return false;
    kernels_[kernel].steps.emplace(occurrence, std::move(parts));
  }
  return rest.fits() && rest.over();
}

void Plan::index() {
  for (Kernel& one : kernels_) {
    exact_.emplace(one.name, &one);
    const auto [known, first] = alike_.emplace(comparable(one.name), &one);
    if (!first) known->second = nullptr;
  }
}

Kernel* Plan::find(const std::string& name) {
  const auto [known, first] = found_.emplace(name, nullptr);
  if (!first) return known->second;
  const std::string shown = demangled(name);
  for (const std::string& text : {name, shown}) {
    if (const auto kernel = exact_.find(text); kernel != exact_.end()) return known->second = kernel->second;
  }
  const auto kernel = alike_.find(comparable(shown));
  return known->second = kernel == alike_.end() ? nullptr : kernel->second;
}

}  // namespace tracelode
