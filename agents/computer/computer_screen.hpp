// Screenshots: whether they are any, as models are shown them, and which of them. Pure.
#pragma once

#include <troupe/agents/computer.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The size that a PNG says it has; nothing for what is no PNG.
std::optional<screen_size> png_size(std::string_view png) noexcept;

/// A block of content.
/// Errors: throws node_error of class ToolError for what is no PNG, beyond
///         limits::computer_screenshot_bytes_max, or of another size than `expected` (unset: any).
value screenshot_block(std::string_view png, const std::optional<screen_size>& expected);

/// The messages with a text in place of the screenshots before the last ones, of which at most
/// `most` stay. Several go at a time: half of `most`.
/// Shape:  `most` at least 1.
value with_recent_screenshots(const value& messages, std::size_t most);

} // namespace troupe
