// Texts as numbers: equal texts get the same one, whatever their addresses.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tracelode {

class Names {
 public:
  static constexpr uint32_t none = 0xffffffff;
  // Beyond these limits every new text counts as one and the same, so that memory is bounded.
  static constexpr uint32_t most = 1 << 20;
  static constexpr size_t most_bytes = size_t{256} << 20;

  // The number of a text, counted up from 0 as they come; `none` for nullptr.
  uint32_t of(const char* text) {
    if (!text) return none;
    Recent& recent = recent_[slot_of(text)];
    // An address may come again with another text, when a module was unloaded: the text decides.
    if (recent.address == text && std::strcmp(recent.text, text) == 0) return recent.id;
    recent.id = find(text);
    recent.address = text;
    recent.text = texts_[recent.id].c_str();
    // A text beyond the limits differs from what stands for it: it must be looked up each time.
    if (std::strcmp(recent.text, text) != 0) recent.address = nullptr;
    return recent.id;
  }

  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  const std::string& text(uint32_t id) const { return texts_[id]; }
  // How often a text beyond the limits was met.
  uint64_t beyond() const { return beyond_; }

 private:
  struct Recent {
    const char* address = nullptr;
    const char* text = nullptr;
    uint32_t id = 0;
  };

  static size_t slot_of(const char* address) {
    return (reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 52;
  }

  uint32_t find(std::string_view text) {
    if (texts_.size() * 2 >= slots_.size()) grow();
    const size_t hash = std::hash<std::string_view>()(text);
    uint32_t* slot = look(text, hash);
    if (*slot != none) return *slot;
    if (texts_.size() + 1 >= most || bytes_ + text.size() > most_bytes) {
      ++beyond_;
      text = "(further names)";
      slot = look(text, std::hash<std::string_view>()(text));
      if (*slot != none) return *slot;
    }
    *slot = size();
    texts_.emplace_back(text);
    bytes_ += text.size();
    return *slot;
  }

  // The slot that has the text, or the empty one where it belongs.
  uint32_t* look(std::string_view text, size_t hash) {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != none && texts_[slots_[at]] != text) at = (at + 1) & (slots_.size() - 1);
    return &slots_[at];
  }

  void grow() {
    slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, none);
    for (uint32_t id = 0; id < size(); ++id) *look(texts_[id], std::hash<std::string_view>()(texts_[id])) = id;
  }

  std::array<Recent, 4096> recent_;
  std::deque<std::string> texts_;
  std::vector<uint32_t> slots_;
  size_t bytes_ = 0;
  uint64_t beyond_ = 0;
};

}  // namespace tracelode
