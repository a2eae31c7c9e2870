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

/// Appends the text as a frame of its bytes as they are: for a text so short that it hardly gets
/// smaller. At most uncompressed_text_bytes_max bytes, and not empty.
void append_uncompressed(std::string_view text, std::string& out);
inline constexpr std::size_t uncompressed_text_bytes_max = 255;
inline constexpr std::size_t uncompressed_overhead_bytes = 9;

/// The most bytes that a frame of such a text takes.
std::size_t compressed_bytes_max(std::size_t text_bytes) noexcept;

enum class frame_count : bool { one, several };

/// Replaces `out` by the text of a frame, or of several in a row. False when they are not those of
/// compress(), or name sizes of more than `text_bytes_max` in all; then nothing is allocated.
bool decompress(std::string_view frames, frame_count count, std::size_t text_bytes_max,
                std::string& out);

} // namespace troupe
