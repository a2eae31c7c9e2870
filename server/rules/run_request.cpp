// run_request: checks, defaults and merges.
#include "server/rules/run_request.hpp"

#include "graph/uuid_text.hpp"
#include "server/edge/refusal.hpp"
#include "server/rules/checked_body.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::server {

namespace {

constexpr std::array<std::string_view, 4> strategies{"reject", "enqueue", "interrupt", "rollback"};
constexpr std::array<std::string_view, 2> disconnects{"cancel", "continue"};
constexpr std::array<std::string_view, 2> completions{"delete", "keep"};
constexpr std::array<std::string_view, 2> missing_threads{"reject", "create"};
constexpr std::array<std::string_view, 3> durabilities{"sync", "async", "exit"};

// Modes on the wire, and the engine's mode that they are made of.
constexpr std::array<std::pair<std::string_view, stream_mode>, 9> modes{
  {{"values", stream_mode::values},
   {"updates", stream_mode::updates},
   {"messages", stream_mode::messages},
   {"messages-tuple", stream_mode::messages},
   {"custom", stream_mode::custom},
   {"debug", stream_mode::debug},
   {"tasks", stream_mode::tasks},
   {"checkpoints", stream_mode::checkpoints},
   {"tools", stream_mode::tools}}};

// The mode on the wire without one of its own in the engine, and those that it is made of.
constexpr std::string_view events_mode = "events";
constexpr std::array events_modes{stream_mode::debug, stream_mode::messages, stream_mode::tools};

value checked_modes(const checked_body& body) {
  const auto& given = body["stream_mode"];
  auto list = given.is_string() ? value::list({given}) : given;
  if (list.is_null() || (list.is_list() && list.empty()))
    return value::list({"values"});
  if (!list.is_list())
    throw refusal{422, "stream_mode: " + to_json(given) + " is neither a mode nor a list of modes"};
  for (const auto& one : list.items())
    if (!one.is_string()
        || (one != value(events_mode) && !std::ranges::any_of(modes, [&](const auto& m) {
              return m.first == one.as_string();
            })))
      throw refusal{422, "stream_mode: " + to_json(one) + " is not a stream mode"};
  return list;
}

// "*" or a list of nodes.
value checked_breakpoints(const checked_body& body, std::string_view name) {
  const auto& given = body[name];
  if (given.is_null())
    return {};
  if (given == value("*"))
    return value::list({given});
  if (given.is_string())
    throw refusal{422,
                  std::string{name} + ": " + to_json(given) + " is not `*` or a list of nodes"};
  body.texts(name);
  return given;
}

durability checked_durability(const checked_body& body) {
  if (auto given = body.one_of("durability", durabilities))
    return parse_durability(*given).value();
  return body.flag("checkpoint_during", true) ? durability::async : durability::exit;
}

std::vector<std::string> texts_in(const value& list) {
  std::vector<std::string> out;
  for (const auto& one : list.items())
    if (one.is_string())
      out.emplace_back(one.as_string());
  return out;
}

value merged_maps(const value& base, const value& over) {
  auto out = base.is_map() ? base : value::map();
  for (const auto& e : over.entries())
    out = out.with(e.key(), e.val);
  return out;
}

void add_destination(destinations& to, const value& given) {
  if (given.is_string())
    return to.add(std::string{given.as_string()});
  if (given.is_map() && given["node"].is_string())
    return to.add(send{std::string{given["node"].as_string()}, given["input"]});
  throw error{errc::invalid_value,
              "command: goto is neither a node nor {node, input}: " + to_json(given)};
}

value checked_command(const checked_body& body) {
  if (!body.has("command"))
    return {};
  auto given = body.map("command");
  try {
    command_of(given);
  } catch (const error& why) {
    throw refusal{422, why.message()};
  }
  return given;
}

value checked_config(const checked_body& body) {
  auto config = body.map("config");
  for (auto inner : {"configurable", "metadata"})
    if (const auto& v = config[inner]; !v.is_null() && !v.is_map())
      throw refusal{422, std::string{"config."} + inner + ": " + to_json(v) + " is not an object"};
  if (const auto& limit = config["recursion_limit"]; !limit.is_null() && !limit.is_int())
    throw refusal{422, "config.recursion_limit: " + to_json(limit) + " is not a whole number"};
  const auto& tags = config["tags"];
  if (!tags.is_null() && (!tags.is_list() || !std::ranges::all_of(tags.items(), &value::is_string)))
    throw refusal{422, "config.tags: " + to_json(tags) + " is not a list of texts"};
  return config;
}

value checked_checkpoint(const checked_body& body) {
  auto checkpoint = body.map("checkpoint");
  for (auto member : {"checkpoint_id", "checkpoint_ns", "thread_id"})
    if (const auto& v = checkpoint[member]; !v.is_null() && !v.is_string())
      throw refusal{422,
                    std::string{"checkpoint."} + member + ": " + to_json(v) + " is not a text"};
  if (auto id = body.text("checkpoint_id"))
    checkpoint = checkpoint.with("checkpoint_id", *id);
  std::array<unsigned char, 16> bytes{};
  if (const auto& id = checkpoint["checkpoint_id"];
      id.is_string() && !id.as_string().empty() && !parse_uuid_text(id.as_string(), bytes))
    throw refusal{422, "Invalid checkpoint ID"};
  return checkpoint;
}

} // namespace

state_update update_of(const value& given, std::string_view name) {
  auto refused = [name] {
    return error{errc::invalid_value,
                 std::string{name} + " is neither an object nor a list of pairs"};
  };
  if (!given.is_map() && !given.is_list())
    throw refused();
  std::vector<state_update::entry> out;
  for (const auto& e : given.entries())
    out.emplace_back(std::string{e.key()}, e.val);
  for (const auto& pair : given.items()) {
    if (!pair.is_list() || pair.size() != 2 || !pair[0].is_string())
      throw refused();
    out.emplace_back(std::string{pair[0].as_string()}, pair[1]);
  }
  return state_update{std::move(out)};
}

command command_of(const value& given) {
  command out;
  if (!given["update"].is_null())
    out.update = update_of(given["update"], "command: update");
  if (!given["resume"].is_null())
    out.resume = given["resume"];
  if (const auto& to = given["goto"]; to.is_list())
    for (const auto& one : to.items())
      add_destination(out.goto_, one);
  else if (!to.is_null())
    add_destination(out.goto_, to);
  return out;
}

std::string_view to_string(double_texting d) noexcept {
  return strategies[static_cast<std::size_t>(d)];
}

run_request read_run_request(const value& given) {
  checked_body body{given};
  run_request out;
  out.assistant_id = body.required_text("assistant_id");
  out.metadata = body.map("metadata");
  auto strategy = body.one_of("multitask_strategy", strategies).value_or("enqueue");
  out.strategy =
    static_cast<double_texting>(std::ranges::find(strategies, strategy) - strategies.begin());
  out.creates_thread = body.one_of("if_not_exists", missing_threads) == "create";
  out.cancels_on_disconnect = body.one_of("on_disconnect", disconnects) == "cancel";
  out.keeps_thread = body.one_of("on_completion", completions) == "keep";
  out.webhook = body.text("webhook").value_or("");
  const auto& after = body["after_seconds"];
  if (!after.is_null()) {
    constexpr double longest_s = 10.0 * 365 * 86'400;
    if (!after.is_number() || !(after.as_double() >= 0) || after.as_double() > longest_s)
      throw refusal{422, "after_seconds: " + to_json(after) + " is not a number of seconds"};
    out.after_micros = static_cast<std::int64_t>(after.as_double() * 1e6);
  }
  auto config = checked_config(body);
  auto context = body.map("context");
  if (!config["configurable"].empty() && !context.empty())
    throw refusal{400,
                  "Cannot specify both configurable and context. Prefer setting context alone."};
  body.texts("feedback_keys"); // a list of texts
  out.kwargs = value::map({{"input", body["input"]},
                           {"command", checked_command(body)},
                           {"config", config},
                           {"context", body["context"]},
                           {"stream_mode", checked_modes(body)},
                           {"interrupt_before", checked_breakpoints(body, "interrupt_before")},
                           {"interrupt_after", checked_breakpoints(body, "interrupt_after")},
                           {"checkpoint", checked_checkpoint(body)},
                           {"webhook", body["webhook"]},
                           {"feedback_keys", body["feedback_keys"]},
                           {"temporary", false},
                           {"subgraphs", body.flag("stream_subgraphs", false)},
                           {"resumable", body.flag("stream_resumable", false)},
                           {"strict_resume", body.flag("strict_resume", false)},
                           {"durability", to_string(checked_durability(body))}});
  return out;
}

std::vector<std::string> wire_modes(const value& kwargs) {
  auto out = texts_in(kwargs["stream_mode"]);
  return out.empty() ? std::vector<std::string>{"values"} : out;
}

bool has_events(const std::vector<std::string>& wire) {
  return std::ranges::find(wire, events_mode) != wire.end();
}

std::vector<stream_mode> shown_modes(const std::vector<std::string>& wire) {
  std::vector<stream_mode> out;
  for (const auto& name : wire)
    for (const auto& [known, mode] : modes)
      if (known == name && std::ranges::find(out, mode) == out.end())
        out.push_back(mode);
  return out;
}

std::vector<stream_mode> engine_modes(const std::vector<std::string>& wire) {
  auto out = shown_modes(wire);
  if (has_events(wire))
    for (auto mode : events_modes)
      if (std::ranges::find(out, mode) == out.end())
        out.push_back(mode);
  return out;
}

value merged_config(const value& base, const value& over) {
  auto out = merged_maps(base, over);
  for (const char* inner : {"configurable", "metadata"})
    if (base[inner].is_map() && over[inner].is_map())
      out = out.with(inner, merged_maps(base[inner], over[inner]));
  return out;
}

value with_assistant(const value& kwargs, const assistant_record& assistant) {
  auto config = merged_config(assistant.config, kwargs["config"]);
  auto configurable = config["configurable"].is_map() ? config["configurable"] : value::map();
  auto context = kwargs["context"];
  if (context.is_map() && !context.empty()) { // a context is seen as configurable, too, and back
    context = merged_maps(assistant.context, context);
    configurable = merged_maps(configurable, context);
  } else if (context.is_null() || context.is_map()) {
    context = merged_maps(assistant.context, configurable);
  }
  return kwargs.with("config", config.with("configurable", configurable)).with("context", context);
}

run_config config_of(const run_record& run) {
  const auto& kwargs = run.kwargs;
  const auto& config = kwargs["config"];
  auto configurable = config["configurable"].is_map() ? config["configurable"] : value::map();
  auto checkpoint = kwargs["checkpoint"];
  auto text = [](const value& v) {
    return v.is_string() ? std::string{v.as_string()} : std::string{};
  };
  auto checkpoint_id = text(checkpoint["checkpoint_id"]);
  if (checkpoint_id.empty())
    checkpoint_id = text(configurable["checkpoint_id"]);
  for (const char* placed : {"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"})
    configurable = configurable.without(placed);
  // The run's place is in the configs of its checkpoints and in their metadata, as clients expect.
  run_config out{.thread_id = run.thread_id,
                 .checkpoint_id = checkpoint_id,
                 .checkpoint_ns = text(checkpoint["checkpoint_ns"]),
                 .durability = parse_durability(text(kwargs["durability"])).value(),
                 .interrupt_before = texts_in(kwargs["interrupt_before"]),
                 .interrupt_after = texts_in(kwargs["interrupt_after"]),
                 .subgraphs = run.flag("subgraphs") || has_events(wire_modes(kwargs)),
                 .strict_resume = run.flag("strict_resume"),
                 .whole_metadata = true,
                 .tags = texts_in(config["tags"]),
                 .run_name = text(config["run_name"]),
                 .run_id = run.run_id,
                 .metadata = merged_maps(merged_maps(config["metadata"], run.metadata),
                                         value::map({{"run_attempt", run.attempt},
                                                     {"run_id", run.run_id},
                                                     {"thread_id", run.thread_id}})),
                 .configurable = merged_maps(configurable,
                                             value::map({{"run_id", run.run_id},
                                                         {"graph_id", run.graph_id},
                                                         {"assistant_id", run.assistant_id}})),
                 .context = kwargs["context"]};
  if (const auto& limit = config["recursion_limit"]; limit.is_int()) {
    if (limit.as_int() < 1 || limit.as_int() > 1'000'000'000)
      throw error{errc::invalid_config,
                  "recursion_limit: " + to_json(limit) + " is not at least 1"};
    out.recursion_limit = static_cast<std::uint32_t>(limit.as_int());
  }
  if (const auto& bound = config["max_concurrency"]; bound.is_int() && bound.as_int() > 0)
    out.max_concurrency =
      static_cast<std::uint32_t>(std::min<std::int64_t>(bound.as_int(), 1'000'000));
  if (!checkpoint_id.empty())
    out.metadata = out.metadata.with("checkpoint_id", checkpoint_id);
  return out;
}

run_input input_of(const value& kwargs) {
  if (kwargs["command"].is_map())
    if (auto c = command_of(kwargs["command"]);
        c.update || c.resume || !c.goto_.empty()) // members that are null say nothing
      return c;
  if (kwargs["input"].is_null())
    return nullptr;
  return kwargs["input"];
}

} // namespace troupe::server
