// Webhooks: calls that are answered late or never, and a server that stops meanwhile.
#include "http/listener.hpp"
#include "server/runs/webhooks.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::server::test {
namespace {

/// A receiver of webhooks that keeps each call until the test answers it.
class late_receiver {
public:
  http_asked wait_for(std::size_t calls) {
    std::unique_lock lock{mutex_};
    came_.wait(lock, [&] { return calls_.size() >= calls; });
    return calls_[calls - 1].first;
  }
  std::size_t calls() {
    std::lock_guard lock{mutex_};
    return calls_.size();
  }
  void answer_all() {
    std::lock_guard lock{mutex_};
    for (const auto& [asked, to] : calls_)
      to.send({});
  }
  std::uint16_t port() const noexcept { return listener_.port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/ended"; }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::pair<http_asked, http_responder>> calls_;
  http_listener listener_{{.body_bytes_max = 1u << 20},
                          {.screen = [](const http_asked&) { return std::nullopt; },
                           .answer =
                             [this](http_asked asked, http_responder to) {
                               std::lock_guard lock{mutex_};
                               calls_.emplace_back(std::move(asked), std::move(to));
                               came_.notify_all();
                             }}};
};

run_outcome ended_run(const std::string& url) {
  run_record run{.run_id = "r", .thread_id = "t", .status = run_status::success};
  run.kwargs = value::map({{"webhook", url}});
  return {.run = run, .values = value::map({{"n", 1}})};
}

webhook_policy any_address() {
  return {.require_https = false, .disable_loopback = false, .disable_private = false};
}

constexpr std::chrono::milliseconds long_enough = std::chrono::minutes{5};

} // namespace

BOOST_AUTO_TEST_SUITE(server_webhooks)

BOOST_AUTO_TEST_CASE(a_stop_waits_for_calls) {
  late_receiver receiver;
  auto policy = any_address();
  policy.headers = {{"X-From", "here"}};
  webhooks hooks{policy};
  hooks.set_port(receiver.port());
  hooks.run_ended(ended_run(receiver.url()));
  auto call = receiver.wait_for(1);
  hooks.run_ended(ended_run("/relative"));
  BOOST_TEST(receiver.wait_for(2).target == "/relative");
  auto stopped = std::async(std::launch::async, [&] { return hooks.drain(long_enough); });
  receiver.answer_all();
  BOOST_TEST(stopped.get() == 0u);
  BOOST_TEST(call.header("x-from") == "here");
  auto body = from_json(call.body, json_form::plain).value();
  BOOST_TEST(body["run_id"] == value("r"));
  BOOST_TEST(body["values"] == value::map({{"n", 1}}));
}

BOOST_AUTO_TEST_CASE(a_stop_gives_up_the_calls_that_nobody_answers) {
  late_receiver receiver;
  webhooks hooks{any_address()};
  for (int i = 0; i < 3; ++i)
    hooks.run_ended(ended_run(receiver.url()));
  receiver.wait_for(3);
  BOOST_TEST(hooks.drain(std::chrono::milliseconds{0}) == 3u);
  hooks.run_ended(ended_run(receiver.url())); // too late
  BOOST_TEST(hooks.drain(long_enough) == 0u);
  BOOST_TEST(receiver.calls() == 3u);
}

BOOST_AUTO_TEST_CASE(calls_wait_for_those_before_them_and_so_many_at_most) {
  constexpr auto at_once = limits::server_webhook_calls_max;
  constexpr auto waiting = limits::server_webhooks_waiting_max;
  late_receiver receiver;
  webhooks hooks{any_address()};
  for (std::size_t i = 0; i < at_once + 1; ++i)
    hooks.run_ended(ended_run(receiver.url()));
  receiver.wait_for(at_once);
  receiver.answer_all();
  receiver.wait_for(at_once + 1);
  for (std::size_t i = 1; i < at_once + waiting + 1; ++i)
    hooks.run_ended(ended_run(receiver.url()));
  BOOST_TEST(hooks.drain(std::chrono::milliseconds{0}) <= at_once + waiting);
}

BOOST_AUTO_TEST_CASE(a_url_that_cannot_be_called_harms_nobody) {
  late_receiver receiver;
  webhooks hooks{any_address()};
  hooks.run_ended(ended_run("no url"));
  hooks.run_ended(ended_run("http://127.0.0.1:1/")); // nobody listens
  hooks.run_ended(ended_run(receiver.url()));
  receiver.wait_for(1);
  receiver.answer_all();
  BOOST_TEST(hooks.drain(long_enough) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
