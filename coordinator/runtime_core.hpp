// runtime_core: the parts of a runtime, in the order in which they must live.
#pragma once

#include "actors/lent_thread.hpp"
#include "actors/services.hpp"
#include "actors/strand.hpp"
#include "actors/unit_pool.hpp"
#include "coordinator/pending_run.hpp"
#include "coordinator/run_actor.hpp"
#include "coordinator/run_group.hpp"
#include "coordinator/stream_log.hpp"
#include "coordinator/thread_turns.hpp"
#include "engine/thread_owners.hpp"
#include "graph/task_id.hpp"

#include <troupe/runtime.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace troupe {

/// The current time, as checkpoints store it.
std::string now_text();
void now_text(std::string& out);

class background_pruner; // coordinator/background_pruner.hpp

class runtime_core : public nested_host {
public:
  /// `outside` null: the runtime makes an actor system of its own.
  runtime_core(caf::actor_system* outside, const runtime_options& options);
  ~runtime_core() override;

  caf::actor_system& system() noexcept { return *system_; }
  services& shared() noexcept { return services_; }
  unit_pool<lent_thread>& units() noexcept { return *units_; }
  /// A unit for a run without a lent thread; null on CAF's test scheduler, which draws the order of
  /// the actors itself.
  strand* acquire_strand();
  bool has_strands() const noexcept { return strands_ != nullptr; }
  void release_strand(strand* unit);
  const std::shared_ptr<troupe::saver>& saver() const noexcept { return saver_; }
  const std::shared_ptr<troupe::store>& store() const noexcept { return store_; }
  const std::shared_ptr<node_cache>& cache() const noexcept { return cache_; }

  stream_log& log() noexcept { return log_; }

  // nested_host
  std::function<void()> start(nested_run run, std::function<void(nested_end)> then) override;
  nested_end run_here(nested_run run) override;
  void wait(latch& what) override;

  /// The new id is unique in this process, and sorts after the one before, too. Any thread.
  std::uint64_t next_checkpoint_id(std::int64_t step, std::uint64_t above,
                                   std::string& into) override;
  std::uint64_t random();

  group_ptr spawn_group(const std::shared_ptr<const group_context>& context,
                        caf::execution_unit* unit);
  /// Ends the actors of a group that no run uses.
  void end_group(const group_ptr& group);

  /// The gate of the runtime: the run's number in the group, or none when the runtime is stopping.
  /// A run that was let in is ended by stop(), which waits until it has left the group.
  std::optional<std::uint64_t> enter(run_completion& end, run_group& group, const run_shared& run);

  /// The actor in front of a saver; its owner, this runtime or an app, ends it.
  std::shared_ptr<saver_link> make_saver_link(std::shared_ptr<troupe::saver> saver);
  /// Announces to a saver that this runtime's runs store in it, for as long as the runtime lives. A
  /// failure is logged.
  void announce_to(troupe::saver& saver);

  const std::shared_ptr<thread_turns>& turns() const noexcept { return turns_; }
  thread_owners& owners() noexcept { return owners_; }
  /// Called before a wait that will use this runtime again: the runtime lives until dismiss().
  /// False when it is stopping.
  bool admit();
  void dismiss();

  void keep(std::shared_ptr<app_core> app);
  std::shared_ptr<app_core> find_app(const graph_plan* plan) const;
  /// The app of a plan; loads the plan when it is not loaded.
  std::shared_ptr<app_core> app_of(const std::shared_ptr<const graph_plan>& plan);

private:
  runtime_core(caf::actor_system* outside, const runtime_options& options,
               const std::shared_ptr<const key_provider>& keys);
  void stop();
  void end_actors();

  std::unique_ptr<caf::actor_system_config> config_;
  // Destroyed after the system: actors point to their unit to the end.
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
  std::atomic<bool> closed_{false};
  std::size_t admitted_ = 0;
  std::unordered_set<group_ptr> groups_;
  std::unordered_map<const graph_plan*, std::shared_ptr<app_core>> apps_;

  std::shared_ptr<thread_turns> turns_ = std::make_shared<thread_turns>();
  thread_owners owners_{std::random_device{}()};
  std::map<const troupe::saver*, std::shared_ptr<void>> announced_; // guarded by mutex_

  std::unique_ptr<background_pruner> pruner_; // null without pruning

  stream_log log_;
  std::mutex id_mutex_;
  checkpoint_id_clock ids_;
  std::mt19937_64 random_;
};

} // namespace troupe
