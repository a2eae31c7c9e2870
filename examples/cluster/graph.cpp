// graph: counts words, with a subgraph for each group of files on some worker.
#include "examples/cluster/graph.hpp"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace example {

namespace {

using troupe::value;

// One file a step, so the loss of a worker loses one step of a group, not the group.
struct group_state {
  std::vector<std::string> files;
  std::int64_t done = 0;
  std::int64_t words = 0;
  TROUPE_STATE(group_state, files, done, (words, troupe::sum))
};

troupe::update<group_state> count_next(const group_state& s) {
  std::ifstream in{s.files.at(static_cast<std::size_t>(s.done))};
  std::int64_t words = 0;
  for (std::string word; in >> word;)
    ++words;
  std::this_thread::sleep_for(std::chrono::milliseconds{5}); // as if it were more work
  return troupe::set(&group_state::done, s.done + 1).set(&group_state::words, words);
}

troupe::compiled_graph group_count() {
  troupe::state_graph<group_state> g;
  g.output_schema({{"words", troupe::sum}}); // `files` stays inside
  g.add_node("count", count_next, {.lane = troupe::lane::blocking});
  g.add_edge(troupe::START, "count");
  g.add_conditional_edges("count", [](const group_state& s) -> std::string {
    return s.done < std::ssize(s.files) ? "count" : troupe::END;
  });
  return g.compile({.name = "group_count"});
}

struct total_state {
  std::vector<std::string> files;
  std::int64_t group_size = 10;
  std::int64_t words = 0;
  TROUPE_STATE(total_state, files, group_size, (words, troupe::sum))
};

std::vector<troupe::send> to_groups(const total_state& s) {
  std::vector<troupe::send> out;
  for (std::size_t from = 0; from < s.files.size();) {
    std::vector<std::string> group;
    while (from < s.files.size() && std::ssize(group) < s.group_size)
      group.push_back(s.files[from++]);
    out.push_back({"group", value{{"files", value::of(group)}, {"done", 0}, {"words", 0}}});
  }
  return out;
}

} // namespace

troupe::compiled_graph word_count() {
  troupe::state_graph<total_state> g;
  // Without workers the same graph runs in this process.
  g.add_node("group", group_count(), {.placement = troupe::on_worker{}});
  g.add_conditional_edges(troupe::START, to_groups);
  return g.compile({.name = "word_count"});
}

} // namespace example
