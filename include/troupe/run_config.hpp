// run_config: how a graph is run, when it stores, and how a run is reached while it runs.
#pragma once

#include <troupe/control.hpp>
#include <troupe/error.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// When a run stores its state.
/// Errors: none.
/// Source: langgraph/types.py, Durability; ARCHITECTURE.md.
enum class durability : std::uint8_t {
  sync,  ///< task writes and checkpoints are durable before anyone acts on them
  async, ///< stored in order while the next step runs; durable when the call returns
  exit,  ///< one checkpoint when the run ends, pauses or fails
};

/// How much of a thread's past stays stored.
/// Errors: see run_config::store_history.
/// Source: troupe; langgraph-checkpoint-redis has a saver of such threads, ShallowRedisSaver.
enum class store_history : std::uint8_t {
  all, ///< every checkpoint
  /// The newest checkpoint of each namespace, with its pending writes. The commit that stores a
  /// checkpoint removes all older ones of its namespace, and the namespaces of their tasks. Where a
  /// delta channel leaves its value to earlier writes, older checkpoints stay until one holds the
  /// values of all delta channels (channel_spec::snapshot_frequency). The past of a thread that was
  /// run otherwise before is removed, too; a long one within a few steps.
  latest_only,
};

/// The treatment of a run that is requested on a thread while another run of this runtime has its
/// turn there. A turn ends when its run has ended and the run's last save was answered. Runs on
/// different threads never wait for each other.
///
/// Turns belong to one runtime. A run of another runtime, in this process or another one, is not
/// seen. With every strategy the new run then begins, and the other run gets `conflict` at its next
/// save. Everything that run has stored stays, and none of its tasks runs again. To coordinate runs
/// of a thread, send all of them to one runtime.
/// Errors: see the strategies.
/// Source: langgraph_sdk/schema.py, MultitaskStrategy; `take_over` is troupe's.
enum class multitask_strategy : std::uint8_t {
  take_over, ///< the new run begins at once; the other one gets `conflict` at its next save
  reject,    ///< the new run is refused with `conflict`; nothing is read or stored
  enqueue,   ///< the new run waits for its turn, first come first served
  interrupt, ///< cancels the other run, keeps what it stored; the new one begins, before the queue
  rollback,  ///< as interrupt, and the thread is restored to its state before the other run;
             ///< `conflict` if the thread was taken over meanwhile, also by an outside update, and
             ///< if the other run has store_history::latest_only
};

/// The kinds of parts that a stream carries.
/// Shape:  of the parts: see stream_part.
/// Errors: none.
/// Source: langgraph/types.py, StreamMode.
enum class stream_mode : std::uint8_t {
  values,      ///< the state after each step
  updates,     ///< the writes of each task, when it finished
  custom,      ///< the parts that bodies write with context::write
  checkpoints, ///< a snapshot for each checkpoint
  tasks,       ///< one part when a task starts and one when it ends, with its worker if any
  debug,       ///< checkpoints and tasks in an envelope
  messages,    ///< messages, parts of them and removals, from models and the updates of nodes
  tools,       ///< the events of tools: started, a piece of output, finished, failed
};
/// The enumerator's name, e.g. "updates". The functions parse_… give the enumerator of a name.
/// Errors: none.
/// Source: troupe.
std::string_view to_string(stream_mode mode) noexcept;
/// Errors: invalid_config for a name that is not a mode.
/// Source: troupe.
result<stream_mode> parse_stream_mode(std::string_view name);
std::string_view to_string(durability d) noexcept;
result<durability> parse_durability(std::string_view name);
std::string_view to_string(store_history h) noexcept;
/// Errors: invalid_config for a name that is not a choice.
/// Source: troupe.
result<store_history> parse_store_history(std::string_view name);
std::string_view to_string(multitask_strategy s) noexcept;
/// Errors: invalid_config for a name that is not a strategy.
/// Source: troupe.
result<multitask_strategy> parse_multitask_strategy(std::string_view name);
std::ostream& operator<<(std::ostream& out, stream_mode mode);

/// A handle on a run in flight. Copies share one state. Safe from any thread; request_drain and
/// cancel also from the thread that handles signals.
/// Errors: none.
/// Source: langgraph/runtime.py, RunControl.
class run_control {
public:
  run_control();
  /// Asks the run to stop at the end of its current step. The run then ends with graph_drained and
  /// resumes when it is invoked without input. A run that finishes with that step ends as usual.
  void request_drain(std::string reason = "shutdown");
  /// Gives the run up now: it ends with `cancelled` without waiting for its tasks. Their bodies see
  /// stop_requested(), and their output is dropped. Everything stored before stays.
  void cancel();
  bool drain_requested() const noexcept;
  bool cancelled() const noexcept;
  std::string reason() const;

private:
  friend struct control_hooks;
  struct state;
  std::shared_ptr<state> state_;
};

struct run_config;

/// Callbacks of a run, of the tasks of its nodes, and of the tasks that bodies start. Runs within
/// the run call them, too.
/// Order:  as things happen. The run begins, a task of a node begins and ends or fails, and so on.
///         The run's own end comes last. A task that a pause or a cancelled run leaves does not
///         end.
/// Errors: an exception of a callback is logged, and has no other effect.
/// Thread: a thread of the run, and one call at a time for each graph. No lock is held. Be short:
///         the run waits.
/// Source: langgraph/callbacks.py, GraphCallbackHandler; langchain_core/callbacks/base.py.
class lifecycle_callbacks {
public:
  struct event {
    std::string thread_id;
    std::string checkpoint_id;
    std::string checkpoint_ns;
    std::string status; ///< of a pause: "interrupt_before", "interrupt_after" or "pending"
    std::vector<interrupt> interrupts;
    std::string run_id;
    std::shared_ptr<const run_config>
      config; ///< of the run: tags, run_name, metadata, configurable
  };
  /// A task at its beginning or end.
  struct task_event {
    std::string node; ///< or the name of a task that a body started
    std::string task_id;
    std::string checkpoint_ns; ///< of the task: NODE:ID, after the namespaces around it
    std::int64_t step = 0;     ///< super-steps of the thread, from -1
    value metadata;            ///< context::metadata()
    std::string run_id;
    bool cached = false; ///< the result is from the cache, or of an earlier run; it did not begin
  };
  virtual ~lifecycle_callbacks() = default;
  virtual void on_resume(const event& /*unused*/) {}
  virtual void on_interrupt(const event& /*unused*/) {}
  virtual void on_run_begin(const event& /*unused*/) {}
  /// The run ended, or paused (then on_interrupt was called before).
  virtual void on_run_end(const event& /*unused*/) {}
  virtual void on_run_error(const event& /*unused*/, const error& /*unused*/) {}
  virtual void on_node_begin(const task_event& /*unused*/) {}
  virtual void on_node_end(const task_event& /*unused*/) {}
  /// After the last attempt. When a handler of errors runs then, its own task begins afterwards.
  virtual void on_node_error(const task_event& /*unused*/, const error& /*unused*/) {}
  virtual void on_task_begin(const task_event& /*unused*/) {}
  virtual void on_task_end(const task_event& /*unused*/) {}
  virtual void on_task_error(const task_event& /*unused*/, const error& /*unused*/) {}
};

/// How to run a graph, or which checkpoint a call refers to.
/// Errors: none here; the call that uses a config that can't be used gives invalid_config.
/// Source: langchain RunnableConfig, langgraph Pregel.stream.
struct run_config {
  std::string thread_id = {};     ///< required with a saver
  std::string checkpoint_id = {}; ///< empty: the newest
  /// The namespace of the checkpoint that is read, updated or run from: empty, or
  /// task_snapshot::subgraph_ns.
  std::string checkpoint_ns = {};
  troupe::durability durability = troupe::durability::async;
  /// For the run, the runs within it, and outside updates. A checkpoint that was removed is missing
  /// for get_state, forks and copies. A saver of the user's own that does not override submit()
  /// needs prune(); else saving fails with invalid_config.
  troupe::store_history store_history = troupe::store_history::all;
  /// While a run waits for its turn, its control can cancel it, and no time-out counts. A body must
  /// not wait for a run on its own thread: that run waits for the body's run.
  multitask_strategy multitask = multitask_strategy::take_over;
  /// Super-steps, at least 1; unset: the graph's limit (compile_options).
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  /// Tasks at once; 0: no bound. When a task fails for good, waiting tasks of its step do not
  /// begin, unless compile_options::finish_steps is set.
  std::uint32_t max_concurrency = 0;
  std::chrono::milliseconds step_timeout{0}; ///< of one super-step; 0: none, not negative
  std::chrono::milliseconds run_timeout{0};  ///< of the whole run; 0: none, not negative
  /// How long a step whose task failed for good waits for its other tasks. They see
  /// context::stop_requested(); the result of a task that did not ask, and ends in time, is stored.
  /// 0: no bound. No effect with compile_options::finish_steps.
  std::chrono::milliseconds sibling_timeout = limits::sibling_timeout;
  std::vector<std::string> interrupt_before = {}; ///< replaces the compiled list; {"*"}: all
  std::vector<std::string> interrupt_after = {};
  std::vector<std::string> output_keys = {}; ///< the channels of a result; empty: the output schema
  std::string output_key = {}; ///< or one channel, whose bare value is the result and its parts
  bool subgraphs = false;      ///< streams: also parts of subgraphs
  /// Also prints parts of these modes to the standard output, streamed or not. A line has the mode
  /// in brackets and JSON.
  /// To watch a graph: {stream_mode::updates, stream_mode::values}.
  std::vector<stream_mode> print_mode = {};
  bool strict_resume = true; ///< fail if an answer by id matches no pending interrupt
  /// true: an input or an outside update that names an unknown channel is refused. false: such keys
  /// are dropped silently, as in the reference. Subgraphs do not inherit it.
  bool strict_input = false;
  /// The metadata of checkpoints have all members of `metadata`, of any kind, and all of
  /// `configurable` but the place, as the savers of langgraph-api keep them; otherwise the scalars
  /// of both but the place. Subgraphs inherit it, but for those that run on workers.
  bool whole_metadata = false;
  std::vector<std::string> tags = {}; ///< labels for bodies, callbacks and parts; not stored
  std::string run_name = {};          ///< for bodies and callbacks; empty: the graph's name
  /// A UUID for bodies, callbacks and parts; empty: one is made when it is first read.
  std::string run_id = {};
  value metadata = {};     ///< a map; stored with each checkpoint
  value configurable = {}; ///< a map; bodies read it, its scalars are stored
  value context = {};      ///< anything; bodies read it, it is not stored
  std::optional<run_control> control = std::nullopt;
  std::shared_ptr<lifecycle_callbacks> callbacks = nullptr;
};

/// The config of a call whose caller has bound defaults: a member of `call` that is not as in
/// run_config{} replaces the default.
/// Shape:  the members of metadata and configurable are merged, the call's over the defaults'. The
///         tags are those of the defaults, then those of the call, each once.
/// Errors: none.
/// Source: langchain_core/runnables/config.py, merge_configs.
run_config merge_configs(const run_config& defaults, const run_config& call);

} // namespace troupe
