// mcp_connection: one client of an MCP server, over any transport. Its messages become runs, and
// the results of runs become answers. Questions and notifications of the server go the other way.
#pragma once

#include "agents/mcp/mcp_host.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The answer to a message.
struct mcp_reply {
  std::string text = {}; ///< empty: an answer is not sent, also not later
  bool refused = false;  ///< it is not known which message this answers
};

/// The ways of one message's consequences to the client.
struct mcp_way {
  /// Called once: at once or, for a call, on a thread of the runtime, where it must be short.
  std::function<void(mcp_reply)> then = {};
  /// Sends a message that belongs to the call before its answer. Unset: the
  /// client gets neither progress nor questions.
  std::function<void(const std::string&)> meanwhile = {};
  /// A call that takes longer gets no answer. The time of questions does not count.
  std::chrono::milliseconds patience = std::chrono::milliseconds::max();
};

/// Thread: any. The destructor cancels its runs.
class mcp_connection : public std::enable_shared_from_this<mcp_connection> {
public:
  using clock = std::chrono::steady_clock;

  explicit mcp_connection(std::shared_ptr<mcp_host> host)
    : host_{std::move(host)},
      service_{host_->service()},
      session_{service_->listing()} {}
  mcp_connection(const mcp_connection&) = delete;
  mcp_connection& operator=(const mcp_connection&) = delete;
  ~mcp_connection() { close(); }

  /// From now on, the host reports its changes to this client.
  void join() { host_->add(shared_from_this()); }
  /// Sets the way of messages that belong to no call; unset: they are dropped.
  void speak_by(std::function<void(const std::string&)> say);

  /// Handles a message. A call that is cancelled gets no answer.
  void hear(std::string_view text, mcp_way way);
  /// Cancels its runs.
  void close();

  // -- for the host

  /// There is another offer, in which these lists changed.
  void offered(std::shared_ptr<const mcp_service> now,
               const std::vector<std::string_view>& changed_lists);
  void updated(const std::string& uri);

  bool is_greeted() const;
  std::size_t running() const;

private:
  struct open_call {
    mcp_way way;
    run_control control;
    std::optional<clock::time_point> until; // unset: while it waits for the client, or for ever
    std::string progress_key;               // empty: not wanted
  };
  struct question {
    std::uint64_t call;
    mcp_call_hooks::answered then;
    run_control timer;
  };
  void begin(const mcp_served_call& call, const open_call& one, const mcp_service& service);
  void ended(std::uint64_t call, const mcp_outcome& how);
  void report(std::uint64_t call, const mcp_progress& now);
  void elicit(std::uint64_t call, const value& params, mcp_call_hooks::answered then);
  void answered(std::uint64_t number, const result<value>& with);
  void drop_questions(std::uint64_t call);
  void notify(const std::string& text);

  const std::shared_ptr<mcp_host> host_;
  mutable std::mutex mutex_;
  std::shared_ptr<const mcp_service> service_;
  mcp_server_session session_;
  std::map<std::uint64_t, open_call> calls_;
  std::map<std::uint64_t, question> questions_; // to the client
  std::function<void(const std::string&)> say_;
};

} // namespace troupe
