// The uuid: its text.
#include <troupe/uuid.hpp>

namespace troupe {
namespace {

constexpr std::string_view uuid_pattern = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view uuid_digits = "0123456789abcdef";

// The value of a hexadecimal digit; 16 for any other character.
unsigned digit_value(char c) {
  if (c >= '0' && c <= '9')
    return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f')
    return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F')
    return static_cast<unsigned>(c - 'A') + 10;
  return 16;
}

} // namespace

std::string to_string(const uuid& id) {
  std::string out{uuid_pattern};
  std::size_t at = 0;
  for (auto byte : id.bytes) {
    if (out[at] == '-')
      ++at;
    auto number = std::to_integer<unsigned>(byte);
    out[at++] = uuid_digits[number >> 4];
    out[at++] = uuid_digits[number & 15];
  }
  return out;
}

result<uuid> read_uuid(std::string_view text) {
  error wrong{errc::invalid_value,
              "read a uuid: wanted 36 characters, as " + std::string{uuid_pattern}};
  if (text.size() != uuid_pattern.size())
    return wrong;
  uuid out;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (uuid_pattern[i] == '-') {
      if (text[i] != '-')
        return wrong;
      continue;
    }
    auto digit = digit_value(text[i]);
    if (digit > 15)
      return wrong;
    auto& byte = out.bytes[digits++ / 2];
    byte = (byte << 4) | std::byte{static_cast<unsigned char>(digit)};
  }
  return out;
}

} // namespace troupe
