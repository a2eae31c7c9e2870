// Applying the writes of a step, and what a state shows.
#include "tests/fuzz/loop.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

// Tasks in the order in which their writes count: outside, pulled by name, pushed by place.
std::string sort_key(const task_model& t) {
  return t.path();
}

std::int64_t newest(const version_map& versions) {
  std::int64_t out = 0;
  for (const auto& [channel, v] : versions)
    out = std::max(out, v);
  return out;
}

} // namespace

std::string task_model::path() const {
  if (!node)
    return "";
  if (!pushed)
    return "pull " + node->name;
  auto n = std::to_string(*pushed);
  return "push " + std::string(10 - n.size(), '0') + n;
}

state_model loop::fresh_state(const graph_model& g) {
  state_model out;
  for (const auto& [name, rule] : g.channels)
    out.cells.emplace_back(rule);
  return out;
}

value loop::read(const graph_model& g, const state_model& s, const std::vector<std::string>& keys) {
  std::vector<value::map_init> out;
  for (const auto& key : keys)
    if (const auto& c = s.cells[g.place(key)]; c.available())
      out.emplace_back(key, c.get());
  return value::map(std::move(out));
}

state_model loop::storable(const graph_model& g, const state_model& s) {
  auto out = s;
  for (std::size_t i = 0; i < g.channels.size(); ++i)
    if (g.channels[i].second.is == cell_rule::untracked
        || !s.versions.contains(g.channels[i].first))
      out.cells[i] = cell{g.channels[i].second};
  return out;
}

// Writes to untracked channels are not stored, not even within what is sent; a task without any
// others counts as not finished.
task_record loop::persisted(const graph_model& g, const task_record& r) {
  auto untracked = [&g](const std::string& channel) {
    auto i = g.place(channel);
    return i < g.channels.size() && g.channels[i].second.is == cell_rule::untracked;
  };
  auto out = r;
  std::erase_if(out.output, [&](const auto& w) { return untracked(w.first); });
  for (auto& [channel, v] : out.output)
    if (channel == tasks_channel) {
      auto packet = v.as<send>();
      const value arg(packet.arg);
      for (const auto& e : arg.entries())
        if (untracked(std::string{e.key()}))
          packet.arg = packet.arg.without(e.key());
      v = value::of(packet);
    }

  return out;
}

task_model loop::outside_task(const write_list& writes) {
  task_model out;
  out.writes = writes;
  return out;
}

std::set<std::string> loop::apply(const graph_model& g, state_model& s,
                                  std::vector<task_model> tasks, bool moves) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
  bool bump = std::any_of(tasks.begin(), tasks.end(), [](auto& t) { return !t.triggers.empty(); });
  for (const auto& t : tasks) {
    auto& seen = s.seen[t.node ? t.node->name : input_task];
    for (const auto& channel : t.triggers)
      if (auto at = s.versions.find(channel); at != s.versions.end())
        seen[channel] = at->second;
  }
  auto version = newest(s.versions) + 1;
  auto moved = [&](const std::string& channel) {
    if (moves)
      s.versions[channel] = version;
  };

  std::set<std::string> triggers;
  for (const auto& t : tasks)
    triggers.insert(t.triggers.begin(), t.triggers.end());
  for (const auto& channel : triggers)
    if (auto i = g.place(channel); i < s.cells.size() && s.cells[i].consume())
      moved(channel);

  std::map<std::string, std::vector<value>> writes;
  for (const auto& t : tasks)
    for (const auto& [channel, v] : t.writes)
      writes[channel].push_back(v);
  std::set<std::string> updated;
  auto update = [&](const std::string& channel, cell& c, const std::vector<value>& values) {
    if (!c.update(values))
      return;
    moved(channel);
    if (moves && c.available())
      updated.insert(channel);
  };
  for (const auto& [channel, values] : writes)
    if (auto i = g.place(channel); i < s.cells.size())
      update(channel, s.cells[i], values);
  if (bump)
    for (std::size_t i = 0; i < s.cells.size(); ++i)
      if (const auto& channel = g.channels[i].first;
          s.cells[i].available() && !updated.contains(channel))
        update(channel, s.cells[i], {});

  bool goes_on = std::any_of(updated.begin(), updated.end(),
                             [&g](const auto& channel) { return g.triggered.contains(channel); });
  if (bump && !goes_on)
    for (std::size_t i = 0; i < s.cells.size(); ++i)
      if (s.cells[i].finish()) {
        moved(g.channels[i].first);
        if (moves && s.cells[i].available())
          updated.insert(g.channels[i].first);
      }
  return updated;
}

} // namespace troupe::fuzz
