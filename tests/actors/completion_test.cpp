// Completions from outside that a coroutine body awaits.
#include "tests/fixtures/coroutine_body.hpp"

#include <troupe/completion.hpp>
#include <troupe/when_all.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using test::try_body;

// Says when it is destroyed.
struct frame_mark {
  std::shared_ptr<std::promise<void>> gone;
  explicit frame_mark(std::shared_ptr<std::promise<void>> g) : gone{std::move(g)} {}
  frame_mark(const frame_mark&) = delete;
  frame_mark& operator=(const frame_mark&) = delete;
  ~frame_mark() { gone->set_value(); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(actors_completion)

BOOST_AUTO_TEST_CASE(a_body_goes_on_with_what_another_thread_says_but_not_on_that_thread) {
  runtime rt;
  std::thread::id other;
  std::thread::id resumed;
  std::thread helper;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    auto text = ctx.completion<std::string>();
    helper = std::thread{[&other, done = text.completer()] {
      other = std::this_thread::get_id();
      done.set("from outside");
    }};
    auto said = co_await text;
    resumed = std::this_thread::get_id();
    co_return value(said);
  });
  helper.join();
  BOOST_TEST((answer.value() == value("from outside")));
  BOOST_TEST((other != resumed));
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_there_before_it_is_awaited_counts_and_only_the_first) {
  runtime rt;
  bool second = true;
  auto answer = try_body(rt, [&](context& ctx) -> coro<value> {
    auto number = ctx.completion<int>();
    auto done = number.completer();
    done.set(1);
    second = done.set(2) || done.fail(error{errc::invalid_value, "late"});
    auto n = co_await number;
    co_return value(n);
  });
  BOOST_TEST((answer.value() == value(1)));
  BOOST_TEST(!second);
}

BOOST_AUTO_TEST_CASE(a_failure_is_thrown_where_the_body_waits_and_so_is_that_nobody_is_left) {
  runtime rt;
  auto failed = try_body(rt, [](context& ctx) -> coro<value> {
    auto nothing = ctx.completion<void>();
    nothing.completer().fail(error{errc::overloaded, "too much"});
    co_await nothing;
    co_return value{};
  });
  BOOST_TEST((failed.error().code() == errc::overloaded));
  auto left_alone = try_body(rt, [](context& ctx) -> coro<value> {
    auto nothing = ctx.completion<void>();
    { auto forgotten = nothing.completer(); }
    co_await nothing;
    co_return value{};
  });
  BOOST_TEST((left_alone.error().code() == errc::cancelled));
}

BOOST_AUTO_TEST_CASE(many_are_awaited_side_by_side) {
  runtime rt;
  std::vector<completer<int>> ends;
  std::thread helper;
  auto sum = try_body(rt, [&](context& ctx) -> coro<value> {
    auto one = [](context& c, std::vector<completer<int>>& all) -> coro<int> {
      auto number = c.completion<int>();
      all.push_back(number.completer());
      auto n = co_await number;
      co_return n;
    };
    auto answer_all = [](context& c, std::vector<completer<int>>& all,
                         std::thread& thread) -> coro<int> {
      auto go = c.completion<void>();
      thread = std::thread{[&all, done = go.completer()] {
        for (auto i = all.size(); i-- > 0;)
          all[i].set(static_cast<int>(i));
        done.set();
      }};
      co_await go;
      co_return 0;
    };
    std::vector<coro<int>> parts;
    for (int i = 0; i < 10; ++i)
      parts.push_back(one(ctx, ends));
    parts.push_back(answer_all(ctx, ends, helper));
    auto both = when_all(std::move(parts));
    auto numbers = co_await both;
    int total = 0;
    for (auto n : numbers)
      total += n;
    co_return value(total);
  });
  helper.join();
  BOOST_TEST((sum.value() == value(45)));
}

// In each of these, the completer outlives the body; it must neither keep it nor wake it.
BOOST_AUTO_TEST_CASE(a_body_that_is_given_up_is_destroyed_and_who_would_answer_is_told) {
  for (bool by_time : {true, false}) {
    runtime rt;
    run_control control;
    run_config config;
    config.control = control;
    auto gone = std::make_shared<std::promise<void>>();
    auto told = std::make_shared<std::promise<void>>();
    auto kept = std::make_shared<std::optional<completer<int>>>();
    node_options options;
    if (by_time)
      options.timeout = timeout_policy{10ms};
    auto how = try_body(
      rt,
      [=](context& ctx) mutable -> coro<value> {
        frame_mark mark{gone};
        auto number = ctx.completion<int>();
        *kept = number.completer();
        (*kept)->when_left([told] { told->set_value(); });
        if (!by_time)
          control.cancel();
        auto n = co_await number;
        co_return value(n);
      },
      config, options);
    BOOST_TEST((how.error().code() == (by_time ? errc::node_timeout : errc::cancelled)));
    told->get_future().wait();
    gone->get_future().wait();
    BOOST_TEST(!(*kept)->set(1));
    bool at_once = false;
    (*kept)->when_left([&at_once] { at_once = true; });
    BOOST_TEST(at_once);
  }
}

BOOST_AUTO_TEST_CASE(a_body_that_a_job_keeps_alive_is_left_nevertheless) {
  runtime rt;
  std::promise<void> told;
  auto release = std::make_shared<std::promise<void>>();
  std::shared_future<void> released{release->get_future()};
  auto how = try_body(rt,
                      [&told, released](context& ctx) -> coro<value> {
                        auto outside = [](context& c, std::promise<void>& left) -> coro<int> {
                          auto number = c.completion<int>();
                          auto done = number.completer();
                          done.when_left([&left] { left.set_value(); });
                          auto n = co_await number;
                          co_return n;
                        };
                        auto inside = [](context& c, std::shared_future<void> until) -> coro<int> {
                          auto job = c.blocking([until] {
                            until.wait();
                            return 1;
                          });
                          auto n = co_await job;
                          co_return n;
                        };
                        std::vector<coro<int>> parts;
                        parts.push_back(outside(ctx, told));
                        parts.push_back(inside(ctx, released));
                        auto both = when_all(std::move(parts));
                        auto numbers = co_await both;
                        co_return value(numbers[0]);
                      },
                      {}, {.timeout = timeout_policy{10ms}});
  BOOST_TEST((how.error().code() == errc::node_timeout));
  told.get_future().wait();
  release->set_value();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
