// troupe inside a CAF actor system: message types, and the messages a graph actor understands.
// Besides cluster.hpp the only public header that knows CAF.
#pragma once

#include <troupe/runtime.hpp>

#include <caf/actor.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/fwd.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Starts a run; sent to basic_app::handle(). The answer is run_finished.
/// Shape:  `input` msgpack of the input value; empty for no input; `resume` msgpack of an answer,
///         used instead of `input` when not empty. `durability` 0 sync, 1 async, 2 exit.
struct start_run {
  std::string thread_id;
  std::vector<std::uint8_t> input;
  std::vector<std::uint8_t> resume;
  std::uint32_t recursion_limit = limits::recursion_limit_default;
  std::uint8_t durability = 1;
};

/// A run ended or paused.
/// Shape:  `error` 0 or an errc; then `message` says what happened. `output` msgpack of the output
///         value, `interrupts` msgpack of the list of questions.
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

/// A start_run with this input, or this answer.
/// Errors: throws error{invalid_value} for a value that can't be encoded.
start_run make_start_run(std::string thread_id, const run_input& input);
/// The result a run_finished stands for.
result<run_result> to_result(const run_finished& done);

/// Makes troupe's message types known to a caller's actor system.
void add_message_types(caf::actor_system_config& config);

} // namespace troupe

// The first id leaves room for a program's own blocks.
CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id + 1000)
  CAF_ADD_TYPE_ID(troupe, (troupe::start_run))
  CAF_ADD_TYPE_ID(troupe, (troupe::run_finished))
CAF_END_TYPE_ID_BLOCK(troupe)
