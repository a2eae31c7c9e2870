// Several servers on one memory of documents and checkpoints, that can be killed.
#pragma once

#include "server/rules/ids.hpp"
#include "server/runs/run_service.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/saver.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server::test {

/// A process that can be killed: from then on, none of its commits takes effect.
struct process_life {
  std::atomic<bool> is_dead = false;
};

/// One process's view of documents that others change, too.
class process_documents final : public document_store {
public:
  process_documents(std::shared_ptr<document_store> of, std::shared_ptr<process_life> life)
    : of_{std::move(of)},
      life_{std::move(life)} {}

  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    return of_->get(kind, id);
  }
  result<document_page> search(const document_query& query) override { return of_->search(query); }
  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    {
      std::lock_guard lock{mutex_};
      if (holds_) {
        held_.emplace_back(std::move(changes), std::move(then));
        return changed_.notify_all();
      }
      if (hears_nothing_ && (!unheard_of_ || contains(changes, *unheard_of_)))
        then = [this, then = std::move(then)](const result<void>& made) {
          if (unheard_of_ && !made)
            return then(made);
          std::lock_guard lock{mutex_};
          unheard_.push_back([then, made] { then(made); });
          changed_.notify_all();
        };
    }
    if (!life_->is_dead && !refuses_)
      return of_->commit(std::move(changes), std::move(then));
    {
      std::lock_guard lock{mutex_};
      ++refused_;
    }
    changed_.notify_all();
    then(error{errc::storage_failed, "commit: injected"});
  }
  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    return of_->watch(kind, [this, told = std::move(told), life = life_](const auto& ids) {
      if (!life->is_dead && !hears_nothing_)
        told(ids);
    });
  }
  bool is_shared() const noexcept override { return true; }

  /// Commits fail, for a time.
  void refuse(bool all) { refuses_ = all; }
  /// Commits stay on their way, as those of a frozen process.
  void hold() {
    std::lock_guard lock{mutex_};
    holds_ = true;
  }
  void wait_for_a_held_commit_of(document_kind kind) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] {
      return std::ranges::any_of(held_, [&](const auto& one) { return contains(one.first, kind); });
    });
  }
  /// Commits take effect, and the process hears neither of them nor of those of others, as one that
  /// is frozen just then. `of`: only of commits that took effect and have a change of that kind.
  void freeze_after_commits(std::optional<document_kind> of = std::nullopt) {
    unheard_of_ = of;
    hears_nothing_ = true;
  }
  void wait_for_an_unheard_commit() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !unheard_.empty(); });
  }
  /// They arrive, in their order.
  void release() {
    std::vector<held_commit> held;
    std::vector<std::function<void()>> unheard;
    {
      std::lock_guard lock{mutex_};
      holds_ = false;
      hears_nothing_ = false;
      held.swap(held_);
      unheard.swap(unheard_);
    }
    for (auto& answer : unheard)
      answer();
    for (auto& [changes, then] : held)
      commit(std::move(changes), std::move(then));
  }
  void wait_for_a_refusal() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return refused_ > 0; });
  }

private:
  using held_commit = std::pair<std::vector<document_change>, std::function<void(result<void>)>>;

  static bool contains(const std::vector<document_change>& changes, document_kind kind) {
    return std::ranges::find(changes, kind, &document_change::kind) != changes.end();
  }

  const std::shared_ptr<document_store> of_;
  const std::shared_ptr<process_life> life_;
  std::atomic<bool> refuses_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int refused_ = 0;
  bool holds_ = false;
  std::vector<held_commit> held_;
  std::atomic<bool> hears_nothing_ = false;
  std::optional<document_kind> unheard_of_;
  std::vector<std::function<void()>> unheard_;
};

/// One process's view of checkpoints.
class process_saver final : public picky_saver {
public:
  process_saver(std::shared_ptr<saver> of, std::shared_ptr<process_life> life)
    : picky_saver{of, [life](const save_request&) { return bool(life->is_dead); }},
      of_{std::move(of)} {}
  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                       const std::vector<std::string>& thread_ids) override {
    return of_->delete_for_runs(run_ids, thread_ids);
  }
  /// A run asks for it when it enters its thread.
  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    if (auto before = std::exchange(before_entry, nullptr))
      before();
    return of_->thread_owner(thread_id);
  }

  /// Called once, before a run enters its thread, as if the process were frozen there.
  std::function<void()> before_entry;

private:
  const std::shared_ptr<saver> of_;
};

/// How often each node of each thread ran, on all servers.
class node_counts {
public:
  void add(const std::string& thread, const std::string& node) {
    std::lock_guard lock{mutex_};
    ++counts_[thread + ' ' + node];
  }
  int of(const std::string& thread, const std::string& node) {
    std::lock_guard lock{mutex_};
    return counts_[thread + ' ' + node];
  }

private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

/// START → first → second → END. Each adds its part to `n`, 1 and 10. The second node waits at the
/// gate, unless `free` is in the input; with `early`, the first one waits there.
inline compiled_graph two_steps(const std::shared_ptr<gate>& at,
                                const std::shared_ptr<node_counts>& counts) {
  state_graph<> g{{{"n", sum}, {"free", last_value}, {"early", last_value}}};
  g.add_node("first",
             [at, counts](const state_view& s, context& ctx) {
               if (s["early"] == value(true))
                 at->pass();
               counts->add(ctx.thread_id(), "first");
               return state_update{{"n", 1}};
             },
             {.lane = lane::blocking});
  g.add_node("second",
             [at, counts](const state_view& s, context& ctx) {
               if (s["free"] != value(true))
                 at->pass();
               counts->add(ctx.thread_id(), "second");
               return state_update{{"n", 10}};
             },
             {.lane = lane::blocking});
  g.add_edge(START, "first");
  g.add_edge("first", "second");
  g.add_edge("second", END);
  return g.compile({.name = "steps"});
}

inline value free_input() {
  return value::map({{"input", value::map({{"free", true}})}});
}
inline value held_input(const char* strategy = "enqueue") {
  return value::map({{"input", value::map({{"free", false}})}, {"multitask_strategy", strategy}});
}

/// The things that servers share.
struct shared_world {
  explicit shared_world(std::shared_ptr<document_store> all = memory_documents())
    : documents{std::move(all)} {}

  const std::shared_ptr<document_store> documents;
  /// The documents as a new server opens them.
  std::function<std::shared_ptr<document_store>()> open = [this] { return documents; };
  std::shared_ptr<saver> checkpoints = make_memory_saver();
  std::shared_ptr<node_counts> counts = std::make_shared<node_counts>();
  std::atomic<std::int64_t> steady = 1;
  std::atomic<std::int64_t> time = micros_of("2100-01-01T00:00:00.000000+00:00");
  std::int64_t attempts_max = 5;
  const std::string thread = new_id(1'700'000'000'000'000);

  void pass(std::chrono::microseconds by) {
    steady += by.count();
    time += by.count();
  }
  std::optional<run_record> stored(const run_record& run) const {
    auto found = documents->get(document_kind::run, run.document_id()).value();
    return found ? std::optional{run_record::of(found->body)} : std::nullopt;
  }
  void wait_until_stored(const run_record& run,
                         const std::function<bool(const run_record&)>& is_so) const {
    std::mutex mutex;
    std::condition_variable changed;
    int changes = 0;
    auto watching = documents->watch(document_kind::run, [&](const auto&) {
      std::lock_guard lock{mutex};
      ++changes;
      changed.notify_all();
    });
    std::unique_lock lock{mutex};
    for (int seen = 0;; seen = changes) {
      auto now = stored(run);
      if (now && is_so(*now))
        return;
      changed.wait(lock, [&] { return changes > seen; });
    }
  }
  thread_record stored_thread() const {
    return thread_record::of(documents->get(document_kind::thread, thread).value()->body);
  }
  bool has_thread() const { return bool(documents->get(document_kind::thread, thread).value()); }
};

/// One server. With one thread of its own, work that it posts is done in order.
struct shared_server {
  shared_server(shared_world& in, std::string name, std::size_t threads = 1)
    : world{in},
      documents{std::make_shared<process_documents>(in.open(), life)},
      checkpoints{std::make_shared<process_saver>(in.checkpoints, life)},
      machine{{.saver = checkpoints}},
      graphs{machine, {{"steps", two_steps(at, in.counts)}}},
      runs{graphs,
           documents,
           {.server_id = std::move(name),
            .attempts_max = in.attempts_max,
            .threads = threads,
            .now = [&in] { return in.time.load(); },
            .steady_now = [&in] { return in.steady.load(); },
            .has_lease_thread = false,
            .on_end = [this](const run_outcome&) { ++ends; }}} {}
  ~shared_server() { at->open(); }

  run_record create(const value& members, const std::string& on = {},
                    const std::function<void(event_log&)>& watch = {}) {
    return runs.create(on.empty() ? world.thread : on, request(members),
                       {.assistant_id = "a", .graph_id = "steps"}, watch);
  }
  static run_request request(const value& members) {
    return read_run_request(members.with("assistant_id", "steps").with("if_not_exists", "create"));
  }
  std::future<run_outcome> ending(const run_record& run) {
    auto told = std::make_shared<std::promise<run_outcome>>();
    runs.when_ended(run.thread_id, run.run_id,
                    [told](const run_outcome& o) { told->set_value(o); });
    return told->get_future();
  }
  run_outcome end_of(const run_record& run) { return ending(run).get(); }
  value n_of(const std::string& thread) {
    return graphs.find("steps")->get_state({.thread_id = thread}).values["n"];
  }
  void kill() { life->is_dead = true; }
  /// Returns when the work that was posted before is done, and the work that it posted.
  void settle() {
    for (int round = 0; round < 2; ++round) {
      auto done = std::make_shared<std::promise<void>>();
      runs.later([done] { done->set_value(); });
      done->get_future().wait();
    }
  }

  shared_world& world;
  const std::shared_ptr<process_life> life = std::make_shared<process_life>();
  const std::shared_ptr<gate> at = std::make_shared<gate>();
  std::atomic<int> ends = 0;
  std::shared_ptr<process_documents> documents;
  std::shared_ptr<process_saver> checkpoints;
  runtime machine;
  graph_set graphs;
  run_service runs;
};

/// Lets living servers notice that the others are dead.
template <class... Servers> void notice_deaths(shared_world& world, Servers&... living) {
  (living.runs.look_at_servers(), ...);
  world.pass(limits::server_lease / 2);
  (living.runs.look_at_servers(), ...);
  world.pass(limits::server_lease / 2);
  (living.runs.look_at_servers(), ...);
  (living.settle(), ...);
}

/// The events that a reader heard.
struct heard_events {
  event_reader reader() {
    return {[this](const run_event& e) {
              std::lock_guard lock{mutex};
              events.push_back(e);
              changed.notify_all();
            },
            [this] {
              std::lock_guard lock{mutex};
              ended = true;
              changed.notify_all();
            }};
  }
  void wait_for_end() {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return ended; });
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return events.size() >= count; });
  }
  std::vector<std::uint64_t> numbers() {
    std::lock_guard lock{mutex};
    std::vector<std::uint64_t> out;
    for (const auto& e : events)
      out.push_back(e.seq);
    return out;
  }
  std::vector<std::string> names() {
    std::lock_guard lock{mutex};
    std::vector<std::string> out;
    for (const auto& e : events)
      out.push_back(e.name);
    return out;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<run_event> events;
  bool ended = false;
};

} // namespace troupe::server::test
