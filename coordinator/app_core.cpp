// app_core: checking, loading and starting runs of a loaded graph.
#include "coordinator/app_core.hpp"

#include "actors/logger_reference.hpp"
#include "actors/tell.hpp"
#include "channels/kinds.hpp"
#include "coordinator/awaited_turn.hpp"
#include "coordinator/graph_actor.hpp"
#include "coordinator/late_begin.hpp"
#include "coordinator/print_sink.hpp"
#include "engine/find_checkpoint.hpp"
#include "engine/task_cache.hpp"
#include "engine/thread_owners.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

result<shown_channels> find_shown(const graph_plan& plan, const run_config& config, bool streamed) {
  auto names = config.output_keys;
  if (!config.output_key.empty())
    names = {config.output_key};
  if (names.empty())
    return shown_channels{streamed ? plan.stream_keys : plan.output_keys, plan.single};
  shown_channels out;
  for (const auto& name : names) {
    auto c = plan.find_channel(name);
    if (c == no_index)
      return error{errc::invalid_config, "Key " + name + " not in channels"};
    out.keys.push_back(c);
  }
  out.bare = !config.output_key.empty();
  return out;
}

// A call that names a checkpoint of a subgraph means the root checkpoint to which it belongs, and
// the checkpoints between them.
result<void> address_subgraph(run_shared& shared, troupe::saver& store) {
  auto& config = shared.config;
  checkpoint_ref at{config.thread_id, std::exchange(config.checkpoint_ns, {}),
                    std::exchange(config.checkpoint_id, {})};
  auto found = store.get_tuple(at);
  if (!found)
    return found.error();
  if (!*found)
    return error{errc::checkpoint_missing,
                 "run from a checkpoint of a subgraph: no such checkpoint in namespace `"
                   + at.checkpoint_ns + "` " + at.checkpoint_id};
  auto way = (*found)->metadata["parents"];
  config.checkpoint_id = way[""].is_string() ? way[""].as_string() : std::string_view{};
  shared.addressed = (way.is_map() ? way.without("") : value::map())
                       .with(at.checkpoint_ns, value((*found)->ref.checkpoint_id));
  return {};
}

// Breakpoints of a call must name nodes, like the compiled ones.
result<void> check_breakpoints(const graph_plan& plan, const run_config& config) {
  for (const auto* list : {&config.interrupt_before, &config.interrupt_after})
    for (const auto& name : *list)
      if (auto n = plan.find_node(name); name != "*" && (n == no_index || plan.nodes[n].handles))
        return error{errc::invalid_config, "Interrupt node `" + name + "` not found"};
  return {};
}

// Any context is accepted, unless the graph has a check for it.
result<void> check_context(const graph_plan& plan, const value& context) {
  if (!plan.context.check)
    return {};
  try {
    plan.context.check(context);
    return {};
  } catch (const error& e) {
    return error{errc::invalid_config, "context of a run: " + e.message()};
  }
}

// The part of its thread that a run reads. A new input needs the newest checkpoint only: the
// checkpoint is stored before its nodes, and reads within them, begin.
thread_reading reading_of(const run_request& request) {
  const auto& config = request.shared->config;
  if (!config.checkpoint_id.empty() || !config.checkpoint_ns.empty())
    return thread_reading::older;
  bool input = std::holds_alternative<value>(request.input)
               || std::holds_alternative<state_update>(request.input);
  bool same_run = !config.metadata["run_id"].is_null(); // perhaps the same run again: then it
                                                        // resumes
  bool replays = std::ranges::any_of(request.shared->plan->channels, [](const auto& channel) {
    return channel.spec.kind == channel_kind::delta; // the values are writes of earlier steps
  });
  bool at_exit = config.durability == durability::exit; // its first request comes late
  return input && !same_run && !replays && !at_exit ? thread_reading::newest
                                                    : thread_reading::pending;
}

// Undoes a run. A run that has read nothing of the thread yet has changed nothing.
result<void> undo(troupe::saver& store, const std::string& thread_id,
                  const std::shared_ptr<held_claim>& run) {
  if (!run || run->after_id.empty())
    return {};
  if (run->history == store_history::latest_only)
    return error{errc::conflict, "undo a run of thread `" + thread_id
                                   + "`: it keeps the latest checkpoint only, so its beginning is "
                                     "not stored: what it stored stays"};
  return store.rewind(thread_id, run->before_run());
}

} // namespace

result<void> check_config(const run_config& config, bool stored) {
  if (config.recursion_limit == 0u)
    return error{errc::invalid_config, "recursion_limit must be at least 1"};
  for (const auto& [name, bound] : {std::pair{"run_timeout", config.run_timeout},
                                    std::pair{"step_timeout", config.step_timeout}})
    if (bound.count() < 0)
      return error{errc::invalid_config, std::string{name} + " must not be negative"};
  if (stored && config.thread_id.empty())
    return error{errc::invalid_config, "thread_id is missing: the runtime has a saver, which keeps "
                                       "each conversation by its id: set run_config::thread_id"};
  if (config.thread_id.size() > limits::thread_id_bytes_max)
    return error{errc::invalid_config, "thread_id: " + std::to_string(config.thread_id.size())
                                         + " bytes, at most thread_id_bytes_max ("
                                         + std::to_string(limits::thread_id_bytes_max) + ")"};
  for (const auto* map : {&config.metadata, &config.configurable})
    if (!map->is_null() && !map->is_map())
      return error{errc::invalid_config, "metadata and configurable must be maps"};
  return {};
}

error runtime_is_gone() {
  return {errc::runtime_stopped, "use a loaded graph: its runtime was destroyed: keep the runtime "
                                 "for as long as its apps are used"};
}

error per_thread_needs_parent() {
  return {errc::invalid_config,
          "checkpointing::per_thread is for a graph within another one: compile the graph that is "
          "run with checkpointing::inherit (checkpointer=True cannot be used for root graphs.)",
          "RuntimeError"};
}

app_core::app_core(runtime_core& runtime, const compiled_graph& graph)
  : runtime_{runtime},
    graph_{graph} {
  auto context = std::make_shared<group_context>();
  context->plan = graph.plan();
  context->shared = &runtime.shared();
  context->times = std::make_shared<node_times>(graph.plan()->nodes.size());
  context->ids = &runtime;
  context_ = std::move(context);
  if (const auto& own = graph.plan()->options.checkpointer.saver()) {
    runtime.announce_to(*own);
    own_saver_ = runtime.make_saver_link(own);
  }
}

saver* app_core::saver() const noexcept {
  const auto& options = plan()->options;
  if (options.checkpointer.mode() == checkpointing::none)
    return nullptr;
  if (const auto& own = options.checkpointer.saver())
    return own.get();
  return stopped() ? nullptr : runtime_.saver().get();
}

result<std::shared_ptr<run_request>> app_core::check(const run_input& input,
                                                     const run_config& config, bool streamed) {
  if (stopped())
    return runtime_is_gone();
  auto* store = saver();
  if (auto fits = check_config(config, store != nullptr); !fits)
    return fits.error();
  if (auto known = check_breakpoints(*plan(), config); !known)
    return known.error();
  if (plan()->options.checkpointer.mode() == checkpointing::per_thread)
    return per_thread_needs_parent();
  if (auto fits = check_context(*plan(), config.context); !fits)
    return fits.error();
  auto shown = find_shown(*plan(), config, streamed || !config.print_mode.empty());
  if (!shown)
    return shown.error();
  auto request = std::make_shared<run_request>();
  request->shared = config.control ? std::make_shared<run_shared>(*config.control)
                                   : std::make_shared<run_shared>();
  request->shared->plan = plan();
  request->shared->config = config;
  if (!config.recursion_limit)
    request->shared->config.recursion_limit = plan()->options.recursion_limit;
  auto& shared = *request->shared;
  if (config.control)
    shared.lease = control_hooks::gate(*config.control);
  shared.graphs = &runtime_;
  const auto& options = plan()->options;
  shared.memory = options.store ? options.store.get() : runtime_.store().get();
  shared.cache = cache();
  request->input = input.get();
  request->shown = std::move(*shown);
  request->stored = store != nullptr;
  if (!store)
    return request;
  shared.store = store;
  shared.saver = own_saver_ ? own_saver_ : runtime_.shared().saver;
  request->tag = runtime_.random();
  shared.claim = std::make_shared<held_claim>();
  shared.claim->history = config.store_history;
  return request;
}

// Ends the turn at once, although other objects still hold the claim. So a caller who learns of the
// end can begin the next run.
error app_core::not_begun(const run_shared& run, error why) {
  if (const auto& claim = run.claim)
    claim->run_ended();
  return why;
}

result<bool> app_core::begin_turn(const run_request& request) {
  const auto& shared = *request.shared;
  if (!shared.claim)
    return true;
  return runtime_.turns()->begin(shared.config.thread_id, shared.claim, shared.config.multitask);
}

result<void> app_core::load(run_request& request) {
  if (!request.stored)
    return {};
  auto& shared = *request.shared;
  auto& store = *shared.store;
  auto& claim = *shared.claim;
  const auto& thread_id = shared.config.thread_id;
  if (auto undone = undo(store, thread_id, std::exchange(claim.undo_first, nullptr)); !undone)
    return undone;
  if (auto entered = enter_thread(store, thread_id, runtime_.owners(), shared.claim,
                                  reading_of(request), request.cut_off_from);
      !entered)
    return entered;
  // From here on, another process that has the thread makes the run's first request fail.
  if (shared.lease && !shared.lease->may_begin())
    return shared.lease->not_begun("run of thread `" + thread_id + '`');
  if (!shared.config.checkpoint_ns.empty())
    if (auto found = address_subgraph(shared, store); !found)
      return found;
  const auto& id = shared.config.checkpoint_id;
  auto saved = find_checkpoint(*plan(), store, {thread_id, "", id});
  if (!saved)
    return saved.error();
  if (auto kept = check_kept(shared.config, saved->has_value()); !kept)
    return kept.error();
  request.saved = std::move(*saved);
  request.addressed = !id.empty();
  runtime_.next_checkpoint_id(-2, 0, claim.after_id);
  if (request.saved) { // another process may have made it, whose clock is ahead
    claim.after_id = std::max(claim.after_id, request.saved->ref.checkpoint_id);
    shared.saw_id(request.saved->ref.checkpoint_id);
  }
  if (!id.empty() && request.saved) {
    auto newest = store.get_tuple({thread_id, "", ""});
    if (!newest)
      return newest.error();
    request.superseded = *newest
                         && (*newest)->ref.checkpoint_id != request.saved->ref.checkpoint_id;
    if (*newest)
      shared.saw_id((*newest)->ref.checkpoint_id);
  }
  return {};
}

result<run_result> app_core::invoke(const run_input& input, const run_config& config) {
  auto request = check(input, config, false);
  if (!request)
    return request.error();
  auto begins = begin_turn(**request);
  if (!begins)
    return begins.error();
  std::optional<awaited_turn> turn; // kept to the end: it keeps the runtime alive
  if (!*begins)
    if (auto come = turn.emplace(runtime_, *(*request)->shared).wait(); !come)
      return come.error();
  if (auto loaded = load(**request); !loaded)
    return not_begun(*(*request)->shared, loaded.error());
  auto& shared = *(*request)->shared;
  auto group = take_lent_group();
  auto& unit = *group->unit;
  lent_completion end{unit};
  auto number = runtime_.enter(end, *group, shared);
  if (!number) {
    give_group(group);
    return runtime_is_stopping();
  }
  std::optional<cancel_hook> hook; // nobody else has a control that the caller did not give
  if (config.control)
    hook.emplace(shared.control, group, *number);
  shared.home = &unit;
  shared.sink = printing(config.print_mode, nullptr);
  unit.lend();
  auto how = [&] {
    lent_thread::at_work here{unit};
    begin(group, *number, std::move(*request), end.unowned());
    return end.wait().how;
  }();
  unit.give_back();
  hook.reset();
  give_group(group);
  return how;
}

void app_core::begin(const group_ptr& group, std::uint64_t number,
                     std::shared_ptr<run_request> request,
                     std::shared_ptr<run_completion> completion) {
  auto claim = request->shared->claim;
  tell_to_begin(*group, number, std::move(request), std::move(completion));
  if (claim)
    claim->begun([group, number] {
      group->stop(number, {errc::cancelled, "run: cancelled: another run started on its thread"});
    });
}

result<std::shared_ptr<pending_run>> app_core::start(const run_input& input,
                                                     const run_config& config,
                                                     std::function<void()> then,
                                                     std::shared_ptr<part_sink> sink) {
  auto request = check(input, config, sink != nullptr);
  if (!request)
    return request.error();
  (*request)->shared->sink = printing(config.print_mode, std::move(sink));
  return start(*request, std::move(then));
}

result<std::shared_ptr<pending_run>> app_core::go_on(const run_config& config,
                                                     std::uint64_t cut_off_from) {
  auto request = check(nullptr, config, false);
  if (!request)
    return request.error();
  (*request)->cut_off_from = cut_off_from;
  (*request)->shared->sink = printing(config.print_mode, nullptr);
  return start(*request, {});
}

result<std::shared_ptr<pending_run>> app_core::start(const std::shared_ptr<run_request>& request,
                                                     std::function<void()> then,
                                                     end_listener told) {
  if (stopped())
    return runtime_is_gone();
  auto begins = begin_turn(*request);
  if (!begins)
    return begins.error();
  if (*begins)
    if (auto loaded = load(*request); !loaded)
      return not_begun(*request->shared, loaded.error());
  auto completion = std::make_shared<pending_run>(request->shared->control,
                                                  runtime_.shared().actors);
  if (told)
    completion->when_done(std::move(told));
  if (!*begins)
    start_later(request, completion, std::move(then));
  else if (!launch(request, completion, std::move(then)))
    return runtime_is_stopping();
  return completion;
}

// The run gets its group when a thread of the scheduler turns to it. CAF's test scheduler draws the
// order of actors alone, so there the run begins at once.
bool app_core::launch(std::shared_ptr<run_request> request, std::shared_ptr<pending_run> completion,
                      std::function<void()> then) {
  if (!runtime_.has_strands())
    return begin_in(nullptr, std::move(request), completion, then);
  if (!runtime_.admit())
    return false;
  late_begin::schedule(runtime_, [self = shared_from_this(), request = std::move(request),
                                  completion = std::move(completion),
                                  then = std::move(then)](strand* unit) mutable {
    if (auto shared = request->shared;
        !self->begin_in(unit, std::move(request), completion, then)) {
      completion->on_end(std::move(then));
      completion->finish({not_begun(*shared, runtime_is_stopping())});
    }
    self->runtime_.dismiss();
  });
  return true;
}

bool app_core::begin_in(strand* unit, std::shared_ptr<run_request> request,
                        const std::shared_ptr<pending_run>& completion,
                        const std::function<void()>& then) {
  auto& shared = *request->shared;
  auto group = take_group(unit);
  completion->of_group(group->shared_card());
  if (shared.sink)
    completion->on_stopping([weak = std::weak_ptr{shared.sink}] {
      if (auto reading = weak.lock())
        reading->run_is_stopped();
    });
  auto number = enter(*completion, group, shared);
  if (!number) {
    runtime_.release_strand(unit);
    give_group(group);
    return false;
  }
  if (unit)
    unit->watch(shared.sink != nullptr);
  if (shared.sink && unit)
    shared.sink->braked_by(unit);
  completion->on_end([self = shared_from_this(), group, unit, run = completion.get(), then] {
    self->runtime_.release_strand(unit);
    if (then)
      then();
    self->leave(*run, group);
  });
  shared.home = unit;
  begin(group, *number, std::move(request), completion);
  return true;
}

std::optional<std::uint64_t> app_core::enter(pending_run& run, const group_ptr& group,
                                             const run_shared& shared) {
  auto number = runtime_.enter(run, *group, shared);
  if (number)
    control_hooks::add(run.controlled(), &run, run_group::canceller(group, *number));
  return number;
}

void app_core::leave(pending_run& run, const group_ptr& group) {
  control_hooks::remove(run.controlled(), &run);
  give_group(group);
}

// A job of the blocking lane must not throw, but a user's saver may.
result<void> app_core::load_here(run_request& request) {
  try {
    return load(request);
  } catch (const std::exception& e) {
    return error{errc::storage_failed,
                 std::string{"read the thread: the saver threw: "} + e.what()};
  }
}

// The thread that ends the turn before only submits a job, since reading the thread may take time.
void app_core::start_later(std::shared_ptr<run_request> request,
                           std::shared_ptr<pending_run> completion, std::function<void()> then) {
  auto turn = std::make_shared<awaited_turn>(runtime_, *request->shared);
  awaited_turn::then(turn, [self = shared_from_this(), request = std::move(request),
                            completion = std::move(completion),
                            then = std::move(then)](result<void> come) {
    if (come)
      come = self->load_here(*request);
    if (come && self->launch(request, completion, then))
      return;
    completion->on_end(then);
    completion->finish({not_begun(*request->shared, come ? runtime_is_stopping() : come.error())});
  });
}

node_cache* app_core::cache() const {
  const auto& own = plan()->options.cache;
  return own ? own.get() : runtime_.cache().get();
}

result<void> app_core::clear_cache(const std::vector<std::string>& nodes) {
  if (stopped())
    return runtime_is_gone();
  auto* own = cache();
  if (!own)
    return error{errc::invalid_config, "No cache is set for this graph. Cannot clear cache."};
  if (nodes.empty())
    return own->clear(cache_space(*plan()));
  for (const auto& name : nodes) {
    if (auto cleared = own->clear(cache_space(*plan(), name)); !cleared)
      return cleared;
    if (plan()->functional || plan()->find_node(name) == no_index)
      if (auto cleared = own->clear(task_cache_space(name)); !cleared)
        return cleared;
  }
  return {};
}

// The group that was idle for the shortest time, whose memory is the warmest.
group_ptr app_core::idle_group() {
  std::lock_guard lock{mutex_};
  while (!idle_.empty()) {
    auto group = std::move(idle_.back());
    idle_.pop_back();
    long_idle_ = std::min(long_idle_, idle_.size());
    if (!group->gone())
      return group;
    runtime_.end_group(group);
  }
  return nullptr;
}

group_ptr app_core::take_group(caf::execution_unit* unit) {
  auto group = idle_group();
  return group ? group : runtime_.spawn_group(context_, unit);
}

group_ptr app_core::take_lent_group() {
  auto group = idle_group();
  if (group && group->unit)
    return group;
  auto& unit = runtime_.units().acquire();
  if (!group)
    group = runtime_.spawn_group(context_, &unit);
  group->unit = &unit;
  return group;
}

void app_core::give_group(const group_ptr& group) {
  std::lock_guard lock{mutex_};
  if (group->gone() || stopped() || idle_.size() >= limits::pooled_groups_max) {
    runtime_.end_group(group);
  } else {
    idle_.push_back(group);
    if (!std::exchange(expiring_, true))
      expire_later();
  }
  group->leave(); // last: now the runtime may end
}

// Ends the groups that are idle since the look before this one. Looks again while some are left.
void app_core::expire() {
  std::lock_guard lock{mutex_};
  auto fresh = idle_.begin() + static_cast<std::ptrdiff_t>(long_idle_);
  std::for_each(idle_.begin(), fresh, [this](const auto& group) { runtime_.end_group(group); });
  idle_.erase(idle_.begin(), fresh);
  long_idle_ = idle_.size();
  expiring_ = !idle_.empty();
  if (expiring_)
    expire_later();
}

void app_core::expire_later() {
  runtime_.shared().clock.after(limits::pooled_group_idle, [weak = weak_from_this()] {
    if (auto self = weak.lock())
      self->expire();
  });
}

caf::actor app_core::handle() {
  logger_reference reference;
  std::lock_guard lock{mutex_};
  if (!handle_ && !stopped()) {
    auto card = runtime_.shared().actors.add("graph", graph_.name(), nullptr);
    handle_ = runtime_.system().spawn<graph_actor, caf::hidden + caf::lazy_init>(*this, card);
  }
  return handle_;
}

void app_core::close() {
  caf::actor handle;
  {
    std::lock_guard lock{mutex_};
    stopped_.store(true, std::memory_order_relaxed);
    for (const auto& group : idle_)
      runtime_.end_group(group);
    idle_.clear();
    long_idle_ = 0;
    handle = std::move(handle_);
    handle_ = nullptr;
  }
  if (handle)
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  if (own_saver_)
    caf::anon_send_exit(own_saver_->actor, caf::exit_reason::user_shutdown);
  own_saver_ = nullptr; // an app may outlive the actor system
}

} // namespace troupe
