// mcp_connection: from messages to runs and back.
#include "agents/mcp/mcp_connection.hpp"

#include "agents/messages/failure.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {

void mcp_connection::hear(std::string_view text, std::function<void(mcp_reply)> then,
                          std::chrono::milliseconds patience) {
  mcp_server_session::heard heard;
  run_control control;
  std::optional<open_call> cancelled;
  {
    std::scoped_lock lock{mutex_};
    heard = session_.hear(text);
    if (heard.call)
      calls_.emplace(heard.call->number, open_call{then, control});
    if (heard.cancelled)
      if (auto found = calls_.extract(*heard.cancelled))
        cancelled = std::move(found.mapped());
  }
  if (cancelled) {
    cancelled->control.cancel();
    cancelled->then({});
  }
  if (heard.call)
    begin(*heard.call, control, patience);
  else
    then({std::move(heard.reply), heard.refused});
}

void mcp_connection::begin(const mcp_served_call& call, const run_control& control,
                           std::chrono::milliseconds patience) {
  using clock = std::chrono::steady_clock;
  auto at_most = std::min(patience, service_->call_timeout());
  std::optional<clock::time_point> until;
  if (patience <= service_->call_timeout())
    until = clock::now() + patience;
  auto then = [weak = weak_from_this(), number = call.number, until](const value& result) {
    if (auto self = weak.lock())
      self->ended(number, result, !until || clock::now() < *until);
  };
  try {
    service_->begin(call, control, at_most, then);
  } catch (const std::exception& e) {
    then(mcp_result_of_failure(failure_of(e)));
  }
}

void mcp_connection::ended(std::uint64_t call, const value& result, bool in_time) {
  std::function<void(mcp_reply)> then;
  std::string text;
  {
    std::scoped_lock lock{mutex_};
    text = session_.answer(call, result);
    if (auto found = calls_.extract(call))
      then = std::move(found.mapped().then);
  }
  if (then)
    then({in_time ? std::move(text) : std::string{}});
}

void mcp_connection::close() {
  std::map<std::uint64_t, open_call> calls;
  {
    std::scoped_lock lock{mutex_};
    calls.swap(calls_);
    session_.forget_all();
  }
  for (auto& [number, one] : calls) {
    one.control.cancel();
    one.then({});
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
