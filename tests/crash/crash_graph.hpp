// The graph that is killed: fifty super-steps of every kind there is.
#pragma once

#include <troupe/state_graph.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crash {

/// Lines that outlive the process, in the order in which they were written. One write each.
/// Owns:   a descriptor, until the end of the process.
class notes {
public:
  explicit notes(const std::string& file);
  void add(const std::string& line) const;

private:
  int fd_;
};

inline constexpr std::string_view trail = "trail"; // the delta channel

/// Shape:  `log` gets an entry of each task of this graph, `trail` the same through a delta
///         channel, `found` those of the two graphs within it.
struct state {
  std::int64_t round = 0;
  std::string text;
  std::vector<std::string> log;
  std::vector<std::string> trail;
  std::vector<std::string> found;
  std::int64_t items = 0;
  TROUPE_STATE(state, round, text, (log, troupe::append), (trail, troupe::delta(troupe::append, 5)),
               found, (items, troupe::sum))
};

/// Begins, then six rounds of eight steps (one task, four, one, eight sent, one, a graph two deep,
/// one that fails at first, one that asks every other round), then finishes: fifty steps.
/// Each execution of a node notes `S name attempt task_id` first and `E name attempt task_id` last.
troupe::typed_graph<state> build(const notes& to);

} // namespace crash
