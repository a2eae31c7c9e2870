// computer_screen: screenshots: checking them, showing them to models, and dropping older ones.
// Pure.
#pragma once

#include <troupe/agents/computer.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The size in the header of a PNG; nullopt for bytes that are not a PNG.
std::optional<screen_size> png_size(std::string_view png) noexcept;

/// A screenshot as a block of content.
/// Errors: throws node_error of class ToolError for bytes that are not a PNG, for more than
///         limits::computer_screenshot_bytes_max, and for another size than `expected` (unset:
///         any).
value screenshot_block(std::string_view png, const std::optional<screen_size>& expected);

/// The messages with a text in place of older screenshots; at most the last `most` stay. Several
/// are replaced at a time: half of `most`.
/// Shape:  `most` at least 1.
value with_recent_screenshots(const value& messages, std::size_t most);

} // namespace troupe
