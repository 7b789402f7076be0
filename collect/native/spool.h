// The file of a recording: chunks of columns, each written with one call.
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

  // Puts a text at the end of a file that could not be written any more, into the room kept for it; said again, it
  // takes the place of the one before.
  void last_text(const std::string& json);

  uint64_t bytes() const { return bytes_; }
  const std::string& folder() const { return folder_; }
  // Why writing has failed; empty if it has not.
  const std::string& error() const { return error_; }

 private:
  bool open();
  // Whether the number is still that of our file: a program may close files that are not its own.
  bool ours() const;
  bool append(uint16_t kind, uint16_t columns, uint32_t rows, const std::vector<iovec>& parts);
  // Has the disk keep room for so many bytes, and for a last text behind them.
  bool reserve(uint64_t bytes);
  bool fail();

  const std::string folder_, path_, schema_, first_;
  std::string error_;
  int file_ = -1;
  struct stat opened_ = {};  // the file, to know it again
  uint64_t bytes_ = 0, sequence_ = 0;
  uint64_t reserved_ = 0;  // up to where the disk keeps room
};

}  // namespace tracelode
