// Text in drawings: made harmless and short once, for every format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::drawing {

/// `text` as one line of valid UTF-8. Controls, line ends and marks that change the text direction
/// become spaces; bytes that are not UTF-8 and characters that XML forbids become U+FFFD.
std::string printable(std::string_view text);

/// The first `most` characters of valid UTF-8, the last one `…` when there were more.
std::string shortened(std::string_view text, std::size_t most);

} // namespace troupe::drawing
