// runtime_core: setting a runtime up, and taking it down in every state.
#include "coordinator/runtime_core.hpp"

#include "actors/lazy_scheduler.hpp"
#include "actors/log.hpp"
#include "actors/logger_reference.hpp"
#include "actors/saver_actor.hpp"
#include "actors/tell.hpp"
#include "coordinator/app_core.hpp"
#include "coordinator/background_pruner.hpp"
#include "coordinator/freed_memory.hpp"
#include "persistence/prompt_saver.hpp"
#include "persistence/record/timestamp_text.hpp"
#include "persistence/writer_saver.hpp"

#include <troupe/keyring.hpp>
#include <troupe/placement.hpp>

#include <caf/actor_registry.hpp>
#include <caf/send.hpp>

#include <thread>

namespace troupe {

namespace {

std::unique_ptr<caf::actor_system_config> make_config(const runtime_options& options) {
  auto config = std::make_unique<caf::actor_system_config>();
  auto threads = options.worker_threads != 0 ? options.worker_threads
                                             : std::max(1u, std::thread::hardware_concurrency());
  config->set("scheduler.max-threads", threads);
  config->module_factories.push_back(
    [](caf::actor_system& system) { return new lazy_scheduler{system}; });
  return config;
}

// The keys of the data directory; null without keys.
std::shared_ptr<const key_provider> find_keys(const runtime_options& options) {
  auto opens_nothing = options.saver && options.store;
  if (options.keyring || options.data_dir.empty() || opens_nothing)
    return options.keyring;
  return keyring::from_environment().value();
}

std::shared_ptr<saver> make_saver(const runtime_options& options,
                                  std::shared_ptr<const key_provider> keys) {
  if (options.prune) {
    check_pruning(*options.prune).value();
    if (!options.saver && !options.store && options.data_dir.empty())
      throw error{errc::invalid_config,
                  "runtime_options::prune: the runtime has neither a saver nor a store to prune"};
  }
  if (options.saver || options.data_dir.empty())
    return options.saver;
  return open_lmdb_saver(options.data_dir, {.keyring = std::move(keys)}).value();
}

std::shared_ptr<store> make_store(const runtime_options& options,
                                  std::shared_ptr<const key_provider> keys) {
  if (options.store || options.data_dir.empty())
    return options.store;
  return open_lmdb_store(options.data_dir, {.keyring = std::move(keys)}).value();
}

} // namespace

void now_text(std::string& out) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  timestamp_text(std::chrono::duration_cast<std::chrono::microseconds>(now).count(), out);
}

std::string now_text() {
  std::string out;
  now_text(out);
  return out;
}

runtime_core::runtime_core(caf::actor_system* outside, const runtime_options& options)
  : runtime_core{outside, options, find_keys(options)} {}

runtime_core::runtime_core(caf::actor_system* outside, const runtime_options& options,
                           const std::shared_ptr<const key_provider>& keys)
  : saver_{make_saver(options, keys)},
    store_{make_store(options, keys)},
    cache_{options.cache},
    workers_{options.workers},
    services_{options.blocking_threads},
    random_{std::random_device{}()} {
  keep_freed_memory();
  logger_reference reference;
  if (!outside) {
    config_ = make_config(options);
    own_ = std::make_unique<caf::actor_system>(*config_);
    outside = own_.get();
  }
  system_ = outside;
  units_ = std::make_unique<unit_pool<lent_thread>>(*system_);
  if (caf::get_or(system_->config(), "scheduler.policy", caf::atom("")) != caf::atom("testing"))
    strands_ = std::make_unique<strand_pool>(*system_);
  if (saver_) {
    services_.saver = make_saver_link(saver_);
    announce_to(*saver_);
  }
  if (workers_)
    services_.elsewhere = &workers_->placer();
  if (options.prune) {
    pruner_ = std::make_unique<background_pruner>(*options.prune, saver_, store_, turns_, log_info,
                                                  log_warning);
    pruner_->start();
  }
}

std::shared_ptr<saver_link> runtime_core::make_saver_link(std::shared_ptr<troupe::saver> saver) {
  logger_reference reference;
  auto card = services_.actors.add("saver", "saver", nullptr);
  auto* prompt = dynamic_cast<prompt_saver*>(saver.get());
  auto* writer = dynamic_cast<writer_saver*>(saver.get());
  auto actor = system_->spawn<saver_actor, caf::hidden + caf::lazy_init>(services_.actors, card,
                                                                         std::move(saver), writer);
  return std::make_shared<saver_link>(
    saver_link{std::move(actor), std::move(card), prompt, writer,
               writer ? std::make_shared<spent_requests>() : nullptr});
}

// A failure (a full disk) does not stop the runtime. When another runtime takes over one of its
// runs, the saver refuses that run's requests here.
void runtime_core::announce_to(troupe::saver& saver) {
  std::lock_guard lock{mutex_};
  auto& known = announced_[&saver];
  if (known)
    return;
  if (auto announced = saver.announce(owners_.mark()))
    known = std::move(*announced);
  else
    log_warning("other processes cannot see this runtime: " + announced.error().message());
}

runtime_core::~runtime_core() {
  stop();
  own_.reset(); // joins the scheduler: nothing resumes an actor from here on
}

strand* runtime_core::acquire_strand() {
  return strands_ ? &strands_->acquire() : nullptr;
}

void runtime_core::release_strand(strand* unit) {
  if (unit)
    strands_->release(*unit);
}

bool runtime_core::admit() {
  std::lock_guard lock{mutex_};
  if (closed_)
    return false;
  ++admitted_;
  return true;
}

void runtime_core::dismiss() {
  std::lock_guard lock{mutex_};
  --admitted_;
  left_.notify_all();
}

std::uint64_t runtime_core::next_checkpoint_id(std::int64_t step, std::uint64_t above,
                                               std::string& into) {
  auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
    std::chrono::system_clock::now().time_since_epoch());
  std::unique_lock lock{id_mutex_};
  auto ticks = ids_.next_ticks(static_cast<std::uint64_t>(now.count()), above);
  auto bits = random_();
  lock.unlock();
  checkpoint_id(ticks, step, bits, into);
  return ticks;
}

std::uint64_t runtime_core::random() {
  std::lock_guard lock{id_mutex_};
  return random_();
}

group_ptr runtime_core::spawn_group(const std::shared_ptr<const group_context>& context,
                                    caf::execution_unit* unit) {
  logger_reference reference;
  auto card = services_.actors.add("run", context->plan->options.name,
                                   std::make_shared<group_card>());
  caf::actor_config cfg{unit};
  auto actor = system_->spawn_class<run_actor, caf::hidden + caf::lazy_init>(cfg, context, card);
  auto group = std::make_shared<run_group>(std::move(actor), std::move(card), nullptr);
  std::lock_guard lock{mutex_};
  groups_.insert(group);
  return group;
}

void runtime_core::end_group(const group_ptr& group) {
  {
    std::lock_guard lock{mutex_};
    groups_.erase(group);
  }
  if (auto* unit = std::exchange(group->unit, nullptr))
    units_->release(*unit);
  caf::anon_send_exit(group->coordinator(), caf::exit_reason::user_shutdown);
}

// The run enters before it looks at the gate, and stop() closes the gate before it looks at the
// groups. So one of them sees the other.
std::optional<std::uint64_t> runtime_core::enter(run_completion& end, run_group& group,
                                                 const run_shared& run) {
  auto number = group.enter(end, run.config.thread_id);
  if (!closed_)
    return number;
  group.leave();
  return std::nullopt;
}

void runtime_core::keep(std::shared_ptr<app_core> app) {
  std::lock_guard lock{mutex_};
  auto* plan = app->plan().get();
  apps_.emplace(plan, std::move(app));
}

std::shared_ptr<app_core> runtime_core::find_app(const graph_plan* plan) const {
  std::lock_guard lock{mutex_};
  auto it = apps_.find(plan);
  return it == apps_.end() ? nullptr : it->second;
}

std::shared_ptr<app_core> runtime_core::app_of(const std::shared_ptr<const graph_plan>& plan) {
  if (auto known = find_app(plan.get()))
    return known;
  keep(std::make_shared<app_core>(*this, compiled_graph{plan}));
  return find_app(plan.get()); // another thread may have been faster
}

// Closes the gate, ends the runs, refuses the waiting ones, waits for those that wait for runs,
// then ends the actors. A group that is spawned after the gate was closed gets no run.
void runtime_core::stop() {
  std::vector<group_ptr> groups;
  {
    std::lock_guard lock{mutex_};
    closed_ = true;
    groups.assign(groups_.begin(), groups_.end());
  }
  for (const auto& group : groups)
    group->stop({errc::runtime_stopped, "run: the runtime was stopped"});
  turns_->close();
  pruner_.reset();
  {
    std::unique_lock lock{mutex_};
    left_.wait(lock, [this] { return admitted_ == 0; });
  }
  for (const auto& group : groups)
    group->wait_until_left();
  end_actors();
  apps_.clear();
}

// A runtime without scheduler threads ends its actors on this thread. A user's own actors get the
// threads that they then need.
void runtime_core::end_actors() {
  auto* scheduler = own_ ? static_cast<lazy_scheduler*>(&own_->scheduler()) : nullptr;
  auto here = scheduler && scheduler->close_without_threads();
  auto end_here = [this, here, scheduler](std::size_t left) {
    if (here)
      scheduler->run_here([this, left] { return services_.actors.size() <= left; });
  };
  for (auto& [plan, app] : apps_)
    app->close();
  end_here(services_.saver ? 1 : 0); // first, since a blocking body may wait for its node's end
  services_.pool.stop();
  services_.clock.stop();
  if (services_.saver)
    caf::anon_send_exit(services_.saver->actor, caf::exit_reason::user_shutdown);
  services_.saver = nullptr;
  end_here(0);
  services_.actors.wait_until_empty();
  if (here && system_->registry().running() > 0)
    scheduler->resume_with_threads();
}

} // namespace troupe
