// A JSON object that is written member by member.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracelode {

// The text in quotes; bytes that are not UTF-8 become U+FFFD, so that every reader can read it.
std::string quoted(const std::string& text);

class Json {
 public:
  Json& add(const char* key, const std::string& value) { return raw(key, quoted(value)); }
  Json& add(const char* key, const char* value) { return raw(key, quoted(value)); }
  Json& add(const char* key, uint64_t value) { return raw(key, std::to_string(value)); }
  Json& add(const char* key, uint32_t value) { return raw(key, std::to_string(value)); }
  Json& add(const char* key, int value) { return raw(key, std::to_string(value)); }
  Json& add(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  Json& add(const char* key, const Json& value) { return raw(key, value.text()); }
  Json& add(const char* key, const std::vector<std::string>& values);

  // Adds a member whose value is JSON already.
  Json& raw(const std::string& key, const std::string& json);

  // Adds the members of another object.
  Json& merge(const Json& other);

  bool empty() const { return members_.empty(); }
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace tracelode
