// graphviz: pictures that Graphviz's program `dot` makes of DOT text.
#pragma once

#include <chrono>
#include <string>

namespace troupe::cli {

/// The picture of `dot_text` in a format of Graphviz: "svg" or "png". `dot` is looked up on PATH.
/// Shape:  the bytes of the picture's file.
/// Blocks: until `dot` ends, at most for `patience`.
/// Errors: throws error: invalid_config when `dot` is missing, node_failed when it fails,
///         node_timeout, and overloaded when the picture is too large.
std::string graphviz_picture(const std::string& dot_text, const std::string& format,
                             std::chrono::milliseconds patience);

} // namespace troupe::cli
