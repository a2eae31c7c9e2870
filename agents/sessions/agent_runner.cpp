// agent_runner: sessions, and invocations of an agent in them.
#include "agents/sessions/event_source.hpp"
#include "agents/sessions/session_threads.hpp"

#include <algorithm>

namespace troupe {

event_stream::event_stream(std::unique_ptr<event_source> source) : source_{std::move(source)} {}
event_stream::event_stream(event_stream&&) noexcept = default;
event_stream& event_stream::operator=(event_stream&&) noexcept = default;
event_stream::~event_stream() = default;

result<std::optional<agent_event>> event_stream::try_next() {
  return source_->next();
}

agent_runner::agent_runner(runtime& rt, session_agent_ptr agent, agent_runner_options options)
  : core_{std::make_shared<runner_core>(rt, std::move(agent), std::move(options))} {}

const std::string& agent_runner::app() const noexcept {
  return core_->options.app;
}

// ---- invocations ----------------------------------------------------------------------------

event_stream agent_runner::run(session_ref session, value message, invocation_options with) const {
  return event_stream{std::make_unique<event_source>(
    core_, std::move(session), new_message{std::move(message)}, std::move(with))};
}

event_stream agent_runner::answer(session_ref session, value answers,
                                  invocation_options with) const {
  return event_stream{std::make_unique<event_source>(
    core_, std::move(session), new_answers{std::move(answers)}, std::move(with))};
}

event_stream agent_runner::resume(session_ref session, invocation_options with) const {
  return event_stream{
    std::make_unique<event_source>(core_, std::move(session), go_on{}, std::move(with))};
}

std::size_t agent_runner::cancel(const session_ref& session) const {
  auto thread = thread_of(core_->options.app, session);
  return thread ? core_->running.cancel(*thread) : 0;
}

// ---- sessions -------------------------------------------------------------------------------

result<std::optional<session>> agent_runner::try_session(const session_ref& ref) const {
  auto thread = thread_of(core_->options.app, ref);
  if (!thread)
    return thread.error();
  auto now = core_->graph.try_get_state({.thread_id = *thread});
  if (!now)
    return now.error();
  if (now->config.checkpoint_id.empty())
    return std::optional<troupe::session>{};
  troupe::session out;
  out.ref = ref;
  if (now->values["messages"].is_list())
    out.messages = now->values["messages"];
  out.state = now->values;
  out.questions = now->interrupts;
  out.next = now->next;
  out.invocation_id = runner_core::invocation_of(*now);
  out.updated_at = now->created_at;
  return std::optional{std::move(out)};
}

result<std::vector<session_ref>> agent_runner::try_sessions(std::string_view user) const {
  auto threads = core_->saver->threads();
  if (!threads)
    return threads.error();
  std::vector<session_ref> out;
  for (const auto& t : *threads)
    if (auto found = session_of(core_->options.app, t.thread_id);
        found && (user.empty() || found->user == user))
      out.push_back(*std::move(found));
  std::ranges::sort(out);
  return out;
}

result<void> agent_runner::try_delete_session(const session_ref& session) const {
  auto thread = thread_of(core_->options.app, session);
  if (!thread)
    return thread.error();
  return core_->saver->delete_thread(*thread);
}

result<std::vector<session_ref>> agent_runner::try_unfinished(bool alone) const {
  unfinished_query which;
  which.alone = alone;
  auto threads = core_->graph.try_unfinished(which);
  if (!threads)
    return threads.error();
  std::vector<session_ref> out;
  for (const auto& thread : *threads)
    if (auto found = session_of(core_->options.app, thread))
      out.push_back(*std::move(found));
  return out;
}

result<std::vector<resumed_session>> agent_runner::try_resume_unfinished(bool alone) const {
  auto sessions = try_unfinished(alone);
  if (!sessions)
    return sessions.error();
  std::vector<resumed_session> out;
  for (auto& ref : *sessions) {
    auto thread = thread_of(core_->options.app, ref);
    auto now = core_->graph.try_get_state({.thread_id = *thread});
    if (!now)
      return now.error();
    auto config = core_->config(*thread, ref, runner_core::invocation_of(*now), {});
    auto run = core_->graph.start(nullptr, config);
    out.push_back({std::move(ref), std::move(run)});
  }
  return out;
}

} // namespace troupe
