// Runs within runs: graphs as nodes, and graphs that bodies call.
#include "actors/tell.hpp"
#include "coordinator/app_core.hpp"
#include "coordinator/late_begin.hpp"
#include "engine/find_checkpoint.hpp"
#include "tasks/message_stream.hpp"

#include <algorithm>
#include <mutex>

namespace troupe {

namespace {

/// The end of a run that a node's actor waits for.
class nested_completion : public run_completion {
public:
  std::shared_ptr<app_core> app;
  group_ptr group;
  strand* own = nullptr; // the unit of the run, if it has one of its own
  std::function<void(nested_end)> then;

  void finish(nested_end how) override {
    app->runtime().release_strand(own);
    then(std::move(how));
    app->give_group(group);
  }
};

error given_up() {
  return {errc::cancelled, "run a graph: its task was given up"};
}

nested_end runtime_stops() {
  return {error{errc::runtime_stopped, "run a graph: the runtime is stopping"}};
}

// Stops a run whose task was given up.
std::function<void()> giver_up(group_ptr group, std::uint64_t run) {
  return [group = std::move(group), run] { group->stop(run, given_up()); };
}

/// A run that begins when a thread of the scheduler turns to it. Its task may be given up before.
class spread_run {
public:
  void give_up() {
    std::function<void()> stop;
    {
      std::lock_guard lock{mutex_};
      given_up_ = true;
      stop = stop_;
    }
    if (stop)
      stop();
  }
  bool given_up() {
    std::lock_guard lock{mutex_};
    return given_up_;
  }
  void has_begun(std::function<void()> stop) {
    {
      std::lock_guard lock{mutex_};
      stop_ = stop;
      if (!given_up_)
        return;
    }
    if (stop) // it was given up while it began
      stop();
  }

private:
  std::mutex mutex_;
  bool given_up_ = false;
  std::function<void()> stop_; // of a run that has begun
};

// The part of the config that a nested run takes over from the run around it. Breakpoints and
// output keys are its own.
run_config inner_config(const nested_run& run) {
  const auto& task = *run.task;
  const auto& outer = task.run->config;
  run_config out;
  out.thread_id = outer.thread_id;
  out.durability = outer.durability;
  out.store_history = outer.store_history;
  out.recursion_limit = outer.recursion_limit;
  out.max_concurrency = outer.max_concurrency;
  out.strict_resume = false; // the root has checked the answers
  out.subgraphs = outer.subgraphs;
  out.whole_metadata = outer.whole_metadata;
  // Metadata in order of priority, lowest first: the task's, the graph's, the call's.
  out.metadata = detail::metadata_over(
    detail::metadata_over(task.metadata, run.graph->options.metadata), run.metadata);
  if (outer.whole_metadata)
    out.metadata = detail::metadata_over(out.metadata, place_metadata(task));
  out.configurable = outer.configurable;
  out.sibling_timeout = outer.sibling_timeout;
  out.tags = outer.tags;
  out.callbacks = outer.callbacks;
  out.context = outer.context;
  return out;
}

std::shared_ptr<run_shared> shared_within(const nested_run& run,
                                          const run_shared::step_facts& step) {
  const auto& task = *run.task;
  const auto& outer = *task.run;
  const auto& options = run.graph->options;
  auto out = std::make_shared<run_shared>(outer.control);
  out->plan = run.graph;
  out->config = inner_config(run);
  if (outer.config.subgraphs) {
    out->sink = outer.sink;
    out->gate = outer.gate;
  }
  out->home = outer.home;
  out->graphs = outer.graphs;
  out->memory = options.store ? options.store.get() : outer.memory;
  out->lease = outer.lease;
  out->above = task.run;
  out->caller = run.task;
  out->ns = nested_namespace(task.ns(), options.checkpointer.mode() == checkpointing::per_thread,
                             run.nth);
  out->store = outer.store; // also for a graph that stores nothing: graphs within it may
  out->claim = outer.claim;
  out->saver = outer.saver;
  out->parents = outer.parents.is_map() ? outer.parents : value::map();
  out->parents = out->parents.with(outer.ns, value(step.checkpoint_id));
  const auto& within = task.checkpoint_ns(); // longer for a task that a body or a failure started
  for (auto end = outer.ns.size(); end < within.size();) {
    end = std::min(within.find('|', end + 1), within.size());
    out->parents = out->parents.with(within.substr(0, end), value(step.checkpoint_id));
  }
  out->addressed = outer.addressed;
  out->answers = outer.answers;
  out->replay = outer.replay;
  return out;
}

struct addressed_checkpoint {
  std::string ns;
  std::string id;
};

// The checkpoint of this run to which the caller travels. It is found by the run's namespace or,
// since a task of a forked checkpoint has another id, by the names of the nodes.
std::optional<addressed_checkpoint> find_addressed(const run_shared& shared) {
  if (!shared.addressed.is_map())
    return std::nullopt;
  if (const auto& id = shared.addressed[shared.ns]; id.is_string())
    return addressed_checkpoint{shared.ns, std::string{id.as_string()}};
  if (shared.above->replay)
    for (const auto& e : shared.addressed.entries())
      if (without_task_ids(e.key()) == without_task_ids(shared.ns) && e.val.is_string())
        return addressed_checkpoint{std::string{e.key()}, std::string{e.val.as_string()}};
  return std::nullopt;
}

result<void> load_thread(run_request& request, std::uint32_t attempt) {
  auto& shared = *request.shared;
  auto& store = *shared.store;
  const auto& thread = shared.config.thread_id;
  auto find = [&](const checkpoint_ref& at) { return find_checkpoint(*shared.plan, store, at); };
  auto take = [&request](result<std::optional<checkpoint_tuple>> found) -> result<void> {
    if (!found)
      return found.error();
    request.saved = std::move(*found);
    if (request.saved)
      request.shared->saw_id(request.saved->ref.checkpoint_id);
    return {};
  };
  if (auto at = find_addressed(shared)) {
    request.addressed = true;
    request.moved_here = at->ns != shared.ns;
    if (request.moved_here)
      shared.addressed = shared.addressed.with(shared.ns, value(at->id));
    if (auto found = take(find({thread, at->ns, at->id})); !found || !request.saved)
      return found;
    auto newest = store.get_tuple({thread, at->ns, ""});
    if (!newest)
      return newest.error();
    request.superseded = *newest && (*newest)->ref.checkpoint_id != at->id;
    if (*newest)
      shared.saw_id((*newest)->ref.checkpoint_id);
    return {};
  }
  if (shared.replay) {
    request.addressed = true;
    request.told_resuming.reset();
    if (!shared.replay->first_visit(shared.ns))
      return take(find({thread, shared.ns, ""}));
    list_query query;
    query.thread_id = thread;
    query.checkpoint_ns = shared.ns;
    query.before = shared.replay->before();
    query.limit = 1;
    auto found = list_checkpoints(*shared.plan, store, query);
    if (!found)
      return found.error();
    if (!found->empty())
      request.saved = std::move(found->front());
    return {};
  }
  // The namespace of a task of a new step is new, so nothing is stored in it.
  bool may_be_there = request.told_resuming.value_or(false) || attempt > 1
                      || shared.plan->options.checkpointer.mode() == checkpointing::per_thread
                      || shared.config.thread_id.empty();
  return may_be_there ? take(find({thread, shared.ns, ""})) : result<void>{};
}

} // namespace

result<std::shared_ptr<run_request>> app_core::prepare_within(const nested_run& run) {
  auto request = std::make_shared<run_request>();
  auto step = run.task->run->open_step();
  request->shared = shared_within(run, step);
  auto& shared = *request->shared;
  shared.cache = cache();
  if (run.task->over())
    return error{errc::cancelled, "run graph `" + graph().name() + "` in node `"
                                    + run.task->node->name + "`: the task was given up"};
  if (shared.parents.size() > limits::graph_depth_max) // counts runs of other processes, too
    return error{errc::invalid_graph, "run graph `" + graph().name() + "` in node `"
                                        + run.task->node->name
                                        + "`: more than graph_depth_max runs within one another"};
  request->input = run.input.get();
  request->shown = {plan()->output_keys, plan()->single};
  request->stored = shared.store != nullptr
                    && plan()->options.checkpointer.mode() != checkpointing::none;
  request->told_resuming = run.task->attempt > 1 ? std::optional{true} : step.resuming;
  if (!request->stored)
    return request;
  request->tag = runtime_.random();
  if (auto loaded = load_thread(*request, run.task->attempt); !loaded)
    return loaded.error();
  return request;
}

std::function<void()> app_core::start_within(nested_run run, std::function<void(nested_end)> then) {
  auto request = prepare_within(run);
  if (!request) {
    then({request.error()});
    return {};
  }
  if (!run.spread || !runtime_.has_strands())
    return begin_within(std::move(*request), nullptr, std::move(then));
  if (!runtime_.admit()) {
    then(runtime_stops());
    return {};
  }
  auto late = std::make_shared<spread_run>();
  late_begin::schedule(runtime_, [self = shared_from_this(), late, request = std::move(*request),
                                  then = std::move(then)](strand* own) mutable {
    if (!late->given_up())
      late->has_begun(self->begin_within(std::move(request), own, std::move(then)));
    else {
      self->runtime_.release_strand(own);
      then({given_up()});
    }
    self->runtime_.dismiss();
  });
  return [late = std::move(late)] { late->give_up(); };
}

// `own`: the unit of the run; null: that of the run around it.
std::function<void()> app_core::begin_within(std::shared_ptr<run_request> request, strand* own,
                                             std::function<void(nested_end)> then) {
  auto& shared = *request->shared;
  if (own)
    shared.home = own;
  auto completion = std::make_shared<nested_completion>();
  completion->app = shared_from_this();
  completion->group = take_group(shared.home);
  completion->own = own;
  completion->then = std::move(then);
  auto group = completion->group;
  auto number = runtime_.enter(*completion, *group, shared);
  if (!number) {
    completion->finish(runtime_stops());
    return {};
  }
  tell_to_begin(*group, *number, std::move(request), std::move(completion));
  return giver_up(std::move(group), *number);
}

nested_end app_core::run_within(nested_run run) {
  auto request = prepare_within(run);
  if (!request)
    return {request.error()};
  auto& shared = *(*request)->shared;
  auto group = take_lent_group();
  auto& unit = *group->unit;
  lent_completion end{unit};
  auto number = runtime_.enter(end, *group, shared);
  if (!number) {
    give_group(group);
    return runtime_stops();
  }
  std::optional<cancel_hook> hook{std::in_place, shared.control, group, *number};
  shared.home = &unit;
  unit.lend();
  tell_to_begin(*group, *number, std::move(*request), end.unowned());
  run.task->inner_runs(giver_up(group, *number)); // set after begin_run was sent
  auto how = end.wait();
  run.task->inner_runs({});
  unit.give_back();
  hook.reset();
  give_group(group);
  return how;
}

// -- the runtime as the host of runs within runs

std::function<void()> runtime_core::start(nested_run run, std::function<void(nested_end)> then) {
  return app_of(run.graph)->start_within(std::move(run), std::move(then));
}

namespace {

// Around the wait of a pool thread for other jobs of its pool: the pool may have one more thread
// meanwhile.
class waiting_thread {
public:
  explicit waiting_thread(blocking_pool& pool) : pool_{pool} {
    if (!pool.begin_wait())
      throw error{errc::overloaded, "wait for a graph or task: waiting_threads_max threads of the "
                                    "blocking lane wait already"};
  }
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;
  ~waiting_thread() { pool_.end_wait(); }

private:
  blocking_pool& pool_;
};

} // namespace

nested_end runtime_core::run_here(nested_run run) {
  waiting_thread waits{services_.pool};
  return app_of(run.graph)->run_within(std::move(run));
}

void runtime_core::wait(latch& what) {
  waiting_thread waits{services_.pool};
  what.wait();
}

} // namespace troupe
