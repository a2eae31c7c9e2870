// An admission that threads of the blocking lane speak to, with bodies that run there.
#include "cluster/shared_admission.hpp"
#include "coordinator/runtime_core.hpp"
#include "graph/graph_hash.hpp"
#include "tests/cluster/sent_messages.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <thread>

namespace troupe::cluster {
namespace {

using namespace std::chrono_literals;

/// The admission's requests to its owner, while time stands still.
class patient_owner : public shared_admission::owner {
public:
  struct requests {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<nanoseconds> hurried;
    std::vector<message> forwarded;
  };
  explicit patient_owner(std::shared_ptr<requests> in) : requests_{std::move(in)} {}
  instant now() const override { return 1000s; }
  void hurry(nanoseconds after) override {
    std::lock_guard lock{requests_->mutex};
    requests_->hurried.push_back(after);
    requests_->changed.notify_all();
  }
  void forward(message what) override {
    std::lock_guard lock{requests_->mutex};
    requests_->forwarded.push_back(std::move(what));
    requests_->changed.notify_all();
  }

private:
  std::shared_ptr<requests> requests_;
};

/// Reads what bodies write.
struct custom_reader : part_sink {
  bool wants(stream_mode mode) const noexcept override { return mode == stream_mode::custom; }
  void emit(stream_part) override {}
  void emit_custom(stream_part) override {}
};

/// A node whose bodies wait, each at a gate of its own: that of their task's number.
struct shared_admission_bench {
  std::vector<std::shared_ptr<gate>> gates;
  std::shared_ptr<patient_owner::requests> told = std::make_shared<patient_owner::requests>();
  runtime_core machine{nullptr, {.worker_threads = 1}};
  guest_tasks guests{machine};
  std::shared_ptr<const graph_plan> plan;
  std::shared_ptr<shared_admission> admission_here;
  issue_number last_issue = 0;
  std::uint32_t running = 0;

  explicit shared_admission_bench(std::uint32_t capacity = 2) {
    for (int i = 0; i < 8; ++i)
      gates.push_back(std::make_shared<gate>());
    state_graph<> g{schema{{"x", last_value}}};
    g.add_node("waits",
               [gates = gates](const state_view& s, context& ctx) {
                 gates[static_cast<std::size_t>(s["n"].as_int())]->pass();
                 ctx.write("over"); // where somebody reads it
               },
               {.lane = troupe::lane::blocking});
    g.add_edge(START, "waits");
    auto graph = g.compile({.name = "g"});
    plan = graph.plan();
    auto hash = graph_hash(*plan);
    admission_here = std::make_shared<shared_admission>(admission_options{.name = "w",
                                                                          .incarnation = "w.1",
                                                                          .labels = {},
                                                                          .capacity = capacity,
                                                                          .graphs = {{"g", hash}}},
                                                        graph_shelf{{hash, plan}}, guests,
                                                        std::make_unique<patient_owner>(told));
    hear_all(hash);
  }
  ~shared_admission_bench() {
    admission_here->close();
    for (auto& g : gates)
      g->open();
  }

  link_orders hear(message what) {
    auto now = instant{1000s};
    return admission_here->speak([&](task_admission& a) { a.heard(1, std::move(what), now); });
  }
  void hear_all(const std::string& hash) {
    admission_here->speak([](task_admission& a) { a.link_made(0, 1, instant{1000s}); });
    hear(welcome{.session = 1, .home = "h.1", .lease = 2500ms, .heartbeat = 500ms});
    run_shared run;
    run.plan = plan;
    hear(run_opened{.run = 1, .graph = hash, .facts = encode_run(run).value()});
    run.sink = std::make_shared<custom_reader>();
    hear(run_opened{.run = 2, .graph = hash, .facts = encode_run(run).value()});
  }
  /// The next order: a body that waits at its gate.
  void order(std::uint64_t run = 1) {
    detail::task_scope task;
    task.identify("t", "waits:t");
    task.run = std::make_shared<run_shared>();
    task.run->plan = plan;
    task.node = &plan->nodes[plan->find_node("waits")];
    task.sent = true;
    task.whole = value::map({{"n", static_cast<std::int64_t>(last_issue)}});
    task.input = state_view{task.whole};
    auto content = encode_task(task, std::nullopt).value();
    hear(step_opened{run, content.step});
    hear(task_order{.issue = ++last_issue,
                    .run = run,
                    .task_id = "t",
                    .node = "waits",
                    .task = content.task,
                    .ahead = true});
  }
  void wait_until(const std::function<bool(const patient_owner::requests&)>& so) {
    std::unique_lock lock{told->mutex};
    told->changed.wait(lock, [&] { return so(*told); });
  }
  std::vector<issue_number> outcomes() {
    std::vector<issue_number> out;
    for (const auto& [link, what] : admission_here->take_errands().messages)
      if (const auto* outcome = std::get_if<task_outcome>(&what))
        out.push_back(outcome->issue);
    return out;
  }
};

BOOST_FIXTURE_TEST_SUITE(cluster_shared_admission, shared_admission_bench)

BOOST_AUTO_TEST_CASE(what_waits_is_begun_when_a_body_ends_before_the_owner_does_anything) {
  for (int i = 0; i < 4; ++i)
    order();
  gates[0]->open();
  gates[2]->wait_for(1);
  gates[1]->open();
  gates[3]->wait_for(1);
  BOOST_TEST((outcomes() == std::vector<issue_number>{1, 2}));
}

BOOST_AUTO_TEST_CASE(
  outcomes_are_kept_as_long_as_the_admission_lets_them_and_the_owner_is_asked_once) {
  for (int i = 0; i < 4; ++i)
    order();
  auto told_times = [this](std::size_t n) {
    wait_until([n](const auto& b) { return b.hurried.size() == n; });
    return told->hurried.back();
  };
  gates[0]->open(); // one waits then, for two places
  gates[2]->wait_for(1);
  BOOST_TEST((told_times(1) == limits::worker_outcomes_held));
  BOOST_TEST(admission_here->speak([](task_admission&) {}).empty());
  gates[1]->open(); // none waits then, but others run
  gates[3]->wait_for(1);
  BOOST_TEST((told_times(2) == limits::worker_outcomes_apart));
  gates[2]->open();
  while (
    admission_here->speak([this](task_admission& a) { running = a.status(instant{1000s}).busy; }),
    running > 1)
    std::this_thread::yield();
  BOOST_TEST((told_times(2) == limits::worker_outcomes_apart)); // it knows
  gates[3]->open();                                             // the last
  BOOST_TEST((told_times(3) == 0ns));
  BOOST_TEST((outcomes() == std::vector<issue_number>{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(what_is_no_outcome_takes_along_what_was_kept) {
  for (int i = 0; i < 4; ++i)
    order();
  gates[0]->open();
  gates[2]->wait_for(1);
  auto errands =
    admission_here->speak([](task_admission& a) { a.heard(1, task_withdraw{3}, instant{1000s}); });
  BOOST_TEST_REQUIRE(errands.messages.size() == 2u);
  BOOST_TEST(std::holds_alternative<task_outcome>(errands.messages[0].second));
  BOOST_TEST(std::holds_alternative<task_kept>(errands.messages[1].second));
}

BOOST_AUTO_TEST_CASE(a_body_that_is_stopped_is_gone_when_it_has_ended) {
  order();
  gates[0]->wait_for(1);
  hear(task_stop{1});
  gates[0]->open();
  wait_until([](const auto& b) { return !b.forwarded.empty(); });
  BOOST_TEST((std::get<task_refused>(told->forwarded[0]).code == errc::cancelled));
  auto errands = admission_here->hear(told->forwarded[0]);
  BOOST_TEST_REQUIRE(errands.messages.size() == 1u);
  BOOST_TEST(std::get<task_refused>(errands.messages[0].second).issue == 1u);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_body_does_not_overtake_what_it_wrote) {
  order(2);
  gates[0]->open();
  wait_until([](const auto& b) { return b.forwarded.size() == 2 || !b.hurried.empty(); });
  BOOST_TEST_REQUIRE(told->forwarded.size() == 2u);
  auto part = admission_here->hear(told->forwarded[0]).messages;
  BOOST_TEST_REQUIRE(part.size() == 1u);
  BOOST_TEST(std::holds_alternative<task_part>(part[0].second));
  auto end = admission_here->hear(told->forwarded[1]).messages;
  BOOST_TEST_REQUIRE(end.size() == 1u);
  BOOST_TEST(std::holds_alternative<task_outcome>(end[0].second));
}

BOOST_AUTO_TEST_CASE(what_can_not_be_read_is_refused) {
  auto said = hear(task_order{.issue = 1, .run = 1, .task_id = "t", .node = "nobody"}).messages;
  BOOST_TEST_REQUIRE(!said.empty());
  BOOST_TEST(std::get<task_refused>(said.back().second).issue == 1u);
}

BOOST_AUTO_TEST_CASE(a_body_that_ends_after_the_admission_is_closed_reports_nothing) {
  for (int i = 0; i < 3; ++i)
    order();
  gates[1]->wait_for(1);
  admission_here->close();
  gates[0]->open();
  gates[1]->open();
  machine.shared().pool.stop();
  BOOST_TEST(gates[2]->came() == 0);
  BOOST_TEST(told->hurried.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::cluster
