// mcp_connection: one client of an MCP server, over any transport. Its messages become runs, and
// the results of runs become answers.
#pragma once

#include "agents/mcp/mcp_service.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe {

/// The answer to a message.
struct mcp_reply {
  std::string text = {}; ///< empty: an answer is not sent, also not later
  bool refused = false;  ///< it is not known which message this answers
};

/// Thread: any. The destructor cancels its runs.
class mcp_connection : public std::enable_shared_from_this<mcp_connection> {
public:
  explicit mcp_connection(std::shared_ptr<const mcp_service> service)
    : service_{std::move(service)},
      session_{service_->listing()} {}
  mcp_connection(const mcp_connection&) = delete;
  mcp_connection& operator=(const mcp_connection&) = delete;
  ~mcp_connection() { close(); }

  /// Handles a message. `then` is called once: at once or, for a call, on a thread of the runtime,
  /// where it must be short. A call that is cancelled, or takes longer than the client's
  /// `patience`, gets no answer.
  void hear(std::string_view text, std::function<void(mcp_reply)> then,
            std::chrono::milliseconds patience = std::chrono::milliseconds::max());
  /// Cancels its runs.
  void close();

  bool is_greeted() const;
  std::size_t running() const;

private:
  struct open_call {
    std::function<void(mcp_reply)> then;
    run_control control;
  };
  void begin(const mcp_served_call& call, const run_control& control,
             std::chrono::milliseconds patience);
  void ended(std::uint64_t call, const value& result, bool in_time);

  const std::shared_ptr<const mcp_service> service_;
  mutable std::mutex mutex_;
  mcp_server_session session_;
  std::map<std::uint64_t, open_call> calls_;
};

} // namespace troupe
