// digest: the graph. Its nodes plan, read each file in a task of its own, draft a report, ask, and
// publish.
#pragma once

#include "facts.hpp"

#include <troupe/channel.hpp>
#include <troupe/state_graph.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace digest {

/// Adds the term counts of a file to those of all files.
extern const troupe::channel_spec add_counts;

/// Shape:  a run's input sets `sources` (files and folders). It may set `base`, the start of
///         relative paths (else the working directory), and `out`, the report's path (else
///         digest.md). The run's context, a map, may have
///         - delay_ms, a pause in each file's task
///         - trace, a file that gets a line each time a file was read
///         - out, which overrides the input's
struct state {
  std::vector<std::string> sources;
  std::string base;
  std::string out;
  std::vector<std::string> files; // the plan, stored so that a restart reads the same files
  std::int64_t binary = 0;
  std::int64_t large = 0;
  std::vector<file_facts> results;
  std::int64_t words = 0;
  std::map<std::string, std::int64_t> terms;
  std::string report;
  bool approved = false;
  std::string published; // path of the report
  TROUPE_STATE(state, sources, base, out, files, binary, large, (results, troupe::append),
               (words, troupe::sum), (terms, add_counts), report, approved, published)
};

troupe::typed_graph<state> build();

} // namespace digest
