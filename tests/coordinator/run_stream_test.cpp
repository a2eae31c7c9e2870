// Runs that several readers read: loops, coroutines, callbacks; each with a queue of its own.
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/fixtures/os_threads.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/run_stream.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <stdexcept>

namespace troupe {
namespace {

const run_config on_a_thread{.thread_id = "t"};

stream_options bounded(std::vector<stream_mode> modes, std::size_t parts_max,
                       overflow when_full = overflow::wait) {
  stream_options out{std::move(modes)};
  out.queue_parts_max = parts_max;
  out.when_full = when_full;
  return out;
}

struct read_end {
  std::vector<std::string> parts;
  std::optional<error> failure;
};

read_end rest_of(part_reader& reader) {
  read_end out;
  while (true) {
    auto part = reader.try_next();
    if (!part)
      out.failure = part.error();
    if (!part || !*part)
      return out;
    out.parts.push_back(std::string{to_string((*part)->mode)} + " " + to_json((*part)->data));
  }
}

/// Counts its steps; `most` of them.
compiled_graph stepping_graph(std::int64_t most, counter& ran) {
  state_graph<> g{{{"n", last_value}}};
  g.add_node("step", [&ran](const state_view& s) {
    ++ran;
    return state_update{{"n", s["n"].as_int() + 1}};
  });
  g.add_edge(START, "step");
  g.add_conditional_edges("step", [most](const state_view& s) {
    return s["n"].as_int() < most ? "step" : END;
  });
  return g.compile({.recursion_limit = static_cast<std::uint32_t>(most + 1)});
}

/// One body that writes the numbers below `parts`.
compiled_graph counting_writer(int parts, counter& written, lane where = lane::standard) {
  return chain_of(
    {"w"}, "writer",
    [parts, &written](const std::string&, context& ctx) {
      for (int i = 0; i < parts; ++i) {
        ctx.write(value(i));
        ++written;
      }
    },
    where);
}

/// The parts that a callback gets, and the end.
struct part_listener {
  std::vector<std::string> parts;
  int ends = 0;
  std::promise<result<run_result>> ended;

  void listen(part_reader reader) {
    std::move(reader).on_part([this](stream_part& part) { parts.push_back(to_json(part.data)); },
                              [this](const result<run_result>& how) {
                                ++ends;
                                ended.set_value(how);
                              });
  }
  result<run_result> end() { return ended.get_future().get(); }
};

using texts_read = std::vector<std::string>;

const texts_read three_updates{R"(updates {"a":{"log":["a"]}})", R"(updates {"b":{"log":["b"]}})",
                               R"(updates {"c":{"log":["c"]}})"};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_run_stream)

BOOST_AUTO_TEST_CASE(a_loop_reads_all_parts_and_the_result_follows) {
  runtime rt;
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({});
  auto parts = run.read({stream_mode::updates});
  auto got = rest_of(parts);
  BOOST_TEST(!got.failure.has_value());
  BOOST_TEST(got.parts == three_updates, boost::test_tools::per_element());
  BOOST_TEST(run.output()["log"] == words({"a", "b", "c"}));
  BOOST_TEST(!run.interrupted());
  BOOST_TEST(run.interrupts().empty());
}

BOOST_AUTO_TEST_CASE(the_run_starts_with_the_first_read_and_not_before) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([&ran](const auto&) { ++ran; }));
  {
    auto run = app.stream_events({}, on_a_thread);
    auto parts = run.read();
    BOOST_TEST(!parts.ready());
  }
  BOOST_TEST(app.get_state(on_a_thread).next.empty()); // it never began
  BOOST_TEST(ran == 0);
  auto run = app.stream_events({}, on_a_thread);
  run.start();
  BOOST_TEST(run.get().has_value());
  BOOST_TEST(ran == 3);
}

BOOST_AUTO_TEST_CASE(each_reader_has_all_parts_and_a_position_of_its_own) {
  runtime rt{with_memory()};
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({}, on_a_thread);
  auto first = run.read({stream_mode::updates});
  auto second = run.read({stream_mode::updates, stream_mode::values});
  auto one = rest_of(first);
  auto two = rest_of(second);
  BOOST_TEST(one.parts == three_updates, boost::test_tools::per_element());
  BOOST_TEST(two.parts.size() == 6u);
  BOOST_TEST(two.parts[1] == R"(values {"log":["a"]})");
}

BOOST_AUTO_TEST_CASE(a_reader_that_lags_holds_the_run) {
  constexpr std::int64_t steps = 3000;
  // The run is held between two messages of its coordinator, which runs short tasks itself: up to
  // 16, and one whose end began the message.
  constexpr int queue = 4, tasks_of_a_message = 16 + 1;
  counter ran{0};
  runtime rt;
  auto run = rt.load(stepping_graph(steps, ran)).stream_events({{"n", 0}});
  auto parts = run.read(bounded({stream_mode::updates}, queue));
  int read = 0;
  while (parts.next()) {
    ++read;
    BOOST_REQUIRE(ran <= read + 2 * (queue + tasks_of_a_message)); // a queue, and the one taken
  }
  BOOST_TEST(read == steps);
  BOOST_TEST(run.output()["n"] == value(steps));
}

BOOST_AUTO_TEST_CASE(a_body_of_the_blocking_lane_waits_for_the_reader) {
  constexpr int all = 3000;
  counter written{0};
  runtime rt;
  auto run = rt.load(counting_writer(all, written, lane::blocking)).stream_events({});
  auto parts = run.read(bounded({stream_mode::custom}, 4));
  int read = 0;
  while (auto part = parts.next()) {
    BOOST_REQUIRE(part->data == value(read));
    ++read;
    BOOST_REQUIRE(written <= read + 2 * 4 + 1);
  }
  BOOST_TEST(read == all);
}

BOOST_AUTO_TEST_CASE(dropped_parts_are_those_that_bodies_stream_and_hold_nothing) {
  using enum stream_mode;
  runtime rt;
  auto run = rt.load(chain_of({"q", "w"}, "writer",
                              [](const std::string& node, context& ctx) {
                                for (int i = 0; node == "w" && i < 10; ++i)
                                  ctx.write(value(i));
                              }))
               .stream_events({});
  auto oldest = run.read(bounded({custom, updates, values}, 5, overflow::drop_oldest));
  auto newest = run.read(bounded({custom, updates, values}, 5, overflow::drop_newest));
  BOOST_TEST(run.get().has_value()); // nothing is read meanwhile
  const texts_read before{R"(updates {"q":{"log":["q"]}})", R"(values {"log":["q"]})"};
  const texts_read after{R"(updates {"w":{"log":["w"]}})", R"(values {"log":["q","w"]})"};
  auto around = [&](texts_read streamed) {
    streamed.insert(streamed.begin(), before.begin(), before.end());
    streamed.insert(streamed.end(), after.begin(), after.end());
    return streamed;
  };
  BOOST_TEST(rest_of(oldest).parts == around({"custom 7", "custom 8", "custom 9"}),
             boost::test_tools::per_element());
  BOOST_TEST(rest_of(newest).parts == around({"custom 0", "custom 1", "custom 2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_run_stops_at_its_steps_end_for_its_only_reader_that_may_not_lag) {
  std::vector<std::string> ran;
  runtime rt{with_memory()};
  auto app =
    rt.load(chain_of({"first", "second"}, "two", [&ran](const std::string& node, context& ctx) {
      ran.push_back(node);
      for (int i = 0; i < 10; ++i)
        ctx.write(value(i));
    }));
  auto run = app.stream_events({}, on_a_thread);
  using enum stream_mode;
  auto parts = run.read(bounded({custom, updates}, 3, overflow::fail));
  auto how = run.get();
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::overloaded));
  auto got = rest_of(parts);
  BOOST_REQUIRE(got.failure.has_value());
  BOOST_TEST((got.failure->code() == errc::overloaded));
  BOOST_TEST(got.parts.size() == 4u); // three of the body, and the update of its task
  BOOST_TEST(ran == texts_read{"first"}, boost::test_tools::per_element());
  BOOST_TEST(app.invoke(nullptr, on_a_thread).value()["log"] == words({"first", "second"}));
}

BOOST_AUTO_TEST_CASE(a_reader_that_may_not_lag_stops_no_run_that_others_read) {
  counter written{0};
  runtime rt;
  auto run = rt.load(counting_writer(10, written)).stream_events({});
  auto strict = run.read(bounded({stream_mode::custom}, 3, overflow::fail));
  auto all = run.read({stream_mode::custom});
  auto got = rest_of(all);
  BOOST_TEST(got.parts.size() == 10u);
  BOOST_TEST(!got.failure.has_value());
  auto few = rest_of(strict);
  BOOST_TEST(few.parts.size() == 3u);
  BOOST_REQUIRE(few.failure.has_value());
  BOOST_TEST((few.failure->code() == errc::overloaded));
  BOOST_TEST(run.get().has_value());
}

BOOST_AUTO_TEST_CASE(a_mode_that_nobody_asked_for_in_time_is_refused) {
  runtime rt;
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({});
  auto parts = run.read({stream_mode::updates});
  BOOST_TEST(parts.next().has_value());
  auto code = [&run](const stream_options& options) {
    try {
      run.read(options);
      return std::string{};
    } catch (const error& e) {
      return e.message();
    }
  };
  BOOST_TEST(code({stream_mode::updates}).empty());
  BOOST_TEST(code({stream_mode::custom}).find("`custom`") != std::string::npos);
  stream_options own{stream_mode::updates};
  own.transforms = {[](stream_part part, const pass_part& pass) { pass(std::move(part)); }};
  BOOST_TEST(code(own).find("transforms") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_wrong_config_comes_out_of_every_reader) {
  runtime rt{with_memory()};
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({});
  auto parts = run.read();
  auto got = rest_of(parts);
  BOOST_REQUIRE(got.failure.has_value());
  BOOST_TEST((got.failure->code() == errc::invalid_config));
  BOOST_TEST((code_of(run.get()) == errc::invalid_config));
  part_listener late;
  late.listen(run.read());
  BOOST_TEST((code_of(late.end()) == errc::invalid_config));
}

// ---- ends of a run that is held -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_held_run_can_be_cancelled) {
  counter ran{0};
  runtime rt;
  auto run = rt.load(stepping_graph(1000, ran)).stream_events({{"n", 0}});
  auto parts = run.read(bounded({stream_mode::updates}, 1));
  BOOST_TEST(parts.next().has_value());
  run.control().cancel();
  BOOST_TEST((code_of(run.get()) == errc::cancelled));
  BOOST_TEST(ran < 1000);
}

BOOST_AUTO_TEST_CASE(a_runtime_ends_while_a_run_is_held) {
  counter ran{0};
  std::optional<runtime> rt{std::in_place};
  auto run = rt->load(stepping_graph(1000, ran)).stream_events({{"n", 0}});
  auto parts = run.read(bounded({stream_mode::updates}, 1));
  BOOST_TEST(parts.next().has_value());
  rt.reset();
  auto got = rest_of(parts);
  BOOST_REQUIRE_MESSAGE(got.failure.has_value(), got.parts.size() << " parts, " << ran << " steps");
  BOOST_TEST((got.failure->code() == errc::runtime_stopped));
  BOOST_TEST((code_of(run.get()) == errc::runtime_stopped));
}

BOOST_AUTO_TEST_CASE(a_held_run_gives_way_to_one_that_interrupts_it) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(stepping_graph(1000, ran));
  auto run = app.stream_events({{"n", 0}}, on_a_thread);
  auto parts = run.read(bounded({stream_mode::updates}, 1));
  BOOST_TEST(parts.next().has_value());
  run_config next{.thread_id = "t", .multitask = multitask_strategy::interrupt};
  BOOST_TEST(app.invoke({{"n", 990}}, next).value()["n"] == value(1000));
  BOOST_TEST((code_of(run.get()) == errc::cancelled));
}

BOOST_AUTO_TEST_CASE(a_run_stops_at_its_steps_end_when_all_readers_are_gone) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(stepping_graph(1000, ran));
  {
    auto run = app.stream_events({{"n", 0}}, on_a_thread);
    auto parts = run.read(bounded({stream_mode::updates}, 1));
    BOOST_TEST(parts.next().has_value());
  }
  run_config after{.thread_id = "t", .multitask = multitask_strategy::enqueue};
  after.recursion_limit = 1001;
  BOOST_TEST(app.invoke(nullptr, after).value()["n"] == value(1000));
  BOOST_TEST(ran == 1000); // it stopped on the way, and nothing ran twice
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_no_longer_holds_the_others) {
  counter ran{0};
  runtime rt;
  auto run = rt.load(stepping_graph(100, ran)).stream_events({{"n", 0}});
  std::optional<part_reader> slow = run.read(bounded({stream_mode::updates}, 1));
  auto parts = run.read({stream_mode::updates});
  BOOST_TEST(parts.next().has_value());
  slow.reset();
  BOOST_TEST(rest_of(parts).parts.size() == 99u);
}

// ---- without a thread ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_coroutine_body_awaits_the_parts_of_another_run) {
  runtime rt;
  auto inner = rt.load(three_nodes([](const auto&) {}));
  auto body = [&inner](context& ctx) -> coro<value> {
    auto run = inner.stream_events({});
    auto parts = run.read({stream_mode::updates});
    auto states = run.values();
    std::vector<value> out;
    while (true) {
      auto reading = parts.next(ctx);
      auto part = co_await reading;
      if (!part)
        break;
      out.push_back(value(static_cast<std::int64_t>(part->seq)));
    }
    auto reading = states.next(ctx);
    auto first = co_await reading;
    out.push_back((*first)["log"]);
    auto ending = run.get(ctx);
    auto end = co_await ending;
    out.push_back(end.value()["log"]);
    co_return value::list(std::move(out));
  };
  auto answer = test::try_body(rt, body).value();
  BOOST_TEST(answer == value::list({1, 3, 5, words({"a"}), words({"a", "b", "c"})}));
}

BOOST_AUTO_TEST_CASE(an_awaited_read_throws_the_error_of_the_run) {
  runtime rt;
  auto inner = rt.load(three_nodes([](const std::string&) { throw std::runtime_error{"broken"}; }));
  auto body = [&inner](context& ctx) -> coro<value> {
    auto run = inner.stream_events({});
    auto parts = run.read();
    auto reading = parts.next(ctx);
    auto part = co_await reading;
    co_return value(part.has_value());
  };
  auto answer = test::try_body(rt, body);
  BOOST_REQUIRE(!answer);
  BOOST_TEST(answer.error().message().find("broken") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_callback_gets_the_parts_in_order_and_one_end) {
  counter ran{0};
  runtime rt;
  auto app = rt.load(stepping_graph(500, ran));
  auto run = app.stream_events({{"n", 0}});
  part_listener all;
  all.listen(run.read(bounded({stream_mode::values}, 2)));
  BOOST_TEST(all.end().value().value()["n"] == value(500));
  BOOST_TEST(all.ends == 1);
  BOOST_REQUIRE(all.parts.size() == 501u); // the input, and each step
  for (std::size_t i = 0; i < all.parts.size(); ++i)
    BOOST_TEST(all.parts[i] == "{\"n\":" + std::to_string(i) + "}");
}

BOOST_AUTO_TEST_CASE(a_callback_may_use_its_run) {
  runtime rt;
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({});
  auto other = run.read({stream_mode::updates});
  std::promise<void> ended;
  int seen = 0;
  run.read({stream_mode::updates})
    .on_part(
      [&](stream_part&) {
        seen += other.ready() && other.next() ? 1 : 0;
        run.read({stream_mode::updates});
        run.when_done([](const auto&) {});
      },
      [&](const result<run_result>&) {
        BOOST_TEST(run.get().has_value());
        ended.set_value();
      });
  ended.get_future().wait();
  BOOST_TEST(seen == 3);
}

BOOST_AUTO_TEST_CASE(an_exception_of_a_callback_ends_the_reading_and_the_run) {
  counter ran{0};
  runtime rt{with_memory()};
  auto app = rt.load(stepping_graph(1000, ran));
  auto thrown_by = [&app](std::function<void()> thrower) {
    int calls = 0;
    std::promise<result<run_result>> ended;
    app.stream_events({{"n", 0}}, on_a_thread)
      .read(bounded({stream_mode::updates}, 1))
      .on_part(
        [&](stream_part&) {
          ++calls;
          thrower();
        },
        [&](const result<run_result>& how) {
          ended.set_value(how);
          throw std::runtime_error{"of the end: it is logged"};
        });
    auto how = ended.get_future().get();
    BOOST_TEST(calls == 1);
    BOOST_REQUIRE(!how);
    return how.error();
  };
  auto plain = thrown_by([] { throw std::runtime_error{"broken pipe"}; });
  BOOST_TEST((plain.code() == errc::node_failed));
  BOOST_TEST(plain.message().find("broken pipe") != std::string::npos);
  auto own = thrown_by([] { throw error{errc::overloaded, "enough"}; });
  BOOST_TEST((own.code() == errc::overloaded));
  run_config after{.thread_id = "t", .multitask = multitask_strategy::enqueue};
  after.recursion_limit = 1001;
  BOOST_TEST(app.invoke(nullptr, after).value()["n"] == value(1000));
}

BOOST_AUTO_TEST_CASE(a_callback_learns_that_the_runtime_is_gone) {
  std::optional<runtime> rt{std::in_place};
  auto run = rt->load(three_nodes([](const auto&) {})).stream_events({});
  rt.reset();
  part_listener late;
  late.listen(run.read());
  BOOST_TEST((code_of(late.end()) == errc::runtime_stopped));
  BOOST_TEST(late.parts.empty());
}

BOOST_AUTO_TEST_CASE(the_end_is_told_once_also_to_those_who_ask_late) {
  runtime rt;
  auto run = rt.load(three_nodes([](const auto&) {})).stream_events({});
  counter told{0};
  std::promise<void> first;
  run.when_done([&](const result<run_result>& how) {
    told += how ? 1 : 0;
    first.set_value();
  });
  BOOST_TEST(told == 0);
  run.start();
  first.get_future().wait();
  run.when_done([&told](const result<run_result>& how) { told += how ? 1 : 0; });
  BOOST_TEST(told == 2);
}

// All runs are on at the same time: each waits for the test after its first part.
BOOST_AUTO_TEST_CASE(a_thousand_streamed_runs_need_no_more_threads_than_one) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<completer<void>> waiting;
  auto body = [&](context& ctx) -> coro<value> {
    ctx.write("begun");
    auto go = ctx.completion<void>();
    {
      std::lock_guard lock{mutex};
      waiting.push_back(go.completer());
      changed.notify_all();
    }
    co_await go;
    ctx.write("resumed");
    co_return value("done");
  };
  runtime rt;
  rt.load(three_nodes([](const auto&) {}))
    .invoke({}); // the runtime's timer has a thread from now on
  auto app = rt.load(test::graph_of(body));
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::size_t parts = 0;
  auto start = [&] {
    app.stream_events({{"answer", nullptr}})
      .read({stream_mode::custom, stream_mode::updates})
      .on_part(
        [&](stream_part& part) {
          std::lock_guard lock{mutex};
          ++parts;
          begun += part.data == value("begun") ? 1 : 0;
          changed.notify_all();
        },
        [&](const result<run_result>& how) {
          std::lock_guard lock{mutex};
          ended += how ? 1 : 0;
          changed.notify_all();
        });
  };
  auto run_all = [&](std::size_t count) {
    parts = begun = ended = 0;
    for (std::size_t i = 0; i < count; ++i)
      start();
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return begun == count && waiting.size() == count; });
    auto threads = test::os_threads().size();
    auto bodies = std::exchange(waiting, {});
    lock.unlock();
    for (const auto& one : bodies)
      one.set();
    lock.lock();
    changed.wait(lock, [&] { return ended == count; });
    BOOST_TEST(parts == 3 * count);
    return std::max(threads, test::os_threads().size());
  };
  auto of_one = run_all(1);
  auto of_many = run_all(1000);
  BOOST_TEST(of_many <= of_one);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
