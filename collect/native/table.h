// Rows of one kind, kept as columns until there are enough for a chunk.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "spool.h"

namespace tracelode {

template <class Value>
constexpr const char* type_name() {
  constexpr bool is_signed = static_cast<Value>(-1) < static_cast<Value>(0);
  static_assert(sizeof(Value) == 1 || sizeof(Value) == 2 || sizeof(Value) == 4 || sizeof(Value) == 8);
  if (is_signed) return sizeof(Value) == 4 ? "i4" : "i8";
  return sizeof(Value) == 1 ? "u1" : sizeof(Value) == 2 ? "u2" : sizeof(Value) == 4 ? "u4" : "u8";
}

template <class... Values>
class Table {
 public:
  static constexpr uint32_t most = 16384;  // rows of a chunk

  Table(const char* name, std::array<const char*, sizeof...(Values)> columns, bool tail = false)
      : name_(name), columns_(columns), tail_(tail) {}

  // Its entry in the schema; its number is told there and used from then on.
  std::string describe(uint16_t kind) {
    kind_ = kind;
    const char* const types[] = {type_name<Values>()...};
    std::string list;
    for (size_t at = 0; at < columns_.size(); ++at) {
      list += std::string(at ? "," : "") + "[\"" + columns_[at] + "\",\"" + types[at] + "\"]";
    }
    const std::string end = tail_ ? "],\"tail\":true}" : "]}";
    return "\"" + std::string(name_) + "\":{\"kind\":" + std::to_string(kind) + ",\"columns\":[" + list + end;
  }

  // Adds a row. The table must not be full.
  void add(Values... values) {
    if (!memory_) allocate(std::index_sequence_for<Values...>());
    put(std::index_sequence_for<Values...>(), values...);
    ++rows_;
  }

  bool full() const { return rows_ == most; }
  uint32_t rows() const { return rows_; }

  // Writes the rows as a chunk, the tail behind them, and is empty then.
  bool write(Spool& spool, const std::string& tail = "") {
    if (!rows_) return true;
    std::vector<iovec> parts = columns(std::index_sequence_for<Values...>());
    parts.push_back({const_cast<char*>(tail.data()), tail.size()});
    const uint32_t rows = std::exchange(rows_, 0);
    return spool.write(kind_, sizeof...(Values), rows, parts);
  }

 private:
  template <size_t... At>
  void allocate(std::index_sequence<At...>) {
    memory_ = std::make_tuple(std::make_unique<Values[]>(most)...);
    ((std::get<At>(column_) = std::get<At>(*memory_).get()), ...);
  }
  template <size_t... At>
  void put(std::index_sequence<At...>, Values... values) {
    ((std::get<At>(column_)[rows_] = values), ...);
  }
  template <size_t... At>
  std::vector<iovec> columns(std::index_sequence<At...>) {
    return {iovec{std::get<At>(column_), rows_ * sizeof(Values)}...};
  }

  const char* name_;
  std::array<const char*, sizeof...(Values)> columns_;
  bool tail_;
  uint16_t kind_ = 0;
  uint32_t rows_ = 0;
  std::optional<std::tuple<std::unique_ptr<Values[]>...>> memory_;
  std::tuple<Values*...> column_;
};

}  // namespace tracelode
