// A tool whose calls wait until a test lets them go.
#pragma once

#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/tool.hpp>
#include <troupe/completion.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

namespace troupe::test {

struct held_calls {
  gate at = {};

  /// Blocks until a call was given up; fails when none is.
  void wait_until_left() {
    BOOST_REQUIRE(
      (left_.get_future().wait_for(std::chrono::seconds{60}) == std::future_status::ready));
  }
  bool is_left() const { return is_left_; }
  void leave() {
    if (!is_left_.exchange(true))
      left_.set_value();
  }

private:
  std::atomic<bool> is_left_ = false;
  std::promise<void> left_;
};

/// `wait`: a coroutine without arguments that returns "waited".
inline tool held_tool(const std::shared_ptr<held_calls>& held) {
  return tool{"wait", "Waits", [held](tool_runtime& run) -> coro<std::string> {
                auto passed = run.completion<>();
                auto done = passed.completer();
                done.when_left([held] { held->leave(); });
                held->at.enter([done] { done.set(); });
                co_await passed;
                co_return "waited";
              }};
}

} // namespace troupe::test
