// The front door: the public classes over their implementations.
#include <troupe/runtime.hpp>

#include "actors/log.hpp"
#include "coordinator/runtime_core.hpp"
#include "coordinator/stream_source.hpp"
#include "coordinator/transform_sink.hpp"
#include "engine/outside_update.hpp"
#include "engine/snapshot.hpp"
#include "engine/unfinished.hpp"

#include <caf/actor.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

result<saver*> saver_of(const app_core& app, const run_config& config) {
  if (app.stopped())
    return runtime_is_gone();
  if (app.plan()->options.checkpointer.mode() == checkpointing::per_thread)
    return per_thread_needs_parent();
  auto* store = app.saver();
  if (!store)
    return error{errc::no_saver, "No checkpointer set"};
  if (auto fits = check_config(config, true); !fits)
    return fits.error();
  return store;
}

update_tools tools_of(app_core& app) {
  auto& runtime = app.runtime();
  return {[&runtime](std::int64_t step, std::uint64_t above) {
            std::string id;
            runtime.next_checkpoint_id(step, above, id);
            return id;
          },
          [] { return now_text(); }, [&runtime] { return runtime.random(); }, &runtime.owners()};
}

} // namespace

// -- run_handle, part_stream

result<run_result> run_handle::get() {
  return run_->wait();
}
bool run_handle::ready() const {
  return run_->done();
}
void run_handle::when_done(std::function<void(const result<run_result>&)> then) const {
  run_->when_done(std::move(then));
}
run_control run_handle::control() const {
  return run_->control();
}
std::vector<actor_info> run_handle::actors() const {
  return run_->actors();
}

run_result::run_result(detail::run_ending ending) noexcept : ending_{std::move(ending)} {}

stream_options::stream_options() : modes{stream_mode::updates} {}
stream_options::stream_options(std::initializer_list<stream_mode> list) : modes{list} {}
stream_options::stream_options(std::vector<stream_mode> list) : modes{std::move(list)} {}

part_stream::part_stream(std::shared_ptr<stream_source> source) : source_{std::move(source)} {}
part_stream::part_stream(part_stream&&) noexcept = default;
part_stream& part_stream::operator=(part_stream&&) noexcept = default;
part_stream::~part_stream() = default;

part_stream::iterator::iterator(part_stream* s) : stream_{s} {
  if (stream_)
    ++*this;
}

part_stream::iterator& part_stream::iterator::operator++() {
  auto part = stream_->next();
  if (!part)
    stream_ = nullptr;
  part_ = std::move(part).value_or(stream_part{});
  return *this;
}

std::optional<stream_part> part_stream::next() {
  return source_->next().value();
}
result<std::optional<stream_part>> part_stream::try_next() {
  return source_->next();
}
const run_result* part_stream::outcome() const noexcept {
  return source_->outcome();
}
std::vector<actor_info> part_stream::actors() const {
  return source_->actors();
}

// -- basic_app

namespace {

// The config of a call over the app's defaults. Refers to the call's config, which outlives it.
class config_of_call {
public:
  config_of_call(const std::shared_ptr<const run_config>& defaults, const run_config& call)
    : config_{&call} {
    if (defaults)
      config_ = &merged_.emplace(merge_configs(*defaults, call));
  }
  const run_config& operator*() const noexcept { return *config_; }
  const run_config* operator->() const noexcept { return config_; }

private:
  const run_config* config_;
  std::optional<run_config> merged_;
};

} // namespace

basic_app basic_app::with_config(const run_config& defaults) const {
  auto out = *this;
  out.defaults_ = std::make_shared<const run_config>(defaults_ ? merge_configs(*defaults_, defaults)
                                                               : defaults);
  return out;
}

result<run_result> basic_app::try_invoke(const run_input& input, const run_config& config) const {
  return core_->invoke(input, *config_of_call{defaults_, config});
}

std::vector<run_handle> basic_app::start_batch(std::span<const run_input> inputs,
                                               std::span<const run_config> configs) const {
  if (configs.size() != inputs.size() && configs.size() != 1)
    throw error{errc::invalid_config, "batch: " + std::to_string(inputs.size()) + " inputs, but "
                                        + std::to_string(configs.size()) + " configs"};
  if (configs.size() < inputs.size() && !configs[0].thread_id.empty())
    throw error{errc::invalid_config, "batch: " + std::to_string(inputs.size())
                                        + " inputs for one thread `" + configs[0].thread_id
                                        + "`: give each a config with a thread_id of its own"};
  std::vector<run_handle> runs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    runs.push_back(start(inputs[i], configs[configs.size() == 1 ? 0 : i]));
  return runs;
}

std::vector<result<run_result>> basic_app::batch(std::span<const run_input> inputs,
                                                 std::span<const run_config> configs) const {
  std::vector<result<run_result>> out;
  for (auto& run : start_batch(inputs, configs))
    out.push_back(run.get());
  return out;
}

void basic_app::batch_as_completed(
  std::span<const run_input> inputs, std::span<const run_config> configs,
  const std::function<void(std::size_t, result<run_result>)>& take) const {
  struct ended_runs {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::size_t> places;
  };
  auto runs = start_batch(inputs, configs);
  auto ended = std::make_shared<ended_runs>(); // outlives this call when `take` throws
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].when_done([ended, i](const result<run_result>&) {
      std::lock_guard lock{ended->mutex};
      ended->places.push_back(i);
      ended->changed.notify_one();
    });
  for (std::size_t left = runs.size(); left > 0; --left) {
    std::unique_lock lock{ended->mutex};
    ended->changed.wait(lock, [&ended] { return !ended->places.empty(); });
    auto place = ended->places.front();
    ended->places.pop_front();
    lock.unlock();
    take(place, runs[place].get());
  }
}

run_handle basic_app::start(const run_input& input, const run_config& config) const {
  return handle_of(core_->start(input, *config_of_call{defaults_, config}));
}

run_handle basic_app::handle_of(result<std::shared_ptr<pending_run>> run) const {
  if (run)
    return run_handle{std::move(*run)};
  auto failed = std::make_shared<pending_run>(run_control{});
  failed->finish({run.error()});
  return run_handle{std::move(failed)};
}

part_stream basic_app::stream(const run_input& input, const run_config& config,
                              const stream_options& options) const {
  return part_stream{
    std::make_shared<run_source>(core_, input, *config_of_call{defaults_, config}, options)};
}

run_handle basic_app::start(const run_input& input, const run_config& config,
                            const stream_options& options) const {
  if (core_->stopped())
    return handle_of(runtime_is_gone());
  config_of_call over{defaults_, config};
  auto log = core_->runtime().log().of(over->thread_id);
  auto sink = transforming(*core_->plan(), options.transforms,
                           std::make_shared<log_sink>(options.modes, log));
  return handle_of(core_->start(input, *over, {}, std::move(sink)));
}

part_stream basic_app::follow(const std::string& thread_id, std::uint64_t after) const {
  if (core_->stopped())
    return part_stream{std::make_shared<failed_source>(runtime_is_gone())};
  auto log = core_->runtime().log().find(thread_id);
  return part_stream{std::make_shared<log_source>(std::move(log), after)};
}

result<state_snapshot> basic_app::try_get_state(const run_config& config, bool subgraphs) const {
  config_of_call over{defaults_, config};
  auto store = saver_of(*core_, *over);
  if (!store)
    return store.error();
  return read_snapshot(core_->plan(), **store, *over, subgraphs);
}

result<std::vector<state_snapshot>>
basic_app::try_get_state_history(const run_config& config, const history_options& options) const {
  config_of_call over{defaults_, config};
  auto store = saver_of(*core_, *over);
  if (!store)
    return store.error();
  return read_history(core_->plan(), **store, *over, options);
}

result<checkpoint_ref> basic_app::try_update_state(const run_config& config, optional_update values,
                                                   std::string as_node, std::string task_id) const {
  outside_update update{std::move(values), std::move(as_node), std::move(task_id)};
  return try_bulk_update_state(config, {{std::move(update)}});
}

result<checkpoint_ref> basic_app::try_bulk_update_state(
  const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const {
  config_of_call over{defaults_, config};
  auto store = saver_of(*core_, *over);
  if (!store)
    return store.error();
  auto plan = graph_at(core_->plan(), over->checkpoint_ns);
  if (!plan)
    return plan.error();
  auto at = *over;
  at.checkpoint_ns = kept_namespace(**plan, over->checkpoint_ns);
  return update_thread(*plan, **store, at, supersteps, tools_of(*core_));
}

result<void> basic_app::try_copy_thread(const run_config& config, const std::string& target) const {
  config_of_call over{defaults_, config};
  auto store = saver_of(*core_, *over);
  return store ? (*store)->copy_thread(over->thread_id, target, over->checkpoint_id)
               : store.error();
}

static result<std::vector<owned_thread>> cut_off_threads(app_core& core,
                                                         const unfinished_query& which) {
  auto store = saver_of(core, {.thread_id = "any"});
  if (!store)
    return store.error();
  return find_unfinished(core.plan(), **store, core.runtime().owners(), which,
                         [](const std::string& thread_id, const error& why) {
                           log_warning("look for unfinished runs: thread `" + thread_id
                                       + "`: " + why.message());
                         });
}

result<std::vector<std::string>> basic_app::try_unfinished(const unfinished_query& which) const {
  auto threads = cut_off_threads(*core_, which);
  if (!threads)
    return threads.error();
  std::vector<std::string> out;
  for (auto& thread : *threads)
    out.push_back(std::move(thread.thread_id));
  return out;
}

result<std::vector<resumed_run>>
basic_app::try_resume_unfinished(const run_config& config, const unfinished_query& which) const {
  auto threads = cut_off_threads(*core_, which);
  if (!threads)
    return threads.error();
  std::vector<resumed_run> out;
  auto its_config = *config_of_call{defaults_, config};
  for (auto& [thread_id, owner] : *threads) {
    its_config.thread_id = thread_id;
    auto run = handle_of(core_->go_on(its_config, owner));
    out.push_back({std::move(thread_id), std::move(run)});
  }
  return out;
}

result<void> basic_app::clear_cache(const std::vector<std::string>& nodes) const {
  return core_->clear_cache(nodes);
}

const compiled_graph& basic_app::graph() const noexcept {
  return core_->graph();
}
saver* basic_app::saver() const noexcept {
  return core_->saver();
}
caf::actor basic_app::handle() const {
  return core_->handle();
}

// The forms that throw. A program that calls them compiles none of this.

state_snapshot basic_app::get_state(const run_config& config, bool subgraphs) const {
  return try_get_state(config, subgraphs).value();
}
std::vector<state_snapshot> basic_app::get_state_history(const run_config& config,
                                                         const history_options& options) const {
  return try_get_state_history(config, options).value();
}
checkpoint_ref basic_app::update_state(const run_config& config, optional_update values,
                                       std::string as_node, std::string task_id) const {
  return try_update_state(config, std::move(values), std::move(as_node), std::move(task_id))
    .value();
}
checkpoint_ref basic_app::bulk_update_state(
  const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const {
  return try_bulk_update_state(config, supersteps).value();
}
void basic_app::copy_thread(const run_config& config, const std::string& target) const {
  try_copy_thread(config, target).value();
}
std::vector<std::string> basic_app::unfinished(const unfinished_query& which) const {
  return try_unfinished(which).value();
}
std::vector<resumed_run> basic_app::resume_unfinished(const run_config& config,
                                                      const unfinished_query& which) const {
  return try_resume_unfinished(config, which).value();
}

// -- runtime

runtime::runtime(runtime_options options)
  : core_{std::make_shared<runtime_core>(nullptr, options)} {}
runtime::runtime(caf::actor_system& system, runtime_options options)
  : core_{std::make_shared<runtime_core>(&system, options)} {}
runtime::~runtime() = default;

result<std::unique_ptr<runtime>> runtime::open(runtime_options options) {
  try {
    return std::make_unique<runtime>(std::move(options));
  } catch (const error& e) {
    return e;
  }
}

const std::shared_ptr<saver>& runtime::saver() const noexcept {
  return core_->saver();
}
std::vector<actor_info> runtime::actors() const {
  return core_->shared().actors.list(nullptr);
}

std::shared_ptr<app_core> runtime::load_core(const compiled_graph& graph) {
  if (auto known = core_->find_app(graph.plan().get()))
    return known;
  auto app = std::make_shared<app_core>(*core_, graph);
  core_->keep(app);
  return app;
}

} // namespace troupe
