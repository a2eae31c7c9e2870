// compression: zstd with bounds. A frame names the size of its text, which is not believed above a
// limit. Memory of zstd is kept for the next text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// Appends the text as one zstd frame that names its size. False, with `out` as it was, when the
/// frame takes more than `bytes_max`, or memory runs out.
bool compress(std::string_view text, std::size_t bytes_max, std::string& out);

/// Replaces `out` by the text of a frame. False when the frame is not one of compress(), or names
/// a size above `text_bytes_max`; then nothing is allocated for it.
bool decompress(std::string_view frame, std::size_t text_bytes_max, std::string& out);

} // namespace troupe
