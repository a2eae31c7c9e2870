// webhooks: the calls that a server makes when runs end.
#pragma once

#include "server/rules/webhook_policy.hpp"
#include "server/runs/run_service.hpp"
#include "server/runs/work_queue.hpp"

#include <troupe/server/limits.hpp>

#include <string>

namespace troupe::server {

/// The body of a webhook: the run as clients see it, with its times, values and error. Pure.
value webhook_form(const run_outcome& outcome, const std::string& sent_at);

/// Calls the webhook of each run that ends, once; a call that fails is logged.
/// Thread: any.
class webhooks {
public:
  webhooks(webhook_policy policy, std::function<std::int64_t()> now,
           std::function<std::uint16_t()> port)
    : policy_{std::move(policy)},
      now_{std::move(now)},
      port_{std::move(port)},
      work_{limits::server_webhook_threads} {}

  const webhook_policy& policy() const noexcept { return policy_; }
  /// Calls it soon, if the run has one.
  void run_ended(const run_outcome& outcome);

private:
  void call(const run_outcome& outcome, std::string url);

  const webhook_policy policy_;
  const std::function<std::int64_t()> now_;
  const std::function<std::uint16_t()> port_; // of this server, for URLs that begin with `/`
  work_queue work_;                           // the last member
};

} // namespace troupe::server
