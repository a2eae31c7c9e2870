// event_source: running an invocation, and reading its events.
#include "agents/sessions/event_source.hpp"

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/sessions/session_agents.hpp"
#include "agents/sessions/session_threads.hpp"

#include <algorithm>

namespace troupe {
namespace {

agent_runner_options completed(agent_runner_options given, const session_agent_ptr& agent) {
  if (!agent || agent->name().empty())
    throw error{errc::invalid_config, "make an agent runner: the agent is missing or has no name"};
  if (given.app.empty())
    given.app = agent->name();
  return given;
}

value input_map(const value& given) {
  if (!given.is_null() && !given.is_map())
    throw error{errc::invalid_config,
                "begin an invocation: its input must be a map of channels, not " + to_json(given)};
  return given.is_null() ? value::map() : given;
}

} // namespace

// ---- what is under way ----------------------------------------------------------------------

bool running_invocations::enter(const std::string& thread_id, const void* who,
                                const run_control& control) {
  std::lock_guard lock{mutex_};
  bool busy = running_.contains(thread_id);
  running_.emplace(thread_id, std::pair{who, control});
  return busy;
}

void running_invocations::leave(const std::string& thread_id, const void* who) {
  std::lock_guard lock{mutex_};
  auto [begin, end] = running_.equal_range(thread_id);
  auto own = std::find_if(begin, end, [who](const auto& e) { return e.second.first == who; });
  if (own != end)
    running_.erase(own);
}

std::size_t running_invocations::cancel(const std::string& thread_id) {
  std::vector<run_control> found;
  {
    std::lock_guard lock{mutex_};
    auto [begin, end] = running_.equal_range(thread_id);
    for (auto at = begin; at != end; ++at)
      found.push_back(at->second.second);
  }
  for (auto& control : found)
    control.cancel();
  return found.size();
}

// ---- the core -------------------------------------------------------------------------------

runner_core::runner_core(runtime& rt, session_agent_ptr of, agent_runner_options how)
  : agent{std::move(of)},
    options{completed(std::move(how), agent)},
    mark{random_id()},
    saver{rt.saver()},
    graph{rt.load(graph_of(agent, mark))} {
  if (!saver)
    throw error{errc::no_saver, "make an agent runner: sessions need a runtime with a saver"};
}

run_config runner_core::config(const std::string& thread_id, const session_ref& session,
                               const std::string& invocation_id, const value& context) const {
  run_config out;
  out.thread_id = thread_id;
  out.durability = options.durability;
  out.multitask = options.multitask;
  out.recursion_limit = options.recursion_limit;
  out.max_concurrency = options.max_concurrency;
  out.run_timeout = options.run_timeout;
  out.subgraphs = options.subgraphs;
  out.metadata = (options.metadata.is_map() ? options.metadata : value::map())
                   .with("app_name", options.app)
                   .with("user_id", session.user)
                   .with("session_id", session.id)
                   .with("invocation_id", invocation_id);
  out.context = context;
  return out;
}

std::string runner_core::invocation_of(const state_snapshot& now) {
  const auto& id = now.metadata["invocation_id"];
  return id.is_string() ? id.as<std::string>() : std::string{};
}

// ---- an invocation --------------------------------------------------------------------------

// Open calls of a cancelled or failed invocation are answered before a new message. While another
// invocation runs, they are left, because they may be its calls.
run_input event_source::make_input(const state_snapshot& now, bool busy) {
  if (std::holds_alternative<go_on>(input_))
    return nullptr;
  if (auto* given = std::get_if<new_answers>(&input_)) {
    if (now.interrupts.empty()) // the runtime would resume with no answer
      throw error{errc::unknown_interrupt, "answer a session: it does not wait for an answer"};
    return command{.resume = given->answers};
  }
  auto messages = busy ? std::vector<value>{} : patch_of_tool_calls(now.values["messages"]);
  messages.push_back(coerce_message(std::get<new_message>(input_).message));
  return input_map(with_.input).with("messages", value::list(std::move(messages)));
}

void event_source::begin() {
  begun_ = true;
  run_ = invocation_id_ = random_id();
  auto thread = thread_of(core_->options.app, session_);
  if (!thread)
    return fail(thread.error());
  thread_id_ = *thread;
  bool busy = core_->running.enter(thread_id_, this, control_);
  auto now = core_->graph.try_get_state({.thread_id = thread_id_});
  if (!now)
    return fail(now.error());
  if (!std::holds_alternative<new_message>(input_))
    if (auto before = runner_core::invocation_of(*now); !before.empty())
      invocation_id_ = before;
  auto input = make_input(*now, busy);
  auto config = core_->config(thread_id_, session_, invocation_id_, with_.context);
  config.control = control_;
  parts_.emplace(core_->graph.stream(input, config, event_reader::modes()));
}

void event_source::read_part() {
  auto part = parts_->try_next();
  if (!part)
    return fail(part.error());
  if (*part)
    return add(reader_.events_of(**part));
  ended_ = true;
  add(reader_.last_events(*parts_->outcome()));
  leave();
}

void event_source::fail(error why) {
  ended_ = true;
  add({reader_.failed(why)});
  failure_ = std::move(why);
  leave();
}

void event_source::add(std::vector<agent_event> events) {
  for (auto& e : events) {
    e.id = run_ + ':' + std::to_string(++told_);
    e.invocation_id = invocation_id_;
    events_.push_back(std::move(e));
  }
}

void event_source::leave() {
  parts_.reset(); // first, because the run is on until then
  if (!thread_id_.empty())
    core_->running.leave(thread_id_, this);
}

result<std::optional<agent_event>> event_source::next() {
  while (events_.empty() && !ended_) {
    try {
      if (begun_)
        read_part();
      else
        begin();
    } catch (const std::exception& thrown) {
      fail(failure_of(thrown));
    }
  }
  if (!events_.empty()) {
    auto out = std::move(events_.front());
    events_.pop_front();
    return std::optional{std::move(out)};
  }
  if (auto why = std::exchange(failure_, std::nullopt))
    return *why;
  return std::optional<agent_event>{};
}

} // namespace troupe
