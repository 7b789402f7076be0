#include "json.h"

#include <cstdio>

namespace tracelode {

namespace {

// Length of the UTF-8 character that begins there; 0 where none does.
size_t character(const std::string& text, size_t at) {
  const auto byte = [&](size_t index) { return index < text.size() ? static_cast<uint8_t>(text[index]) : 0u; };
  const unsigned lead = byte(at);
  size_t length = 0;
  if (lead < 0x80) length = 1;
  else if (lead >= 0xc2 && lead < 0xe0) length = 2;
  else if (lead >= 0xe0 && lead < 0xf0) length = 3;
  else if (lead >= 0xf0 && lead < 0xf5) length = 4;
  for (size_t next = 1; next < length; ++next) {
    if ((byte(at + next) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_large = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = character(text, at);
    const auto byte = static_cast<uint8_t>(text[at]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out.append(text, at, length);
    }
    at += length ? length : 1;
  }
  return out + "\"";
}

Json& Json::add(const char* key, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ",") + quoted(value);
  return raw(key, "[" + list + "]");
}

Json& Json::raw(const std::string& key, const std::string& json) {
  if (!members_.empty()) members_ += ",";
  members_ += quoted(key) + ":" + json;
  return *this;
}

Json& Json::merge(const Json& other) {
  if (!members_.empty() && !other.members_.empty()) members_ += ",";
  members_ += other.members_;
  return *this;
}

}  // namespace tracelode
