// The digest graph: plan, read each file in a task of its own, draft a report, ask, publish.
#pragma once

#include "facts.hpp"

#include <troupe/channel.hpp>
#include <troupe/state_graph.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace digest {

/// Folds the term counts of a file into those of all files.
extern const troupe::channel_spec add_counts;

/// Shape:  a run's input sets `sources` (files and folders) and may set `base`, what relative
///         paths start from (else the working directory), and `out`, the report's path (else
///         digest.md). What a run is only told for the time of a call (its context, a map) may
///         be: delay_ms, a pause in each file's task; trace, a file that gets a line each time a
///         file was read; out, which goes before the one of the input.
struct state {
  std::vector<std::string> sources;
  std::string base;
  std::string out;
  std::vector<std::string> files; // the plan: kept, so that a restart reads the same ones
  std::int64_t binary = 0;
  std::int64_t large = 0;
  std::vector<file_facts> results;
  std::int64_t words = 0;
  std::map<std::string, std::int64_t> terms;
  std::string report;
  bool approved = false;
  std::string published; // where the report is
  TROUPE_STATE(state, sources, base, out, files, binary, large, (results, troupe::append),
               (words, troupe::sum), (terms, add_counts), report, approved, published)
};

troupe::typed_graph<state> build();

} // namespace digest
