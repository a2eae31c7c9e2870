// remote_rules: configs, requests, parts, and the next call.
#include "client/remote_rules.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace troupe {

namespace {

constexpr std::string_view interrupts_member = "__interrupt__";

// Source: langgraph/pregel/remote.py, _CONF_DROPLIST; and the engine's own keys.
constexpr std::array<std::string_view, 4> engine_members{"checkpoint_map", "checkpoint_id",
                                                         "checkpoint_ns", "thread_id"};

bool belongs_to_the_engine(std::string_view name) {
  return name.starts_with("__pregel_")
         || std::ranges::find(engine_members, name) != engine_members.end();
}

// Source: langgraph/pregel/remote.py, _sanitize_config_value, which drops null, too.
std::optional<value> plain_value(const value& v) {
  switch (v.kind()) {
    case value_kind::boolean:
    case value_kind::integer:
    case value_kind::floating:
    case value_kind::string: return v;
    case value_kind::list: {
      std::vector<value> out;
      for (const auto& item : v.items())
        if (auto plain = plain_value(item))
          out.push_back(std::move(*plain));
      return value::list(std::move(out));
    }
    case value_kind::map: {
      std::vector<value::map_init> out;
      for (const auto& e : v.entries())
        if (auto plain = plain_value(e.val))
          out.emplace_back(std::string{e.key()}, std::move(*plain));
      return value::map(std::move(out));
    }
    default: return std::nullopt;
  }
}

value plain_members(const value& v, bool is_configurable) {
  std::vector<value::map_init> out;
  for (const auto& e : v.entries())
    if (!is_configurable || !belongs_to_the_engine(e.key()))
      if (auto plain = plain_value(e.val))
        out.emplace_back(std::string{e.key()}, std::move(*plain));
  return value::map(std::move(out));
}

std::string_view wire_name(stream_mode mode) {
  return mode == stream_mode::messages ? "messages-tuple" : to_string(mode);
}

void set_input(remote_run_request& out, const run_input& input) {
  const auto& given = input.get();
  if (const auto* v = std::get_if<value>(&given))
    out.input = *v;
  else if (const auto* update = std::get_if<state_update>(&given))
    out.input = update->to_value();
  else if (const auto* c = std::get_if<command>(&given))
    out.command = *c;
}

value interrupt_list(const value& list) {
  std::vector<value> out;
  for (const auto& one : list.items())
    out.push_back(value::of(interrupt{one["id"].is_string() ? one["id"].as<std::string>() : "",
                                      one["value"], one["response_schema"]}));
  return value::list(std::move(out));
}

// The message of a JSON form; the JSON itself where it is of no form that is known here.
value message_of(const value& json) {
  try {
    return message_from_json(json);
  } catch (const error&) {
    return json;
  }
}

// A name that a node here can have.
std::string drawable(std::string name) {
  std::ranges::replace_if(
    name, [](char c) { return c == ':' || c == '|'; }, '.');
  return name;
}

} // namespace

std::vector<std::string> wire_modes_for(const std::vector<stream_mode>& wanted) {
  std::vector<std::string> out{"values", "updates"};
  for (auto mode : wanted)
    if (auto name = std::string{wire_name(mode)}; std::ranges::find(out, name) == out.end())
      out.push_back(std::move(name));
  return out;
}

std::optional<stream_mode> mode_of_event(std::string_view mode) {
  auto known = parse_stream_mode(mode);
  return known ? std::optional{*known} : std::nullopt;
}

value config_for_server(const run_config& config) {
  std::vector<value::map_init> out;
  if (config.recursion_limit)
    out.emplace_back("recursion_limit", value(std::int64_t{*config.recursion_limit}));
  if (!config.tags.empty())
    out.emplace_back("tags", value::of(config.tags));
  if (auto metadata = plain_members(config.metadata, false); !metadata.empty())
    out.emplace_back("metadata", std::move(metadata));
  if (auto configurable = plain_members(config.configurable, true); !configurable.empty())
    out.emplace_back("configurable", std::move(configurable));
  return value::map(std::move(out));
}

remote_run_request run_request_for(const std::string& assistant_id, const run_input& input,
                                   const run_config& config,
                                   const std::vector<stream_mode>& wanted) {
  remote_run_request out;
  out.assistant_id = assistant_id;
  set_input(out, input);
  out.config = config_for_server(config);
  if (!out.config.contains("configurable"))
    out.context = config.context;
  if (!config.checkpoint_id.empty())
    out.checkpoint = value::map(
      {{"checkpoint_id", config.checkpoint_id}, {"checkpoint_ns", config.checkpoint_ns}});
  out.stream_mode = wire_modes_for(wanted);
  out.stream_subgraphs = config.subgraphs;
  out.stream_resumable = true;
  out.interrupt_before = config.interrupt_before;
  out.interrupt_after = config.interrupt_after;
  out.if_not_exists = "create";
  if (config.multitask != multitask_strategy::take_over)
    out.multitask_strategy = to_string(config.multitask);
  if (config.durability != durability::async)
    out.durability = to_string(config.durability);
  return out;
}

std::optional<std::vector<interrupt>> questions_in(const value& chunk) {
  if (!chunk.is_map() || !chunk.contains(interrupts_member))
    return std::nullopt;
  auto list = interrupt_list(chunk[interrupts_member]); // outlives the loop
  std::vector<interrupt> out;
  for (const auto& one : list.items())
    out.push_back(one.as<interrupt>());
  return out;
}

value part_data_of(stream_mode mode, const value& data) {
  if (mode == stream_mode::messages && data.is_list() && data.size() == 2)
    return value::list({message_of(data[0]), data[1]});
  bool may_ask = mode == stream_mode::values || mode == stream_mode::updates;
  if (may_ask && data.is_map() && data.contains(interrupts_member))
    return data.with(interrupts_member, interrupt_list(data[interrupts_member]));
  return data;
}

resumed_call call_to_resume(const state_snapshot& remote, const value& answers,
                            const std::optional<value>& plain) {
  using kind = resumed_call::kind;
  if (remote.interrupts.empty())
    return {remote.next.empty() ? kind::start : kind::proceed, {}};
  auto given = value::map();
  for (const auto& question : remote.interrupts)
    if (answers.contains(question.id))
      given = given.with(question.id, answers[question.id]);
  if (!given.empty())
    return {kind::answer, given};
  if (plain)
    return {kind::answer, *plain};
  return {kind::ask, {}};
}

compiled_graph graph_to_draw(const value& drawn) {
  state_graph<> g{schema{{"state", last_value}}};
  std::set<std::string> known{START, END};
  auto name_at = [](const value& v, const char* member) {
    return v[member].is_string() ? drawable(v[member].as<std::string>()) : std::string{};
  };
  for (const auto& node : drawn["nodes"].items())
    if (auto name = name_at(node, "id"); !name.empty() && known.insert(name).second)
      g.add_node(name, [](const state_view&) -> state_update {
        throw error{errc::invalid_graph, "run a picture of a remote graph: use remote_graph"};
      });
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> routes;
  for (const auto& edge : drawn["edges"].items()) {
    auto from = name_at(edge, "source");
    auto to = name_at(edge, "target");
    if (!known.contains(from) || !known.contains(to))
      continue;
    if (edge["conditional"] != value(true)) {
      g.add_edge(from, to);
      continue;
    }
    auto& labels = routes[from];
    auto label = edge["data"].is_string() ? edge["data"].as<std::string>() : to;
    if (std::ranges::find(labels, label, &std::pair<std::string, std::string>::first)
        == labels.end())
      labels.emplace_back(std::move(label), std::move(to));
  }
  for (auto& [from, labels] : routes) {
    auto first = labels.front().first;
    g.add_conditional_edges(
      from, [first](const state_view&) { return first; }, path_map(std::move(labels)));
  }
  return g.compile();
}

} // namespace troupe
