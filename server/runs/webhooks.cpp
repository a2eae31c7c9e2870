// webhooks: POST requests with the ends of runs. The process's HTTP loop carries them, so no thread
// waits for a receiver.
#include "server/runs/webhooks.hpp"

#include "actors/log.hpp"
#include "graph/plain_json.hpp"
#include "http/loop.hpp"
#include "server/rules/ids.hpp"

#include <troupe/server/limits.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace troupe::server {

namespace {

void log_failure(const std::string& run_id, const std::string& why) {
  log_warning("webhook of run " + run_id + ": " + why);
}

void log_answer(const std::string& run_id, const http_transfer& transfer) {
  try {
    if (auto status = transfer.head().status; status >= 400)
      log_failure(run_id, "status " + std::to_string(status));
  } catch (const std::exception& e) {
    log_failure(run_id, e.what());
  }
}

std::string time_of_now() {
  auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  return time_text(now.time_since_epoch().count());
}

} // namespace

value webhook_form(const run_outcome& outcome, const std::string& sent_at) {
  auto out = public_form(outcome.run.body())
               .with("run_started_at", outcome.started_at)
               .with("run_ended_at", outcome.run.updated_at)
               .with("webhook_sent_at", sent_at)
               .with("values", outcome.values);
  return outcome.run.error.is_null() ? out : out.with("error", outcome.run.error);
}

class webhooks::calls : public std::enable_shared_from_this<calls> {
public:
  explicit calls(webhook_policy policy) : policy_{std::move(policy)} {}

  const webhook_policy& policy() const noexcept { return policy_; }
  void set_port(std::uint16_t port) noexcept { port_ = port; }

  void add(const run_outcome& outcome, const std::string& url) {
    const auto& run_id = outcome.run.run_id;
    try {
      auto request = request_of(outcome, url);
      check_request(request);
      std::lock_guard lock{mutex_};
      if (is_over_)
        return log_failure(run_id, "not called, since the server stops");
      if (waiting_.size() >= limits::server_webhooks_waiting_max)
        return log_failure(run_id, "not called, since too many wait");
      waiting_.push_back({run_id, std::move(request)});
    } catch (const std::exception& e) {
      return log_failure(run_id, e.what());
    }
    start_more();
  }

  std::size_t drain(std::chrono::milliseconds at_most) {
    std::deque<waiting> dropped;
    std::map<std::uint64_t, http_transfer_ptr> given_up;
    {
      std::unique_lock lock{mutex_};
      emptied_.wait_for(lock, at_most, [this] { return running_.empty() && waiting_.empty(); });
      is_over_ = true;
      dropped.swap(waiting_);
      given_up.swap(running_);
    }
    for (const auto& [number, transfer] : given_up)
      loop_->cancel(transfer);
    auto left = dropped.size() + given_up.size();
    if (left != 0)
      log_warning("webhooks: the server stops without the answers to " + std::to_string(left)
                  + " calls");
    return left;
  }

private:
  struct waiting {
    std::string run_id;
    http_request request;
  };

  http_request request_of(const run_outcome& outcome, const std::string& url) const {
    http_request request;
    request.method = "POST";
    request.url = url.starts_with('/') ? "http://127.0.0.1:" + std::to_string(port_) + url : url;
    request.headers = policy_.headers;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = to_plain_json(webhook_form(outcome, time_of_now()));
    request.timeouts.total = limits::server_webhook_timeout;
    request.may_connect = [self = shared_from_this()](const std::string& address) {
      return may_call_address(self->policy_, address);
    };
    return request;
  }

  void start_more() {
    std::unique_lock lock{mutex_};
    while (!waiting_.empty() && running_.size() < limits::server_webhook_calls_max) {
      auto [run_id, request] = std::move(waiting_.front());
      waiting_.pop_front();
      auto transfer = std::make_shared<http_transfer>(std::move(request), true);
      auto number = ++last_number_;
      running_.emplace(number, transfer);
      lock.unlock();
      start(number, run_id, transfer);
      lock.lock();
    }
  }

  void start(std::uint64_t number, const std::string& run_id, const http_transfer_ptr& transfer) {
    loop_->start(transfer);
    transfer->when(http_sign::end, [self = shared_from_this(), number, run_id, transfer] {
      if (self->remove(number))
        log_answer(run_id, *transfer);
      self->start_more();
    });
  }

  // False when it was given up before.
  bool remove(std::uint64_t number) {
    std::lock_guard lock{mutex_};
    auto was_there = running_.erase(number) != 0;
    emptied_.notify_all();
    return was_there;
  }

  const webhook_policy policy_;
  std::atomic<std::uint16_t> port_ = 0;
  const std::shared_ptr<http_loop> loop_ = http_loop::shared();
  std::mutex mutex_;
  std::condition_variable emptied_;
  std::deque<waiting> waiting_;
  std::map<std::uint64_t, http_transfer_ptr> running_;
  std::uint64_t last_number_ = 0;
  bool is_over_ = false;
};

webhooks::webhooks(webhook_policy policy) : calls_{std::make_shared<calls>(std::move(policy))} {}

webhooks::~webhooks() {
  drain(std::chrono::milliseconds{0});
}

const webhook_policy& webhooks::policy() const noexcept {
  return calls_->policy();
}

void webhooks::set_port(std::uint16_t port) noexcept {
  calls_->set_port(port);
}

void webhooks::run_ended(const run_outcome& outcome) {
  const auto& url = outcome.run.kwargs["webhook"];
  if (url.is_string() && !url.empty())
    calls_->add(outcome, std::string{url.as_string()});
}

std::size_t webhooks::drain(std::chrono::milliseconds at_most) {
  return calls_->drain(at_most);
}

} // namespace troupe::server
