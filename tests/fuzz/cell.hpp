// The interpreter's channels: one struct and the rules of the reference.
#pragma once

#include "tests/fuzz/plan.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::fuzz {

/// The failure of a call: the reference's class and, for an exception of a node, the text.
struct failure {
  std::string type;
  std::string text;
};

/// The update rule of a cell.
struct cell_rule {
  enum kind : std::uint8_t {
    last,
    last_after_finish,
    any,
    ephemeral,
    untracked,
    topic,
    reducer,
    delta,
    barrier
  };
  kind is = last;
  bool guard = true;       // ephemeral, untracked: one write a step
  bool accumulate = false; // topic
  bool after_finish = false;
  channel_rule fold = channel_rule::append; // reducer, delta
  std::set<std::string> names = {};         // barrier

  std::optional<value> initial() const;
};

cell_rule rule_of(channel_rule declared);

/// A channel's contents.
class cell {
public:
  explicit cell(const cell_rule& rule) : rule_{&rule}, held_{rule.initial()} {}

  /// Whether the channel's version moves. Errors: throws failure{InvalidUpdateError}.
  bool update(const std::vector<value>& writes);
  bool consume();
  bool finish();
  bool available() const;
  /// Null for a barrier, which holds none. Only when available().
  const value& get() const { return held_ ? *held_ : nothing_; }

private:
  bool fold(const std::vector<value>& writes);
  bool arrive(const std::vector<value>& writes);

  inline static const value nothing_;

  const cell_rule* rule_;
  std::optional<value> held_;
  bool finished_ = false;
  std::set<std::string> arrived_;
};

} // namespace troupe::fuzz
