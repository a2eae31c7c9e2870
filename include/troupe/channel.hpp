// The channel declaration: the kind of a state channel and, for reducers, how writes fold into its
// value.
#pragma once

#include <troupe/callable.hpp>
#include <troupe/value.hpp>
#include <troupe/value_fit.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// The kinds of channels. Numbers are not stored.
/// Errors: none.
/// Source: langgraph/channels.
enum class channel_kind : std::uint8_t {
  last_value,              ///< keeps the one write of a step
  last_value_after_finish, ///< readable only when nothing else is left to run
  any_value,               ///< the last write of a step; cleared when a step writes nothing to it
  ephemeral,               ///< as any_value, but guarded: one write a step
  untracked,               ///< kept during the run, never stored
  topic,                   ///< a list of all writes, of one step or accumulating
  binary_operator,         ///< folds each write with a reducer
  named_barrier,           ///< available when all names were written
  named_barrier_after_finish,
  delta,        ///< folds like binary_operator, but is stored as the writes that made it
  named_quorum, ///< available when enough of its names were written
  defined,      ///< a rule of the user's own (define_channel)
  // Managed: computed for the reader, not stored in a channel.
  remaining_steps, ///< super-steps left before the recursion limit
  is_last_step,    ///< true in the last super-step the limit allows
};

/// How a binary_operator channel folds: `op(current, update)`.
/// Shape:  `initial` is the value before the first write; nullopt: the first write becomes the
///         value. The function may throw troupe::error{invalid_update}.
/// Thread: one thread at a time calls it for a channel, many threads for a graph.
/// Errors: none here; an exception of `op` fails the run.
/// Source: langgraph/channels/binop.py.
struct reducer {
  std::string name; // for messages and drawings
  value (*function)(const value& current, const value& update) = nullptr;
  std::function<value(const value&, const value&)> closure; // used when `function` is null
  std::optional<value> initial;

  value operator()(const value& current, const value& update) const {
    return function ? function(current, update) : closure(current, update);
  }
};

/// How a delta channel folds the writes of a step, in task order, into its value.
/// Shape:  `initial` is the value before the first write. `op` may throw
///         troupe::error{invalid_update}. `messages`: writes get message ids before they are
///         stored.
/// Thread: as reducer.
/// Errors: none here; see delta.
/// Source: langgraph/channels/delta.py.
struct batch_reducer {
  std::string name;
  std::function<value(const value& current, std::span<const value> writes)> op;
  value initial;
  bool messages = false;
};

/// The rule of a channel of the user's own, as pure functions of the channel's content. An equal
/// content and equal writes must give an equal result, in every process.
/// Shape:  a content is any value; null stands for an empty channel. The functions:
///         - `update`: the content after the writes of a step, which are in task order. nullopt:
///         the
///           channel does not count as updated.
///         - `get`: the value that nodes read; nullopt: the channel is not available. Missing: the
///           content, unless it is null.
///         - `checkpoint`: the value that is stored; nullopt stores none, and the next run begins
///           with `initial`. Missing: the content, unless it is null.
///         - `from_checkpoint`: the content that a stored value stands for. Missing: that value.
///         - `consume`: the content after the step of a task that the channel triggered
///           (state_graph::subscribe). nullopt: no change. Missing: the same.
///         - `finish`: the content when nothing else is left to run. nullopt: no change. Missing:
///           the same.
///         `name` is for messages and for the hash of the graph. `each_step`: a step that writes
///         only to other channels calls `update` without writes, if the channel is available.
/// Order:  `get` and `checkpoint` run once after every change of the content, not at every read.
/// Thread: `update` runs in the channel's actor; the others run where the run is. One thread at a
///         time calls them for a channel, many threads for a graph. No function runs on a worker,
///         except when a route of a placed node reads the channel.
/// Errors: an exception of a function fails the step with invalid_update, or with the code of a
///         troupe::error. An exception of `from_checkpoint` gives checkpoint_corrupt. Each error
///         names the channel and the function.
/// Source: langgraph/channels/base.py, BaseChannel.
struct channel_definition {
  std::string name;
  value initial = {};
  std::function<std::optional<value>(const value& content, std::span<const value> writes)> update;
  std::function<std::optional<value>(const value& content)> get = {};
  std::function<std::optional<value>(const value& content)> checkpoint = {};
  std::function<value(const value& stored)> from_checkpoint = {};
  std::function<std::optional<value>(const value& content)> consume = {};
  std::function<std::optional<value>(const value& content)> finish = {};
  bool each_step = false;
};

/// The declaration of one channel in a schema.
/// Errors: none here; see state_graph::compile.
/// Source: langgraph/channels.
struct channel_spec {
  channel_kind kind = channel_kind::last_value;
  bool guard = true;                      // ephemeral, untracked: one write a step
  bool accumulate = false;                // topic
  bool unique = false;                    // topic: a value that it holds already is not added again
  std::shared_ptr<const reducer> op = {}; // binary_operator
  std::vector<std::string> names = {};    // barriers
  std::size_t need = 0;                   // named_quorum: how many of the names
  // named_quorum: after this wait fewer names suffice; 0: never.
  std::chrono::nanoseconds patience{0};
  std::shared_ptr<const batch_reducer> batch = {}; // delta
  std::int64_t snapshot_frequency = 0;             // delta: updates between two stored values
  std::size_t keep_last = 0; // a list channel keeps this many of its last elements; 0: all
  std::shared_ptr<const value> json = {}; // JSON Schema of its value; null: that of the kind
  const value_check* check = nullptr;     // the check of a write; null: only the channel's own rule
  std::shared_ptr<const channel_definition> definition = {}; // defined

  bool managed() const noexcept { return kind >= channel_kind::remaining_steps; }

  /// Whether two declarations of one key agree. Reducers agree when they are the same function,
  /// with any initial values, or one of them is a closure. Definitions agree by name.
  friend bool operator==(const channel_spec& a, const channel_spec& b) noexcept;
};

/// The default: keeps the one write of a step.
/// Errors: invalid_update when a step writes twice.
/// Source: langgraph/channels/last_value.py, LastValue.
extern const channel_spec last_value;
/// The channels of the kind of the same name.
/// Errors: invalid_update when a step writes to ephemeral or untracked twice.
/// Source: langgraph/channels; langgraph/managed.
extern const channel_spec any_value;
extern const channel_spec ephemeral;
extern const channel_spec untracked;
extern const channel_spec topic;
extern const channel_spec remaining_steps;
extern const channel_spec is_last_step;
/// Without the guard: several writes a step, of which the last one counts.
/// Errors: none.
/// Source: langgraph/channels, EphemeralValue(guard=False) and UntrackedValue(guard=False).
extern const channel_spec ephemeral_unguarded;
extern const channel_spec untracked_unguarded;
/// A topic that keeps the writes of earlier steps, and one that keeps equal ones once.
/// Errors: none.
/// Source: langgraph/channels/topic.py, Topic(accumulate=True); topic_unique is troupe's.
extern const channel_spec topic_accumulating;
extern const channel_spec topic_unique;

/// A binary_operator channel with a reducer of the caller's own.
/// Shape:  see `reducer`.
/// Errors: throws error{invalid_graph} when `op` is empty.
/// Source: langgraph/channels/binop.py.
channel_spec reduce(std::string name, std::function<value(const value&, const value&)> op,
                    std::optional<value> initial = std::nullopt);

namespace detail {

template <class F>
concept value_reducer = std::is_invocable_r_v<value, F&, const value&, const value&>;
template <class F>
concept typed_reducer = !value_reducer<F> && plain_callable<F> && requires {
  requires std::tuple_size_v<typename callable_args<std::decay_t<F>>::args>
  == 2;
};
template <class T> T read_operand(const value& v, const char* which) {
  try {
    return value_traits<T>::from(v);
  } catch (const error& e) {
    throw error{errc::invalid_update, std::string{which} + ": " + e.message(), "TypeError"};
  }
}

} // namespace detail

/// A reducer over C++ types: `T(T current, U update)`, where T and U have value_traits.
///     TROUPE_STATE(st, (best, troupe::reduce("best", [](int a, int b) { return std::max(a, b);
///     })))
/// Shape:  starts at `initial`, else at T{}; in a typed state at the member's own default.
/// Errors: none here; a step fails with invalid_update, of class TypeError, for a write that is not
///         a U.
/// Source: troupe.
template <class F>
requires(!detail::value_reducer<F> && !std::is_null_pointer_v<F>) channel_spec
  reduce(std::string name, F op, std::optional<value> initial = std::nullopt) {
  static_assert(detail::typed_reducer<F>,
                "troupe::reduce wants a function of two values or of two C++ types, "
                "T(T current, U update), without `auto` parameters");
  if constexpr (detail::typed_reducer<F>) {
    using args = typename detail::callable_args<std::decay_t<F>>::args;
    using current_type = std::decay_t<std::tuple_element_t<0, args>>;
    using update_type = std::decay_t<std::tuple_element_t<1, args>>;
    if (!initial)
      initial = value_traits<current_type>::to(current_type{});
    return reduce(std::move(name),
                  std::function<value(const value&, const value&)>{
                    [op = std::move(op)](const value& current, const value& update) mutable {
                      return value_traits<current_type>::to(
                        op(detail::read_operand<current_type>(current, "the value so far"),
                           detail::read_operand<update_type>(update, "the write")));
                    }},
                  std::move(initial));
  } else {
    return {};
  }
}

/// The built-in reducers, each a binary_operator channel:
///  - `sum` adds numbers and joins strings and lists. `sum` starts at 0; in a typed state at the
///    member's own default: 0, 0.0 or "".
///  - `append` joins lists and starts at [].
///  - `merge` unites maps, whose right members win, and starts at {}.
///  - `multiply`, `minimum`, `maximum` take numbers (minimum and maximum also strings) and start
///    with their first write.
/// A member whose default is null (`value messages;`, an empty std::optional) starts at these
/// values.
/// Errors: invalid_update when the operands are of other kinds or an integer overflows.
/// Source: langgraph/channels/binop.py; the reducers are troupe's.
extern const channel_spec sum;
extern const channel_spec append;
extern const channel_spec merge;
extern const channel_spec multiply;
extern const channel_spec minimum;
extern const channel_spec maximum;

/// Messages: a new one is appended; one with the id of an older message replaces that message; a
/// removal removes it. Messages without an id get one. Starts at [].
/// Shape:  the write is one message or a list of them. A message is a message value, a map with
///         "role" and "content", a string (a user's message) or a [role, content] pair.
/// Errors: invalid_update (of the reference's class ValueError) when a removal names an unknown id,
///         and for a write that is not a message.
/// Source: langgraph/graph/message.py, add_messages.
extern const channel_spec add_messages;

/// Whether every write to the channel, except an overwrite, has the kind of the channel's value.
/// Such a channel keeps the write, or folds it with sum, append, merge or multiply.
/// Errors: none.
/// Source: troupe.
bool takes_its_own_kind(const channel_spec& spec) noexcept;

/// `spec` with another initial value; for binary_operator and delta channels only.
/// Errors: throws error{invalid_graph} for a channel without a reducer.
/// Source: troupe.
channel_spec starting_at(const channel_spec& spec, value initial);

/// A delta channel. The channel folds like a reducer, but a checkpoint stores only the writes of
/// its step; the whole value is stored once in `snapshot_frequency` updates. Reading a state
/// replays the writes since.
/// Shape:  `folding` is a batch_reducer, or a binary_operator channel, whose reducer folds one
/// write
///         after another. add_messages becomes the reference's message delta reducer. A removal of
///         an unknown message, or of all messages, then has no effect. An overwrite of null sets
///         the initial value. Folding the writes of several steps at once must give the same value
///         as folding step by step, because a state is read that way.
/// Units:  `snapshot_frequency` in updates of the channel, from 1.
/// Errors: throws error{invalid_graph}
///         - of class ValueError when snapshot_frequency < 1
///         - when `folding` has no function, or no initial value (see starting_at)
/// Source: langgraph/channels/delta.py.
inline constexpr std::int64_t snapshot_frequency_default = 100; // updates
channel_spec delta(const channel_spec& folding,
                   std::int64_t snapshot_frequency = snapshot_frequency_default);
channel_spec delta(batch_reducer folding,
                   std::int64_t snapshot_frequency = snapshot_frequency_default);

/// `spec`, a list channel (append, topic_accumulating, add_messages, delta(append) …), limited to
/// its last `count` elements. Older ones are dropped at the end of each step that writes to it.
/// Shape:  a value that is not a list is kept as it is.
/// Units:  `count` in elements, from 1.
/// Errors: throws error{invalid_graph} when `count` is 0, and when `spec` is of another kind than
///         binary_operator, topic or delta. Also for a delta channel of messages, since a dropped
///         message could come back when the channel is read.
/// Source: troupe.
channel_spec keep_last(const channel_spec& spec, std::size_t count);

/// A channel with a rule of the caller's own.
/// Shape:  see `channel_definition`; `name` and `update` are set.
/// Errors: throws error{invalid_graph} when the name or `update` is missing, or when `get` or
///         `checkpoint` fails for the initial content.
/// Source: langgraph/channels/base.py, a subclass of BaseChannel.
channel_spec define_channel(channel_definition definition);

/// The channels of a state, in order.
/// Shape:  names are unique; any name but the reserved ones.
/// Errors: see state_graph.
/// Source: langgraph/graph/state.py, StateGraph(state_schema).
struct schema {
  std::vector<std::pair<std::string, channel_spec>> channels;

  schema() = default;
  schema(std::initializer_list<std::pair<std::string, channel_spec>> list);
  schema(const schema&);
  schema(schema&&) noexcept;
  schema& operator=(const schema&);
  schema& operator=(schema&&) noexcept;
  ~schema();
};

} // namespace troupe
