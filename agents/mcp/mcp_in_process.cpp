// mcp_in_process: a client and a server in the same process. Messages go between them as text, on
// the sender's thread, without a socket or a thread.
//
// Invariants:
//  - each question gets an answer: the server's, a time-out, or the end of this object.
//  - no callback is called while this object is locked.
#include "agents/mcp/mcp_connection.hpp"
#include "agents/mcp/mcp_transport.hpp"

#include <mutex>
#include <utility>

namespace troupe {
namespace {

class mcp_in_process final : public mcp_transport,
                             public std::enable_shared_from_this<mcp_in_process> {
public:
  mcp_in_process(std::shared_ptr<const mcp_service> server, mcp_options options)
    : options_{std::move(options)},
      server_{std::make_shared<mcp_connection>(std::move(server))} {}
  ~mcp_in_process() override {
    server_->close();
    for (auto& then : session_.forget_all())
      then(mcp_failure("connection", options_.name + ": the connection was closed"));
  }

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then) override;
  void cancel(std::int64_t id) override {
    bool waits = false;
    {
      std::scoped_lock lock{mutex_};
      waits = session_.forget(id).has_value();
    }
    if (waits)
      say(mcp_cancellation(id));
  }
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    say(mcp_notification(method, params));
    then();
  }
  void agree(const std::string&) override {}
  std::uint64_t tool_changes() const override { return 0; } // the list of tools never changes

private:
  void say(const std::string& text) {
    if (!text.empty())
      server_->hear(text, [](const mcp_reply&) {});
  }
  void answered(std::int64_t id, std::chrono::milliseconds timeout, const std::string& text);

  const mcp_options options_;
  const std::shared_ptr<mcp_connection> server_;
  std::mutex mutex_;
  mcp_session session_;
};

std::int64_t mcp_in_process::ask(std::string method, value params,
                                 std::chrono::milliseconds timeout, mcp_session::answer then) {
  std::int64_t id = 0;
  std::optional<error> refused;
  {
    std::scoped_lock lock{mutex_};
    refused = session_.refusal(options_.name);
    if (!refused)
      id = session_.ask(method, then);
  }
  if (refused)
    then(*std::move(refused));
  else
    server_->hear(
      mcp_request(id, method, params),
      [weak = weak_from_this(), id, timeout](const mcp_reply& reply) {
        if (auto self = weak.lock())
          self->answered(id, timeout, reply.text);
      },
      timeout);
  return id;
}

void mcp_in_process::answered(std::int64_t id, std::chrono::milliseconds timeout,
                              const std::string& text) {
  mcp_session::heard heard;
  std::optional<mcp_session::answer> unanswered;
  {
    std::scoped_lock lock{mutex_};
    if (!text.empty())
      heard = session_.hear(text);
    if (!heard.then)
      unanswered = session_.forget(id);
  }
  if (heard.then)
    heard.then(std::move(*heard.with));
  else if (unanswered && !text.empty())
    (*unanswered)(
      mcp_failure("response", options_.name + ": the response does not contain the answer"));
  else if (unanswered)
    (*unanswered)(error{errc::node_timeout, "ask an MCP server: " + options_.name
                                              + ": no answer within "
                                              + std::to_string(timeout.count()) + " ms"});
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_in_process(std::shared_ptr<const mcp_service> server,
                                                   const mcp_options& options) {
  return std::make_shared<mcp_in_process>(std::move(server), options);
}

} // namespace troupe
