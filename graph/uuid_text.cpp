// uuid_text: eight digits at a time, as the bytes of one number.
#include "graph/uuid_text.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little, "the first digit is the lowest byte");

constexpr std::uint64_t each_byte = 0x0101'0101'0101'0101;

// Where the dashes of the text are, and where each group of four digits begins.
constexpr std::array<std::size_t, 4> dashes{8, 13, 18, 23};
constexpr std::array<std::size_t, 8> groups{0, 4, 9, 14, 19, 24, 28, 32};

// Each byte is below 16.
std::uint64_t digits_of(std::uint64_t halves) noexcept {
  auto is_letter = (halves + each_byte * 6) >> 4 & each_byte;
  return halves + each_byte * '0' + is_letter * ('a' - '0' - 10);
}

std::uint64_t digits_of(const unsigned char* four_bytes) noexcept {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, four_bytes, sizeof bytes);
  std::uint64_t halves = bytes;
  halves = (halves | halves << 16) & 0x0000'ffff'0000'ffff;
  halves = (halves | halves << 8) & 0x00ff'00ff'00ff'00ff;
  halves = (halves >> 4 | halves << 8) & each_byte * 0x0f;
  return digits_of(halves);
}

// False when they are not as digits_of() writes them.
bool read_digits(std::uint64_t digits, unsigned char* four_bytes) noexcept {
  auto is_letter = digits >> 6 & each_byte;
  auto halves = (digits & each_byte * 0x0f) + is_letter * 9;
  if ((halves & each_byte * 0xf0) != 0 || digits_of(halves) != digits)
    return false;
  auto bytes = (halves << 4 | halves >> 8) & 0x00ff'00ff'00ff'00ff;
  bytes = (bytes | bytes >> 8) & 0x0000'ffff'0000'ffff;
  auto four = static_cast<std::uint32_t>(bytes | bytes >> 16);
  std::memcpy(four_bytes, &four, sizeof four);
  return true;
}

} // namespace

std::string uuid_text(std::span<const unsigned char, 16> bytes) {
  std::string out(uuid_text_size, '-');
  for (std::size_t i = 0; i < 4; ++i) {
    auto digits = digits_of(&bytes[4 * i]);
    std::memcpy(out.data() + groups[2 * i], &digits, 4);
    digits >>= 32;
    std::memcpy(out.data() + groups[2 * i + 1], &digits, 4);
  }
  return out;
}

std::string hex_text(std::span<const unsigned char, 16> bytes) {
  std::string out(32, '0');
  for (std::size_t i = 0; i < 4; ++i) {
    auto digits = digits_of(&bytes[4 * i]);
    std::memcpy(out.data() + 8 * i, &digits, sizeof digits);
  }
  return out;
}

bool parse_uuid_text(std::string_view text, std::span<unsigned char, 16> bytes) noexcept {
  if (text.size() != uuid_text_size)
    return false;
  for (auto at : dashes)
    if (text[at] != '-')
      return false;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint32_t first = 0, second = 0;
    std::memcpy(&first, text.data() + groups[2 * i], sizeof first);
    std::memcpy(&second, text.data() + groups[2 * i + 1], sizeof second);
    if (!read_digits(std::uint64_t{second} << 32 | first, &bytes[4 * i]))
      return false;
  }
  return true;
}

} // namespace troupe
