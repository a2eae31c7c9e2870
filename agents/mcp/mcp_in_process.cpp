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
  mcp_in_process(std::shared_ptr<mcp_host> server, mcp_options options)
    : mcp_transport{std::move(options)},
      server_{std::make_shared<mcp_connection>(std::move(server))} {
    server_->join();
  }
  ~mcp_in_process() override {
    server_->close();
    for (auto& then : session_.forget_all())
      then(closed());
  }

  std::int64_t ask(std::string method, value params, std::chrono::milliseconds timeout,
                   mcp_session::answer then, std::shared_ptr<mcp_listener> listener) override;
  void cancel(std::int64_t id) override {
    bool waits = false;
    {
      std::scoped_lock lock{mutex_};
      waits = session_.forget(id).has_value();
    }
    if (waits)
      reply(mcp_cancellation(id));
  }
  void extend(std::int64_t, std::chrono::milliseconds) override {}
  void tell(std::string_view method, const value& params, std::function<void()> then) override {
    reply(mcp_notification(method, params));
    then();
  }
  void reply(std::string text) override {
    if (!text.empty())
      server_->hear(text, {.then = [](const mcp_reply&) {}});
  }
  void agree(const value&) override {}
  void established() override {
    server_->speak_by([weak = weak_from_this()](const std::string& text) {
      if (auto self = weak.lock())
        self->hear(text);
    });
  }

private:
  void hear(const std::string& text);
  void answered(std::int64_t id, std::chrono::milliseconds timeout, const std::string& text);

  const std::shared_ptr<mcp_connection> server_;
};

std::int64_t mcp_in_process::ask(std::string method, value params,
                                 std::chrono::milliseconds timeout, mcp_session::answer then,
                                 std::shared_ptr<mcp_listener> listener) {
  bool listens = listener != nullptr;
  auto id = open(method, then, std::move(listener));
  if (!id)
    return -1;
  mcp_way way{.then =
                [weak = weak_from_this(), id = *id, timeout](const mcp_reply& reply) {
                  if (auto self = weak.lock())
                    self->answered(id, timeout, reply.text);
                },
              .meanwhile =
                [weak = weak_from_this()](const std::string& text) {
                  if (auto self = weak.lock())
                    self->hear(text);
                },
              .patience = timeout};
  server_->hear(question_text(*id, method, params, listens), std::move(way));
  return *id;
}

// A message of the server besides answers.
void mcp_in_process::hear(const std::string& text) {
  mcp_session::heard heard;
  {
    std::scoped_lock lock{mutex_};
    heard = session_.hear(text);
  }
  reply(std::move(heard.reply));
  carry_out(std::move(heard));
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
  else if (unanswered)
    (*unanswered)(text.empty() ? late(timeout) : without_answer());
}

} // namespace

std::shared_ptr<mcp_transport> make_mcp_in_process(std::shared_ptr<mcp_host> server,
                                                   const mcp_options& options) {
  return std::make_shared<mcp_in_process>(std::move(server), options);
}

} // namespace troupe
