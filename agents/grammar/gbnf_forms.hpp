// Lists and objects as rules of a grammar. Pure.
#pragma once

#include "agents/grammar/gbnf_rules.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::gbnf {

/// Lists that begin with these, and go on with `rest`, where there is one.
/// Shape:  `size` allows some, and without a `rest` no more than there are items.
way list_of(rules& into, const std::vector<rule_id>& items, std::optional<rule_id> rest,
            const bounds& size);

/// A member: its name, a colon, and a rule for what it has.
struct member {
  std::string text;
  rule_id rule;
};
/// Objects with the first of these, in this order, and any of the others behind them, likewise; and
/// then `further` ones, in any number.
way object_of(rules& into, const std::vector<member>& first, const std::vector<member>& others,
              const std::optional<member>& further);

} // namespace troupe::gbnf
