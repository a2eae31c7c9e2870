// Removals of a runtime by itself: the decisions, and rounds of them, at times the test makes up.
#include "coordinator/background_pruner.hpp"

#include "persistence/record/timestamp_text.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using clock = background_pruner::clock;
using texts = std::vector<std::string>;

constexpr clock::time_point start{1'800'000'000s};

std::string text_of(clock::time_point t) {
  return timestamp_text(
    std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count());
}

thread_info info(std::string id, clock::time_point newest, std::size_t checkpoints) {
  return {std::move(id), "c", text_of(newest), checkpoints};
}

texts ids_of(const std::vector<thread_info>& threads) {
  texts out;
  for (const auto& t : threads)
    out.push_back(t.thread_id);
  return out;
}

// A thread whose checkpoints were made one second after the other.
void put_line(saver& to, const std::string& thread, unsigned count, clock::time_point last) {
  for (unsigned n = 1; n <= count; ++n) {
    checkpoint_put put;
    put.checkpoint.id = thread + std::to_string(n);
    put.checkpoint.ts = text_of(last - std::chrono::seconds{count - n});
    put.parent_id = n == 1 ? "" : thread + std::to_string(n - 1);
    put.metadata = value::map({{"step", value(n)}});
    to.put({thread, "", {}}, put).value();
  }
}

struct scene {
  std::shared_ptr<saver> store = make_memory_saver();
  std::shared_ptr<troupe::store> items; // null unless a test needs it
  std::shared_ptr<thread_turns> turns = std::make_shared<thread_turns>();
  texts log;
  std::unique_ptr<background_pruner> pruner;

  explicit scene(pruning how, std::shared_ptr<saver> front = nullptr,
                 std::shared_ptr<troupe::store> with = nullptr)
    : items{std::move(with)} {
    auto note = [this](const std::string& line) { log.push_back(line); };
    pruner = std::make_unique<background_pruner>(std::move(how), front ? front : store, items,
                                                 turns, note, note);
  }
  texts threads() { return ids_of(store->threads().value()); }
};

// A store that only knows how many of its items are over.
struct swept_store : store {
  std::size_t over = 0;
  std::vector<std::size_t> swept;
  std::function<void()> then = [] {};
  bool fails = false;
  result<std::vector<store_answer>> batch(const std::vector<store_op>&) override {
    return std::vector<store_answer>{};
  }
  result<std::size_t> sweep(std::size_t items_max) override {
    if (fails)
      throw std::runtime_error{"the store is on fire"};
    auto gone = std::min(over, items_max);
    over -= gone;
    swept.push_back(gone);
    then();
    return gone;
  }
};

// Counts and can fail.
struct fragile_saver : forwarding_saver {
  using forwarding_saver::forwarding_saver;
  std::string failure;
  int pruned = 0;
  result<prune_report> prune(const std::vector<std::string>&, const retention&) override {
    ++pruned;
    if (failure == "throw")
      throw std::runtime_error{"thrown"};
    return failure.empty() ? result<prune_report>{prune_report{}}
                           : error{errc::storage_failed, failure};
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_background_pruner)

BOOST_AUTO_TEST_CASE(old_threads_go_and_long_ones_are_pruned) {
  std::vector<thread_info> threads{info("old", start - 61s, 5), info("edge", start - 60s, 1),
                                   info("long", start, 3), info("short", start, 2)};
  threads.push_back({"timeless", "", "", 0});
  pruning how{.keep = {.keep_latest = 2}, .thread_ttl = 60s};
  auto plan = plan_upkeep(threads, how, start);
  BOOST_TEST(ids_of(plan.remove) == texts{"old"});
  BOOST_TEST(ids_of(plan.prune) == texts{"long"});
  how.thread_ttl.reset();
  plan = plan_upkeep(threads, how, start);
  BOOST_TEST(plan.remove.empty());
  BOOST_TEST(ids_of(plan.prune) == (texts{"old", "long"}));
}

BOOST_AUTO_TEST_CASE(a_round_removes_and_says_how_much) {
  scene s{{.thread_ttl = 60s}};
  put_line(*s.store, "a", 4, start);
  put_line(*s.store, "b", 2, start + 30s);
  s.pruner->round(start);
  BOOST_TEST(s.store->list({.thread_id = "a"}).value().size() == 1u);
  BOOST_TEST(s.log == texts{"pruned: 0 old threads deleted, 4 checkpoints and 0 values removed"});
  s.pruner->round(start + 60s);
  BOOST_TEST(s.log.size() == 1u); // nothing to say
  s.pruner->round(start + 61s);
  BOOST_TEST(s.threads() == texts{"b"});
  BOOST_TEST(s.log.back() == "pruned: 1 old thread deleted, 0 checkpoints and 0 values removed");
}

BOOST_AUTO_TEST_CASE(a_thread_that_a_run_is_busy_with_is_not_deleted) {
  scene s{{.thread_ttl = 60s}};
  put_line(*s.store, "a", 1, start);
  auto run = std::make_shared<held_claim>();
  s.turns->begin("a", run, multitask_strategy::take_over).value();
  s.pruner->round(start + 100s);
  BOOST_TEST(s.threads() == texts{"a"});
  BOOST_TEST(!run->revoked);
  run.reset();
  s.pruner->round(start + 100s);
  BOOST_TEST(s.threads().empty());
  BOOST_TEST(!s.turns->busy("a"));
}

BOOST_AUTO_TEST_CASE(a_thread_that_went_on_since_it_was_listed_is_not_deleted) {
  struct late_saver : forwarding_saver {
    using forwarding_saver::forwarding_saver;
    result<std::vector<thread_info>> threads() override {
      auto listed = forwarding_saver::threads();
      put_line(*this, "a", 2, start + 100s);
      return listed;
    }
  };
  auto store = make_memory_saver();
  scene s{{.keep = {.keep_latest = 9}, .thread_ttl = 60s}, std::make_shared<late_saver>(store)};
  put_line(*store, "a", 1, start);
  s.pruner->round(start + 100s);
  BOOST_TEST(store->threads().value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_once_and_tried_again) {
  auto store = make_memory_saver();
  auto fragile = std::make_shared<fragile_saver>(store);
  scene s{{}, fragile};
  put_line(*store, "a", 2, start);
  put_line(*store, "b", 2, start);
  fragile->failure = "disk on fire";
  s.pruner->round(start);
  s.pruner->round(start);
  BOOST_TEST(fragile->pruned == 4); // each thread is tried
  BOOST_REQUIRE(s.log.size() == 1u);
  BOOST_TEST(s.log[0].find("disk on fire") != std::string::npos);
  fragile->failure = "throw";
  s.pruner->round(start);
  BOOST_TEST(s.log.size() == 2u);
  fragile->failure.clear();
  s.pruner->round(start);
  fragile->failure = "throw";
  put_line(*store, "a", 3, start);
  s.pruner->round(start);
  BOOST_TEST(s.log.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_thread_of_which_nothing_went_is_left_alone_until_it_changes) {
  auto store = make_memory_saver();
  auto fragile = std::make_shared<fragile_saver>(store);
  scene s{{}, fragile};
  put_line(*store, "a", 2, start);
  for (int i = 0; i < 3; ++i)
    s.pruner->round(start);
  BOOST_TEST(fragile->pruned == 1);
  put_line(*store, "a", 3, start);
  s.pruner->round(start);
  BOOST_TEST(fragile->pruned == 2);
}

BOOST_AUTO_TEST_CASE(a_round_sweeps_the_store_in_pieces) {
  auto items = std::make_shared<swept_store>();
  scene s{{}, nullptr, items};
  items->over = 2 * limits::store_sweep_items_max + 1;
  s.pruner->round(start);
  BOOST_TEST(items->over == 0u);
  BOOST_TEST(
    items->swept
    == (std::vector<std::size_t>{limits::store_sweep_items_max, limits::store_sweep_items_max, 1}));
  BOOST_TEST(s.log == texts{"swept: 2001 items of the long-term store removed"});
  s.pruner->round(start);
  BOOST_TEST(s.log.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_pruner_that_is_stopped_leaves_the_rest_of_a_sweep) {
  auto items = std::make_shared<swept_store>();
  scene s{{}, nullptr, items};
  items->over = 3 * limits::store_sweep_items_max;
  items->then = [&s] { s.pruner->stop(); };
  s.pruner->round(start);
  BOOST_TEST(items->swept.size() == 1u);
}

BOOST_AUTO_TEST_CASE(threads_and_items_are_looked_after_though_the_others_fail) {
  auto items = std::make_shared<swept_store>();
  auto fragile = std::make_shared<fragile_saver>(make_memory_saver());
  put_line(*fragile, "a", 2, start);
  fragile->failure = "throw";
  items->over = 1;
  scene s{{}, fragile, items};
  s.pruner->round(start);
  BOOST_TEST(items->over == 0u);
  fragile->failure.clear();
  items->fails = true;
  s.pruner->round(start);
  BOOST_TEST(fragile->pruned == 2);
  BOOST_REQUIRE(s.log.size() == 3u);
  BOOST_TEST(s.log[2].find("the store is on fire") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_over_goes_by_the_clock_of_the_store) {
  auto now = start;
  scene s{{}, nullptr, make_memory_store({.now = [&now] { return now; }})};
  s.items->put({.space = {"a"}, .key = "k", .value = value::map(), .ttl = 1s}).value();
  s.pruner->round(start + 100s);
  BOOST_TEST(s.log.empty());
  now += 1s;
  s.pruner->round(start);
  BOOST_TEST(s.log == texts{"swept: 1 item of the long-term store removed"});
}

BOOST_AUTO_TEST_CASE(a_pruner_that_waits_stops_at_once) {
  scene s{{.thread_ttl = 60s, .every = 3600s}};
  put_line(*s.store, "a", 4, start);
  s.pruner->start();
  s.pruner->stop();
  s.pruner->stop();
  BOOST_TEST(s.store->list({.thread_id = "a"}).value().size() == 4u); // no round was begun
  BOOST_TEST(s.log.empty());
  // The end of a runtime stops its own one: a test that hangs here has failed.
  auto store = make_memory_saver();
  put_line(*store, "a", 4, start);
  {
    runtime rt{{.saver = store, .prune = pruning{}}};
    auto app = rt.load(three_nodes([](const auto&) {}));
    BOOST_TEST(app.invoke({}, {.thread_id = "b"}).value()["log"].size() == 3u);
  }
  BOOST_TEST(store->list({.thread_id = "a"}).value().size() == 4u);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_pruned_is_refused_when_the_runtime_opens) {
  auto code = [](pruning how, std::shared_ptr<saver> store = make_memory_saver()) {
    auto opened = runtime::open({.saver = std::move(store), .prune = std::move(how)});
    return opened ? errc::ok : opened.error().code();
  };
  BOOST_TEST((code({.every = limits::prune_every_min}) == errc::ok));
  BOOST_TEST((code({.every = 0s}) == errc::invalid_config));
  BOOST_TEST((code({.keep = {.keep_latest = 0}}) == errc::invalid_config));
  BOOST_TEST((code({.thread_ttl = 0s}) == errc::invalid_config));
  BOOST_TEST((code({}, nullptr) == errc::invalid_config));
  runtime only_a_store{{.store = make_memory_store(), .prune = pruning{}}};
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
