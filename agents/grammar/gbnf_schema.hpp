// gbnf_schema: the rules of a grammar for a JSON Schema. Pure.
#pragma once

#include "agents/grammar/gbnf_rules.hpp"

#include <string>

namespace troupe::gbnf {

/// The values that fit a schema, as a rule.
struct schema_rule {
  way root;
  bool may_be_list = false;
};
/// Adds the rules of `schema`, whose place is `at`. With `only_objects`, only those of objects.
/// Errors: throws error{invalid_value}, as gbnf_of_schema. Endless texts are found by rules::text()
///         only.
schema_rule rules_of_schema(rules& into, const value& schema, const std::string& at,
                            bool only_objects = false);

} // namespace troupe::gbnf
