// What a runtime owns, in the order in which it must live.
#pragma once

#include "actors/lent_thread.hpp"
#include "actors/services.hpp"
#include "actors/strand.hpp"
#include "actors/unit_pool.hpp"
#include "coordinator/part_log.hpp"
#include "coordinator/pending_run.hpp"
#include "coordinator/run_actor.hpp"
#include "engine/thread_owners.hpp"
#include "coordinator/thread_turns.hpp"
#include "graph/task_id.hpp"

#include <troupe/runtime.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>

namespace troupe {

/// Now, as checkpoints write it.
std::string now_text();

class background_pruner; // coordinator/background_pruner.hpp

/// A group that works for nobody at the moment.
struct run_group {
  caf::actor coordinator;
  card_ptr card;
};

class runtime_core : public nested_host {
public:
  /// `outside` null: an actor system of its own.
  runtime_core(caf::actor_system* outside, const runtime_options& options);
  ~runtime_core() override;

  caf::actor_system& system() noexcept { return *system_; }
  services& shared() noexcept { return services_; }
  unit_pool<lent_thread>& units() noexcept { return *units_; }
  /// A unit for a run that nobody lends a thread to; null on CAF's test scheduler, which draws the
  /// order of the actors itself.
  strand* acquire_strand();
  void release_strand(strand* unit);
  const std::shared_ptr<troupe::saver>& saver() const noexcept { return saver_; }
  const std::shared_ptr<troupe::store>& store() const noexcept { return store_; }
  const std::shared_ptr<node_cache>& cache() const noexcept { return cache_; }

  part_log& log() noexcept { return log_; }

  // nested_host
  std::function<void()> start(nested_run run, std::function<void(nested_end)> then) override;
  nested_end run_here(nested_run run) override;
  void wait(latch& what) override;

  /// Unique in this process, each behind the one before and behind an id with these ticks (see
  /// id_ticks). Any thread.
  std::string next_checkpoint_id(std::int64_t step, std::uint64_t above = 0);
  std::uint64_t random();

  run_group spawn_group(const std::shared_ptr<const group_context>& context,
                        caf::execution_unit* unit);

  /// The gate: false when the runtime is stopping. A run that was let in is told to end by stop().
  bool enter(const run_completion& run, const run_group& group);
  void leave(const run_completion& run);
  /// The same for a run that its caller's control can cancel.
  bool enter(pending_run& run, const run_group& group);
  void leave(pending_run& run);
  /// Ends the run now, if it is still on.
  void stop_run(const run_completion* run, const run_group& group, error why);

  /// The actor in front of a saver; it ends with whoever made it.
  std::shared_ptr<saver_link> make_saver_link(std::shared_ptr<troupe::saver> saver);
  /// Lets a saver know that this runtime's runs store in it, as long as the runtime is there. A
  /// failure is logged.
  void announce_to(troupe::saver& saver);

  const std::shared_ptr<thread_turns>& turns() const noexcept { return turns_; }
  thread_owners& owners() noexcept { return owners_; }
  /// Somebody waits, and will look at this runtime again: it is not gone before. False when it is
  /// stopping.
  bool admit();
  void dismiss();

  void keep(std::shared_ptr<app_core> app);
  std::shared_ptr<app_core> find_app(const graph_plan* plan) const;
  /// Loads it when it is not.
  std::shared_ptr<app_core> app_of(const std::shared_ptr<const graph_plan>& plan);

private:
  runtime_core(caf::actor_system* outside, const runtime_options& options,
               const std::shared_ptr<const keyring>& keys);
  void stop();

  std::unique_ptr<caf::actor_system_config> config_;
  // After the system: actors point to their unit to the end.
  std::unique_ptr<unit_pool<lent_thread>> units_;
  std::unique_ptr<strand_pool> strands_;
  std::unique_ptr<caf::actor_system> own_;
  caf::actor_system* system_ = nullptr;
  std::shared_ptr<troupe::saver> saver_;
  std::shared_ptr<troupe::store> store_;
  std::shared_ptr<node_cache> cache_;
  std::shared_ptr<worker_pool> workers_;
  services services_;

  mutable std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  std::size_t admitted_ = 0;
  std::unordered_map<const run_completion*, run_group> active_;
  std::unordered_map<const graph_plan*, std::shared_ptr<app_core>> apps_;

  std::shared_ptr<thread_turns> turns_ = std::make_shared<thread_turns>();
  thread_owners owners_{std::random_device{}()};
  std::map<const troupe::saver*, std::shared_ptr<void>> announced_; // guarded by mutex_

  std::unique_ptr<background_pruner> pruner_; // null without one

  part_log log_;
  std::mutex id_mutex_;
  checkpoint_id_clock ids_;
  std::mt19937_64 random_;
};

} // namespace troupe
