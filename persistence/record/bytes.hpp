// bytes: the pieces that records are made of: variable-length numbers, sized bytes, and a reader
// that never leaves its input.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "the lowest byte of a number is first");

namespace detail {

/// Writes `n` in groups of seven bits, the lowest first; the top bit marks that more follow.
/// Shape:  up to 10 bytes, up to 5 of a number below 2^32. Returns the place after them.
inline char* put_varint(char* at, std::uint64_t n) noexcept {
  for (; n >= 0x80; n >>= 7)
    *at++ = static_cast<char>(n | 0x80);
  *at++ = static_cast<char>(n);
  return at;
}

} // namespace detail

/// Appends `n` as detail::put_varint() writes it.
inline void append_varint(std::string& out, std::uint64_t n) {
  if (n < 0x80) // usually
    return out.push_back(static_cast<char>(n));
  std::array<char, 10> bytes;
  auto* end = detail::put_varint(bytes.data(), n);
  out.append(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
}

/// Appends numbers as append_varint(), to a string that first gets room for all of them.
class varint_writer {
public:
  static constexpr std::size_t room = 5;        // for a number below 2^32
  static constexpr std::size_t large_room = 10; // for any number

  /// Units:  `at_most` bytes are written.
  varint_writer(std::string& out, std::size_t at_most) : out_{out} {
    auto size = out.size();
    out.resize(size + at_most);
    at_ = out.data() + size;
  }
  varint_writer(const varint_writer&) = delete;
  varint_writer& operator=(const varint_writer&) = delete;
  ~varint_writer() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

  void put(std::uint64_t n) noexcept { at_ = detail::put_varint(at_, n); }

private:
  std::string& out_;
  char* at_;
};

/// Appends a signed number as 0, -1, 1, -2 … → 0, 1, 2, 3 …
inline void append_signed(std::string& out, std::int64_t n) {
  append_varint(out, (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63));
}

/// Appends eight bytes, the lowest first.
inline void append_fixed64(std::string& out, std::uint64_t n) {
  std::array<char, sizeof n> bytes;
  std::memcpy(bytes.data(), &n, sizeof n);
  out.append(bytes.data(), bytes.size());
}

/// Appends a length and the bytes.
inline void append_sized(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

namespace detail {

struct long_number {
  std::uint64_t n = 0;
  std::size_t size = 0; // in bytes; 0: damaged, or cut off
};

// The number at the begin of `bytes`. It is not inlined, so that the usual, short ones are.
[[gnu::noinline]] inline long_number long_varint(std::string_view bytes) noexcept {
  constexpr std::uint64_t all_marks = 0x8080'8080'8080'8080;
  std::uint64_t n = 0;
  if (bytes.size() >= sizeof n) {
    std::memcpy(&n, bytes.data(), sizeof n);
    if (auto last = ~n & all_marks; last != 0) {
      auto bits = static_cast<unsigned>(std::countr_zero(last)) + 1;
      n &= ~all_marks >> (64 - bits); // then the groups of seven bits move together
      n = (n & 0x007f'007f'007f'007f) | (n & 0x7f00'7f00'7f00'7f00) >> 1;
      n = (n & 0x0000'3fff'0000'3fff) | (n & 0x3fff'0000'3fff'0000) >> 2;
      return {(n & 0x0000'0000'0fff'ffff) | (n & 0x0fff'ffff'0000'0000) >> 4, bits / 8};
    }
    n = 0;
  }
  constexpr std::size_t size_max = 10; // of 64 bits
  for (std::size_t i = 0; i < std::min(bytes.size(), size_max); ++i) {
    auto b = static_cast<std::uint8_t>(bytes[i]);
    if (i + 1 == size_max && b > 1)
      return {};
    n |= static_cast<std::uint64_t>(b & 0x7f) << (7 * i);
    if (b < 0x80)
      return {n, i + 1};
  }
  return {};
}

} // namespace detail

/// Takes pieces off the front of bytes that may be damaged. After the first piece that does not
/// fit, all further pieces are 0 or empty, and finished() stays false.
/// Owns:   nothing; the result of sized() lies in the bytes that the reader was made of.
class byte_reader {
public:
  explicit byte_reader(std::string_view data) noexcept : rest_{data} {}

  std::uint8_t byte() noexcept {
    if (rest_.empty())
      return fail();
    auto b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }

  std::uint64_t varint() noexcept {
    if (!rest_.empty() && static_cast<std::uint8_t>(rest_.front()) < 0x80) { // usually
      auto b = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      return b;
    }
    if (rest_.size() > 1
        && static_cast<std::uint8_t>(rest_[1]) < 0x80) { // versions of long threads
      auto n = (static_cast<std::uint8_t>(rest_[0]) & 0x7fu)
               | static_cast<unsigned>(static_cast<std::uint8_t>(rest_[1])) << 7;
      rest_.remove_prefix(2);
      return n;
    }
    auto [n, size] = detail::long_varint(rest_);
    if (size == 0)
      return fail();
    rest_.remove_prefix(size);
    return n;
  }

  /// Three numbers. If they are below 128, or the second one below 16,384, they are read at once.
  std::array<std::uint64_t, 3> three_varints() noexcept {
    if (std::uint32_t word; rest_.size() >= sizeof word) {
      std::memcpy(&word, rest_.data(), sizeof word);
      if ((word & 0x80'8080) == 0) {
        rest_.remove_prefix(3);
        return {word & 0x7f, word >> 8 & 0x7f, word >> 16 & 0x7f};
      }
      if ((word & 0x8080'8080) == 0x8000) {
        rest_.remove_prefix(4);
        return {word & 0x7f, (word >> 8 & 0x7f) | (word >> 9 & 0x3f80), word >> 24};
      }
    }
    auto first = varint(), second = varint(), third = varint();
    return {first, second, third};
  }

  std::int64_t signed_varint() noexcept {
    auto n = varint();
    return static_cast<std::int64_t>((n >> 1) ^ (~(n & 1) + 1));
  }

  std::uint64_t fixed64() noexcept {
    auto bytes = take(sizeof(std::uint64_t));
    if (bytes.empty())
      return 0;
    std::uint64_t n;
    std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }

  std::string_view take(std::size_t size) noexcept {
    if (size > rest_.size()) {
      fail();
      return {};
    }
    auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view sized() noexcept { return take(varint()); }

  /// The number of elements that follow. It is never more than the number of bytes, so a caller may
  /// reserve memory for it.
  std::size_t count() noexcept {
    auto n = varint();
    return n <= rest_.size() ? n : fail();
  }

  std::string_view rest() const noexcept { return rest_; }
  bool ok() const noexcept { return ok_; }
  bool finished() const noexcept { return ok_ && rest_.empty(); }

private:
  std::uint8_t fail() noexcept {
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

} // namespace troupe
