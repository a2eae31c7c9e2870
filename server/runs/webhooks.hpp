// webhooks: the calls that a server makes when runs end.
#pragma once

#include "server/rules/webhook_policy.hpp"
#include "server/runs/run_service.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe::server {

/// The body of a webhook: the run as clients see it, with its times, values and error. Pure.
value webhook_form(const run_outcome& outcome, const std::string& sent_at);

/// Calls the webhook of each run that ends, once; a call that fails is logged.
/// Units:  limits::server_webhook_calls_max calls are on their way at once, and
///         limits::server_webhooks_waiting_max wait. Above that, a call is dropped and logged.
/// Thread: any. No call blocks, drain() apart.
class webhooks {
public:
  explicit webhooks(webhook_policy policy);
  webhooks(const webhooks&) = delete;
  webhooks& operator=(const webhooks&) = delete;
  /// As drain(), without a wait.
  ~webhooks();

  const webhook_policy& policy() const noexcept;
  /// The port of this server, for URLs that begin with `/`.
  void set_port(std::uint16_t port) noexcept;
  /// Calls it soon, if the run has one.
  void run_ended(const run_outcome& outcome);
  /// Waits until all calls are over, at most this long. Those that are left are given up, and those
  /// of later ends are dropped; both are logged. Returns the number of those that were left.
  std::size_t drain(std::chrono::milliseconds at_most);

private:
  class calls;
  std::shared_ptr<calls> calls_;
};

} // namespace troupe::server
