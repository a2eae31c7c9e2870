// A random graph and the calls made on it, as plain data: neither troupe nor the interpreter.
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/value.hpp>

#include "tests/fuzz/coverage.hpp"
#include "tests/fuzz/dice.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::fuzz {

// ---- the graph ------------------------------------------------------------------------------

/// The kind of a channel's values. It follows from the channel's name, so that graphs within one
/// another may share keys under different rules.
enum class content : std::uint8_t { number, list, map };

enum class channel_rule : std::uint8_t {
  last,
  any,
  ephemeral,
  ephemeral_unguarded,
  untracked,
  untracked_unguarded,
  topic,
  topic_accumulating,
  append,
  sum,
  merge,
  maximum,
  delta_append,
};

struct channel_design {
  std::string name;
  content holds = content::number;
  channel_rule rule = channel_rule::last;
};

/// Where a route or a command goes. `back`: towards an earlier node, only while the graph's counter
/// allows another round.
struct target_design {
  std::string node; // or END
  bool send = false;
  bool back = false;
};

struct write_design {
  std::string channel;
  std::uint32_t salt = 0;
  bool overwrite = false;
};

/// One part of what a body returns.
struct part_design {
  std::vector<write_design> writes;
  std::vector<target_design> targets;
  bool command = false;
  bool to_parent = false; // a command for the graph around
};

struct body_design {
  std::uint32_t questions = 0;                    // asked one after another
  std::uint32_t asks_of = 1;                      // asks when the input's hash is a multiple of it
  std::uint32_t fails = 0;                        // bit n: the execution n (from 0) of a task fails
  bool fails_behind = false;                      // after its questions
  std::vector<std::vector<part_design>> variants; // one is chosen by the input
};

struct graph_design;

struct node_design {
  std::string name;
  bool defer = false;
  std::uint32_t attempts_max = 1;
  std::vector<std::string> reads; // its input schema; empty: the whole state
  body_design body;
  std::shared_ptr<graph_design> inner; // a graph in place of the body
};

/// Shape: several `from` are a join: `to` waits for all of them.
struct edge_design {
  std::vector<std::string> from;
  std::string to;
};

struct route_design {
  std::string from;
  std::string name;
  std::vector<std::vector<target_design>> options; // one is chosen by the state
  bool labelled = false;                           // gives labels of a path map
  std::uint32_t fails = 0;                         // as body_design::fails
};

struct graph_design {
  std::string name;
  std::vector<channel_design> channels;
  std::string counter;              // a sum channel: rounds made so far
  std::vector<std::string> inputs;  // input schema; empty: all channels
  std::vector<std::string> outputs; // output schema; empty: all channels
  std::vector<node_design> nodes;
  std::vector<edge_design> edges;
  std::vector<route_design> routes;
  std::vector<std::string> before; // breakpoints; {"*"}: all
  std::vector<std::string> after;
  checkpointing keeps = checkpointing::inherit;

  const channel_design* channel(const std::string& key) const;
  const node_design* node(const std::string& key) const;
};

// ---- the calls ------------------------------------------------------------------------------

enum class call_kind : std::uint8_t {
  invoke,       // with a new input
  go_on,        // without input
  answer,       // a plain answer
  answer_by_id, // a map of answers
  command,      // update and goto
  update,       // update_state
  clear,        // update_state as END
  input_update, // update_state as __input__
  copy,         // update_state as __copy__
  look,         // get_state at a checkpoint
};

struct call {
  call_kind kind = call_kind::invoke;
  std::optional<std::uint32_t> at; // a checkpoint of the thread, counted from the oldest
  value input;                     // input, or values of an update (null: none)
  std::optional<value> plain;      // the plain answer
  /// Which of the waiting questions, and the answer; `unknown_question`: an id nobody gave.
  std::vector<std::pair<std::uint32_t, value>> answers;
  std::vector<std::string> goto_;
  std::string as_node;
  troupe::durability durability = troupe::durability::async;
  std::uint32_t recursion_limit = 25;
  bool strict = true;
  std::vector<std::string> before;
  std::vector<std::string> after;
};
inline constexpr std::uint32_t unknown_question = 1000;

/// The runtime on which a plan runs.
enum class keeper : std::uint8_t { memory, lmdb };
enum class pace : std::uint8_t { plain, blocking, coroutine, delayed };

struct plan {
  std::uint64_t seed = 0;
  std::shared_ptr<const graph_design> graph;
  std::vector<call> calls;
  keeper kept = keeper::memory;
  fuzz::pace pace = pace::plain;
};

// ---- making and showing ---------------------------------------------------------------------

/// A graph from a seed, with graphs inside it up to two deep.
std::shared_ptr<const graph_design> make_graph(dice& d);

/// The facts of a plan before it runs: its channels, schemas, calls, and how it runs.
coverage coverage_of(const plan& p);

/// Readable text, one line an item.
std::string show(const graph_design& graph, const std::string& indent = "");
std::string show(const call& c);

} // namespace troupe::fuzz
