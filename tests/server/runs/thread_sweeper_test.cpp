// Sweeps over threads whose time is over.
#include "server/rules/ids.hpp"
#include "server/runs/thread_sweeper.hpp"

#include <troupe/state_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <future>

namespace troupe::server::test {
namespace {

constexpr std::int64_t sweep_begin = 1'700'000'000'000'000;
constexpr std::int64_t sweep_minute = 60'000'000;

compiled_graph swept_graph() {
  state_graph<> g{{{"n", sum}}};
  g.add_node("one", [] { return state_update{{"n", 1}}; });
  g.add_node("two", [] { return state_update{{"n", 1}}; });
  g.add_edge(START, "one");
  g.add_edge("one", "two");
  return g.compile({.name = "swept"});
}

// Threads with a time to live, at a time of the test's own.
struct swept {
  std::int64_t now = sweep_begin;
  std::shared_ptr<document_store> documents = memory_documents();
  std::shared_ptr<saver> threads = make_memory_saver();
  runtime machine{{.saver = threads}};
  graph_set graphs{machine, {{"swept", swept_graph()}}};
  run_service runs;
  thread_sweeper sweeper{documents, runs, threads};

  explicit swept(std::optional<double> minutes = std::nullopt, std::string strategy = "delete")
    : runs{graphs,
           documents,
           {.server_id = "one",
            .now = [this] { return now; },
            .thread_ttl_minutes = minutes,
            .thread_ttl_strategy = std::move(strategy)}} {}

  std::string run_on_new_thread() {
    auto id = new_id(now);
    auto request = read_run_request(value::map(
      {{"assistant_id", "swept"}, {"if_not_exists", "create"}, {"input", value::map({{"n", 1}})}}));
    auto run = runs.create(id, request, {.assistant_id = "a", .graph_id = "swept"});
    std::promise<void> ended;
    runs.when_ended(id, run.run_id, [&ended](const run_outcome&) { ended.set_value(); });
    ended.get_future().get();
    return id;
  }
  std::optional<thread_record> stored(const std::string& id) const {
    auto found = documents->get(document_kind::thread, id).value();
    return found ? std::optional{thread_record::of(found->body)} : std::nullopt;
  }
  std::size_t checkpoints(const std::string& id) const {
    return threads->list({.thread_id = id}).value().size();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_thread_sweeper)

BOOST_AUTO_TEST_CASE(a_thread_goes_with_its_checkpoints_when_its_time_is_over) {
  swept s{5.0};
  auto id = s.run_on_new_thread();
  BOOST_TEST(s.stored(id)->ttl_minutes.value() == 5.0);
  s.now += 4 * sweep_minute;
  BOOST_TEST(s.sweeper.sweep().removed == 0u);
  BOOST_TEST(s.checkpoints(id) > 0u);
  s.now += sweep_minute;
  BOOST_TEST(s.sweeper.sweep().removed == 1u);
  BOOST_TEST(!s.stored(id).has_value());
  BOOST_TEST(s.checkpoints(id) == 0u);
  BOOST_TEST(s.documents->search({.kind = document_kind::run}).value().total == 0u);
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_time_to_live_stays) {
  swept s;
  auto id = s.run_on_new_thread();
  s.now += 1'000'000 * sweep_minute;
  BOOST_TEST(s.sweeper.sweep().removed == 0u);
  BOOST_TEST(s.stored(id).has_value());
}

BOOST_AUTO_TEST_CASE(a_thread_may_keep_its_newest_checkpoint) {
  swept s{5.0, "keep_latest"};
  auto id = s.run_on_new_thread();
  BOOST_TEST(s.checkpoints(id) > 1u);
  auto values = s.graphs.find("swept")->get_state({.thread_id = id}).values;
  s.now += 5 * sweep_minute;
  BOOST_TEST(s.sweeper.sweep().pruned == 1u);
  BOOST_TEST(s.checkpoints(id) == 1u);
  BOOST_TEST((s.graphs.find("swept")->get_state({.thread_id = id}).values == values));
  s.now += 5 * sweep_minute;
  BOOST_TEST(s.sweeper.sweep().pruned == 0u); // once a change
}

BOOST_AUTO_TEST_CASE(a_sweep_reads_all_pages) {
  swept s;
  std::vector<document_change> changes;
  for (std::size_t i = 0; i < 2 * limits::server_sweep_page + 1; ++i) {
    auto id = new_id(s.now);
    thread_record made{.thread_id = id,
                       .created_at = time_text(s.now + static_cast<std::int64_t>(i)),
                       .updated_at = time_text(s.now),
                       .ttl_minutes = i % 2 == 0 ? 1.0 : 100.0};
    changes.push_back({document_kind::thread, id, made.body(), 0});
  }
  s.documents->commit_and_wait(std::move(changes)).value();
  s.now += sweep_minute;
  BOOST_TEST(s.sweeper.sweep().removed == limits::server_sweep_page + 1);
  BOOST_TEST(s.documents->search({.kind = document_kind::thread}).value().total
             == limits::server_sweep_page);
}

BOOST_AUTO_TEST_CASE(a_thread_that_changed_is_not_removed) {
  swept s{5.0};
  auto id = s.run_on_new_thread();
  auto before = s.documents->get(document_kind::thread, id).value()->revision;
  auto body = s.documents->get(document_kind::thread, id).value()->body;
  s.documents->commit_and_wait({{document_kind::thread, id, body}}).value();
  BOOST_CHECK_EXCEPTION(s.runs.remove_thread(id, before), error,
                        [](const error& e) { return e.code() == errc::conflict; });
  BOOST_TEST(s.checkpoints(id) > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
