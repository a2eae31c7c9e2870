// mcp_service: calls as runs.
#include "agents/mcp/mcp_service.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/message_lists.hpp"

#include <troupe/agents/tool_node.hpp>
#include <troupe/state_graph.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr const char* served_call_id = "call"; // each run has one call

error not_offered(const std::string& what) {
  return {errc::invalid_config, "make an MCP server: " + what};
}

// A graph that runs one call of a tool and stores nothing.
compiled_graph graph_of_tools(std::vector<tool> tools) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{std::move(tools), {.handle_tool_errors = true}});
  g.add_edge(START, "tools");
  return g.compile({.name = "mcp_tools", .checkpointer = checkpointing::none});
}

// Deletes a thread by a run, so that only the blocking lane waits for the disk.
compiled_graph graph_that_forgets(const std::vector<saver*>& savers) {
  state_graph<> g{{{"thread_id", last_value}, {"saver", last_value}}};
  g.add_node("forget",
             [savers](const state_view& s) {
               auto which = static_cast<std::size_t>(s["saver"].as_int());
               savers.at(which)->delete_thread(s["thread_id"].as<std::string>()).value();
               return value{};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "forget");
  return g.compile({.name = "mcp_forget", .checkpointer = checkpointing::none});
}

// The result of graph_that_looks() as a snapshot.
state_snapshot looked_at(const value& seen) {
  state_snapshot out;
  out.created_at = seen["created_at"].as<std::string>();
  for (const auto& id : seen["interrupts"].items())
    out.interrupts.push_back({id.as<std::string>(), {}, {}});
  out.tasks.resize(static_cast<std::size_t>(seen["tasks"].as_int()));
  return out;
}

// The text of the runtime's error is advice for a program in C++.
error lost_its_thread(const std::string& thread) {
  return {errc::conflict,
          "another call uses thread_id `" + thread
            + "`, so this call was stopped: repeat it when the other call has ended"};
}

// Two calls can see the same question before the first one answers it.
error lost_its_question(const std::string& thread, const error& why) {
  return {errc::unknown_interrupt, "resume: thread_id `" + thread + "`: " + why.message()
                                     + ": its question was answered by another call, or this id "
                                       "is wrong"};
}

// An exception while a result is shown must not end the thread that carried the run.
template <class Show> value shown_or_failure(Show show) {
  try {
    return show();
  } catch (const std::exception& e) {
    return mcp_result_of_failure(failure_of(e));
  }
}

value result_of_tool_run(const value& definition, const result<run_result>& run) {
  if (!run)
    return mcp_result_of_failure(run.error());
  if (run->paused())
    return mcp_result_of_pause(definition["name"].as_string(), *run, {});
  for (const auto& message : run->value()["messages"].items())
    if (message_member(message, "tool_call_id") == value(served_call_id))
      return mcp_result_of_message(definition, message);
  return mcp_text_result("Error: the tool returned nothing", true);
}

} // namespace

mcp_service::mcp_service(runtime& rt, mcp_offer offer, mcp_server_options options)
  : call_timeout_{options.call_timeout} {
  if (options.calls_max == 0)
    throw not_offered("calls_max must be at least 1");
  if (options.call_timeout.count() <= 0)
    throw not_offered("call_timeout must be above zero");
  auto listing = std::make_shared<mcp_listing>();
  listing->server_info =
    value::map({{"name", options.name},
                {"version", options.version.empty() ? TROUPE_VERSION : options.version}});
  listing->instructions = std::move(options.instructions);
  listing->calls_max = options.calls_max;
  std::vector<tool> tools;
  for (const auto& t : offer.tools) {
    if (!t.runs_here())
      throw not_offered("a tool of a model's provider cannot be served");
    listing->tools.push_back(mcp_definition_of(t));
    tools.push_back(with_structured_content(t));
  }
  std::vector<troupe::saver*> savers;
  for (auto& g : offer.graphs) {
    auto name = g.name.empty() ? g.app.graph().name() : g.name;
    auto* keeps = g.app.saver();
    auto shown = mcp_graph_tool_of(g.app.graph(), name, g.description, g.threads && keeps);
    listing->tools.push_back(shown.definition);
    graphs_.push_back({std::move(g), std::move(shown)});
    savers.push_back(keeps);
  }
  if (listing->tools.size() > limits::mcp_tools_max)
    throw not_offered("more than " + std::to_string(limits::mcp_tools_max)
                      + " tools (mcp_tools_max)");
  std::vector<std::string> names;
  for (const auto& t : listing->tools)
    names.push_back(t["name"].as<std::string>());
  std::ranges::sort(names);
  if (auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw not_offered("two tools have the same name: " + *twice);
  if (!tools.empty())
    tools_ = rt.load(graph_of_tools(std::move(tools)));
  if (std::ranges::any_of(savers, [](const auto* s) { return s != nullptr; })) {
    forgets_ = rt.load(graph_that_forgets(savers));
    looks_ = rt.load(graph_that_looks());
  }
  listing_ = std::move(listing);
}

void mcp_service::begin(const mcp_served_call& call, const run_control& control,
                        std::chrono::milliseconds patience,
                        std::function<void(const value&)> then) const {
  auto tools = listing_->tools.size() - graphs_.size();
  if (call.tool < tools) {
    run_config config{.run_timeout = patience, .control = control};
    begin_tool(call, config, std::move(then));
    return;
  }
  const auto& graph = graphs_[call.tool - tools];
  auto config = graph.mine.config;
  config.control = control;
  if (config.run_timeout.count() <= 0 || config.run_timeout > patience)
    config.run_timeout = patience;
  begin_graph(call.tool - tools, call.arguments, std::move(config), std::move(then));
}

void mcp_service::begin_tool(const mcp_served_call& call, const run_config& config,
                             std::function<void(const value&)> then) const {
  const auto& definition = listing_->tools[call.tool];
  auto asked = ai_message(
    "",
    {{.name = definition["name"].as<std::string>(), .args = call.arguments, .id = served_call_id}});
  auto run = tools_->start(value::map({{"messages", value::list({asked})}}), config);
  run.when_done([definition, then = std::move(then)](const result<run_result>& how) {
    then(shown_or_failure([&] { return result_of_tool_run(definition, how); }));
  });
}

void mcp_service::begin_graph(std::size_t which, const value& arguments, run_config config,
                              std::function<void(const value&)> then) const {
  const auto& [mine, shown] = graphs_[which];
  auto call = read_graph_call(shown, arguments);
  if (!call)
    return then(mcp_result_of_failure(call.error()));
  bool is_named = !call->thread_id.empty();
  config.thread_id = is_named ? call->thread_id : mine.app.saver() ? random_id() : "";
  if (!is_named)
    config.durability = durability::exit;
  if (call->resumes)
    return begin_resuming(which, std::move(*call), std::move(config), std::move(then));
  begin_run(which, call->input, config, is_named, std::move(then));
}

// Reads a thread by a run, as graph_that_forgets() deletes one. The run keeps this object alive.
compiled_graph mcp_service::graph_that_looks() const {
  state_graph<> g{{{"thread_id", last_value},
                   {"graph", last_value},
                   {"interrupts", last_value},
                   {"tasks", last_value},
                   {"created_at", last_value}}};
  g.add_node("look",
             [this](const state_view& s) -> value {
               auto which = static_cast<std::size_t>(s["graph"].as_int());
               auto now = graphs_.at(which).mine.app.get_state(
                 {.thread_id = s["thread_id"].as<std::string>()});
               std::vector<value> ids;
               for (const auto& q : now.interrupts)
                 ids.emplace_back(q.id);
               return value::map({{"interrupts", value::list(std::move(ids))},
                                  {"tasks", static_cast<std::int64_t>(now.tasks.size())},
                                  {"created_at", now.created_at}});
             },
             {.lane = lane::blocking});
  g.add_edge(START, "look");
  return g.compile({.name = "mcp_look", .checkpointer = checkpointing::none});
}

// An answer does not wait for another run of the thread: the first answer counts.
void mcp_service::begin_resuming(std::size_t which, mcp_graph_call call, run_config config,
                                 std::function<void(const value&)> then) const {
  auto look = looks_->start(
    value::map({{"thread_id", config.thread_id}, {"graph", static_cast<std::int64_t>(which)}}));
  config.multitask = multitask_strategy::reject;
  look.when_done([kept = shared_from_this(), which, call = std::move(call),
                  config = std::move(config),
                  then = std::move(then)](const result<run_result>& how) {
    auto input = how ? resuming_input(call, looked_at(how->value())) : how.error();
    if (!input)
      return then(mcp_result_of_failure(input.error()));
    kept->begin_run(which, *input, config, true, then);
  });
}

void mcp_service::begin_run(std::size_t which, const run_input& input, const run_config& config,
                            bool is_named, std::function<void(const value&)> then) const {
  auto run = graphs_[which].mine.app.start(input, config);
  run.when_done([kept = shared_from_this(), which, is_named, thread = config.thread_id,
                 then = std::move(then)](const result<run_result>& how) {
    then(shown_or_failure([&] { return kept->result_of_graph(which, how, thread); }));
    bool waits = how && how->paused() && kept->graphs_[which].shown.has_threads;
    if (!is_named && !thread.empty() && !waits)
      kept->forget(which, thread);
  });
}

value mcp_service::result_of_graph(std::size_t which, const result<run_result>& run,
                                   const std::string& thread) const {
  const auto& shown = graphs_[which].shown;
  if (!run && run.error().code() == errc::conflict)
    return mcp_result_of_failure(lost_its_thread(thread));
  if (!run && run.error().code() == errc::unknown_interrupt)
    return mcp_result_of_failure(lost_its_question(thread, run.error()));
  if (!run)
    return mcp_result_of_failure(run.error());
  if (run->paused())
    return mcp_result_of_pause(shown.definition["name"].as_string(), *run,
                               shown.has_threads ? thread : std::string{});
  return mcp_result_of_output(shown, run->value());
}

void mcp_service::forget(std::size_t which, const std::string& thread) const {
  auto saver = static_cast<std::int64_t>(which);
  forgets_->start(value::map({{"thread_id", thread}, {"saver", saver}}));
}

mcp_server::mcp_server(runtime& rt, mcp_offer offer, mcp_server_options options)
  : service_{std::make_shared<const mcp_service>(rt, std::move(offer), std::move(options))} {}

} // namespace troupe
