// api_request: sending, waiting, and joining the run of a wait again.
#include "client/api_request.hpp"

#include "client/rejoining.hpp"
#include "client/waiting.hpp"
#include "http/client.hpp"
#include "http/retry.hpp"

#include <random>
#include <thread>
#include <utility>

namespace troupe {

coro<void> pause_in(context* ctx, std::chrono::milliseconds time) {
  if (ctx) {
    auto pause = ctx->sleep_for(time);
    co_await pause;
  } else {
    std::this_thread::sleep_for(time);
  }
}

double drawn_chance_of_wait() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(random);
}

namespace detail {

namespace {

using request_ptr = std::shared_ptr<const api_request>;

bool is_good(int status) noexcept {
  return status >= 200 && status < 300;
}

coro<value> ask_once(request_ptr asked, context* ctx) {
  auto fetched = http_fetch(ctx, asked->place->request(asked->method, asked->path, asked->body));
  auto response = co_await step_in(ctx, fetched);
  if (!is_good(response.head.status))
    throw asked->place->refusal(response.head.status, response.body);
  co_return json_of_answer(response.body);
}

// A wait for a run, over several connections.
class joined_wait {
public:
  joined_wait(request_ptr asked, context* ctx)
    : asked_{std::move(asked)},
      ctx_{ctx},
      lost_{asked_->place->options()} {}

  coro<value> answer() {
    for (;;) {
      std::optional<error> failed;
      try {
        auto tried = attempt();
        auto answer = co_await step_in(ctx_, tried);
        co_return answer;
      } catch (const http_error& e) {
        if (url_.empty() || !may_change(e.fault()))
          throw;
        failed = e;
      } catch (const error& e) {
        if (!is_again_ || !may_pass(status_))
          throw;
        failed = e;
      }
      auto wait = lost_.next(drawn_chance_of_wait());
      if (!wait)
        throw *failed;
      auto pause = pause_in(ctx_, *wait);
      co_await step_in(ctx_, pause);
    }
  }

private:
  coro<value> attempt() {
    const auto& place = *asked_->place;
    is_again_ = !url_.empty();
    status_ = 0;
    http_call call{ctx_, is_again_ ? place.request("GET", url_)
                                   : place.request(asked_->method, asked_->path, asked_->body)};
    auto answered = call.head();
    auto head = co_await step_in(ctx_, answered);
    status_ = head.status;
    if (is_good(head.status))
      if (auto url = place.joining_url(head, "/join"); !url.empty())
        url_ = std::move(url);
    std::string body;
    for (bool has_more = true; has_more;) {
      auto more = call.more();
      auto piece = co_await step_in(ctx_, more);
      has_more = !piece.empty();
      body += piece;
      if (body.size() > limits::client_answer_bytes_max)
        throw error{errc::invalid_value, "read the agent server's answer: it is too large"};
    }
    if (!is_good(head.status))
      throw place.refusal(head.status, body);
    co_return json_of_answer(body);
  }

  request_ptr asked_;
  context* ctx_;
  lost_connections lost_;
  std::string url_; // where the run is joined; empty before the first answer
  bool is_again_ = false;
  int status_ = 0;
};

coro<value> ask_of(request_ptr asked, context* ctx) {
  value answer;
  if (asked->waits) {
    joined_wait wait{asked, ctx};
    auto awaited = wait.answer();
    auto given = co_await step_in(ctx, awaited);
    answer = values_of_wait(given);
  } else {
    auto once = ask_once(asked, ctx);
    answer = co_await step_in(ctx, once);
  }
  if (!asked->member.empty())
    answer = value(answer[asked->member]);
  co_return answer;
}

} // namespace

value ask(const std::shared_ptr<const api_request>& request) {
  return waited(ask_of(request, nullptr));
}

coro<value> ask(std::shared_ptr<const api_request> request, context& ctx) {
  return ask_of(std::move(request), &ctx);
}

} // namespace detail

} // namespace troupe
