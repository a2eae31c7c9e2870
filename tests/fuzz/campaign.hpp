// Many seeds, one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::fuzz {

struct campaign_options {
  std::uint64_t seed = 1;                  // the first
  std::optional<std::uint64_t> runs;       // so many seeds; else for some time
  std::uint64_t seconds = 10;              // Units: s
  std::uint64_t graphs_min = 0;            // continues until so many were tried
  std::optional<std::uint64_t> graphs_max; // ends when so many were tried
  bool keep_going = false;                 // after a difference
  bool shrink = true;
  std::string replay = "troupe-fuzz --replay"; // the command that shows a seed
};

/// Tries plans in a child process, so that a crash is a finding like others, and prints what was
/// found and what was tried; whether all is well. With `graphs_min`, a feature that no graph had is
/// a failure: nothing was learnt about it. The caller must be the only thread.
bool run_campaign(const campaign_options& o);

} // namespace troupe::fuzz
