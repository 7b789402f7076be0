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
bool write_all(int file, std::vector<iovec> parts) {
  for (size_t at = 0; at < parts.size();) {
    ssize_t done = writev(file, &parts[at], static_cast<int>(parts.size() - at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
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

}  // namespace

Spool::Spool(std::string folder, std::string schema, std::string first)
    : folder_(std::move(folder)), schema_(std::move(schema)), first_(std::move(first)) {}

bool Spool::fail(const std::string& what) {
  if (error_.empty()) error_ = what + ": " + std::strerror(errno);
  return false;
}

bool Spool::open() {
  if (file_ >= 0) return true;
  if (!make_folders(folder_)) return fail(folder_);
  const std::string path = folder_ + "/events.spool";
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0 || fstat(file_, &opened_)) return fail(path);
  const auto json = [&](uint16_t kind, const std::string& text) {
    const std::string padded = text + std::string((8 - text.size() % 8) % 8, ' ');
    return append(kind, 1, 1, {part(padded.data(), padded.size())});
  };
  return json(schema_kind, schema_) && json(text_kind, first_);
}

bool Spool::write(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts) {
  const QuietSignals quiet;
  return error_.empty() && open() && append(kind, columns, rows, parts);
}

bool Spool::text(const std::string& json) {
  const std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  return write(text_kind, 1, 1, {part(padded.data(), padded.size())});
}

bool Spool::append(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts) {
  static const char zeros[8] = {};
  // A program may close files that are not its own; then the number belongs to one that is.
  struct stat now;
  if (fstat(file_, &now) || now.st_ino != opened_.st_ino || now.st_dev != opened_.st_dev) {
    errno = EBADF;
    return fail(folder_ + "/events.spool");
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
  if (!write_all(file_, std::move(all))) {
    fail(folder_ + "/events.spool");
    // Half a chunk at the end would do no harm; without it the file is simply whole.
    [[maybe_unused]] const int cut = ftruncate(file_, static_cast<off_t>(bytes_));
    return false;
  }
  bytes_ += sizeof header + header.bytes;
  ++sequence_;
  return true;
}

}  // namespace tracelode
