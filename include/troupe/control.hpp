// Control values: the updates, commands, sends and overwrites that a node returns, and interrupts.
#pragma once

#include <troupe/policy.hpp>
#include <troupe/value.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// The virtual first and last node.
/// Errors: none.
/// Source: langgraph/constants.py, START and END.
inline constexpr const char* START = "__start__";
inline constexpr const char* END = "__end__";

/// Writes to state channels, in the order in which they were made.
/// Shape:  (channel, value) pairs; a channel may appear several times. A map value becomes its
///         entries in key order. Any other value but null becomes one write to the channel
///         `__root__`, which only a graph whose whole state is one value has.
/// Errors: none here; the channels check the writes when the step ends.
/// Source: langgraph/graph/state.py, CompiledStateGraph.attach_node.
class state_update {
public:
  using entry = std::pair<std::string, value>;

  state_update() noexcept;
  state_update(const value& v);
  state_update(std::initializer_list<entry> entries);
  explicit state_update(std::vector<entry> entries) noexcept;
  state_update(const state_update&);
  state_update(state_update&&) noexcept;
  state_update& operator=(const state_update&);
  state_update& operator=(state_update&&) noexcept;
  ~state_update();

  state_update& set(std::string channel, value v) &;
  state_update&& set(std::string channel, value v) && {
    return std::move(set(std::move(channel), std::move(v)));
  }

  const std::vector<entry>& entries() const& noexcept { return entries_; }
  std::vector<entry> entries() && noexcept;
  bool empty() const noexcept { return entries_.empty(); }

  /// As a map; the last write to a channel counts.
  value to_value() const;

private:
  std::vector<entry> entries_;
};

/// A task of `node` in the next step with an input of its own. `timeout`, when given, replaces the
/// node's.
/// Errors: none here; for an unknown node see compile_options::strict_targets.
/// Source: langgraph/types.py, Send.
struct send {
  std::string node;
  value arg = {};
  std::optional<timeout_policy> timeout = std::nullopt;
  friend bool operator==(const send& a, const send& b) {
    return a.node == b.node && a.arg == b.arg;
  }
};

/// A destination: a node (or END) by name, or a send.
/// Errors: none.
/// Source: langgraph/types.py, Command.goto.
using destination = std::variant<std::string, send>;

/// Any number of destinations, in order; converts from one name, one send, or a list of them.
/// Errors: none.
/// Source: langgraph/types.py, Command.goto.
class destinations {
public:
  destinations() noexcept;
  destinations(const char* node);
  destinations(std::string node);
  destinations(send s);
  destinations(std::initializer_list<const char*> nodes);
  destinations(std::vector<std::string> nodes);
  destinations(std::vector<send> sends);
  destinations(std::vector<destination> list) noexcept;
  destinations(const destinations&);
  destinations(destinations&&) noexcept;
  destinations& operator=(const destinations&);
  destinations& operator=(destinations&&) noexcept;
  ~destinations();

  const std::vector<destination>& list() const noexcept { return list_; }
  /// The list, which is empty afterwards.
  std::vector<destination> take() noexcept;
  bool empty() const noexcept;
  /// Adds a destination at the end.
  void add(destination d);

private:
  std::vector<destination> list_;
};

/// An update, or nothing: std::optional<state_update> that also takes the update in braces,
/// `{{"n", 5}, {"done", true}}`.
/// Errors: none.
/// Source: troupe.
class optional_update : public std::optional<state_update> {
public:
  using std::optional<state_update>::optional;
  optional_update(std::optional<state_update> update) : optional{std::move(update)} {}
  optional_update(std::initializer_list<state_update::entry> entries)
    : optional{std::in_place, entries} {}
};

/// An answer, or nothing: std::optional<value> that also takes answers by id in braces,
/// `{{id, "yes"}, {other_id, 5}}`.
/// Shape:  any value, or a map from interrupt ids (32 hex digits) to answers.
/// Errors: none; of equal ids the last entry counts.
/// Source: troupe.
class optional_answer : public std::optional<troupe::value> {
public:
  using std::optional<troupe::value>::optional;
  optional_answer(std::optional<troupe::value> answer) : optional{std::move(answer)} {}
  optional_answer(std::initializer_list<troupe::value::map_init> answers)
    : optional{troupe::value::map(std::vector<troupe::value::map_init>(answers))} {}
};

/// Returned by a node: write `update` and go to `goto_`, in addition to the node's edges. As a
/// run's input: answer a question (`resume`), write and go.
/// Shape:  `resume` is the answer, or a map from interrupt ids (32 hex digits) to answers; null is
///         no answer. `graph` is empty (this graph), PARENT, or the name (compile_options::name) of
///         an enclosing graph. That graph applies `update` and `goto_` as if its node that holds
///         this graph had returned them. A name that no enclosing graph has means this graph.
/// Errors: none here; parent_command for PARENT without an enclosing graph.
/// Source: langgraph/types.py, Command.
struct command {
  static constexpr const char* PARENT = "__parent__";

  optional_update update = std::nullopt;
  destinations goto_ = {};
  optional_answer resume = std::nullopt;
  std::string graph = {};
};

/// A write that replaces a reducer's value instead of folding into it.
/// Errors: invalid_update when one step writes a second one to the same channel.
/// Source: langgraph/types.py, Overwrite.
inline value overwrite(value v) {
  return value::extension(value_kind::overwrite, std::move(v));
}

/// A question that a run waits for.
/// Shape:  `id` is 32 hex digits, stable until the next checkpoint; `response_schema` is a JSON
///         Schema or null.
/// Errors: none.
/// Source: langgraph/types.py, Interrupt.
struct interrupt {
  std::string id;
  troupe::value value;
  troupe::value response_schema = {};
  friend bool operator==(const interrupt&, const interrupt&) = default;
};

template <> struct value_traits<interrupt> {
  static value to(const interrupt& i);
  static interrupt from(const value& v);
};
template <> struct value_traits<send> {
  static value to(const send& s);
  static send from(const value& v);
};

} // namespace troupe
