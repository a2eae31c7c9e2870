// mcp_connection: from messages to runs and back.
#include "agents/mcp/mcp_connection.hpp"

#include "agents/messages/failure.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {

void mcp_connection::speak_by(std::function<void(const std::string&)> say) {
  {
    std::scoped_lock lock{mutex_};
    say_.swap(say);
  } // the way before it ends without the lock
}

void mcp_connection::hear(std::string_view text, mcp_way way) {
  mcp_server_session::heard heard;
  std::optional<open_call> cancelled;
  open_call begun;
  begun.way = std::move(way);                 // of the call's answer, or of the reply
  std::shared_ptr<const mcp_service> service; // whose listing the session used
  {
    std::scoped_lock lock{mutex_};
    service = service_;
    heard = session_.hear(text);
    if (heard.call) {
      if (begun.way.patience <= service_->call_timeout())
        begun.until = clock::now() + begun.way.patience;
      if (heard.call->wants_progress && begun.way.meanwhile)
        begun.progress_key = mcp_progress_board::of_process().add(
          [weak = weak_from_this(), number = heard.call->number](const mcp_progress& now) {
            if (auto self = weak.lock())
              self->report(number, now);
          });
      calls_.emplace(heard.call->number, begun);
    }
    if (heard.cancelled)
      if (auto found = calls_.extract(*heard.cancelled))
        cancelled = std::move(found.mapped());
  }
  if (cancelled) {
    mcp_progress_board::of_process().remove(cancelled->progress_key);
    cancelled->control.cancel();
    cancelled->way.then({});
    drop_questions(*heard.cancelled);
  }
  if (heard.answered)
    answered(*heard.answered, *heard.with);
  if (heard.call)
    begin(*heard.call, begun, *service);
  else
    begun.way.then({std::move(heard.reply), heard.refused});
}

void mcp_connection::begin(const mcp_served_call& call, const open_call& one,
                           const mcp_service& service) {
  auto then = [weak = weak_from_this(), number = call.number](const mcp_outcome& how) {
    if (auto self = weak.lock())
      self->ended(number, how);
  };
  mcp_call_hooks hooks{.elicit = {}, .progress_key = one.progress_key};
  {
    std::scoped_lock lock{mutex_};
    if (session_.can_elicit() && one.way.meanwhile)
      hooks.elicit = [weak = weak_from_this(),
                      number = call.number](const value& params, mcp_call_hooks::answered answer) {
        if (auto self = weak.lock())
          self->elicit(number, params, std::move(answer));
        else
          answer(error{errc::cancelled, "the client is gone"});
      };
  }
  try {
    service.begin(call, one.control, std::min(one.way.patience, service.call_timeout()),
                  std::move(hooks), then);
  } catch (const std::exception& e) {
    then({.result = mcp_result_of_failure(failure_of(e))});
  }
}

void mcp_connection::ended(std::uint64_t call, const mcp_outcome& how) {
  std::optional<open_call> one;
  std::string text;
  {
    std::scoped_lock lock{mutex_};
    text = session_.answer(call, how);
    if (auto found = calls_.extract(call))
      one = std::move(found.mapped());
  }
  if (!one)
    return;
  mcp_progress_board::of_process().remove(one->progress_key);
  bool in_time = !one->until || clock::now() < *one->until;
  one->way.then({in_time ? std::move(text) : std::string{}});
}

void mcp_connection::report(std::uint64_t call, const mcp_progress& now) {
  std::string text;
  std::function<void(const std::string&)> say;
  {
    std::scoped_lock lock{mutex_};
    text = session_.progress(call, now);
    if (auto found = calls_.find(call); found != calls_.end())
      say = found->second.way.meanwhile;
  }
  if (say && !text.empty())
    say(text);
}

// ---- questions to the client ------------------------------------------------------------------

void mcp_connection::elicit(std::uint64_t call, const value& params,
                            mcp_call_hooks::answered then) {
  std::function<void(const std::string&)> say;
  std::shared_ptr<const mcp_service> service;
  std::string text;
  std::uint64_t number = 0;
  run_control timer;
  {
    std::scoped_lock lock{mutex_};
    auto found = calls_.find(call);
    if (found != calls_.end())
      text = session_.ask(call, "elicitation/create", params, number);
    if (!text.empty()) {
      found->second.until.reset();
      say = found->second.way.meanwhile;
      questions_.emplace(number, question{call, then, timer});
      service = service_;
    }
  }
  if (!say)
    return then(error{errc::cancelled, "the call was cancelled"});
  service->after(limits::mcp_question_wait, timer, [weak = weak_from_this(), number] {
    if (auto self = weak.lock())
      self->answered(number, error{errc::node_timeout, "the client did not answer"});
  });
  say(text);
}

void mcp_connection::answered(std::uint64_t number, const result<value>& with) {
  std::optional<question> one;
  {
    std::scoped_lock lock{mutex_};
    session_.forget_question(number);
    if (auto found = questions_.extract(number))
      one = std::move(found.mapped());
    auto call = one ? calls_.find(one->call) : calls_.end();
    if (call != calls_.end() && call->second.way.patience <= service_->call_timeout())
      call->second.until = clock::now() + call->second.way.patience;
  }
  if (!one)
    return;
  one->timer.cancel();
  one->then(with);
}

void mcp_connection::drop_questions(std::uint64_t call) {
  std::vector<std::uint64_t> dropped;
  {
    std::scoped_lock lock{mutex_};
    for (const auto& [number, one] : questions_)
      if (one.call == call)
        dropped.push_back(number);
  }
  for (auto number : dropped)
    answered(number, error{errc::cancelled, "the call was cancelled"});
}

// ---- changes ----------------------------------------------------------------------------------

void mcp_connection::notify(const std::string& text) {
  std::function<void(const std::string&)> say;
  {
    std::scoped_lock lock{mutex_};
    if (session_.is_greeted())
      say = say_;
  }
  if (say)
    say(text);
}

void mcp_connection::offered(std::shared_ptr<const mcp_service> now,
                             const std::vector<std::string_view>& changed_lists) {
  {
    std::scoped_lock lock{mutex_};
    session_.relist(now->listing());
    service_ = std::move(now);
  }
  for (auto what : changed_lists)
    notify(mcp_notification("notifications/" + std::string{what} + "/list_changed", {}));
}

void mcp_connection::updated(const std::string& uri) {
  {
    std::scoped_lock lock{mutex_};
    if (!session_.is_subscribed(uri))
      return;
  }
  notify(mcp_notification("notifications/resources/updated", value::map({{"uri", uri}})));
}

void mcp_connection::close() {
  std::map<std::uint64_t, open_call> calls;
  std::map<std::uint64_t, question> questions;
  std::function<void(const std::string&)> say;
  {
    std::scoped_lock lock{mutex_};
    calls.swap(calls_);
    questions.swap(questions_);
    say.swap(say_);
    session_.forget_all();
  }
  for (auto& [number, one] : calls) {
    mcp_progress_board::of_process().remove(one.progress_key);
    one.control.cancel();
    one.way.then({});
  }
  for (auto& [number, one] : questions) {
    one.timer.cancel();
    one.then(error{errc::cancelled, "the connection has ended"});
  }
}

bool mcp_connection::is_greeted() const {
  std::scoped_lock lock{mutex_};
  return session_.is_greeted();
}

std::size_t mcp_connection::running() const {
  std::scoped_lock lock{mutex_};
  return session_.running();
}

} // namespace troupe
