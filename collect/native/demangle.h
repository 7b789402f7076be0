// Names of kernels as their authors wrote them, where the compiler has encoded them.
#pragma once

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string>

namespace tracelode {

// The name itself where it is not encoded, or so long that decoding it could take long.
inline std::string demangled(const std::string& name) {
  constexpr size_t longest = 4096, longest_shown = 1 << 16;
  if (name.compare(0, 2, "_Z") != 0 || name.size() > longest) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> shown(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  if (status != 0 || !shown) return name;
  std::string text = shown.get();
  return text.size() > longest_shown ? name : text;
}

}  // namespace tracelode
