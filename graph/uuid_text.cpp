// uuid_text: sixteen digits at a time, as the lanes of a vector of GCC and Clang.
#include "graph/uuid_text.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little, "the first digit is the lowest byte");

using eight_bytes = unsigned char __attribute__((vector_size(8)));
using sixteen_bytes = unsigned char __attribute__((vector_size(16)));
using eight_pairs = std::uint16_t __attribute__((vector_size(16)));
using two_words = std::uint64_t __attribute__((vector_size(16)));

constexpr unsigned char to_letter = 'a' - '0' - 10;

template <class T> T load(const void* from) noexcept {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Each half is below 16.
sixteen_bytes digits_of(sixteen_bytes halves) noexcept {
  return halves + '0' + (reinterpret_cast<sixteen_bytes>(halves > 9) & to_letter);
}

sixteen_bytes digits_of(const unsigned char* bytes) noexcept {
  auto pairs = __builtin_convertvector(load<eight_bytes>(bytes), eight_pairs);
  return digits_of(reinterpret_cast<sixteen_bytes>(pairs >> 4 | (pairs & 15) << 8));
}

// False when they are not as digits_of() writes them.
bool read_digits(two_words first_and_last, unsigned char* bytes) noexcept {
  auto digits = reinterpret_cast<sixteen_bytes>(first_and_last);
  auto halves = digits - '0' - (reinterpret_cast<sixteen_bytes>(digits > '9') & to_letter);
  auto wrong = reinterpret_cast<two_words>((digits_of(halves) ^ digits) | (halves & 0xf0));
  if ((wrong[0] | wrong[1]) != 0)
    return false;
  auto pairs = reinterpret_cast<eight_pairs>(halves);
  auto out = __builtin_convertvector(pairs << 4 | pairs >> 8, eight_bytes);
  std::memcpy(bytes, &out, sizeof out);
  return true;
}

// The 32 digits of 16 bytes.
std::array<char, 32> all_digits(std::span<const unsigned char, 16> bytes) noexcept {
  std::array<char, 32> out;
  auto first = digits_of(bytes.data()), last = digits_of(bytes.data() + 8);
  std::memcpy(out.data(), &first, sizeof first);
  std::memcpy(out.data() + 16, &last, sizeof last);
  return out;
}

} // namespace

// `out`: a text of the size of a UUID's.
static void put_uuid(std::span<const unsigned char, 16> bytes, std::string& out) {
  auto digits = all_digits(bytes);
  auto* to = out.data();
  std::memcpy(to, digits.data(), 8);
  std::memcpy(to + 9, digits.data() + 8, 4);
  std::memcpy(to + 14, digits.data() + 12, 4);
  std::memcpy(to + 19, digits.data() + 16, 4);
  std::memcpy(to + 24, digits.data() + 20, 12);
  to[8] = to[13] = to[18] = to[23] = '-';
}

std::string uuid_text(std::span<const unsigned char, 16> bytes) {
  std::string out(uuid_text_size, '-');
  put_uuid(bytes, out);
  return out;
}

void uuid_text(std::span<const unsigned char, 16> bytes, std::string& out) {
  if (out.size() != uuid_text_size)
    out.assign(uuid_text_size, '-');
  put_uuid(bytes, out);
}

std::string hex_text(std::span<const unsigned char, 16> bytes) {
  auto digits = all_digits(bytes);
  return {digits.data(), digits.size()};
}

bool parse_uuid_text(std::string_view text, std::span<unsigned char, 16> bytes) noexcept {
  if (text.size() != uuid_text_size)
    return false;
  const auto* at = text.data();
  if (at[8] != '-' || at[13] != '-' || at[18] != '-' || at[23] != '-')
    return false;
  auto four = [at](std::size_t place) -> std::uint64_t { return load<std::uint32_t>(at + place); };
  auto eight = [at](std::size_t place) { return load<std::uint64_t>(at + place); };
  return read_digits(two_words{eight(0), four(9) | four(14) << 32}, bytes.data())
         && read_digits(two_words{four(19) | four(24) << 32, eight(28)}, bytes.data() + 8);
}

} // namespace troupe
