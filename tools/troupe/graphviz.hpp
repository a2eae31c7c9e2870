// graphviz: pictures that other programs make of DOT text: Graphviz's `dot`, and graph-easy.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace troupe::cli {

/// The picture of `dot_text` in a format of Graphviz: "svg" or "png". `dot` is looked up on PATH.
/// Shape:  the bytes of the picture's file.
/// Blocks: until `dot` ends, at most for `patience`.
/// Errors: throws error: invalid_config when `dot` is missing, node_failed when it fails,
///         node_timeout, and overloaded when the picture is too large.
std::string graphviz_picture(const std::string& dot_text, const std::string& format,
                             std::chrono::milliseconds patience);

/// The graph as boxes of characters, made by the program graph-easy; nullopt when it is not on
/// PATH. Shape:  lines. Blocks: as graphviz_picture. Errors: throws error: node_failed,
/// node_timeout or overloaded, as graphviz_picture.
std::optional<std::string> graph_easy_text(const std::string& dot_text,
                                           std::chrono::milliseconds patience);

} // namespace troupe::cli
