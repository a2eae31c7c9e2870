// webhooks: POST requests with the ends of runs.
#include "server/runs/webhooks.hpp"

#include "actors/log.hpp"
#include "graph/plain_json.hpp"
#include "http/client.hpp"
#include "server/rules/ids.hpp"

#include <troupe/server/limits.hpp>

namespace troupe::server {

value webhook_form(const run_outcome& outcome, const std::string& sent_at) {
  auto out = public_form(outcome.run.body())
               .with("run_started_at", outcome.started_at)
               .with("run_ended_at", outcome.run.updated_at)
               .with("webhook_sent_at", sent_at)
               .with("values", outcome.values);
  return outcome.run.error.is_null() ? out : out.with("error", outcome.run.error);
}

void webhooks::run_ended(const run_outcome& outcome) {
  const auto& url = outcome.run.kwargs["webhook"];
  if (url.is_string() && !url.empty())
    work_.post([this, outcome, url = std::string{url.as_string()}] { call(outcome, url); });
}

void webhooks::call(const run_outcome& outcome, std::string url) {
  if (url.starts_with('/'))
    url = "http://127.0.0.1:" + std::to_string(port_()) + url;
  try {
    http_request request;
    request.method = "POST";
    request.url = url;
    request.headers = policy_.headers;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = to_plain_json(webhook_form(outcome, time_text(now_())));
    request.timeouts.total = limits::server_webhook_timeout;
    request.may_connect = [this](const std::string& address) {
      return may_call_address(policy_, address);
    };
    auto answer = http_fetch_and_wait(std::move(request));
    if (answer.head.status >= 400)
      log_warning("webhook of run " + outcome.run.run_id + ": status "
                  + std::to_string(answer.head.status));
  } catch (const std::exception& e) {
    log_warning("webhook of run " + outcome.run.run_id + ": " + e.what());
  }
}

} // namespace troupe::server
