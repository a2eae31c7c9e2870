// Runs on threads: one after the other, cancelled, undone, taken up again.
#include "server/edge/refusal.hpp"
#include "server/rules/ids.hpp"
#include "server/runs/run_service.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/saver.hpp>
#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::server {
namespace {

// n counts; a run waits in its node until the gate lets it pass, unless `free` is in its input.
compiled_graph held_graph(const std::shared_ptr<gate>& at) {
  state_graph<> g{{{"n", sum}, {"free", last_value}}};
  g.add_node("count",
             [at](const state_view& s) {
               if (s["free"] != value(true))
                 at->pass();
               return state_update{{"n", 1}};
             },
             {.lane = lane::blocking});
  g.add_node("boom", []() -> state_update { throw node_error{"ValueError", "boom"}; });
  g.add_edge(START, "count");
  g.add_conditional_edges("count", [](const state_view& s) {
    return s["n"].as_int() < 0 ? destinations{"boom"} : destinations{END};
  });
  return g.compile({.name = "held"});
}

// Documents whose early commits stay on the way until they are settled: that of a run's begin,
// which hurries, and that of its end.
class late_documents final : public document_store {
public:
  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    return of_->get(kind, id);
  }
  result<document_page> search(const document_query& query) override { return of_->search(query); }
  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    of_->commit(std::move(changes), std::move(then));
    std::lock_guard lock{mutex_};
    ++commits_;
    changed_.notify_all();
  }
  void commit_soon(std::vector<document_change> changes, commit_pace pace,
                   std::function<void(result<void>)> accepted,
                   std::function<void(result<void>)> durable) override {
    {
      std::lock_guard lock{mutex_};
      auto& late = pace == commit_pace::hurries ? begin_ : end_;
      if (!late.is_lost)
        of_->commit_and_wait(std::move(changes)).value();
      late.durable = std::move(durable);
    }
    changed_.notify_all();
    accepted({});
  }
  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    return of_->watch(kind, std::move(told));
  }
  bool is_shared() const noexcept override { return false; }

  struct late_commit {
    bool is_lost = false;
    std::function<void(result<void>)> durable;
  };
  void lose_begins() { begin_.is_lost = true; }
  void lose_ends() { end_.is_lost = true; }
  bool has_late_begin() {
    std::lock_guard lock{mutex_};
    return bool(begin_.durable);
  }
  void wait_for_an_end() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return bool(end_.durable); });
  }
  void wait_for_a_commit() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return commits_ > 0; });
  }
  void settle_begin(result<void> how) { settle(begin_, std::move(how)); }
  void settle_end(result<void> how) { settle(end_, std::move(how)); }

private:
  void settle(late_commit& late, result<void> how) {
    std::unique_lock lock{mutex_};
    auto durable = std::exchange(late.durable, nullptr);
    lock.unlock();
    durable(std::move(how));
  }

  std::shared_ptr<document_store> of_ = memory_documents();
  std::mutex mutex_;
  std::condition_variable changed_;
  int commits_ = 0; // that were not early
  late_commit begin_;
  late_commit end_;
};

// Documents that hold the commits of runs' ends back until they are let go.
class held_ends final : public document_store {
public:
  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    return of_->get(kind, id);
  }
  result<document_page> search(const document_query& query) override { return of_->search(query); }
  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    std::unique_lock lock{mutex_};
    if (!holds_ || !has_an_end(changes)) {
      lock.unlock();
      return of_->commit(std::move(changes), std::move(then));
    }
    held_.emplace_back(std::move(changes), std::move(then));
    changed_.notify_all();
  }
  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    return of_->watch(kind, std::move(told));
  }
  bool is_shared() const noexcept override { return false; }

  // Whether so many are held at once, soon.
  bool holds(std::size_t count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{30}, [&] { return held_.size() == count; });
  }
  void let_go() {
    std::unique_lock lock{mutex_};
    holds_ = false;
    auto held = std::exchange(held_, {});
    lock.unlock();
    for (auto& [changes, then] : held)
      of_->commit(std::move(changes), std::move(then));
  }

private:
  static bool has_an_end(const std::vector<document_change>& changes) {
    return std::ranges::any_of(changes, [](const auto& one) {
      return one.kind == document_kind::run && one.body
             && (*one.body)["status"] == value("success");
    });
  }

  std::shared_ptr<document_store> of_ = memory_documents();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = true;
  std::vector<std::pair<std::vector<document_change>, std::function<void(result<void>)>>> held_;
};

struct served {
  explicit served(std::shared_ptr<document_store> kept = memory_documents(),
                  std::shared_ptr<saver> threads = make_memory_saver(),
                  std::int64_t attempts_max = 5)
    : documents{std::move(kept)},
      machine{{.saver = std::move(threads)}},
      graphs{machine, {{"held", held_graph(at)}}},
      runs{graphs, documents, {.server_id = "one", .attempts_max = attempts_max}} {}
  ~served() { at->open(); }

  run_request request(value members = value::map()) const {
    return read_run_request(members.with("assistant_id", "held").with("if_not_exists", "create"));
  }
  run_record create(value members = value::map()) {
    return runs.create(thread, request(std::move(members)),
                       {.assistant_id = "a", .graph_id = "held"});
  }
  // A run whose client hears nothing of it before `known`.
  std::future<run_outcome> wait_for(value members, std::atomic<int>& known) {
    auto told = std::make_shared<std::promise<run_outcome>>();
    run_waiter waiter{.known =
                        [&known](const run_record&) {
                          ++known;
                          known.notify_all();
                        },
                      .ended = [told](const run_outcome& o) { told->set_value(o); }};
    runs.create(thread, request(std::move(members)), {.assistant_id = "a", .graph_id = "held"}, {},
                {}, &waiter);
    return told->get_future();
  }
  std::future<run_outcome> ending(const run_record& run) {
    auto told = std::make_shared<std::promise<run_outcome>>();
    runs.when_ended(run.thread_id, run.run_id,
                    [told](const run_outcome& o) { told->set_value(o); });
    return told->get_future();
  }
  run_outcome end_of(const run_record& run) { return ending(run).get(); }
  thread_record stored_thread() const {
    return thread_record::of(documents->get(document_kind::thread, thread).value()->body);
  }
  std::optional<run_record> stored(const run_record& run) const {
    auto found = documents->get(document_kind::run, run.document_id()).value();
    return found ? std::optional{run_record::of(found->body)} : std::nullopt;
  }
  value values() { return graphs.find("held")->get_state({.thread_id = thread}).values; }

  const std::string thread = new_id(1'700'000'000'000'000);
  std::shared_ptr<gate> at = std::make_shared<gate>();
  std::shared_ptr<document_store> documents;
  runtime machine;
  graph_set graphs;
  run_service runs;
};

const value free_run = value::map({{"input", value::map({{"free", true}})}});
value held_run(const char* strategy = "enqueue") {
  return value::map({{"input", value::map({{"free", false}})}, {"multitask_strategy", strategy}});
}

int status_of(const std::function<void()>& call) {
  try {
    call();
    return 200;
  } catch (const refusal& no) {
    return no.status();
  }
}

BOOST_AUTO_TEST_SUITE(server_run_service)

BOOST_AUTO_TEST_CASE(a_run_ends_with_its_values_and_leaves_an_idle_thread) {
  served s;
  auto run = s.create(free_run);
  BOOST_TEST((run.status == run_status::pending)); // as its client is told
  auto end = s.end_of(run);
  BOOST_TEST((end.run.status == run_status::success));
  BOOST_TEST(end.output["n"] == value(1));
  BOOST_TEST((s.stored_thread().status == thread_status::idle));
  BOOST_TEST(s.stored_thread().inflight.empty());
  BOOST_TEST(s.end_of(run).output["n"] == value(1)); // also long after
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_keeps_what_others_changed_since_its_begin) {
  served s;
  auto run = s.create(held_run());
  s.at->wait_for(1);
  auto stored = s.documents->get(document_kind::thread, s.thread).value();
  auto metadata = stored->body["metadata"].with("color", "green");
  s.documents
    ->commit_and_wait({{document_kind::thread, s.thread, stored->body.with("metadata", metadata),
                        stored->revision}})
    .value();
  s.at->open();
  BOOST_TEST((s.end_of(run).run.status == run_status::success));
  BOOST_TEST(s.stored_thread().metadata["color"] == value("green"));
  BOOST_TEST((s.stored_thread().status == thread_status::idle));
}

BOOST_AUTO_TEST_CASE(a_client_hears_of_a_run_when_its_record_is_durable) {
  auto documents = std::make_shared<late_documents>();
  served s{documents};
  std::atomic<int> known = 0;
  auto end = s.wait_for(held_run().with("durability", "exit"), known);
  s.at->wait_for(1); // it runs without a wait for the disk
  BOOST_TEST(known == 0);
  documents->settle_begin({});
  known.wait(0);
  s.at->open();
  BOOST_TEST((end.get().run.status == run_status::success));
  documents->settle_end({});
  BOOST_TEST((s.stored_thread().status == thread_status::idle));
}

BOOST_AUTO_TEST_CASE(a_client_is_answered_when_the_begin_is_durable_and_the_end_is_accepted) {
  auto documents = std::make_shared<late_documents>();
  served s{documents};
  std::atomic<int> known = 0;
  for (bool begin_is_first : {true, false}) {
    auto end = s.wait_for(free_run.with("durability", "exit"), known);
    if (begin_is_first)
      documents->settle_begin({});
    documents->wait_for_an_end();
    if (!begin_is_first) {
      BOOST_TEST((end.wait_for(std::chrono::seconds{0}) == std::future_status::timeout));
      documents->settle_begin({});
    }
    BOOST_TEST((end.get().run.status == run_status::success));
    documents->settle_end({});
  }
}

BOOST_AUTO_TEST_CASE(an_end_that_its_client_knows_and_the_disk_lost_is_stored_again) {
  auto documents = std::make_shared<late_documents>();
  documents->lose_ends();
  served s{documents};
  std::atomic<int> known = 0;
  auto end = s.wait_for(free_run.with("durability", "exit"), known);
  documents->settle_begin({});
  auto run = end.get().run;
  BOOST_TEST((run.status == run_status::success));
  BOOST_TEST((s.stored(run)->status == run_status::running));
  documents->settle_end(error{errc::storage_full, "the disk is full"});
  documents->wait_for_a_commit();
  BOOST_TEST((s.stored(run)->status == run_status::success));
  BOOST_TEST(s.values()["n"] == value(1));
}

BOOST_AUTO_TEST_CASE(a_run_that_saves_or_is_observed_before_its_end_has_a_durable_record) {
  auto documents = std::make_shared<late_documents>();
  served s{documents};
  std::atomic<int> known = 0;
  s.wait_for(free_run.with("durability", "async"), known).get();
  s.wait_for(free_run.with("durability", "sync"), known).get();
  auto observer = s.runs.observe(s.thread, {});
  s.wait_for(free_run.with("durability", "exit"), known).get();
  BOOST_TEST(known == 3);
  BOOST_TEST(!documents->has_late_begin());
  observer.reset();
  auto running = s.wait_for(held_run().with("durability", "async"), known);
  s.at->wait_for(1);
  auto waiting = s.wait_for(free_run.with("durability", "exit"), known); // another one runs
  BOOST_TEST(known == 5);
  s.at->open();
  waiting.get();
}

BOOST_AUTO_TEST_CASE(a_run_whose_record_is_lost_ends_with_an_error) {
  auto documents = std::make_shared<late_documents>();
  documents->lose_begins();
  served s{documents};
  std::atomic<int> known = 0;
  auto end = s.wait_for(held_run().with("durability", "exit"), known);
  s.at->wait_for(1);
  documents->settle_begin(error{errc::storage_full, "the disk is full"});
  s.at->open();
  auto outcome = end.get();
  BOOST_TEST((outcome.run.status == run_status::error));
  BOOST_TEST(outcome.output.contains("__error__"));
  BOOST_TEST(known == 0);
  BOOST_TEST(documents->search({.kind = document_kind::run}).value().total == 0u);
}

BOOST_AUTO_TEST_CASE(ends_of_many_runs_are_on_their_way_to_the_disk_at_once) {
  auto documents = std::make_shared<held_ends>();
  served s{documents};
  constexpr auto count = 2 * limits::server_run_threads;
  std::vector<std::future<run_outcome>> ends;
  for (std::size_t i = 0; i < count; ++i) {
    auto run = s.runs.create(new_id(1'700'000'000'000'000 + static_cast<std::int64_t>(i)),
                             s.request(free_run), {.assistant_id = "a", .graph_id = "held"});
    ends.push_back(s.ending(run));
  }
  BOOST_TEST(documents->holds(count));
  for (auto& end : ends) // nobody hears of an end that is not durable
    BOOST_TEST((end.wait_for(std::chrono::seconds{0}) == std::future_status::timeout));
  documents->let_go();
  for (auto& end : ends)
    BOOST_TEST((end.get().run.status == run_status::success));
}

BOOST_AUTO_TEST_CASE(runs_of_a_thread_wait_for_each_other_in_order) {
  served s;
  auto first = s.create(held_run());
  s.at->wait_for(1);
  auto second = s.create(free_run);
  auto third = s.create(free_run);
  BOOST_TEST(s.stored_thread().inflight.size() == 3u);
  BOOST_TEST((s.stored(second)->status == run_status::pending));
  s.at->open();
  BOOST_TEST(s.end_of(third).output["n"] == value(3));
  BOOST_TEST(s.end_of(first).output["n"] == value(3)); // those of the thread, by now
}

BOOST_AUTO_TEST_CASE(a_reader_of_an_end_that_fails_holds_up_no_other_and_no_next_run) {
  served s;
  auto first = s.create(held_run());
  auto next = s.create(held_run());
  s.at->wait_for(1);
  s.runs.when_ended(first.thread_id, first.run_id,
                    [](const run_outcome&) { throw std::runtime_error{"the disk is lost"}; });
  auto heard = s.ending(first);
  s.at->open();
  BOOST_TEST((heard.get().run.status == run_status::success));
  BOOST_TEST((s.end_of(next).run.status == run_status::success));
}

BOOST_AUTO_TEST_CASE(a_run_is_refused_while_another_one_runs_and_leaves_no_trace) {
  served s;
  auto first = s.create(held_run());
  s.at->wait_for(1);
  BOOST_TEST(status_of([&] { s.create(held_run("reject")); }) == 409);
  BOOST_TEST(s.stored_thread().inflight.size() == 1u);
  s.at->open();
  s.end_of(first);
}

BOOST_AUTO_TEST_CASE(an_interrupting_run_ends_the_others_and_keeps_what_they_did) {
  served s;
  s.end_of(s.create(free_run));
  auto running = s.create(held_run());
  s.at->wait_for(1);
  auto waiting = s.create(free_run);
  auto last = s.create(
    value::map({{"input", value::map({{"free", true}})}, {"multitask_strategy", "interrupt"}}));
  s.at->open();
  BOOST_TEST((s.end_of(waiting).run.status == run_status::interrupted));
  BOOST_TEST((s.end_of(running).run.status == run_status::interrupted));
  BOOST_TEST((s.end_of(last).run.status == run_status::success));
  BOOST_TEST((s.stored(running)->status == run_status::interrupted));
  BOOST_TEST((s.stored(waiting)->status == run_status::interrupted));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_rolled_back_never_was) {
  served s;
  s.end_of(s.create(free_run));
  auto before = s.values();
  auto running = s.create(held_run());
  s.at->wait_for(1);
  auto ended = s.ending(running);
  s.runs.cancel(s.thread, running.run_id, cancel_action::rollback);
  s.at->open();
  ended.get();
  BOOST_TEST(!s.stored(running));
  BOOST_TEST(s.values() == before);
  BOOST_TEST((s.stored_thread().status == thread_status::idle));
  BOOST_TEST(s.stored_thread().error["error"] == value("UserRollback"));
}

BOOST_AUTO_TEST_CASE(a_run_is_cancelled_while_it_waits_or_runs_and_not_afterwards) {
  served s;
  auto running = s.create(held_run());
  s.at->wait_for(1);
  auto waiting = s.create(free_run);
  s.runs.cancel(s.thread, waiting.run_id, cancel_action::interrupt);
  BOOST_TEST((s.end_of(waiting).run.status == run_status::interrupted));
  s.runs.cancel(s.thread, running.run_id, cancel_action::interrupt);
  s.at->open();
  BOOST_TEST((s.end_of(running).run.status == run_status::interrupted));
  BOOST_TEST((s.stored_thread().status == thread_status::interrupted)); // it has tasks to run
  BOOST_TEST(!s.runs.cancel(s.thread, running.run_id, cancel_action::interrupt));
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_says_why_in_its_output_and_on_its_thread) {
  served s;
  auto run = s.create(value::map({{"input", value::map({{"free", true}, {"n", -5}})}}));
  auto end = s.end_of(run);
  BOOST_TEST((end.run.status == run_status::error));
  BOOST_TEST(end.output["__error__"] == value::map({{"error", "ValueError"}, {"message", "boom"}}));
  BOOST_TEST((s.stored_thread().status == thread_status::error));
  BOOST_TEST(s.stored_thread().error["message"] == value("boom"));
}

BOOST_AUTO_TEST_CASE(a_stateless_run_leaves_no_thread_unless_it_is_to_keep_it) {
  served s;
  auto gone = s.runs.create("", s.request(free_run), {.assistant_id = "a", .graph_id = "held"});
  BOOST_TEST(s.end_of(gone).output["n"] == value(1));
  BOOST_TEST(!s.documents->get(document_kind::thread, gone.thread_id).value());
  BOOST_TEST(!s.documents->get(document_kind::run, gone.document_id()).value());
  auto kept = s.runs.create("", s.request(free_run.with("on_completion", "keep")),
                            {.assistant_id = "a", .graph_id = "held"});
  s.end_of(kept);
  BOOST_TEST(bool(s.documents->get(document_kind::thread, kept.thread_id).value()));
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_missing_is_made_only_on_demand) {
  served s;
  auto request = read_run_request(value::map({{"assistant_id", "held"}}));
  BOOST_TEST(
    status_of([&] { s.runs.create(s.thread, request, {.assistant_id = "a", .graph_id = "held"}); })
    == 404);
  BOOST_TEST(!s.documents->get(document_kind::thread, s.thread).value());
}

BOOST_AUTO_TEST_CASE(a_removed_thread_takes_its_runs_and_checkpoints_along) {
  served s;
  s.end_of(s.create(free_run));
  auto running = s.create(held_run());
  s.at->wait_for(1);
  BOOST_TEST(s.runs.remove_thread(s.thread));
  s.at->open();
  BOOST_TEST(!s.runs.remove_thread(s.thread));
  BOOST_TEST(!s.stored(running));
  BOOST_TEST(s.machine.saver()->threads().value().empty());
}

BOOST_AUTO_TEST_CASE(events_of_a_resumable_run_are_there_after_its_end) {
  served s;
  auto run = s.create(free_run.with("stream_resumable", true));
  s.end_of(run);
  std::vector<std::string> names;
  bool ended = false;
  event_reader reader{[&](const run_event& e) { names.push_back(e.name); }, [&] { ended = true; }};
  s.runs.read(s.thread, run.run_id, 0, reader);
  BOOST_TEST(names == (std::vector<std::string>{"metadata", "values", "values"}));
  BOOST_TEST(ended);
  names.clear();
  s.runs.read(s.thread, run.run_id, 2, reader);
  BOOST_TEST(names.size() == 1u);
  names.clear();
  s.runs.read(s.thread, run.run_id, std::nullopt, reader);
  BOOST_TEST(names.empty());
}

BOOST_AUTO_TEST_CASE(what_a_server_left_is_taken_up_by_the_next_one) {
  auto documents = memory_documents();
  auto threads = make_memory_saver();
  run_record running;
  run_record waiting;
  std::string thread;
  {
    served s{documents, threads};
    thread = s.thread;
    running = s.create(held_run());
    s.at->wait_for(1);
    waiting = s.create(free_run);
    s.at->open(); // the drain takes effect at the end of the step
  }
  served next{documents, threads};
  next.at->open();
  next.runs.recover();
  BOOST_TEST(next.end_of(waiting).output["n"] == value(2));
  BOOST_TEST((next.stored(running)->status == run_status::success));
}

BOOST_AUTO_TEST_CASE(a_run_that_takes_its_server_down_again_and_again_is_given_up) {
  auto documents = memory_documents();
  run_record run{.run_id = "r",
                 .thread_id = "t",
                 .created_at = time_text(1),
                 .status = run_status::running,
                 .kwargs = read_run_request(value::map({{"assistant_id", "held"}})).kwargs,
                 .graph_id = "held",
                 .owner = "gone",
                 .attempt = 2};
  thread_record thread{.thread_id = "t", .inflight = {"r"}, .running = "r"};
  documents
    ->commit_and_wait({{document_kind::run, run.document_id(), run.body()},
                       {document_kind::thread, "t", thread.body()}})
    .value();
  served s{documents, make_memory_saver(), 2};
  s.runs.recover();
  auto end = s.end_of(run);
  BOOST_TEST((end.run.status == run_status::error));
  BOOST_TEST(end.output["__error__"]["error"] == value("RunGivenUp"));
}

BOOST_AUTO_TEST_CASE(a_delayed_run_does_not_hold_up_one_that_may_begin) {
  served s;
  auto late = s.create(free_run.with("after_seconds", 3600));
  BOOST_TEST((s.stored_thread().status == thread_status::busy));
  auto now = s.create(free_run);
  BOOST_TEST(s.end_of(now).output["n"] == value(1));
  BOOST_TEST((s.stored(late)->status == run_status::pending));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
