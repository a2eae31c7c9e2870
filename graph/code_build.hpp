// The build of a graph's code: which program or shared library its bodies come from, as a short
// text.
#pragma once

#include "graph/graph_plan.hpp"

#include <string>

namespace troupe {

/// The build of the program or shared library that holds this address: its GNU build id; without
/// one (`-Wl,--build-id` makes one), the hash of its file.
/// Shape:  hex digits, at most limits::graph_build_bytes_max. An object that has neither gets a
/// text
///         of its own in each process, so that it equals no other one.
/// Cost:   a look at the loaded objects; a file is read once.
/// Source: troupe.
std::string build_of_object(const void* address);

/// The build of a graph's code: of the objects that hold its bodies and routes, with those of the
/// graphs within it, and of the library that exports it (load_graph). Bodies that are troupe's own
/// count as the program's.
/// Shape:  as build_of_object(); of several objects the hash of all of theirs.
/// Cost:   as large as the graph; not for a step.
/// Source: troupe.
std::string graph_build(const graph_plan& plan);

/// While one lives, the graphs that this thread compiles count as exported by the object that holds
/// the address.
class exporting_object {
public:
  explicit exporting_object(const void* address);
  exporting_object(const exporting_object&) = delete;
  exporting_object& operator=(const exporting_object&) = delete;
  ~exporting_object();

  /// Of this thread; null: none.
  static const void* current() noexcept;

private:
  const void* before_;
};

} // namespace troupe
