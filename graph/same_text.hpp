// same_text: whether two short texts are equal, without a call.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace troupe {

namespace detail {

template <class Word> bool same_word(const char* a, const char* b) noexcept {
  Word x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x == y;
}

// The first and the last word of each, which may overlap.
template <class Word> bool same_ends(std::string_view a, std::string_view b) noexcept {
  auto last = a.size() - sizeof(Word);
  return same_word<Word>(a.data(), b.data()) && same_word<Word>(a.data() + last, b.data() + last);
}

} // namespace detail

/// Names are mostly this short, and many are compared in each step.
inline bool same_text(std::string_view a, std::string_view b) noexcept {
  constexpr std::size_t short_max = 16;
  if (a.size() != b.size())
    return false;
  if (a.size() > short_max)
    return std::memcmp(a.data(), b.data(), a.size()) == 0;
  if (a.size() >= sizeof(std::uint64_t))
    return detail::same_ends<std::uint64_t>(a, b);
  if (a.size() >= sizeof(std::uint32_t))
    return detail::same_ends<std::uint32_t>(a, b);
  return a.empty()
         || (a.front() == b.front() && a[a.size() / 2] == b[b.size() / 2] && a.back() == b.back());
}

} // namespace troupe
