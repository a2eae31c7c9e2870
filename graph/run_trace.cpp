// Traces, from a history or from parts.
#include "graph/names.hpp"

#include <troupe/run_trace.hpp>
#include <troupe/runtime.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

using std::chrono::microseconds;

// ---- times ----------------------------------------------------------------------------------

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int out = 0;
  if (text.size() < at + count)
    return std::nullopt;
  const auto* end = text.data() + at + count;
  auto read = std::from_chars(text.data() + at, end, out);
  return read.ec == std::errc{} && read.ptr == end && out >= 0 ? std::optional{out} : std::nullopt;
}

// `YYYY-MM-DDTHH:MM:SS.ffffff`, and a zone that is taken for UTC.
std::optional<microseconds> time_of(std::string_view text) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 7> places{
    {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}, {20, 6}}};
  std::array<int, 7> at{};
  for (std::size_t i = 0; i < places.size(); ++i)
    if (auto n = digits(text, places[i].first, places[i].second))
      at[i] = *n;
    else
      return std::nullopt;
  using namespace std::chrono;
  year_month_day date{year{at[0]}, month{static_cast<unsigned>(at[1])},
                      day{static_cast<unsigned>(at[2])}};
  if (!date.ok())
    return std::nullopt;
  return sys_days{date}.time_since_epoch() + hours{at[3]} + minutes{at[4]} + seconds{at[5]}
         + microseconds{at[6]};
}

microseconds between(std::string_view begin, std::string_view end) {
  auto from = time_of(begin);
  auto to = time_of(end);
  return from && to ? std::max(*to - *from, microseconds{0}) : microseconds{0};
}

// ---- a history ------------------------------------------------------------------------------

class history_reader {
public:
  explicit history_reader(const std::vector<state_snapshot>& history) {
    for (const auto& s : history)
      if (s.metadata.is_map() && s.metadata["source"] == value("loop"))
        steps_after_[s.parent_id].push_back(&s);
    for (const auto& s : history)
      add_steps(s);
    if (!history.empty() && steps_after_.count(history.front().config.checkpoint_id) == 0)
      add_waiting(history.front(), {});
  }

  run_trace out;

private:
  // The tasks of a snapshot ran as often as a step was stored after it.
  void add_steps(const state_snapshot& before) {
    auto steps = steps_after_.find(before.config.checkpoint_id);
    if (steps == steps_after_.end())
      return;
    auto asked = [](const task_snapshot& t) { return !t.interrupts.empty(); };
    bool has_time = std::ranges::none_of(before.tasks, asked);
    for (const auto* after : steps->second)
      for (const auto& task : before.tasks) {
        if (task.name == names::start)
          continue;
        auto& node = out.nodes[task.name];
        ++node.ran;
        if (has_time)
          node.time += between(before.created_at, after->created_at);
      }
  }

  void add_waiting(const state_snapshot& now, const std::string& prefix) {
    for (const auto& task : now.tasks) {
      if (task.name == names::start)
        continue;
      auto& node = out.nodes[prefix + task.name];
      if (!task.error.is_null())
        ++node.failed;
      else if (!task.interrupts.empty())
        ++node.asks;
      else if (task.result)
        ++node.ran;
      else
        ++node.waits;
      if (task.state)
        add_waiting(*task.state, prefix + task.name + "|");
    }
  }

  std::map<std::string_view, std::vector<const state_snapshot*>> steps_after_; // by checkpoint id
};

// ---- parts ----------------------------------------------------------------------------------

class part_reader {
public:
  // A begin or an end of a task. `at`: its time, or empty.
  void add(const stream_part& part, const value& task, std::string_view at) {
    if (!task.is_map() || !task["id"].is_string() || !task["name"].is_string())
      return;
    auto& t = tasks_[std::string{task["id"].as_string()}];
    if (task.contains("triggers")) {
      t = {path_of(part, task["name"].as_string()), std::string{at}, state::begun};
      return;
    }
    if (t.path.empty())
      t.path = path_of(part, task["name"].as_string());
    auto& node = out_.nodes[t.path];
    if (!task["error"].is_null()) {
      ++node.failed;
      t.at = state::over;
    } else if (task["interrupts"].is_list() && !task["interrupts"].empty()) {
      t.at = state::asks;
    } else {
      ++node.ran;
      node.time += between(t.begun, at);
      t.at = state::over;
    }
  }

  run_trace take() && {
    for (const auto& [id, t] : tasks_)
      if (t.at == state::asks)
        ++out_.nodes[t.path].asks;
      else if (t.at == state::begun)
        ++out_.nodes[t.path].waits;
    return std::move(out_);
  }

private:
  enum class state { begun, asks, over };
  struct task_so_far {
    std::string path;
    std::string begun;
    state at = state::over;
  };

  // A namespace is the name of a node, and the id of its task after a colon.
  static std::string path_of(const stream_part& part, std::string_view name) {
    std::string out;
    for (const auto& ns : part.ns)
      out += ns.substr(0, ns.find(':')) + "|";
    return out + std::string{name};
  }

  std::map<std::string, task_so_far> tasks_;
  run_trace out_;
};

} // namespace

run_trace trace_of(const std::vector<state_snapshot>& history) {
  return history_reader{history}.out;
}

run_trace trace_of(std::span<const stream_part> parts) {
  bool timed = std::ranges::any_of(parts,
                                   [](const auto& p) { return p.mode == stream_mode::debug; });
  part_reader reader;
  for (const auto& part : parts)
    if (part.mode == stream_mode::debug && part.data.is_map()
        && part.data["type"] != value("checkpoint")) {
      const auto& at = part.data["timestamp"];
      reader.add(part, part.data["payload"], at.is_string() ? at.as_string() : std::string_view{});
    } else if (part.mode == stream_mode::tasks && !timed)
      reader.add(part, part.data, {});
  return std::move(reader).take();
}

} // namespace troupe
