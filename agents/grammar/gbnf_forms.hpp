// Lists and objects as rules of a grammar. Pure.
#pragma once

#include "agents/grammar/gbnf_rules.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::gbnf {

/// Lists that begin with these items and continue with items of `rest`, if it is set.
/// Shape:  `size` must allow some list; without `rest`, at most as many items as there are in
///         `items`.
way list_of(rules& into, const std::vector<rule_id>& items, std::optional<rule_id> rest,
            const bounds& size);

/// A member: its name, a colon, and the rule of its value.
struct member {
  std::string text;
  rule_id rule;
};
/// Objects with all members of `first`, in this order, then any of `others`, in their order, then
/// any number of `further` ones.
way object_of(rules& into, const std::vector<member>& first, const std::vector<member>& others,
              const std::optional<member>& further);

} // namespace troupe::gbnf
