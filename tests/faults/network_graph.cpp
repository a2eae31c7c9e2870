#include "tests/faults/network_graph.hpp"

#include <troupe/placement.hpp>
#include <troupe/troupe.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

namespace network {

namespace {

using troupe::value;

constexpr std::int64_t group_steps = 3;

// However long everybody is cut off.
const troupe::on_worker anywhere{.missing = troupe::no_worker::wait};

struct oracle {
  int file = -1;
  std::string name;
};
oracle& effects() {
  static oracle one;
  return one;
}

void note(const char* what, const std::string& key) {
  const auto& to = effects();
  if (to.file < 0)
    return;
  auto line = std::string{what} + " " + key + " " + to.name + " " + std::to_string(::getpid()) + " "
              + std::to_string(now_ns()) + "\n";
  if (::write(to.file, line.data(), line.size()) != std::ssize(line))
    throw std::system_error{errno, std::generic_category(), "note an effect"};
}

void work(const std::string& key, std::int64_t ms) {
  note("S", key);
  std::this_thread::sleep_for(std::chrono::milliseconds{ms});
  note("E", key);
}

std::string key_of(const state& s, const char* kind, std::int64_t number) {
  return s.prefix + "r" + std::to_string(s.round) + "." + kind + std::to_string(number);
}

// ---- a group ------------------------------------------------------------------------------------

struct group_state {
  std::string key;
  std::int64_t body_ms = 0;
  std::string payload;
  std::int64_t done = 0;
  std::vector<std::string> log;
  TROUPE_STATE(group_state, key, body_ms, payload, done, (log, troupe::append))
};

troupe::update<group_state> step_of_group(const group_state& s) {
  auto key = s.key + ".s" + std::to_string(s.done);
  work(key, s.body_ms);
  return troupe::set(&group_state::done, s.done + 1).set(&group_state::log, std::vector{key});
}

troupe::compiled_graph group(bool is_here) {
  troupe::state_graph<group_state> g;
  g.output_schema({{"log", troupe::append}});
  troupe::node_options how{.lane = troupe::lane::blocking};
  if (is_here)
    how.placement = anywhere;
  g.add_node("step", step_of_group, how);
  g.add_edge(troupe::START, "step");
  g.add_conditional_edges("step", [](const group_state& s) -> std::string {
    return s.done < group_steps ? "step" : troupe::END;
  });
  return g.compile({.name = is_here ? "group_here" : "group"});
}

// ---- the whole ----------------------------------------------------------------------------------

troupe::update<state> task(const value& order) {
  auto key = order.at("key").as<std::string>();
  work(key, order.at("body_ms").as_int());
  return troupe::set(&state::log, std::vector{key});
}

troupe::destinations share_out(const state& s) {
  std::vector<troupe::send> out;
  if (s.round >= s.rounds)
    return out;
  auto payload = std::string(static_cast<std::size_t>(s.payload), 'x');
  auto order = [&](const char* kind, std::int64_t i) {
    return value::map({{"key", key_of(s, kind, i)}, {"body_ms", s.body_ms}, {"payload", payload}});
  };
  for (std::int64_t i = 0; i < s.tasks; ++i)
    out.push_back({"task", order("t", i)});
  for (std::int64_t i = 0; i < s.groups; ++i)
    out.push_back({"group", order("g", i).with("done", 0)});
  return out;
}

troupe::update<state> next_round(const state& s) {
  std::this_thread::sleep_for(std::chrono::milliseconds{s.rest_ms});
  return troupe::set(&state::round, s.round + 1);
}

} // namespace

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void note_effects(const std::string& file, const std::string& name) {
  auto& to = effects();
  to.name = name;
  to.file = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (to.file < 0)
    throw std::system_error{errno, std::generic_category(), file};
}

troupe::typed_graph<state> build(bool groups_here) {
  troupe::state_graph<state> g;
  troupe::node_options there{.lane = troupe::lane::blocking, .placement = anywhere};
  g.add_node("task", task, there);
  g.add_node("group", group(groups_here),
             groups_here ? troupe::node_options{} : troupe::node_options{.placement = anywhere});
  g.add_node("next", next_round, {.lane = troupe::lane::blocking});
  g.add_conditional_edges(troupe::START, share_out, {"task", "group"});
  g.add_edge("task", "next");
  g.add_edge("group", "next");
  g.add_conditional_edges("next", share_out, {"task", "group"});
  return g.compile({.name = groups_here ? "network_here" : "network"});
}

} // namespace network
