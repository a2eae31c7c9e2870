// A run whose process loses it meanwhile: no body begins any more, and what did not begin has not
// failed.
#include "tasks/run_shared.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>

namespace troupe {
namespace {

/// Lets so many through.
class narrow_gate : public begin_gate {
public:
  explicit narrow_gate(int left) : left_{left} {}
  bool may_begin() noexcept override { return left_.fetch_sub(1) > 0; }
  error not_begun(const std::string& what) const override {
    return {errc::conflict, what + ": not started: closed"};
  }

private:
  std::atomic<int> left_;
};

run_control behind(int lets_through) {
  run_control out;
  control_hooks::set_gate(out, std::make_shared<narrow_gate>(lets_through));
  return out;
}

struct gated_run {
  std::atomic<int> a_ran{0}, b_ran{0}, handled{0};
  runtime rt{{.saver = make_memory_saver()}};

  app<> load(bool is_nested) {
    state_graph<> g{schema{{"log", append}}};
    g.add_node("a", [this] {
      ++a_ran;
      return state_update{{"log", value::list({"a"})}};
    });
    g.add_node("b",
               [this](context&) {
                 ++b_ran;
                 return state_update{{"log", value::list({"b"})}};
               },
               {.error_handler = [this](context&) {
                 ++handled;
                 return command{};
               }});
    g.add_edge(START, "a");
    g.add_edge("a", "b");
    if (!is_nested)
      return rt.load(g.compile());
    state_graph<> outer{schema{{"log", append}}};
    outer.add_node("inner", g.compile());
    outer.add_edge(START, "inner");
    return rt.load(outer.compile());
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(coordinator_begin_gate, gated_run)

BOOST_AUTO_TEST_CASE(a_run_that_may_not_begin_after_it_entered_its_thread_stores_nothing) {
  auto app = load(false);
  auto how = app.try_invoke({}, {.thread_id = "t", .control = behind(0)});
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().code() == errc::conflict));
  BOOST_TEST(how.error().message() == "run of thread `t`: not started: closed");
  BOOST_TEST(app.get_state_history({.thread_id = "t"}).empty());
  BOOST_TEST(a_ran == 0);
}

// The gate is closed right after `a`, wherever that is.
BOOST_DATA_TEST_CASE(a_body_that_may_not_begin_has_not_failed_and_begins_when_the_run_goes_on,
                     boost::unit_test::data::make({false, true}), is_nested) {
  auto app = load(is_nested);
  std::optional<result<run_result>> how;
  std::string thread;
  for (int lets_through = 1; a_ran == 0; ++lets_through) {
    thread = std::to_string(lets_through);
    how = app.try_invoke({}, {.thread_id = thread, .control = behind(lets_through)});
  }
  BOOST_REQUIRE(!*how);
  BOOST_TEST((how->error().code() == errc::conflict));
  BOOST_TEST(b_ran == 0);
  BOOST_TEST(app.invoke(nullptr, {.thread_id = thread}).value()["log"] == value::list({"a", "b"}));
  BOOST_TEST(a_ran == 1);
  BOOST_TEST(b_ran == 1);
  BOOST_TEST(handled == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
