// Any bytes as a value, for targets that need values and not their encoding.
#pragma once

#include <troupe/value.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::fuzz_bytes {

/// Takes choices off the front of bytes; 0 when they have run out.
class choices {
public:
  explicit choices(std::string_view bytes) noexcept : rest_{bytes} {}

  std::uint8_t byte() noexcept {
    if (rest_.empty())
      return 0;
    auto b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  std::uint64_t number(std::size_t bytes = 8) noexcept {
    std::uint64_t n = 0;
    for (; bytes > 0; --bytes)
      n = n << 8 | byte();
    return n;
  }
  std::string_view text(std::size_t size_max) noexcept {
    auto size = std::min<std::size_t>(byte() % (size_max + 1), rest_.size());
    auto text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  std::string_view rest() const noexcept { return rest_; }

private:
  std::string_view rest_;
};

/// A key: often one that means something to somebody.
inline std::string key_of(choices& from) {
  constexpr std::array<std::string_view, 12> known{
    "a", "b", "c", "$eq", "$ne", "$gt", "$lt", "$gte", "$lte", "$bytes", "$$bytes", ""};
  auto b = from.byte();
  return b < 200 ? std::string{known[b % known.size()]} : std::string{from.text(20)};
}

inline value value_of(choices& from, int depth = 6) {
  auto kind = from.byte() % (depth > 0 ? 10 : 7);
  switch (kind) {
    case 0: return {};
    case 1: return value((from.byte() & 1) != 0);
    case 2: return value(static_cast<std::int8_t>(from.byte()));
    case 3: return value(static_cast<std::int64_t>(from.number()));
    case 4: return value(std::bit_cast<double>(from.number()));
    case 5: return value(from.text(40));
    case 6: return value::bytes(std::as_bytes(std::span{from.text(20)}));
    case 7: {
      std::vector<value> items;
      for (auto n = from.byte() % 6; n > 0; --n)
        items.push_back(value_of(from, depth - 1));
      return value::list(std::move(items));
    }
    case 8: {
      std::vector<value::map_init> entries;
      for (auto n = from.byte() % 6; n > 0; --n) {
        auto key = key_of(from);
        entries.emplace_back(std::move(key), value_of(from, depth - 1));
      }
      return value::map(std::move(entries));
    }
    default: return value::extension(value_kind::overwrite, value_of(from, depth - 1));
  }
}

/// Whether NaN, which equals nothing, is somewhere in it.
inline bool has_nan(const value& v) {
  if (v.is_double())
    return std::isnan(v.as_double());
  for (const auto& item : v.items())
    if (has_nan(item))
      return true;
  for (const auto& entry : v.entries())
    if (has_nan(entry.val))
      return true;
  return v.kind() >= value_kind::message && has_nan(v.payload());
}

} // namespace troupe::fuzz_bytes
