// Where the command line finds a graph: built in, or in a shared library.
#pragma once

#include <troupe/state_graph.hpp>

#include <span>
#include <string>

namespace troupe::cli {

struct builtin_graph {
  const char* name;
  const char* what;   ///< what it does, in a line; MCP clients are shown it, too
  const char* advice; ///< for the command line; may be empty
  const char* input;  ///< an input to try, as JSON
  compiled_graph (*build)();
};

std::span<const builtin_graph> builtin_graphs() noexcept;

/// The graph of that name: a built-in one, or `path/to/lib.so:name`.
/// Errors: throws error: unknown_graph, abi_mismatch, invalid_graph.
compiled_graph find_graph(const std::string& name);

} // namespace troupe::cli
