// Actors: troupe inside a CAF actor system; message types, and the messages of a graph actor.
// Only this public header and cluster.hpp know CAF.
#pragma once

#include <troupe/runtime.hpp>

#include <caf/actor.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/fwd.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// Starts a run; sent to basic_app::handle(). The answer is run_finished.
/// Shape:  `input`: msgpack of the input value; empty for no input. `resume`: msgpack of an answer,
///         which replaces `input` unless it is empty. `recursion_limit` 0: the graph's.
///         `durability`: 0 sync, 1 async, 2 exit.
/// Errors: none.
/// Source: troupe.
struct start_run {
  std::string thread_id;
  std::vector<std::uint8_t> input;
  std::vector<std::uint8_t> resume;
  std::uint32_t recursion_limit = 0;
  std::uint8_t durability = 1;
};

/// A run ended or paused.
/// Shape:  `error`: 0 or an errc, explained by `message`. `output`: msgpack of the output value.
///         `interrupts`: msgpack of the list of questions.
/// Errors: none.
/// Source: troupe.
struct run_finished {
  std::string thread_id;
  std::uint8_t error = 0;
  std::string message;
  std::vector<std::uint8_t> output;
  std::vector<std::uint8_t> interrupts;
};

template <class Inspector> typename Inspector::result_type inspect(Inspector& f, start_run& x) {
  return f(caf::meta::type_name("troupe::start_run"), x.thread_id, x.input, x.resume,
           x.recursion_limit, x.durability);
}
template <class Inspector> typename Inspector::result_type inspect(Inspector& f, run_finished& x) {
  return f(caf::meta::type_name("troupe::run_finished"), x.thread_id, x.error, x.message, x.output,
           x.interrupts);
}

/// A task for an actor that is a node (actor_body). The answer is actor_task_done, or an error.
/// Shape:  `input`: msgpack of the node's input: the state as a map, or the argument of a send.
/// Errors: none.
/// Source: troupe.
struct actor_task {
  std::string task_id;
  std::string node;
  std::string thread_id;
  std::int64_t step = 0; // super-steps of the thread, from -1
  std::uint32_t attempt = 1;
  std::vector<std::uint8_t> input;
};

/// The outcome of an actor_task.
/// Shape:  `update`: msgpack of the update (a map, or null for none). `goto_`: nodes to go to
///         besides the edges. A non-empty `error` fails the task; `error_type` is its class.
/// Errors: none.
/// Source: troupe.
struct actor_task_done {
  std::vector<std::uint8_t> update;
  std::vector<std::string> goto_;
  std::string error;
  std::string error_type;
};

template <class Inspector> typename Inspector::result_type inspect(Inspector& f, actor_task& x) {
  return f(caf::meta::type_name("troupe::actor_task"), x.task_id, x.node, x.thread_id, x.step,
           x.attempt, x.input);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, actor_task_done& x) {
  return f(caf::meta::type_name("troupe::actor_task_done"), x.update, x.goto_, x.error,
           x.error_type);
}

/// Decodes the input of an actor_task, and makes an answer with an update.
/// Errors: throw error{invalid_value}.
/// Source: troupe.
value input_of(const actor_task& task);
actor_task_done done_with(const value& update, std::vector<std::string> goto_ = {});

/// A node that is an actor of the caller. The actor gets an actor_task and answers with
/// actor_task_done. If it dies before the answer, the task fails with node_lost. The factory makes
/// an actor for each task, which is ended with the task.
/// Owns:   the handle, not the actor.
/// Errors: none here.
/// Source: troupe.
node_body actor_body(caf::actor target);
node_body actor_body(std::function<caf::actor()> factory);

/// A start_run with this input or answer.
/// Errors: throws error{invalid_value} for a value that can't be encoded.
/// Source: troupe.
start_run make_start_run(std::string thread_id, const run_input& input);
/// The result in a run_finished.
/// Errors: the run's error; invalid_value for bytes that are not msgpack.
/// Source: troupe.
result<run_result> to_result(const run_finished& done);

/// Makes troupe's message types known to a caller's actor system.
/// Errors: none.
/// Source: troupe.
void add_message_types(caf::actor_system_config& config);

} // namespace troupe

// The first id leaves room for a program's own blocks.
CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id + 1000)
  CAF_ADD_TYPE_ID(troupe, (troupe::start_run))
  CAF_ADD_TYPE_ID(troupe, (troupe::run_finished))
  CAF_ADD_TYPE_ID(troupe, (troupe::actor_task))
  CAF_ADD_TYPE_ID(troupe, (troupe::actor_task_done))
CAF_END_TYPE_ID_BLOCK(troupe)
