// The file of a recording: chunks of columns, each appended with one write.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tracelode {

class Spool {
 public:
  static constexpr uint16_t schema_kind = 0, text_kind = 1;

  // Nothing is made before the first chunk. `schema` and `first` are the JSON texts that begin the file.
  Spool(std::string folder, std::string schema, std::string first);

  // Appends a chunk; the parts are the payload, each padded to 8 bytes. False once writing has failed.
  bool write(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts);
  bool text(const std::string& json);

  uint64_t bytes() const { return bytes_; }
  const std::string& folder() const { return folder_; }
  // Why writing has failed; empty if it has not.
  const std::string& error() const { return error_; }

 private:
  bool open();
  bool append(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts);
  bool fail(const std::string& what);

  const std::string folder_, schema_, first_;
  std::string error_;
  int file_ = -1;
  struct stat opened_ = {};  // the file, to know it again
  uint64_t bytes_ = 0, sequence_ = 0;
};

}  // namespace tracelode
