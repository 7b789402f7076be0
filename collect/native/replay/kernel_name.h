// Names of kernels made equal, whichever tool has written them out: Nsight Systems does it unlike GCC.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace tracelode {

namespace kernel_name {

inline void replace(std::string& text, std::string_view old, std::string_view with) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size())) {
    text.replace(at, old.size(), with);
  }
}

// The letters, digits and underscores that it begins with.
inline std::string_view word(std::string_view text) {
  const auto in_word = [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_'; };
  size_t length = 0;
  while (length < text.size() && in_word(text[length])) ++length;
  return text.substr(0, length);
}

// A word as all tools write it; a template argument that is a number without its suffix, a truth value as 1 or 0.
inline std::string_view plain(std::string_view word, bool argument) {
  if (word == "const" || word == "void") return "";
  if (argument && (word == "true" || word == "false")) return word == "true" ? "1" : "0";
  const size_t digits = word.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return word;
  return word.find_first_not_of("ul", digits) == std::string_view::npos ? word.substr(0, digits) : word;
}

}  // namespace kernel_name

// What the ways to write the name have in common: no spaces, no `const` (before or after a type) and no `void` (that is
// returned, or not told). Of templates no parentheses either: some write the types in them, some `T1`, and all casts
// `(int)4` stand in them. Overloads of one template are the same by this.
inline std::string comparable(std::string text) {
  kernel_name::replace(text, "(anonymous namespace)", "{unnamed}");
  kernel_name::replace(text, "<unnamed>", "{unnamed}");
  kernel_name::replace(text, " (instance ", "#");
  kernel_name::replace(text, "[lambda", "{lambda");
  kernel_name::replace(text, ")]", "}");
  const bool is_template = text.find('<') != std::string::npos;
  std::string equal;
  size_t depth = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = kernel_name::word(rest);
    const char letter = rest[0];
    if (letter == '(' && is_template) {
      ++depth;
    } else if (letter == ')' && is_template) {
      depth -= depth > 0;
    } else if (depth == 0 && !word.empty()) {
      const bool argument = !equal.empty() && (equal.back() == '<' || equal.back() == ',' || equal.back() == '-');
      equal += kernel_name::plain(word, argument);
    } else if (depth == 0 && !std::isspace(static_cast<unsigned char>(letter))) {
      equal += letter;
    }
    rest.remove_prefix(word.empty() ? 1 : word.size());
  }
  return equal;
}

}  // namespace tracelode
