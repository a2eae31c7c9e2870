// The rules of the channel kinds: one rule per kind, each defined in the file of its name.
#pragma once

#include "channels/channel.hpp"

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The functions of a kind; a kind names only those in which it differs from a plain cell. Some are
/// null for a plain cell, which so costs no call.
/// Shape:  as the functions of channels/channel.hpp.
/// Source: langgraph/channels/base.py, BaseChannel.
struct channel_rule {
  result<bool> (*update)(const channel_spec&, std::string_view name, channel_cell&,
                         std::span<const value> writes);
  channel_cell (*initial)(const channel_spec&) = nullptr; // null: a cell that is not set
  bool (*consume)(const channel_spec&, channel_cell&) = [](const channel_spec&, channel_cell&) {
    return false;
  };
  bool (*finish)(const channel_spec&, channel_cell&) = [](const channel_spec&, channel_cell&) {
    return false;
  };
  bool (*available)(const channel_spec&, const channel_cell&) = nullptr; // null: when it is set
  std::optional<value> (*store)(const channel_cell&) = [](const channel_cell& cell) {
    return cell.set ? std::optional<value>{cell.content} : std::nullopt;
  };
  /// Called only with a value that was stored; nullopt when it is not of the kind's shape. Null: it
  /// is the contents.
  std::optional<channel_cell> (*load)(const channel_spec&, const value& stored) = nullptr;
  /// Called only when the channel is available.
  value (*read)(const channel_cell&) = [](const channel_cell& cell) { return cell.content; };
};

extern const channel_rule last_value_rule;
extern const channel_rule last_value_after_finish_rule;
extern const channel_rule any_value_rule;
extern const channel_rule ephemeral_value_rule;
extern const channel_rule untracked_value_rule;
extern const channel_rule topic_rule;
extern const channel_rule binary_operator_aggregate_rule;
extern const channel_rule delta_rule;
extern const channel_rule named_barrier_value_rule;
extern const channel_rule named_barrier_value_after_finish_rule;
extern const channel_rule named_quorum_rule;
extern const channel_rule defined_rule; // its other parts can fail: see below

/// The read of a barrier, which is available without having a value.
inline value read_nothing(const channel_cell&) {
  return {};
}

/// The parts of a defined channel that can fail, as consume_channel, finish_channel, load_channel.
result<bool> consume_defined(const channel_definition& rule, std::string_view name,
                             channel_cell& cell);
result<bool> finish_defined(const channel_definition& rule, std::string_view name,
                            channel_cell& cell);
result<channel_cell> load_defined(const channel_definition& rule, std::string_view name,
                                  const value& stored);

/// Sets the cell to the last of `writes`, which has at least one.
inline void set_to_last(channel_cell& cell, std::span<const value> writes) {
  cell.content = writes.back();
  cell.set = true;
}

/// Drops all elements of a list but its last `count`.
void drop_older(channel_cell& cell, std::size_t count);

/// Empties the cell. Result: whether it held something.
inline bool clear(channel_cell& cell) {
  if (!cell.set)
    return false;
  cell = {};
  return true;
}

/// invalid_update with `text` after the channel's name.
error refused_update(std::string_view name, std::string_view text);

/// invalid_update for a second overwrite in one step.
error refused_second_overwrite();

/// The result of `fold`. An exception becomes an error that names channel and reducer: a reducer
/// may be the user's own code.
template <class Fold>
result<value> try_fold(std::string_view name, std::string_view op, Fold fold) {
  auto failed = [&](std::string_view what) {
    return refused_update(name, "reducer `" + std::string{op} + "` failed: " + std::string{what});
  };
  try {
    return fold();
  } catch (const error& e) {
    return error{e.code(), "At key '" + std::string{name} + "': " + e.message(), e.type()};
  } catch (const std::exception& e) {
    return failed(e.what());
  } catch (...) {
    return failed("it threw something that is not a std::exception");
  }
}

/// Whether a write replaces a reducer's value: an overwrite value, or a map that stands for one.
/// Shape:  such a map has the one key `__overwrite__`, or `type` == "__overwrite__" and a `value`.
/// Source: langgraph/channels/binop.py, _get_overwrite.
bool is_overwrite(const value& write) noexcept;

/// The value that an overwrite sets. `write` must be an overwrite.
const value& overwritten(const value& write);

} // namespace troupe
