// Runs that are asked for while another one is on the thread: each strategy, by each way in.
#include "tests/fixtures/savers.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

namespace troupe {

static std::ostream& operator<<(std::ostream& out, durability d) {
  return out << to_string(d);
}

namespace {

namespace data = boost::unit_test::data;
using strategy = multitask_strategy;

const auto all_durabilities = data::make({durability::sync, durability::async, durability::exit});

state_update says(const char* text) {
  return log(text);
}

// START → a → b → c; who comes to `b` with the gate armed is held there.
struct busy {
  gate hold;
  std::atomic<bool> armed{false};
  std::unique_ptr<runtime> rt;
  app<> runs;

  explicit busy(runtime_options options = with_memory())
    : rt{std::make_unique<runtime>(std::move(options))},
      runs{rt->load(three_nodes(
        [this](const std::string& node) {
          if (node == "b" && armed.exchange(false))
            hold.pass();
        },
        lane::blocking))} {}
  ~busy() { hold.open(); }

  // A run that is held in `b`.
  run_handle begin(const char* name = "0", run_config config = {.thread_id = "t"}) {
    armed = true;
    auto run = runs.start(says(name), config);
    hold.wait_for(1);
    return run;
  }
  value log_of(const std::string& thread = "t") {
    return runs.get_state({.thread_id = thread}).values["log"];
  }
};

run_config with(strategy how, const run_control& control = {}) {
  return {.thread_id = "t", .multitask = how, .control = control};
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_multitask)

BOOST_AUTO_TEST_CASE(strategies_have_names) {
  for (auto s : {strategy::take_over, strategy::reject, strategy::enqueue, strategy::interrupt,
                 strategy::rollback})
    BOOST_TEST((parse_multitask_strategy(to_string(s)).value() == s));
  BOOST_TEST((parse_multitask_strategy("wait").error().code() == errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(by_default_a_run_takes_the_thread_over) {
  busy b;
  auto first = b.begin();
  BOOST_TEST(b.runs.invoke(says("1"), {.thread_id = "t"}).value()["log"].size() > 4u);
  b.hold.open();
  BOOST_TEST((code_of(first.get()) == errc::conflict));
}

BOOST_AUTO_TEST_CASE(a_rejected_run_is_told_which_thread_and_what_else_there_is) {
  busy b;
  auto first = b.begin();
  auto refused = b.runs.try_invoke(says("1"), with(strategy::reject));
  BOOST_REQUIRE((code_of(refused) == errc::conflict));
  BOOST_TEST(refused.error().message().find("`t`") != std::string::npos);
  BOOST_TEST(refused.error().message().find("enqueue") != std::string::npos);
  BOOST_TEST((code_of(b.runs.start(says("1"), with(strategy::reject)).get()) == errc::conflict));
  BOOST_TEST(
    (b.runs.stream(says("1"), with(strategy::reject)).try_next().error().code() == errc::conflict));
  auto elsewhere = with(strategy::reject);
  elsewhere.thread_id = "u";
  BOOST_TEST((code_of(b.runs.try_invoke(says("1"), elsewhere)) == errc::ok));
  b.hold.open();
  BOOST_TEST((code_of(first.get()) == errc::ok));
  BOOST_TEST((code_of(b.runs.try_invoke(says("1"), with(strategy::reject))) == errc::ok));
}

BOOST_AUTO_TEST_CASE(without_a_saver_there_is_nothing_to_wait_for) {
  busy b{{}};
  auto first = b.begin();
  BOOST_TEST((code_of(b.runs.try_invoke(says("1"), with(strategy::enqueue))) == errc::ok));
}

BOOST_AUTO_TEST_CASE(enqueued_runs_begin_in_the_order_in_which_they_came) {
  busy b;
  auto first = b.begin();
  auto second = b.runs.start(says("1"), with(strategy::enqueue));
  auto third = b.runs.stream(says("2"), with(strategy::enqueue), {stream_mode::values});
  auto fourth = b.runs.start(says("3"), with(strategy::enqueue));
  BOOST_TEST(!second.ready());
  BOOST_TEST(second.actors().empty());
  b.hold.open();
  BOOST_TEST((code_of(first.get()) == errc::ok));
  BOOST_TEST((code_of(second.get()) == errc::ok));
  for (auto& part : third)
    BOOST_TEST(part.data["log"].size() > 8u);
  BOOST_REQUIRE(third.outcome());
  BOOST_TEST((code_of(fourth.get()) == errc::ok));
  BOOST_TEST(
    b.log_of()
    == words({"0", "a", "b", "c", "1", "a", "b", "c", "2", "a", "b", "c", "3", "a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(an_invoke_waits_on_its_own_thread) {
  busy b;
  auto first = b.begin();
  result<run_result> second = error{errc::cancelled, "not yet"};
  std::thread caller{[&] { second = b.runs.try_invoke(says("1"), with(strategy::enqueue)); }};
  b.hold.open();
  caller.join();
  BOOST_TEST((code_of(first.get()) == errc::ok));
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(second->value()["log"].size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_can_be_cancelled_whichever_way_it_came) {
  busy b;
  auto first = b.begin();
  run_control started, invoked, streamed;
  auto second = b.runs.start(says("1"), with(strategy::enqueue, started));
  auto third = b.runs.stream(says("2"), with(strategy::enqueue, streamed));
  started.cancel();
  streamed.cancel();
  invoked.cancel();
  BOOST_TEST((code_of(second.get()) == errc::cancelled)); // while the first is on
  BOOST_TEST((third.try_next().error().code() == errc::cancelled));
  BOOST_TEST(
    (code_of(b.runs.try_invoke(says("3"), with(strategy::enqueue, invoked))) == errc::cancelled));
  { auto dropped = b.runs.stream(says("4"), with(strategy::enqueue)); }
  BOOST_TEST(!first.ready());
  b.hold.open();
  BOOST_TEST((code_of(first.get()) == errc::ok));
  BOOST_TEST(b.log_of() == words({"0", "a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(more_than_a_bounded_number_of_runs_may_not_wait) {
  busy b;
  auto first = b.begin();
  run_control control;
  std::vector<run_handle> waiting;
  for (std::size_t i = 0; i < limits::queued_runs_max; ++i)
    waiting.push_back(b.runs.start(says("1"), with(strategy::enqueue, control)));
  auto refused = b.runs.try_invoke(says("2"), with(strategy::enqueue));
  BOOST_REQUIRE((code_of(refused) == errc::overloaded));
  BOOST_TEST(refused.error().message().find("queued_runs_max") != std::string::npos);
  control.cancel();
  for (auto& run : waiting)
    BOOST_TEST((code_of(run.get()) == errc::cancelled));
}

BOOST_AUTO_TEST_CASE(who_waits_when_the_runtime_goes_is_told_so) {
  busy b;
  auto first = b.begin();
  auto second = b.runs.start(says("1"), with(strategy::enqueue));
  auto third = b.runs.start(says("2"), with(strategy::enqueue));
  b.runs = app<>{nullptr}; // it must not outlive the runtime
  std::thread end{[&] { b.rt.reset(); }};
  BOOST_TEST((code_of(second.get()) == errc::runtime_stopped));
  BOOST_TEST((code_of(third.get()) == errc::runtime_stopped));
  b.hold.open();
  end.join();
  BOOST_TEST((code_of(first.get()) != errc::ok));
}

BOOST_DATA_TEST_CASE(an_interrupt_ends_the_run_that_is_on_and_goes_before_the_queue,
                     all_durabilities, durable) {
  busy b;
  auto first = b.begin("0", {.thread_id = "t", .durability = durable});
  auto queued = b.runs.start(says("1"), with(strategy::enqueue));
  auto second = b.runs.start(says("2"), with(strategy::interrupt));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  BOOST_TEST((code_of(second.get()) == errc::ok));
  BOOST_TEST((code_of(queued.get()) == errc::ok));
  BOOST_TEST(b.log_of() == words({"0", "a", "2", "a", "b", "c", "1", "a", "b", "c"}));
}

// ---- rollback -----------------------------------------------------------------------------------

namespace {

// Memory, or LMDB in a directory of its own.
struct any_saver {
  std::unique_ptr<test::temporary_directory> dir;
  std::shared_ptr<saver> store;

  explicit any_saver(bool in_memory)
    : dir{in_memory ? nullptr : std::make_unique<test::temporary_directory>()},
      store{in_memory ? make_memory_saver() : open_lmdb_saver(dir->path() / "data").value()} {}
};

void require_equal(const std::vector<checkpoint_tuple>& a, const std::vector<checkpoint_tuple>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_TEST((a[i].ref == b[i].ref));
    BOOST_TEST((a[i].checkpoint == b[i].checkpoint));
    BOOST_TEST((a[i].pending_writes == b[i].pending_writes),
               "writes of " << a[i].ref.checkpoint_ns);
  }
}

// A run that rolls back the one that is on, and fails before it stores anything.
errc roll_back(basic_app& runs) {
  auto none = answer(value::map({{std::string(32, '0'), value(1)}}));
  return code_of(runs.try_invoke(none, with(strategy::rollback)));
}

} // namespace

BOOST_DATA_TEST_CASE(after_a_rollback_the_thread_is_what_it_was_before_the_run,
                     all_durabilities* data::make({true, false}), durable, in_memory) {
  any_saver s{in_memory};
  busy b{{.saver = s.store}};
  run_config config{.thread_id = "t", .durability = durable};
  b.runs.invoke(says("0"), config);
  auto before = s.store->list({.thread_id = "t"}).value();
  auto first = b.begin("1", config);
  auto queued = b.runs.start(says("3"), with(strategy::enqueue));
  auto control = queued.control();
  control.cancel();
  BOOST_TEST((roll_back(b.runs) == errc::unknown_interrupt));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  require_equal(s.store->list({.thread_id = "t"}).value(), before);
  config.multitask = strategy::rollback;
  BOOST_TEST((code_of(b.runs.start(says("2"), config).get()) == errc::ok));
  BOOST_TEST(b.log_of() == words({"0", "a", "b", "c", "2", "a", "b", "c"}));
}

BOOST_DATA_TEST_CASE(a_thread_that_the_run_began_is_empty_after_a_rollback,
                     all_durabilities* data::make({true, false}), durable, in_memory) {
  any_saver s{in_memory};
  busy b{{.saver = s.store}};
  auto first = b.begin("1", {.thread_id = "t", .durability = durable});
  BOOST_TEST((roll_back(b.runs) != errc::ok));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  BOOST_TEST(s.store->threads().value().empty());
  BOOST_TEST(b.runs.stream(says("2"), with(strategy::rollback)).next().has_value());
}

namespace {

// Asks, and is held when it was answered.
compiled_graph asks(gate& hold, std::atomic<bool>& armed, compile_options options = {}) {
  state_graph<> g{log_only};
  g.add_node("other", [] { return log("other"); });
  g.add_node("ask",
             [&](context& ctx) {
               auto said = ctx.interrupt("who?");
               if (armed.exchange(false))
                 hold.pass();
               return log(said);
             },
             {.lane = lane::blocking});
  g.add_edge(START, "other");
  g.add_edge(START, "ask");
  return g.compile(std::move(options));
}

} // namespace

BOOST_DATA_TEST_CASE(an_answer_that_was_given_is_undone_also_in_a_nested_graph,
                     all_durabilities* data::make({true, false}) * data::make({true, false}),
                     durable, in_memory, nested) {
  any_saver s{in_memory};
  gate hold;
  std::atomic<bool> armed{false};
  runtime rt{{.saver = s.store}};
  auto inner = asks(hold, armed, {.name = "inner"});
  state_graph<> g{log_only};
  g.add_node("in", inner);
  g.add_edge(START, "in");
  auto runs = rt.load(nested ? g.compile({.name = "outer"}) : inner);
  run_config config{.thread_id = "t", .durability = durable};
  BOOST_TEST(runs.invoke(log("0"), config).paused());
  auto before = s.store->list({.thread_id = "t"}).value();

  armed = true;
  auto first = runs.start(answer("me"), config);
  hold.wait_for(1);
  BOOST_TEST((roll_back(runs) == errc::unknown_interrupt));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  require_equal(s.store->list({.thread_id = "t"}).value(), before);

  hold.open();
  BOOST_TEST(runs.get_state({.thread_id = "t"}).interrupts.size() == 1u);
  auto done = runs.invoke(answer("you"), config);
  BOOST_TEST(!done.paused());
  BOOST_TEST(to_json(done.value()["log"]).find("you") != std::string::npos);
  BOOST_TEST(to_json(done.value()["log"]).find("me\"") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_that_an_update_took_the_thread_from_is_not_undone) {
  busy b;
  auto first = b.begin();
  b.runs.update_state({.thread_id = "t"}, says("updated"));
  BOOST_TEST((roll_back(b.runs) == errc::conflict));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  BOOST_TEST(b.log_of() == words({"0", "a", "updated"}));
}

BOOST_AUTO_TEST_CASE(a_saver_that_can_undo_nothing_says_so_and_the_thread_goes_on) {
  busy b{{.saver = std::make_shared<forwarding_saver>(make_memory_saver())}};
  auto first = b.begin();
  BOOST_TEST((roll_back(b.runs) == errc::invalid_config));
  BOOST_TEST((code_of(first.get()) == errc::cancelled));
  BOOST_TEST((code_of(b.runs.try_invoke(says("1"), with(strategy::reject))) == errc::ok));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
