#include "spool.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "message.h"

namespace tracelode {

namespace {

struct Header {
  char magic[4];
  uint16_t kind;
  uint16_t columns;
  uint32_t rows;
  uint32_t thread;
  uint64_t bytes;
  uint64_t sequence;
};
static_assert(sizeof(Header) == 32);

// Makes the folder and those it lies in; whether it is there.
bool make_folders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    if (mkdir(path.substr(0, at).c_str(), 0700) && errno != EEXIST && at == path.size()) return false;
  }
  return true;
}

// Writes all of it, in one call where the system allows it.
bool write_all(int file, std::vector<iovec> parts, uint64_t place) {
  for (size_t at = 0; at < parts.size();) {
    ssize_t done = pwritev(file, &parts[at], static_cast<int>(parts.size() - at), static_cast<off_t>(place));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    place += static_cast<uint64_t>(done);
    while (at < parts.size() && static_cast<size_t>(done) >= parts[at].iov_len) {
      done -= static_cast<ssize_t>(parts[at++].iov_len);
    }
    if (at < parts.size()) {
      parts[at].iov_base = static_cast<char*>(parts[at].iov_base) + done;
      parts[at].iov_len -= static_cast<size_t>(done);
    }
  }
  return true;
}

iovec part(const void* data, size_t bytes) { return {const_cast<void*>(data), bytes}; }

std::string padded(const std::string& json) { return json + std::string((8 - json.size() % 8) % 8, ' '); }

constexpr uint64_t last_text_bytes = 8192;  // enough for a state

}  // namespace

Spool::Spool(std::string folder, std::string schema, std::string first)
    : folder_(std::move(folder)), path_(folder_ + "/events.spool"), schema_(std::move(schema)),
      first_(std::move(first)) {}

bool Spool::fail() {
  if (error_.empty()) error_ = path_ + ": " + std::strerror(errno);
  return false;
}

bool Spool::open() {
  if (file_ >= 0) return true;
  if (!make_folders(folder_)) return fail();
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0 || fstat(file_, &opened_)) return fail();
  const auto json = [&](uint16_t kind, const std::string& text) {
    return append(kind, 1, 1, {part(text.data(), text.size())});
  };
  return json(schema_kind, padded(schema_)) && json(text_kind, padded(first_));
}

bool Spool::ours() const {
  struct stat now;
  return fstat(file_, &now) == 0 && now.st_ino == opened_.st_ino && now.st_dev == opened_.st_dev;
}

bool Spool::reserve(uint64_t bytes) {
  const uint64_t end = bytes_ + bytes + last_text_bytes;
  if (end <= reserved_) return true;
  if (fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(reserved_), static_cast<off_t>(end - reserved_))) {
    return errno != ENOSPC && errno != EDQUOT;  // not every file system can: a chunk that is cut off then gives room
  }
  reserved_ = end;
  return true;
}

bool Spool::write(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts) {
  const QuietSignals quiet;
  return error_.empty() && open() && append(kind, columns, rows, parts);
}

bool Spool::text(const std::string& json) {
  const std::string text = padded(json);
  return write(text_kind, 1, 1, {part(text.data(), text.size())});
}

void Spool::last_text(const std::string& json) {
  const QuietSignals quiet;
  if (!bytes_) return;  // not even the schema could be written
  const std::string text = padded(json);
  const uint64_t bytes = bytes_, sequence = sequence_;
  if (!append(text_kind, 1, 1, {part(text.data(), text.size())})) return;
  [[maybe_unused]] const int cut = ftruncate(file_, static_cast<off_t>(bytes_));  // what a longer one before left
  bytes_ = bytes, sequence_ = sequence;
}

bool Spool::append(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts) {
  static const char zeros[8] = {};
  if (!ours()) {
    errno = EBADF;
    return fail();
  }
  Header header{{'T', 'L', 'C', '1'}, kind, columns, rows, static_cast<uint32_t>(syscall(SYS_gettid)), 0, sequence_};
  std::vector<iovec> all{part(&header, sizeof header)};
  for (const iovec& one : parts) {
    if (one.iov_len == 0) continue;
    const size_t padding = (8 - one.iov_len % 8) % 8;
    all.push_back(one);
    if (padding) all.push_back(part(zeros, padding));
    header.bytes += one.iov_len + padding;
  }
  if (error_.empty() && !reserve(sizeof header + header.bytes)) return fail();
  if (!write_all(file_, std::move(all), bytes_)) {
    fail();
    // Half a chunk at the end would do no harm; without it the file is whole, and has room for a last text.
    [[maybe_unused]] const int cut = ftruncate(file_, static_cast<off_t>(bytes_));
    return false;
  }
  bytes_ += sizeof header + header.bytes;
  ++sequence_;
  return true;
}

}  // namespace tracelode
