// uuid_text: the text of a UUID, 8-4-4-4-12 digits in lower case, and its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

using uuid_bytes = std::array<unsigned char, 16>;
inline constexpr std::size_t uuid_text_size = 36;

/// Shape:  `bytes` in the order of the text.
std::string uuid_text(std::span<const unsigned char, 16> bytes);
/// The same in the place of another text.
void uuid_text(std::span<const unsigned char, 16> bytes, std::string& out);

/// The same digits without dashes.
std::string hex_text(std::span<const unsigned char, 16> bytes);

/// The bytes of a text that is exactly as uuid_text() writes it. False for any other text; the
/// bytes mean nothing then.
bool parse_uuid_text(std::string_view text, std::span<unsigned char, 16> bytes) noexcept;

} // namespace troupe
