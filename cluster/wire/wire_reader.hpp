// wire_reader: takes msgpack items from the front of a peer's bytes, only those of messages.
// Allocates nothing and never reads past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace troupe::cluster {

/// Each function takes one item; on failure it returns nothing and takes nothing.
/// Owns:   nothing; texts and blobs refer to the bytes of the constructor.
class wire_reader {
public:
  explicit wire_reader(std::span<const std::uint8_t> data) noexcept : rest_{data} {}

  bool at_end() const noexcept { return rest_.empty(); }

  /// A non-negative integer, in any msgpack size.
  std::optional<std::uint64_t> number() noexcept {
    if (at_end())
      return std::nullopt;
    auto head = rest_[0];
    if (head < 0x80)
      return take_number(0, head);
    switch (head) {
      case 0xcc: return big_endian(1);
      case 0xcd: return big_endian(2);
      case 0xce: return big_endian(4);
      case 0xcf: return big_endian(8);
      case 0xd0: return not_negative(1);
      case 0xd1: return not_negative(2);
      case 0xd2: return not_negative(4);
      case 0xd3: return not_negative(8);
      default: return std::nullopt;
    }
  }

  std::optional<bool> boolean() noexcept {
    if (at_end() || (rest_[0] != 0xc2 && rest_[0] != 0xc3))
      return std::nullopt;
    auto is_true = rest_[0] == 0xc3;
    rest_ = rest_.subspan(1);
    return is_true;
  }

  /// Whether a nil was taken.
  bool nil() noexcept {
    if (at_end() || rest_[0] != 0xc0)
      return false;
    rest_ = rest_.subspan(1);
    return true;
  }

  /// The length of an array whose elements follow. At most the number of remaining bytes.
  std::optional<std::size_t> array() noexcept {
    return sized(0x90, 15, {0, 0xdc, 0xdd}, [this](std::size_t) { return rest_.subspan(0, 0); });
  }

  std::optional<std::string_view> text() noexcept {
    std::span<const std::uint8_t> body;
    if (!sized(0xa0, 31, {0xd9, 0xda, 0xdb}, [&](std::size_t n) { return body = rest_.first(n); }))
      return std::nullopt;
    return std::string_view{reinterpret_cast<const char*>(body.data()), body.size()};
  }

  std::optional<std::span<const std::uint8_t>> blob() noexcept {
    std::span<const std::uint8_t> body;
    if (!sized(0, 0, {0xc4, 0xc5, 0xc6}, [&](std::size_t n) { return body = rest_.first(n); }))
      return std::nullopt;
    return body;
  }

private:
  struct wide_heads {
    std::uint8_t one, two, four; // 0: the item has no head of this size
  };

  std::optional<std::uint64_t> take_number(std::size_t more, std::uint64_t n) noexcept {
    rest_ = rest_.subspan(1 + more);
    return n;
  }

  std::optional<std::uint64_t> big_endian(std::size_t size) noexcept {
    if (rest_.size() <= size)
      return std::nullopt;
    std::uint64_t n = 0;
    for (auto b : rest_.subspan(1, size))
      n = n << 8 | b;
    return take_number(size, n);
  }

  std::optional<std::uint64_t> not_negative(std::size_t size) noexcept {
    return rest_.size() > size && rest_[1] < 0x80 ? big_endian(size) : std::nullopt;
  }

  // Reads a head with a length, short or wide. Short heads are `first` to `first` + `short_max`.
  // With a `first` of 0 the item has no short head. `take` returns the bytes that belong to it.
  template <class Take>
  std::optional<std::size_t> sized(std::uint8_t first, std::uint8_t short_max, wide_heads wide,
                                   Take take) noexcept {
    auto before = rest_;
    auto size = length(first, short_max, wide);
    if (!size || *size > rest_.size()) {
      rest_ = before;
      return std::nullopt;
    }
    rest_ = rest_.subspan(take(*size).size());
    return static_cast<std::size_t>(*size);
  }

  std::optional<std::uint64_t> length(std::uint8_t first, std::uint8_t short_max,
                                      wide_heads wide) noexcept {
    if (at_end())
      return std::nullopt;
    auto head = rest_[0];
    if (first != 0 && head >= first && head <= first + short_max)
      return take_number(0, head - first);
    if (head == 0)
      return std::nullopt;
    if (head == wide.one)
      return big_endian(1);
    if (head == wide.two)
      return big_endian(2);
    return head == wide.four ? big_endian(4) : std::nullopt;
  }

  std::span<const std::uint8_t> rest_;
};

} // namespace troupe::cluster
