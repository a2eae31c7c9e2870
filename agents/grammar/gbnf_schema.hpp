// The rules of a grammar that a JSON Schema is. Pure.
#pragma once

#include "agents/grammar/gbnf_rules.hpp"

#include <string>

namespace troupe::gbnf {

/// What fits a schema, as a rule.
struct schema_rule {
  way root;
  bool may_be_list = false;
};
/// Adds the rules of `schema`, whose place is `at`; with `only_objects` of those that are objects.
/// Errors: throws error{invalid_value}, as gbnf_of_schema; for what has no end only rules::text
///         does.
schema_rule rules_of_schema(rules& into, const value& schema, const std::string& at,
                            bool only_objects = false);

} // namespace troupe::gbnf
