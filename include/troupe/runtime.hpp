// The runtime, the front door: it runs graphs on actors, stores their threads, streams their parts.
#pragma once

#include <troupe/node_cache.hpp>
#include <troupe/part_transform.hpp>
#include <troupe/run_config.hpp>
#include <troupe/run_input.hpp>
#include <troupe/saver.hpp>
#include <troupe/state_graph.hpp>
#include <troupe/store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caf {
class actor;
class actor_system;
} // namespace caf

namespace troupe {

namespace detail {
/// The facts of a run_result.
struct run_ending {
  troupe::value output = {};
  std::vector<interrupt> questions = {};
  std::vector<std::string> next = {};
  std::string checkpoint_id = {};
  std::string drained = {};
  bool paused = false;
};
} // namespace detail

/// The result of a run that ended or paused.
/// Owns:   what its members refer to.
/// Errors: none.
/// Source: langgraph/types.py, GraphOutput.
class run_result {
public:
  run_result() = default;
  explicit run_result(detail::run_ending ending) noexcept;

  /// A map of the output channels that have a value; null when the run changed none of them. For a
  /// paused run it is the current state.
  const troupe::value& value() const& noexcept { return ending_.output; }
  troupe::value value() && noexcept { return std::move(ending_.output); }
  /// The questions that the run waits for; empty at a breakpoint.
  const std::vector<interrupt>& interrupts() const noexcept { return ending_.questions; }
  /// Whether the run waits for an answer or at a breakpoint.
  bool paused() const noexcept { return ending_.paused; }
  /// The nodes that would run next.
  const std::vector<std::string>& next() const noexcept { return ending_.next; }
  /// The id of the last checkpoint, also when it was not stored.
  const std::string& checkpoint_id() const noexcept { return ending_.checkpoint_id; }
  /// The reason of a requested drain that a breakpoint preceded; else empty.
  const std::string& drained() const noexcept { return ending_.drained; }

private:
  detail::run_ending ending_;
};

/// The result of a run of a typed_graph.
/// Errors: see state().
/// Source: langgraph/types.py, GraphOutput.
template <class S> class typed_result : public run_result {
public:
  explicit typed_result(run_result r) : run_result{std::move(r)} {}
  /// The output as an S.
  /// Errors: throws error{invalid_value} that names the member.
  S state() const {
    return read_state<S>(state_view{value().is_null() ? troupe::value::map() : value()});
  }
};

/// One part of a stream.
/// Shape:  `ns`: the namespaces from the root to the graph of the part, empty for the root. `data`
///         by mode; interrupts, messages and errors are extension values (value_kind):
///         - values: the map {channel: value} of the channels that have a value, after each step
///           that wrote a channel. For a task that asked: the state before the step, with the list
///           `__interrupt__`. With run_config::output_key: that channel's bare value.
///         - updates: {node: update}, when a task finished. `update` is the map of its writes.
///           `update` is a list of one-member maps when the task wrote a channel twice, and null
///           when it wrote none. For a task of a workflow it is the returned value. An update from
///           the cache, or of a task finished before the run was resumed, has also {"__metadata__":
///           {"cached": true}}. A task that asked gives {"__interrupt__": [interrupt, …]}; a
///           breakpoint gives {"__interrupt__": []}.
///         - custom: the argument of context::write.
///         - checkpoints: {config, parent_config, values, metadata, next, tasks}. The configs are
///           {"configurable": {thread_id, checkpoint_ns, checkpoint_id, …}} with the run's members,
///           `parent_config` is null without a parent. `next` lists nodes, `tasks` maps {id, name,
///           state} with `error`, or `interrupts` and, once finished, `result`.
///         - tasks: when a task starts {id, name, input, triggers} and, unless empty, `metadata`,
///           which has the run's `tags`.
///           When it ends {id, name, error, result, interrupts} and, if it ran on a worker,
///           `worker`. `error` and `result` are null when absent; a channel written several times
///           has {"$writes": [value, …]} in `result`.
///         - debug: {type, step, timestamp, payload}: `type` is "checkpoint", "task" or
///           "task_result", `payload` the data of the part of mode checkpoints or tasks.
///         - messages: the list [message, metadata]. The message is whole, or a piece of one with
///           "chunk": true. `metadata` is the task's, with the scalars of run_config::configurable,
///           `tags`, thread_id, langgraph_step, langgraph_node, langgraph_triggers (a list),
///           langgraph_path and langgraph_checkpoint_ns.
///         - tools: {event, tool_call_id, tool_name}: `event` is "tool-started" (with `input`),
///           "tool-output-delta", "tool-finished" (with `output`) or "tool-error" (with `message`).
/// Units:  `seq` grows with every part of the thread, across runs, so that a reader can resume
///         after any number (basic_app::follow). A run without a thread counts from 1.
/// Errors: none.
/// Source: langgraph/pregel/main.py, Pregel.stream; langgraph/pregel/debug.py.
struct stream_part {
  stream_mode mode = stream_mode::updates;
  std::vector<std::string> ns;
  value data;
  std::uint64_t seq = 0;
};

struct state_snapshot;

/// A task in a snapshot.
/// Errors: none.
/// Source: langgraph/types.py, PregelTask.
struct task_snapshot {
  std::string id;
  std::string name;
  value path;                        ///< ["__pregel_pull", node] or ["__pregel_push", index, false]
  value error;                       ///< an error value, or null
  std::vector<interrupt> interrupts; ///< the questions it asked
  std::optional<value> result;       ///< its writes, when it is finished
  std::string subgraph_ns;           ///< the namespace of a graph's state, to read it; else empty
  std::shared_ptr<state_snapshot> state; ///< of a graph, when subgraphs were asked for
};

/// The state of a thread at a checkpoint.
/// Shape:  of a thread without checkpoints: `values` is {}, everything else empty or null.
/// Errors: none.
/// Source: langgraph/types.py, StateSnapshot.
struct state_snapshot {
  value values;
  std::vector<std::string> next; ///< the nodes that would run; a thread without `tasks` is finished
  checkpoint_ref config;
  value metadata; ///< a map, or null without a checkpoint
  std::string created_at;
  std::string parent_id; ///< empty: no parent
  std::vector<task_snapshot> tasks;
  std::vector<interrupt> interrupts;
};

/// Selects the checkpoints of a history, newest first.
/// Errors: a history is refused with invalid_config when `filter` is not a map.
/// Source: langgraph/pregel/main.py, Pregel.get_state_history.
struct history_options {
  value filter = {};                                ///< metadata members that must be equal
  std::optional<std::string> before = std::nullopt; ///< only older than this checkpoint id
  std::optional<std::size_t> limit = std::nullopt;
};

/// An actor of a run, as run_handle::actors and runtime::actors list it.
/// Errors: none.
/// Source: troupe.
struct actor_info {
  std::string kind;        ///< "run", "node", "channel" or "saver"
  std::string name;        ///< the graph's, node's or channel's name
  std::string state;       ///< "running" or "idle"
  std::size_t mailbox = 0; ///< messages sent and not yet taken
  std::string host;        ///< "local", or the name of its worker
  std::string thread_id;   ///< the thread of its run; empty when idle
};

class app_core;      // coordinator/app_core.hpp
class pending_run;   // coordinator/pending_run.hpp
class stream_source; // coordinator/stream_source.hpp
class run_stream;    // troupe/run_stream.hpp
class runtime_core;  // coordinator/runtime_core.hpp
class worker_pool;   // troupe/placement.hpp

/// A started run, which advances without its caller.
/// Owns:   nothing; the run continues when its handles are gone.
/// Source: troupe.
class run_handle {
public:
  explicit run_handle(std::shared_ptr<class pending_run> run) : run_{std::move(run)} {}
  /// Waits for the end.
  /// Errors: as basic_app::try_invoke.
  result<run_result> get();
  bool ready() const;
  /// Calls `then` once, when the run has ended, with the result of get().
  /// Thread: a thread of the runtime, or the calling one when the run had ended before. `then` is
  ///         short, does not throw, and does not wait for this run.
  /// Errors: none.
  /// Source: asyncio, Future.add_done_callback.
  void when_done(std::function<void(const result<run_result>&)> then) const;
  run_control control() const;
  /// The live actors of this run.
  /// Order:  the coordinator, then channels, then nodes, by name.
  std::vector<actor_info> actors() const;

private:
  std::shared_ptr<pending_run> run_;
};

/// The treatment of a part that a body streams (custom, messages, tools) while queue_parts_max
/// parts wait for the reader. Parts of the other modes are never dropped.
/// Errors: none.
/// Source: troupe.
enum class overflow : std::uint8_t {
  wait,        ///< the body waits for the reader
  drop_oldest, ///< the oldest part of a body is dropped; without one, the new part
  drop_newest, ///< the new part is dropped
  /// The new part and all later ones are dropped, and the run stops at the end of its step. The
  /// thread can be resumed, as after a drain. After the last part the reader gets `overloaded`,
  /// also when the step was the last one.
  fail,
};

/// How a run is streamed.
/// Errors: see basic_app::stream.
/// Source: troupe.
struct stream_options {
  std::vector<stream_mode> modes; ///< updates alone, unless given
  std::size_t queue_parts_max = limits::stream_queue_parts_max;
  overflow when_full = overflow::wait; ///< for parts that bodies stream (custom, messages, tools)
  std::vector<part_transform> transforms = {}; ///< of the whole run; a reader's own are refused

  stream_options();
  stream_options(std::initializer_list<stream_mode> list);
  stream_options(std::vector<stream_mode> list);
};

/// The parts of a run, pulled by the reader. The run advances while the reader reads, and waits
/// when the reader lags, so memory is bounded. Destroying it stops the run at the end of its step.
/// Use:    `for (auto& part : app.stream(…))`; one thread.
/// Errors: see the members.
/// Source: troupe.
class part_stream {
public:
  explicit part_stream(std::shared_ptr<class stream_source> source);
  part_stream(part_stream&&) noexcept;
  part_stream& operator=(part_stream&&) noexcept;
  ~part_stream();

  /// The next part, or nothing at the end.
  /// Errors: after the last part, throws the error that ended the run.
  std::optional<stream_part> next();
  /// As next(), with the error as a value.
  /// Errors: after the last part, the error that ended the run.
  result<std::optional<stream_part>> try_next();
  /// The result of the run; null before the end and after an error.
  const run_result* outcome() const noexcept;
  /// The live actors of this run.
  std::vector<actor_info> actors() const;

  class iterator {
  public:
    explicit iterator(part_stream* s);
    stream_part& operator*() { return part_; }
    stream_part* operator->() { return &part_; }
    iterator& operator++();
    friend bool operator==(const iterator& a, const iterator& b) { return a.stream_ == b.stream_; }

  private:
    part_stream* stream_; // null at the end
    stream_part part_;
  };
  iterator begin() { return iterator{this}; }
  iterator end() { return iterator{nullptr}; }

private:
  std::shared_ptr<stream_source> source_;
};

/// An outside update as one node.
/// Shape:  `as_node` is a node, or one of these:
///         - END without `values`: none of the waiting tasks runs
///         - "__input__": the values are the input of a later run
///         - "__copy__": a copy of the checkpoint beside it, with `values` null, or with a list of
///           [values, as_node] that the copy gets at once:
///           state_update{value::list({value::list({values, "node"})})}
/// Errors: those of basic_app::try_update_state.
/// Source: langgraph/types.py, StateUpdate (`goto_` is that of a Command as its values);
///         langgraph/pregel/main.py, Pregel.bulk_update_state.
struct outside_update {
  optional_update values = std::nullopt; ///< nullopt: no writes, as if the node returned nothing
  std::string as_node = {};              ///< empty: inferred
  /// The task that the writes belong to, as task_snapshot::id; empty: the node's first waiting
  /// task.
  std::string task_id = {};
  /// Nodes to go to, in addition to the edges of `as_node`, which is a node then.
  destinations goto_ = {};
};

/// Selects threads whose run was cut off.
/// Shape:  `filter`: metadata members that the newest checkpoint must have, as run_config::metadata
///         set them. Before its first step only they show the graph of a thread.
/// Errors: none.
/// Source: troupe.
struct unfinished_query {
  value filter = {};
  /// Asserts that no other process works on the store now. Otherwise a thread counts only if its
  /// saver can tell that the runtime of its run is gone; LMDB and memory can.
  bool alone = false;
};

/// A thread that was resumed, with its run.
/// Errors: none.
/// Source: troupe.
struct resumed_run {
  std::string thread_id;
  run_handle run;
};

/// A graph loaded into a runtime. Cheap to copy; all members may be called from any thread at once.
/// After its runtime is gone, calls that can fail give runtime_stopped. While the runtime is
/// destroyed, runs may be in flight, but no other call.
/// Errors: see the members.
/// Source: langgraph/pregel/main.py, Pregel.
class basic_app {
public:
  explicit basic_app(std::shared_ptr<app_core> core) : core_{std::move(core)} {}

  /// The same app with defaults for the config of every call: see merge_configs(). Defaults of an
  /// app that has some are merged with these.
  /// Errors: none; a config that can't be used is reported by the call that uses it.
  /// Source: langgraph/pregel/main.py, Pregel.with_config.
  basic_app with_config(const run_config& defaults) const;

  /// Runs until the graph ends or pauses; lends the calling thread to the run.
  /// Errors:
  ///         - those of the nodes (node_failed …), invalid_update, graph_recursion, empty_input,
  ///           invalid_config, unknown_interrupt, ambiguous_resume, graph_drained, storage codes
  ///         - invalid_value, before anything is stored: the input does not fit the members of a
  ///           typed state, or, with run_config::strict_input, names an unknown channel
  ///         - overloaded, for a run that had to wait (run_config::multitask)
  ///         What was stored before a failure stays, including finished tasks of the failed step.
  result<run_result> try_invoke(const run_input& input, const run_config& config = {}) const;

  /// Runs the inputs side by side and gives their results in the same order.
  /// Shape:  one config serves all inputs, then without a thread_id; else one config an input.
  /// Errors: throws error{invalid_config} when the counts differ. The errors of a run are in its
  ///         own result, as of try_invoke().
  /// Source: langchain_core/runnables/base.py, batch(return_exceptions=True).
  std::vector<result<run_result>> batch(std::span<const run_input> inputs,
                                        std::span<const run_config> configs) const;

  /// As batch(), but gives each result to `take` when its run has ended.
  /// Shape:  `take` gets the place of the input, and the result.
  /// Order:  the order in which the runs end.
  /// Thread: `take` runs on the calling thread. When it throws, the other runs continue.
  /// Blocks: until all runs have ended.
  /// Errors: as batch(), and what `take` throws.
  /// Source: langchain_core/runnables/base.py, batch_as_completed(return_exceptions=True).
  void batch_as_completed(std::span<const run_input> inputs, std::span<const run_config> configs,
                          const std::function<void(std::size_t, result<run_result>)>& take) const;

  /// Starts a run that the runtime's own threads carry.
  run_handle start(const run_input& input, const run_config& config = {}) const;

  /// Starts a run, which advances while the reader takes its parts.
  /// Errors: those of try_invoke(), from part_stream::next().
  /// Source: langgraph/pregel/main.py, Pregel.stream.
  part_stream stream(const run_input& input, const run_config& config = {},
                     const stream_options& options = {}) const;

  /// A run that any number of readers read, none of which needs a thread: troupe/run_stream.hpp.
  /// The run starts with the first read.
  /// Errors: those of try_invoke(), from its readers and run_stream::output().
  /// Source: langgraph/pregel/main.py, Pregel.stream_events(version="v3").
  run_stream stream_events(const run_input& input, const run_config& config = {},
                           std::vector<part_transform> transforms = {}) const;

  /// As start(); keeps the parts of these modes for readers that follow() the thread.
  run_handle start(const run_input& input, const run_config& config,
                   const stream_options& options) const;

  /// The threads whose last run was cut off: its process was killed, or the run was drained or
  /// stopped with its runtime. Left out are threads
  ///  - that are finished, wait for an answer or at a breakpoint, or whose run failed or was
  ///    cancelled
  ///  - whose last writer was an outside update, not a run
  ///  - that a living runtime works on
  ///  - whose nodes or control channels this graph does not have
  /// Order:  by thread id.
  /// Blocks: reads the newest checkpoint of each thread that is not at rest, without its state:
  ///         some ten µs each.
  /// Errors: no_saver, storage codes; invalid_config for a root graph with
  ///         checkpointing::per_thread, or when, without `alone`, the saver does not know which
  ///         runtimes live. A thread that can't be read is left out and logged.
  /// Source: troupe.
  result<std::vector<std::string>> try_unfinished(const unfinished_query& which = {}) const;

  /// Resumes each of these threads, as start(nullptr, config): all at once. A node that ended its
  /// process ends it again: a program that restarts by itself should give up after some attempts.
  /// Shape:  `config` serves all; its thread_id is ignored.
  /// Errors: as try_unfinished. The error of a run is in its handle: `conflict` when another
  ///         process resumed the thread first.
  /// Source: troupe.
  result<std::vector<resumed_run>> try_resume_unfinished(const run_config& config = {},
                                                         const unfinished_query& which = {}) const;

  /// The kept parts of a thread with a number above `after`, then those of the current run until it
  /// ends. Parts of streamed and of started runs are kept: the last limits::stream_log_parts_max of
  /// a thread. Kept parts last as long as this process, while the thread is among the last
  /// limits::stream_log_threads_max, and among those with limits::stream_log_bytes_max.
  /// Errors: the first next() gives missing_key when parts after `after` are gone.
  part_stream follow(const std::string& thread_id, std::uint64_t after = 0) const;

  /// The state of a thread at a checkpoint, and its history. `subgraphs` adds the snapshots of
  /// tasks that are graphs. `config.checkpoint_ns` names the state of a subgraph, as
  /// task_snapshot::subgraph_ns does.
  /// Errors: - no_saver, storage codes
  ///         - invalid_config without a thread_id, or for a root graph with
  ///           checkpointing::per_thread
  ///         - missing_key for a namespace that belongs to no node of the graph
  /// Source: the reference's behaviour (tests/conformance).
  result<state_snapshot> try_get_state(const run_config& config, bool subgraphs = false) const;
  result<std::vector<state_snapshot>>
  try_get_state_history(const run_config& config, const history_options& options = {}) const;
  /// Writes as if a node had written; gives the place of the new checkpoint. In a workflow, the
  /// value becomes the next run's context::previous(), and the workflow's result.
  /// Errors: as try_get_state, and invalid_update for
  ///         - an unknown or ambiguous node, or a route to an unknown node
  ///         - a value that does not fit the member of a typed state
  ///         - with run_config::strict_input, an unknown channel
  ///         - two updates of a super-step for one `task_id`
  ///         - a `goto_` to an unknown node, or as END, "__input__", "__copy__" or a workflow
  ///         Nothing is stored then.
  result<checkpoint_ref> try_update_state(const run_config& config, optional_update values,
                                          std::string as_node = {}, std::string task_id = {}) const;
  result<checkpoint_ref> try_bulk_update_state(
    const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const;
  /// Copies a thread under another id. With `config.checkpoint_id`, the copy ends at this
  /// checkpoint and has the stored writes of the step after it: a run of the copy resumes there,
  /// and tasks that had finished do not run again. The copied thread stays as it is.
  /// Errors: as try_get_state, and
  ///         - invalid_config: the target exists, or the saver can't copy
  ///         - checkpoint_missing: the thread does not have the checkpoint
  ///         Either everything is copied, or nothing.
  /// Source: langgraph/checkpoint/base, copy_thread; the copy up to a checkpoint is troupe's.
  result<void> try_copy_thread(const run_config& config, const std::string& target) const;

  /// The forms that throw error.
  state_snapshot get_state(const run_config& config, bool subgraphs = false) const;
  std::vector<state_snapshot> get_state_history(const run_config& config,
                                                const history_options& options = {}) const;
  checkpoint_ref update_state(const run_config& config, optional_update values,
                              std::string as_node = {}, std::string task_id = {}) const;
  checkpoint_ref bulk_update_state(
    const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const;
  void copy_thread(const run_config& config, const std::string& target) const;

  std::vector<std::string> unfinished(const unfinished_query& which = {}) const;
  std::vector<resumed_run> resume_unfinished(const run_config& config = {},
                                             const unfinished_query& which = {}) const;

  /// Drops the cached results of these nodes, or of all nodes. A name that is not a node means a
  /// task of workflows, whose cached results all workflows that start it share.
  /// Errors: invalid_config without a cache; storage codes. Unknown names have no effect.
  result<void> clear_cache(const std::vector<std::string>& nodes = {}) const;

  const compiled_graph& graph() const noexcept;
  /// The saver of its threads: the graph's own, else the runtime's; null when they are not stored.
  troupe::saver* saver() const noexcept;

  /// The graph as an actor: answers start_run with run_finished (troupe/actor.hpp). The actor lives
  /// as long as the runtime.
  caf::actor handle() const;

protected:
  std::vector<run_handle> start_batch(std::span<const run_input> inputs,
                                      std::span<const run_config> configs) const;
  run_handle handle_of(result<std::shared_ptr<class pending_run>> run) const;
  std::shared_ptr<app_core> core_;
  std::shared_ptr<const run_config> defaults_; // null: none
};

/// A loaded graph whose results are run_result (S = void) or typed_result<S>.
/// Errors: as basic_app.
/// Source: langgraph/pregel/main.py, Pregel.
template <class S = void> class app : public basic_app {
public:
  using basic_app::basic_app;
  explicit app(basic_app of) : basic_app{std::move(of)} {}
  /// As basic_app::with_config().
  app with_config(const run_config& defaults) const {
    return app{basic_app::with_config(defaults)};
  }
  using result_type =
    std::conditional_t<std::is_void_v<S>, run_result,
                       typed_result<std::conditional_t<std::is_void_v<S>, int, S>>>;

  /// As try_invoke; throws error.
  result_type invoke(const run_input& input, const run_config& config = {}) const {
    return result_type{try_invoke(input, config).value()};
  }
};

/// The things that a runtime removes in the background: checkpoints of its saver's threads, one
/// thread after the other, and expired items of its store.
/// Units:  `every` at least limits::prune_every_min.
/// Errors: the runtime's constructor gives invalid_config for a `keep.keep_latest` of 0 or too
///         small an `every`. A failure is logged and tried again in the next round.
/// Source: troupe.
struct pruning {
  retention keep = {}; ///< of each thread
  /// Threads whose newest checkpoint is older are deleted, unless a run of this runtime works on
  /// them.
  std::optional<std::chrono::seconds> thread_ttl = std::nullopt;
  std::chrono::seconds every{3600}; ///< between rounds
};

/// The parts of a runtime.
/// Shape:  without `saver` and with an empty `data_dir`, threads are not stored. Without a
///         `keyring`, keyring::from_environment() decides whether records in `data_dir` are
///         encrypted.
/// Errors: see runtime.
/// Source: troupe.
struct runtime_options {
  std::string data_dir = {}; ///< an LMDB saver and an LMDB store in this directory
  std::shared_ptr<const key_provider> keyring = nullptr; ///< of both; null: the environment's
  std::shared_ptr<troupe::saver> saver = nullptr;        ///< replaces the LMDB saver
  /// Replaces the LMDB store; context::store() gives it.
  std::shared_ptr<troupe::store> store = nullptr;
  std::shared_ptr<troupe::node_cache> cache = nullptr;    ///< of nodes with a cache_policy
  std::shared_ptr<troupe::worker_pool> workers = nullptr; ///< of nodes with a placement
  std::size_t worker_threads = 0; ///< of an own actor system; 0: as many as cores
  std::size_t blocking_threads = limits::blocking_threads_max; ///< bound of the blocking lane
  std::optional<pruning> prune = std::nullopt;                 ///< needs a saver or a store
};

/// Runs graphs. The destructor ends everything it started: runs in flight end with runtime_stopped,
/// and what they had stored stays.
/// Cost:   from the first constructor on, glibc keeps up to 8 MiB of freed memory for each of its
///         heaps, as after the free of a block of 4 MiB. Thresholds that the program or its
///         environment has set stay.
/// Errors: the constructors throw error (storage codes).
/// Source: troupe.
class runtime {
public:
  /// With its own actor system (no caf-application.ini is read).
  explicit runtime(runtime_options options = {});
  /// On the caller's actor system, which must outlive the runtime and is left unchanged. Its config
  /// must know troupe's message types (troupe/actor.hpp, add_message_types).
  runtime(caf::actor_system& system, runtime_options options = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// As the first constructor, with the error as a value.
  /// Errors: storage codes.
  static result<std::unique_ptr<runtime>> open(runtime_options options = {});

  /// The graph in this runtime, ready to run; the same one for a graph that was loaded before.
  app<> load(const compiled_graph& graph) { return app<>{load_core(graph)}; }
  template <class S> app<S> load(const typed_graph<S>& graph) { return app<S>{load_core(graph)}; }

  /// Null when threads are not stored.
  const std::shared_ptr<troupe::saver>& saver() const noexcept;
  /// The live actors, of all runs.
  std::vector<actor_info> actors() const;

private:
  std::shared_ptr<app_core> load_core(const compiled_graph& graph);
  std::shared_ptr<runtime_core> core_; // nobody else's
};

} // namespace troupe
