// The build of a graph's code: a short text for the programs and shared libraries that its bodies
// come from.
#pragma once

#include "graph/graph_plan.hpp"

#include <string>

namespace troupe {

/// The build of the program or shared library that holds this address. It is the GNU build id
/// (`-Wl,--build-id` makes one), or the hash of the file without one.
/// Shape:  hex digits, at most limits::graph_build_bytes_max. An object that has neither gets a
///         text of its own in each process, so that it equals no other one.
/// Cost:   a look at the loaded objects; a file is read once.
/// Source: troupe.
std::string build_of_object(const void* address);

/// The build of a graph's code, including the graphs within it. It covers the objects that hold
/// bodies and routes, and the library that exports the graph (load_graph). Bodies that troupe
/// provides count as the program's.
/// Shape:  as build_of_object(); for several objects, the hash of all their builds.
/// Cost:   proportional to the graph; too slow for each step.
/// Source: troupe.
std::string graph_build(const graph_plan& plan);

/// During its lifetime, the graphs that this thread compiles count as exported by the object that
/// holds the address.
class exporting_object {
public:
  explicit exporting_object(const void* address);
  exporting_object(const exporting_object&) = delete;
  exporting_object& operator=(const exporting_object&) = delete;
  ~exporting_object();

  /// The address of this thread's innermost exporting_object; null without one.
  static const void* current() noexcept;

private:
  const void* before_;
};

} // namespace troupe
