// The graph library: graphs exported by a shared library, e.g. for the troupe command line.
#pragma once

#include <troupe/state_graph.hpp>

#include <string>

namespace troupe {

/// Changes whenever libraries built before can't be used any more.
/// Errors: abi_mismatch for a library of another version, when it is loaded.
/// Source: troupe.
inline constexpr int graph_abi_version = 1;

/// The graph that `library` exports under `name` with TROUPE_GRAPH.
/// Owns:   the library stays mapped until the process ends, since graphs point into it.
/// Blocks: on the file system.
/// Errors: unknown_graph (no such file, library or export), abi_mismatch (built for another
///         graph_abi_version), invalid_graph from building the graph. Opening a library runs its
///         initialisers: load only trusted ones.
/// Source: troupe.
result<compiled_graph> load_graph(const std::string& library, const std::string& name);

} // namespace troupe

// TROUPE_GRAPH(name) { return build().compile(); }: exports a graph under `name` (an identifier).
#define TROUPE_GRAPH(name)                                                                         \
  static ::troupe::compiled_graph troupe_build_##name();                                           \
  extern "C" __attribute__((visibility("default"))) int troupe_abi_version_##name() {              \
    return ::troupe::graph_abi_version;                                                            \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void* troupe_graph_##name() {                  \
    return new ::troupe::compiled_graph{troupe_build_##name()};                                    \
  }                                                                                                \
  static ::troupe::compiled_graph troupe_build_##name()
