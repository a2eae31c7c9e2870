// mcp_service: calls as runs.
#include "agents/mcp/mcp_service.hpp"

#include "agents/mcp/mcp_host.hpp"
#include "agents/mcp/mcp_readable.hpp"
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
template <class Show> mcp_outcome shown_or_failure(Show show) {
  try {
    return {.result = show()};
  } catch (const std::exception& e) {
    return {.result = mcp_result_of_failure(failure_of(e))};
  }
}

compiled_graph graph_that_waits() {
  state_graph<> g{{{"ms", last_value}}};
  g.add_node("wait", [](const state_view& s, context& ctx) -> coro<state_update> {
    std::chrono::milliseconds wait{s["ms"].as_int()};
    co_await ctx.sleep_for(wait);
    co_return state_update{};
  });
  g.add_edge(START, "wait");
  return g.compile({.name = "mcp_wait", .checkpointer = checkpointing::none});
}

void require_unique(const std::vector<value>& all, const char* member, const std::string& what,
                    std::size_t most, const char* limit) {
  if (all.size() > most)
    throw not_offered("more than " + std::to_string(most) + ' ' + what + "s (" + limit + ')');
  std::vector<std::string> names;
  for (const auto& one : all)
    names.push_back(one[member].as<std::string>());
  std::ranges::sort(names);
  if (auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw not_offered("two " + what + "s have the same " + member + ": " + *twice);
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
  for (const auto& r : offer.resources)
    listing->resources.push_back(mcp_definition_of(r));
  for (const auto& t : offer.resource_templates)
    listing->templates.push_back(mcp_definition_of(t));
  for (const auto& p : offer.prompts)
    listing->prompts.push_back(mcp_definition_of(p));
  require_unique(listing->tools, "name", "tool", limits::mcp_tools_max, "mcp_tools_max");
  require_unique(listing->resources, "uri", "resource", limits::mcp_entries_max, "mcp_entries_max");
  require_unique(listing->templates, "uriTemplate", "template", limits::mcp_entries_max,
                 "mcp_entries_max");
  require_unique(listing->prompts, "name", "prompt", limits::mcp_entries_max, "mcp_entries_max");
  resources_ = std::move(offer.resources);
  templates_ = std::move(offer.resource_templates);
  prompts_ = std::move(offer.prompts);
  if (!resources_.empty() || !templates_.empty() || !prompts_.empty())
    reads_ = rt.load(graph_that_reads());
  if (!tools.empty())
    tools_ = rt.load(graph_of_tools(std::move(tools)));
  if (std::ranges::any_of(savers, [](const auto* s) { return s != nullptr; })) {
    waits_ = rt.load(graph_that_waits());
    forgets_ = rt.load(graph_that_forgets(savers));
    looks_ = rt.load(graph_that_looks());
  }
  listing_ = std::move(listing);
}

void mcp_service::begin(const mcp_served_call& call, const run_control& control,
                        std::chrono::milliseconds patience, mcp_call_hooks hooks,
                        std::function<void(const mcp_outcome&)> then) const {
  auto tools = listing_->tools.size() - graphs_.size();
  bool is_graph = call.what == mcp_served_call::kind::tool && call.place >= tools;
  auto config = is_graph ? graphs_[call.place - tools].mine.config : run_config{};
  config.control = control;
  if (config.run_timeout.count() <= 0 || config.run_timeout > patience)
    config.run_timeout = patience;
  if (!hooks.progress_key.empty())
    config.configurable = (config.configurable.is_map() ? config.configurable : value::map())
                            .with(mcp_progress_member, hooks.progress_key);
  if (is_graph)
    begin_graph(call.arguments, {.which = call.place - tools,
                                 .config = std::move(config),
                                 .hooks = std::move(hooks),
                                 .then = std::move(then)});
  else if (call.what == mcp_served_call::kind::tool)
    begin_tool(call, config, std::move(then));
  else
    begin_read(call, config, std::move(then));
}

void mcp_service::after(std::chrono::milliseconds wait, const run_control& control,
                        std::function<void()> then) const {
  if (!waits_)
    return;
  run_config config;
  config.control = control;
  auto run = waits_->start(value::map({{"ms", static_cast<std::int64_t>(wait.count())}}), config);
  run.when_done([then = std::move(then)](const result<run_result>& how) {
    if (how)
      then();
  });
}

void mcp_service::begin_tool(const mcp_served_call& call, const run_config& config,
                             end_of_call then) const {
  const auto& definition = listing_->tools[call.place];
  auto asked = ai_message(
    "",
    {{.name = definition["name"].as<std::string>(), .args = call.arguments, .id = served_call_id}});
  auto run = tools_->start(value::map({{"messages", value::list({asked})}}), config);
  run.when_done([definition, then = std::move(then)](const result<run_result>& how) {
    then(shown_or_failure([&] { return result_of_tool_run(definition, how); }));
  });
}

// ---- resources and prompts --------------------------------------------------------------------

value mcp_service::read(const state_view& asked) const {
  using kind = mcp_served_call::kind;
  auto place = static_cast<std::size_t>(asked["place"].as_int());
  auto uri = asked["uri"].as<std::string>();
  switch (static_cast<kind>(asked["what"].as_int())) {
    case kind::resource: {
      const auto& one = resources_.at(place);
      return mcp_result_of_content(uri, one.mime_type, one.read(uri));
    }
    case kind::templated: {
      const auto& one = templates_.at(place);
      return mcp_result_of_content(uri, one.mime_type, one.read(uri, asked["arguments"]));
    }
    case kind::prompt: {
      const auto& one = prompts_.at(place);
      return mcp_result_of_messages(one.description, one.get(asked["arguments"]));
    }
    case kind::tool: break;
  }
  return {};
}

// The functions run on the blocking lane. The run keeps this object alive, by its callback.
compiled_graph mcp_service::graph_that_reads() const {
  state_graph<> g{{{"what", last_value},
                   {"place", last_value},
                   {"uri", last_value},
                   {"arguments", last_value},
                   {"read", last_value}}};
  g.add_node("read",
             [this](const state_view& s) -> value {
               return value::map({{"read", read(s)}});
             },
             {.lane = lane::blocking});
  g.add_edge(START, "read");
  return g.compile({.name = "mcp_read", .checkpointer = checkpointing::none});
}

void mcp_service::begin_read(const mcp_served_call& call, const run_config& config,
                             end_of_call then) const {
  auto run = reads_->start(
    value::map({{"what", static_cast<std::int64_t>(call.what)},
                {"place", static_cast<std::int64_t>(call.place)},
                {"uri", call.uri},
                {"arguments", call.arguments.is_map() ? call.arguments : value::map()}}),
    config);
  run.when_done([kept = shared_from_this(), then = std::move(then)](const result<run_result>& how) {
    if (how)
      then({.result = how->value()["read"]});
    else
      then({.refused = rpc_refused::by_server, .why = how.error().text()});
  });
}

// ---- graphs -----------------------------------------------------------------------------------

void mcp_service::begin_graph(const value& arguments, graph_run_of run) const {
  const auto& [mine, shown] = graphs_[run.which];
  auto call = read_graph_call(shown, arguments);
  if (!call)
    return run.then({.result = mcp_result_of_failure(call.error())});
  run.is_named = !call->thread_id.empty();
  run.config.thread_id = run.is_named ? call->thread_id : mine.app.saver() ? random_id() : "";
  if (!run.is_named)
    run.config.durability = durability::exit;
  if (call->resumes)
    return begin_resuming(std::move(*call), std::move(run));
  begin_run(call->input, std::move(run));
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
void mcp_service::begin_resuming(mcp_graph_call call, graph_run_of run) const {
  auto look = looks_->start(value::map(
    {{"thread_id", run.config.thread_id}, {"graph", static_cast<std::int64_t>(run.which)}}));
  run.config.multitask = multitask_strategy::reject;
  look.when_done([kept = shared_from_this(), call = std::move(call),
                  run = std::move(run)](const result<run_result>& how) {
    auto input = how ? resuming_input(call, looked_at(how->value())) : how.error();
    if (!input)
      return run.then({.result = mcp_result_of_failure(input.error())});
    kept->begin_run(*input, run);
  });
}

void mcp_service::begin_run(const run_input& input, graph_run_of run) const {
  auto started = graphs_[run.which].mine.app.start(input, run.config);
  started.when_done(
    [kept = shared_from_this(), run = std::move(run)](const result<run_result>& how) {
      bool asks = false;
      try {
        asks = how && how->paused() && kept->ask_client(*how, run);
      } catch (const std::exception& e) { // as in shown_or_failure()
        return run.then({.result = mcp_result_of_failure(failure_of(e))});
      }
      if (!asks)
        kept->end_run(how, run);
    });
}

// Puts the first question of a paused run to the client's user, and resumes the run with the
// answer. Result: whether it does.
bool mcp_service::ask_client(const run_result& paused, const graph_run_of& run) const {
  if (!run.hooks.elicit || run.config.thread_id.empty() || paused.interrupts().empty()
      || run.questions >= limits::mcp_questions_max)
    return false;
  auto params = mcp_elicitation_of(paused.interrupts().front());
  if (params.is_null())
    return false;
  auto id = paused.interrupts().front().id;
  run.hooks.elicit(params, [kept = shared_from_this(), params, id, run,
                            paused](const result<value>& elicited) {
    auto answer = elicited ? answer_of_elicitation(params, *elicited) : elicited.error();
    if (!answer || answer->is_null())
      return kept->end_run(paused, run);
    auto next = run;
    ++next.questions;
    kept->begin_run(command{.resume = value::map({{id, *answer}})}, std::move(next));
  });
  return true;
}

void mcp_service::end_run(const result<run_result>& how, const graph_run_of& run) const {
  const auto& thread = run.config.thread_id;
  run.then(shown_or_failure([&] { return result_of_graph(run.which, how, thread); }));
  bool waits = how && how->paused() && graphs_[run.which].shown.has_threads;
  if (!run.is_named && !thread.empty() && !waits)
    forget(run.which, thread);
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

} // namespace troupe
