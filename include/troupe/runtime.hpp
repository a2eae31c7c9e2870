// The front door: a runtime runs graphs on actors, stores their threads and streams their parts.
#pragma once

#include <troupe/node_cache.hpp>
#include <troupe/run_input.hpp>
#include <troupe/saver.hpp>
#include <troupe/state_graph.hpp>
#include <troupe/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
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

/// When a run stores what.
/// Source: langgraph/types.py, Durability; ARCHITECTURE.md.
enum class durability : std::uint8_t {
  sync,  ///< a task's writes, and each step's checkpoint, are durable before anyone acts on them
  async, ///< stored in order while the next step runs; durable when the call returns
  exit,  ///< one checkpoint when the run ends, pauses or fails
};

/// What happens when a run is asked for on a thread that another run of this runtime is busy with:
/// a run's turn ends when it has ended and its last save was answered. Runs on different threads
/// never wait for each other.
/// Turns are a runtime's own. That a run of another runtime is on, in this process or another one,
/// is not seen: it is neither waited for nor cancelled nor undone, nor a reason to refuse. Whatever
/// the strategy, the new run begins and the other one gets `conflict` when it stores again; what
/// that has stored stays, and no task of it runs again. To have more, let all runs of a thread come
/// to one runtime.
/// Source: langgraph_sdk/schema.py, MultitaskStrategy; `take_over` is troupe's.
enum class multitask_strategy : std::uint8_t {
  take_over, ///< it begins at once; the other one gets `conflict` when it stores again
  reject,    ///< it is refused with `conflict`, nothing is read or stored
  enqueue,   ///< it waits for its turn, first come first served
  interrupt, ///< the other one is cancelled, what it stored stays; then it begins, before the queue
  rollback,  ///< likewise, and first the thread becomes what it was before the other one began;
             ///< `conflict` if that was taken over meanwhile, also by an update from outside
};

/// What a stream carries.
/// Shape:  of the parts: see stream_part.
/// Source: langgraph/types.py, StreamMode.
enum class stream_mode : std::uint8_t {
  values,      ///< the state after each step
  updates,     ///< what each task wrote, when it finished
  custom,      ///< what bodies write with context::write
  checkpoints, ///< a snapshot for each checkpoint
  tasks,       ///< a part when a task starts and one when it ends, with its worker if it had one
  debug,       ///< checkpoints and tasks in an envelope
  messages,    ///< messages and parts of them, from models and from what nodes return
  tools,       ///< what tools do: started, a piece of output, finished, failed
};
std::string_view to_string(stream_mode mode) noexcept;
/// Errors: invalid_config for a name that is no mode.
result<stream_mode> parse_stream_mode(std::string_view name);
std::string_view to_string(durability d) noexcept;
result<durability> parse_durability(std::string_view name);
std::string_view to_string(multitask_strategy s) noexcept;
/// Errors: invalid_config for a name that is no strategy.
result<multitask_strategy> parse_multitask_strategy(std::string_view name);
std::ostream& operator<<(std::ostream& out, stream_mode mode);

/// A hand on a run in flight: copies share one state; safe from any thread and (request_drain,
/// cancel) from a signal handler's thread.
/// Source: langgraph/runtime.py, RunControl.
class run_control {
public:
  run_control();
  /// Asks the run to stop at the end of the step it is in: it ends with graph_drained and goes on
  /// when it is invoked with no input. A run that is done by then ends as always.
  void request_drain(std::string reason = "shutdown");
  /// Gives the run up now: it ends with `cancelled` without waiting for its tasks; their bodies see
  /// stop_requested(), and what they do counts no more. What was stored stays.
  void cancel();
  bool drain_requested() const noexcept;
  bool cancelled() const noexcept;
  std::string reason() const;

private:
  friend struct control_hooks;
  struct state;
  std::shared_ptr<state> state_;
};

/// Told when a run is resumed and when it pauses. Called on a thread of the run: be short.
/// Source: langgraph/callbacks.py, GraphCallbackHandler.
class lifecycle_callbacks {
public:
  struct event {
    std::string thread_id;
    std::string checkpoint_id;
    std::string checkpoint_ns;
    std::string status; ///< of a pause: "interrupt_before", "interrupt_after" or "pending"
    std::vector<interrupt> interrupts;
  };
  virtual ~lifecycle_callbacks() = default;
  virtual void on_resume(const event& /*unused*/) {}
  virtual void on_interrupt(const event& /*unused*/) {}
};

/// How to run, or which checkpoint is meant.
/// Source: langchain RunnableConfig, langgraph Pregel.stream.
struct run_config {
  std::string thread_id = {};     ///< required with a saver
  std::string checkpoint_id = {}; ///< empty: the newest
  /// Of the checkpoint that is read, updated or run from: empty, or task_snapshot::subgraph_ns.
  std::string checkpoint_ns = {};
  troupe::durability durability = troupe::durability::async;
  /// While a run waits for its turn, its control can cancel it; no time-out runs. A body must not
  /// wait for a run on its own thread: that one waits for the body's run.
  multitask_strategy multitask = multitask_strategy::take_over;
  /// Super-steps, at least 1; unset: as the graph says (compile_options).
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  /// Tasks at once; 0: no bound. When a task fails for good, those of its step that wait for their
  /// turn do not begin (compile_options::finish_steps).
  std::uint32_t max_concurrency = 0;
  std::chrono::milliseconds step_timeout{0};      ///< of one super-step; 0: none
  std::chrono::milliseconds run_timeout{0};       ///< of the whole run; 0: none
  std::vector<std::string> interrupt_before = {}; ///< over the compiled ones; {"*"}: all
  std::vector<std::string> interrupt_after = {};
  std::vector<std::string> output_keys = {}; ///< what a result shows; empty: the output schema
  std::string output_key = {}; ///< or one key, whose bare value the result and its parts are
  bool subgraphs = false;      ///< streams: parts of subgraphs too
  /// Parts of these modes are also written to the standard output, a line of JSON each, streamed or
  /// not. For a look at what a graph does: {stream_mode::updates, stream_mode::values}.
  std::vector<stream_mode> print_mode = {};
  bool strict_resume = true; ///< fail if a resume value matches no pending interrupt
  /// Refuse an input, or an update from outside, that names a channel the graph does not have; else
  /// such keys are dropped without a word, as in the reference. Not handed on to subgraphs.
  bool strict_input = false;
  value metadata = {};     ///< a map; stored with each checkpoint
  value configurable = {}; ///< a map; bodies read it, its scalars are stored
  value context = {};      ///< anything; bodies read it, it is not stored
  std::optional<run_control> control = std::nullopt;
  std::shared_ptr<lifecycle_callbacks> callbacks = nullptr;
};

/// What a run that ended or paused gave.
/// Shape:  `value`: a map of the output channels that have a value (null when the run changed
///         none of them); of a paused run the state as it stands. `interrupts`: the questions it
///         waits for; empty for breakpoints. `next`: the nodes that would run next.
class run_result {
public:
  troupe::value output;
  std::vector<interrupt> questions;
  std::vector<std::string> next;
  std::string checkpoint_id; ///< of the last checkpoint, also when it was not stored
  std::string drained;       ///< why, when a drain was asked for and a breakpoint came first
  bool stopped = false;      ///< at a breakpoint or a question

  const troupe::value& value() const noexcept { return output; }
  const std::vector<interrupt>& interrupts() const noexcept { return questions; }
  /// Whether the run waits for an answer or at a breakpoint.
  bool paused() const noexcept { return stopped; }
};

template <class S> class typed_result : public run_result {
public:
  explicit typed_result(run_result r) : run_result{std::move(r)} {}
  /// The output as an S. Errors: throws error{invalid_value} that names the member.
  S state() const {
    return read_state<S>(state_view{output.is_null() ? troupe::value::map() : output});
  }
};

/// One part of a stream.
/// Shape:  `ns`: the namespaces from the root to the graph the part comes from, empty for the root.
///         `data` by mode; interrupts, messages and errors are extension values (value_kind):
///         values: the map {channel: value} of the channels that have a value, after each step that
///           wrote one; of a task that asked: the state before the step, with the list
///           `__interrupt__`. With run_config::output_key that channel's bare value.
///         updates: {node: update}, when a task finished. `update` is the map of what it wrote; a
///           list of one-member maps when it wrote a channel twice; null when it wrote none; of a
///           task of a workflow what it returned. From the cache, or done before the run was
///           resumed: also {"__metadata__": {"cached": true}}. Of a task that asked:
///           {"__interrupt__": [interrupt, …]}; of a breakpoint {"__interrupt__": []}.
///         custom: what the body gave to context::write.
///         checkpoints: {config, parent_config, values, metadata, next, tasks}. The configs are
///           {"configurable": {thread_id, checkpoint_ns, checkpoint_id}}, `parent_config` null
///           without a parent; `next` a list of node names; `tasks` a list of maps {id, name,
///           state} with `error`, or `interrupts` and, once finished, `result`.
///         tasks: when a task starts {id, name, input, triggers} and, unless empty, `metadata`;
///           when it ends {id, name, error, result, interrupts} and, if it ran there, `worker`.
///           `error` and `result` are null when there is none; of a channel that was written
///           several times `result` has {"$writes": [value, …]}.
///         debug: {type, step, timestamp, payload}: `type` is "checkpoint", "task" or
///           "task_result", `payload` the data of the part of mode checkpoints or tasks.
///         messages: the list [message, metadata]. The message is whole, or a piece of one with
///           "chunk": true; `metadata` is the task's, with langgraph_step, langgraph_node,
///           langgraph_triggers (a list) and langgraph_checkpoint_ns.
///         tools: {event, tool_call_id, tool_name}: `event` is "tool-started" (with `input`),
///           "tool-output-delta", "tool-finished" (with `output`) or "tool-error" (with
///           `message`).
/// Units:  `seq` grows with every part of the thread, from run to run (of a run without a thread:
///         from 1), so that a reader can resume after any number (basic_app::follow).
/// Source: langgraph/pregel/main.py, stream; langgraph/pregel/debug.py.
struct stream_part {
  stream_mode mode = stream_mode::updates;
  std::vector<std::string> ns;
  value data;
  std::uint64_t seq = 0;
};

struct state_snapshot;

/// A task as a snapshot shows it.
struct task_snapshot {
  std::string id;
  std::string name;
  value path;                        ///< ["__pregel_pull", node] or ["__pregel_push", index, false]
  value error;                       ///< an error value, or null
  std::vector<interrupt> interrupts; ///< questions it asked
  std::optional<value> result;       ///< what it wrote, when it is finished
  std::string subgraph_ns;           ///< of a graph: its namespace, to read its state; else empty
  std::shared_ptr<state_snapshot> state; ///< of a graph, when subgraphs were asked for
};

/// The state of a thread at a checkpoint.
/// Shape:  of a thread without checkpoints: `values` {}, everything else empty or null.
/// Source: langgraph/types.py, StateSnapshot.
struct state_snapshot {
  value values;
  std::vector<std::string> next; ///< what would run; finished is a thread with no `tasks`
  checkpoint_ref config;
  value metadata; ///< a map, or null without a checkpoint
  std::string created_at;
  std::string parent_id; ///< empty: none
  std::vector<task_snapshot> tasks;
  std::vector<interrupt> interrupts;
};

/// Which checkpoints a history gives, newest first.
struct history_options {
  value filter = {};                                ///< metadata members that must be equal
  std::optional<std::string> before = std::nullopt; ///< only older than this checkpoint id
  std::optional<std::size_t> limit = std::nullopt;
};

/// An actor of a run, as run_handle::actors and runtime::actors list it.
struct actor_info {
  std::string kind;        ///< "run", "node", "channel" or "saver"
  std::string name;        ///< the graph's, node's or channel's name
  std::string state;       ///< "running" or "idle"
  std::size_t mailbox = 0; ///< messages sent and not yet taken
  std::string host;        ///< "local", or the worker it is on
  std::string thread_id;   ///< of the run it works for; empty when idle
};

class app_core;     // coordinator/app_core.hpp
class pending_run;  // coordinator/pending_run.hpp
class part_source;  // coordinator/part_source.hpp
class runtime_core; // coordinator/runtime_core.hpp
class worker_pool;  // troupe/cluster.hpp

/// A run that was started and goes on by itself.
/// Owns:   nothing; dropping it leaves the run to itself.
class run_handle {
public:
  explicit run_handle(std::shared_ptr<class pending_run> run) : run_{std::move(run)} {}
  /// Waits for the end. Errors: as app::try_invoke.
  result<run_result> get();
  bool ready() const;
  /// Calls `then` once, when the run has ended, with what get() gives.
  /// Thread: one of the runtime's; this one, when it had ended before. `then` is short, does not
  ///         throw, and does not wait for this run.
  /// Errors: none.
  /// Source: asyncio, Future.add_done_callback.
  void when_done(std::function<void(const result<run_result>&)> then) const;
  run_control control() const;
  /// The live actors of this run. Order: the coordinator, then channels, then nodes, by name.
  std::vector<actor_info> actors() const;

private:
  std::shared_ptr<pending_run> run_;
};

/// What happens to a part that a body streams (custom, messages, tools) while queue_parts_max parts
/// wait for the reader. Parts of the other modes are never dropped.
enum class overflow : std::uint8_t {
  wait,        ///< the body waits for the reader
  drop_oldest, ///< the oldest part that a body streamed is dropped; if none waits, this one
  drop_newest, ///< this part is dropped
  /// This part and all that follow are dropped, and the run stops at the end of its step: the
  /// thread can be resumed, as after a drain. After the last part the reader gets `overloaded`,
  /// also when the step was the last one.
  fail,
};

/// How a run is streamed.
struct stream_options {
  std::vector<stream_mode> modes = {stream_mode::updates};
  std::size_t queue_parts_max = limits::stream_queue_parts_max;
  overflow when_full = overflow::wait; ///< for parts that bodies stream (custom, messages, tools)

  stream_options() = default;
  stream_options(std::initializer_list<stream_mode> list) : modes{list} {}
  stream_options(std::vector<stream_mode> list) : modes{std::move(list)} {}
};

/// The parts of a run, pulled by the reader: the run advances while the reader reads. Memory is
/// bounded: a run waits for its reader. Destroying it stops the run at the end of its step.
/// Use:    `for (auto& part : app.stream(…))`; one thread.
class part_stream {
public:
  explicit part_stream(std::unique_ptr<class part_source> source);
  part_stream(part_stream&&) noexcept;
  part_stream& operator=(part_stream&&) noexcept;
  ~part_stream();

  /// The next part, or nothing at the end. Errors: throws the error the run ended with, behind
  /// the last part.
  std::optional<stream_part> next();
  /// As next(), with the error as a value.
  result<std::optional<stream_part>> try_next();
  /// How the run ended; nothing before the end or after an error.
  const run_result* outcome() const noexcept;
  /// The live actors of this run.
  std::vector<actor_info> actors() const;

  class iterator {
  public:
    explicit iterator(part_stream* s) : stream_{s} {
      if (stream_)
        ++*this;
    }
    stream_part& operator*() { return *part_; }
    stream_part* operator->() { return &*part_; }
    iterator& operator++() {
      part_ = stream_->next();
      if (!part_)
        stream_ = nullptr;
      return *this;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.stream_ == b.stream_; }

  private:
    part_stream* stream_;
    std::optional<stream_part> part_;
  };
  iterator begin() { return iterator{this}; }
  iterator end() { return iterator{nullptr}; }

private:
  std::unique_ptr<part_source> source_;
};

/// An update from outside for one node.
/// Shape:  `as_node`: a node; END without `values`: nothing of what waits runs; "__input__": the
///         values of an input that a later run starts with; "__copy__": a copy of the checkpoint
///         beside it, with `values` null, or a list of [values, as_node] that the copy gets at
///         once: state_update{value::list({value::list({values, "node"})})}.
/// Errors: those of basic_app::try_update_state.
/// Source: langgraph/types.py, StateUpdate; langgraph/pregel/main.py, bulk_update_state.
struct outside_update {
  optional_update values = std::nullopt; ///< nullopt: null
  std::string as_node = {};              ///< empty: inferred
};

/// Which of the threads whose run was cut off are meant.
/// Shape:  `filter`: metadata members that the newest checkpoint must have, as run_config::metadata
///         put them there: a thread that was cut off before its first step does not tell of what
///         graph it is.
/// Source: troupe.
struct unfinished_query {
  value filter = {};
  /// No other process works on the store now. Else a thread counts only if its saver can tell that
  /// the runtime which had it is gone; LMDB and memory can.
  bool alone = false;
};

/// A thread that goes on.
struct resumed_run {
  std::string thread_id;
  run_handle run;
};

/// A graph loaded into a runtime. Cheap to copy; all members may be called from any thread at
/// once. When its runtime is gone, what can fail gives runtime_stopped; no call may be under way
/// while the runtime is destroyed, except runs.
/// Source: langgraph/pregel/main.py, Pregel.
class basic_app {
public:
  explicit basic_app(std::shared_ptr<app_core> core) : core_{std::move(core)} {}

  /// Runs until the graph ends or pauses; lends the calling thread to the run.
  /// Errors: those of the nodes (node_failed …), invalid_value (an input that does not fit the
  ///         members of a typed state, or, with run_config::strict_input, names an unknown channel;
  ///         nothing is stored then), invalid_update, graph_recursion, empty_input,
  ///         invalid_config, unknown_interrupt, ambiguous_resume, graph_drained, storage codes;
  ///         of a run that had to wait (run_config::multitask) also overloaded.
  ///         What was stored before a failure stays, finished tasks of the failed step included.
  result<run_result> try_invoke(const run_input& input, const run_config& config = {}) const;

  /// Runs an input for each config, side by side, and gives what came of them in that order.
  /// Shape:  one config serves all inputs, then without a thread_id; else there is one an input.
  /// Errors: throws error{invalid_config} when the counts differ; what a run ends with stands in
  ///         its own result, as of try_invoke().
  /// Source: langchain_core/runnables/base.py, batch(return_exceptions=True).
  std::vector<result<run_result>> batch(std::span<const run_input> inputs,
                                        std::span<const run_config> configs) const;

  /// Starts a run that the runtime's own threads carry.
  run_handle start(const run_input& input, const run_config& config = {}) const;

  part_stream stream(const run_input& input, const run_config& config = {},
                     const stream_options& options = {}) const;

  /// As start(), keeping the parts of these modes for readers that follow() the thread.
  run_handle start(const run_input& input, const run_config& config,
                   const stream_options& options) const;

  /// The threads whose last run was cut off: its process was killed, or it was drained or stopped
  /// with its runtime. Not among them: those that are finished, that wait for an answer or at a
  /// breakpoint, whose run failed or was cancelled, that nobody ran but an update from outside
  /// wrote to last; what a runtime that still lives works on; and those whose nodes or control
  /// channels this graph does not know.
  /// Order:  by thread id.
  /// Blocks: reads of each thread that is not at rest its newest checkpoint, but no state: some ten
  ///         µs each.
  /// Errors: no_saver, invalid_config (a root graph with checkpointer=True; not `alone`, and the
  ///         saver can't tell who lives), storage codes. A thread that can't be read is left out
  ///         and logged.
  /// Source: troupe.
  result<std::vector<std::string>> try_unfinished(const unfinished_query& which = {}) const;

  /// Goes on with each of them, as start(nullptr, config) does: all at once. A node that ended its
  /// process does so again; who restarts by itself should give up some time.
  /// Shape:  `config` serves all; its thread_id is ignored.
  /// Errors: as try_unfinished; what a run ends with is in its handle: `conflict` when somebody
  ///         else was faster.
  /// Source: troupe.
  result<std::vector<resumed_run>> try_resume_unfinished(const run_config& config = {},
                                                         const unfinished_query& which = {}) const;

  /// The kept parts of a thread whose number is greater than `after`, then those of the run that is
  /// on, until it ends. Parts of streamed and of started runs are kept, the last
  /// limits::stream_log_parts_max of a thread, for as long as this process lives and the thread is
  /// among the last limits::stream_log_threads_max.
  /// Errors: the stream's first next() gives missing_key when parts behind `after` are gone.
  part_stream follow(const std::string& thread_id, std::uint64_t after = 0) const;

  /// Errors: no_saver, invalid_config (no thread_id), storage codes.
  /// Source: the reference's behaviour (tests/conformance).
  /// `subgraphs`: with the snapshots of its tasks that are graphs. `config.checkpoint_ns` names
  /// the state of a subgraph, as task_snapshot::subgraph_ns does.
  /// Errors: also missing_key for a namespace no node of the graph stands for.
  result<state_snapshot> try_get_state(const run_config& config, bool subgraphs = false) const;
  result<std::vector<state_snapshot>>
  try_get_state_history(const run_config& config, const history_options& options = {}) const;
  /// Writes as if a node had; gives where the new checkpoint is. Of a workflow, the given value
  /// becomes what the next run finds as context::previous(), and its result.
  /// Errors: also invalid_update (unknown or ambiguous node; a route that goes to an unknown one; a
  ///         value that does not fit the member of a typed state; with run_config::strict_input an
  ///         unknown channel). Nothing is stored then.
  result<checkpoint_ref> try_update_state(const run_config& config, optional_update values,
                                          std::string as_node = {}) const;
  result<checkpoint_ref> try_bulk_update_state(
    const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const;

  /// The forms that throw error.
  state_snapshot get_state(const run_config& config, bool subgraphs = false) const {
    return try_get_state(config, subgraphs).value();
  }
  std::vector<state_snapshot> get_state_history(const run_config& config,
                                                const history_options& options = {}) const {
    return try_get_state_history(config, options).value();
  }
  checkpoint_ref update_state(const run_config& config, optional_update values,
                              std::string as_node = {}) const {
    return try_update_state(config, std::move(values), std::move(as_node)).value();
  }
  checkpoint_ref bulk_update_state(
    const run_config& config, const std::vector<std::vector<outside_update>>& supersteps) const {
    return try_bulk_update_state(config, supersteps).value();
  }

  std::vector<std::string> unfinished(const unfinished_query& which = {}) const {
    return try_unfinished(which).value();
  }
  std::vector<resumed_run> resume_unfinished(const run_config& config = {},
                                             const unfinished_query& which = {}) const {
    return try_resume_unfinished(config, which).value();
  }

  /// Forgets what the cache holds for these nodes, or for all nodes. A name that is not a node
  /// means a task of workflows: what is cached of a task is shared by all workflows that start it.
  /// Errors: invalid_config without a cache; storage codes. Unknown names have nothing cached.
  result<void> clear_cache(const std::vector<std::string>& nodes = {}) const;

  const compiled_graph& graph() const noexcept;
  /// Where its threads are kept: the graph's own saver, else the runtime's; null: nowhere.
  troupe::saver* saver() const noexcept;

  /// The graph as an actor: answers start_run with run_finished (troupe/actor.hpp). It lives as
  /// long as the runtime.
  caf::actor handle() const;

protected:
  run_handle handle_of(result<std::shared_ptr<class pending_run>> run) const;
  std::shared_ptr<app_core> core_;
};

/// A loaded graph whose results are run_result (S = void) or typed_result<S>.
template <class S = void> class app : public basic_app {
public:
  using basic_app::basic_app;
  using result_type =
    std::conditional_t<std::is_void_v<S>, run_result,
                       typed_result<std::conditional_t<std::is_void_v<S>, int, S>>>;

  /// As try_invoke; throws error.
  result_type invoke(const run_input& input, const run_config& config = {}) const {
    return result_type{try_invoke(input, config).value()};
  }
};

/// What a runtime removes by itself, in the background: of its saver's threads, one thread after
/// the other, and of its store the items whose time is over.
/// Units:  `every` at least limits::prune_every_min.
/// Errors: (of the runtime) invalid_config for a `keep.keep_latest` of 0 or too small an `every`. A
///         failure is logged and tried again with the next round.
/// Source: troupe.
struct pruning {
  retention keep = {}; ///< of each thread
  /// Threads whose newest checkpoint is older are deleted, unless a run of this runtime is on them.
  std::optional<std::chrono::seconds> thread_ttl = std::nullopt;
  std::chrono::seconds every{3600}; ///< between rounds
};

/// Shape:  without `saver` and with an empty `data_dir`, threads are not stored. Where no `keyring`
///         is given, keyring::from_environment() says whether what is stored in `data_dir` is
///         encrypted.
struct runtime_options {
  std::filesystem::path data_dir = {}; ///< an LMDB saver and an LMDB store in this directory
  std::shared_ptr<const troupe::keyring> keyring = nullptr; ///< of both; null: the environment's
  std::shared_ptr<troupe::saver> saver = nullptr;           ///< or any saver
  std::shared_ptr<troupe::store> store = nullptr;           ///< or any: what context::store() gives
  std::shared_ptr<troupe::node_cache> cache = nullptr;      ///< of nodes with a cache_policy
  std::shared_ptr<troupe::worker_pool> workers = nullptr;   ///< of nodes with a placement
  std::size_t worker_threads = 0; ///< of an own actor system; 0: as many as cores
  std::size_t blocking_threads = limits::blocking_threads_max; ///< bound of the blocking lane
  std::optional<pruning> prune = std::nullopt;                 ///< needs a saver or a store
};

/// Runs graphs. Ends all it started when destroyed: runs in flight end with runtime_stopped, what
/// they had stored stays.
/// Errors: the constructors throw error (storage codes).
/// Source: troupe.
class runtime {
public:
  /// With an actor system of its own (no caf-application.ini is read).
  explicit runtime(runtime_options options = {});
  /// On the caller's actor system, which must outlive this and is left as it was found. Its
  /// config must know troupe's message types (troupe/actor.hpp, add_message_types).
  runtime(caf::actor_system& system, runtime_options options = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  static result<std::unique_ptr<runtime>> open(runtime_options options = {});

  app<> load(const compiled_graph& graph) { return app<>{load_core(graph)}; }
  template <class S> app<S> load(const typed_graph<S>& graph) { return app<S>{load_core(graph)}; }

  /// Null when threads are not stored.
  const std::shared_ptr<troupe::saver>& saver() const noexcept;
  /// The live actors, of all runs.
  std::vector<actor_info> actors() const;

private:
  std::shared_ptr<app_core> load_core(const compiled_graph& graph);
  std::unique_ptr<runtime_core> core_;
};

} // namespace troupe
