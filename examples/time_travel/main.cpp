// Time travel: every step of a run is stored. This program replays one run from the middle, and
// then forks it there with a change. All three branches stay.
//
//   time_travel
#include <troupe/troupe.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace {

struct hike {
  std::string weather, goal;
  std::vector<std::string> diary;
  TROUPE_STATE(hike, weather, goal, (diary, troupe::append))
};

using lines = std::vector<std::string>;

troupe::typed_graph<hike> build() {
  troupe::state_graph<hike> g;
  g.add_node("forecast", [] {
    std::cout << "  forecast runs\n";
    return troupe::set(&hike::weather, "rain");
  });
  g.add_node("choose", [](const hike& h) {
    std::cout << "  choose runs\n";
    return troupe::set(&hike::goal, h.weather == "rain" ? "hut" : "summit")
      .set(&hike::diary, lines{"there was " + h.weather});
  });
  g.add_node("walk", [](const hike& h) {
    std::cout << "  walk runs\n";
    return troupe::set(&hike::diary, lines{"reached the " + h.goal});
  });
  g.add_edge(troupe::START, "forecast");
  g.add_edge("forecast", "choose");
  g.add_edge("choose", "walk");
  return g.compile({.name = "hike"});
}

void print_history(const troupe::app<hike>& app) {
  for (auto& s : app.get_state_history({.thread_id = "t1"}))
    std::cout << "  step " << s.metadata["step"] << " by " << s.metadata["source"].as_string()
              << ", next: " << (s.next.empty() ? "-" : s.next.front()) << ", weather "
              << s.values["weather"] << ", goal " << s.values["goal"] << "\n";
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(build());

  std::cout << "the hike\n";
  auto first = app.invoke({}, {.thread_id = "t1"});

  std::cout << "its history, newest first\n";
  print_history(app);

  // The checkpoint at which the weather was known and nothing was chosen.
  auto history = app.get_state_history({.thread_id = "t1"});
  auto crossroads = std::find_if(history.begin(), history.end(),
                                 [](const auto& s) { return s.next == lines{"choose"}; });
  auto before = crossroads->config.checkpoint_id;

  std::cout << "replayed from there\n"; // forecast does not run again
  auto again = app.invoke(nullptr, {.thread_id = "t1", .checkpoint_id = before});

  std::cout << "forked there, with sunshine\n"; // as a write of forecast
  auto fork = app.update_state({.thread_id = "t1", .checkpoint_id = before},
                               troupe::set(&hike::weather, "sun"), "forecast");
  auto other = app.invoke(nullptr, {.thread_id = "t1", .checkpoint_id = fork.checkpoint_id});

  // All branches are on the thread, and the end of each is found by its id.
  auto values_at = [&app](const std::string& id) {
    return app.get_state({.thread_id = "t1", .checkpoint_id = id}).values;
  };
  auto hut = values_at(first.checkpoint_id()), summit = values_at(other.checkpoint_id());
  std::cout << "the replay "
            << (values_at(again.checkpoint_id()) == hut ? "ends as" : "differs from")
            << " the hike; the fork differs:\n";
  for (const auto& member : hut.entries())
    if (const auto& now = summit[member.key()]; now != member.val)
      std::cout << "  " << member.key() << ": " << member.val << " -> " << now << "\n";
}
