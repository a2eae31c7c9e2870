// gbnf_keywords: the keywords of JSON Schemas, as far as a grammar can express them. Pure.
#pragma once

#include "agents/grammar/gbnf_numbers.hpp"
#include "agents/grammar/gbnf_rules.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::gbnf {

/// A schema, and its place for errors.
struct placed {
  value schema;
  std::string at;
};
/// Schemas all of which must fit.
using conjunction = std::vector<placed>;

/// Errors: always throws error{invalid_value} that names the place.
[[noreturn]] void refuse(const std::string& at, const std::string& why);

/// Kinds of JSON, as bits.
enum kind : unsigned {
  null_kind = 1,
  boolean_kind = 2,
  integer_kind = 4,
  fraction_kind = 8, // a number that is not an integer
  text_kind = 16,
  list_kind = 32,
  object_kind = 64,
  all_kinds = 127
};
/// The kinds that may fit: those of the types, else those that the other keywords are about.
unsigned kinds_of(const conjunction& all);

/// The schema with only the keywords that a grammar can express, so that schemas which differ only
/// in others are equal.
value said_by(const value& schema);
/// The schema without keywords that hold schemas.
value flat(const value& schema);
/// A key that is equal for conjunctions of equal schemas, whatever their places.
value key_of(const conjunction& all);

/// The list under a keyword. Errors: throws error{invalid_value} when it is not a list.
const value& list_at(const placed& in, std::string_view keyword);
/// The value of a keyword, or a part of it, as a placed schema.
placed below(const placed& in, std::string_view keyword, const value& part);

/// Errors: throw error{invalid_value} for a keyword whose value is of the wrong kind.
bounds bounds_of(const conjunction& all, std::string_view least, std::string_view most);
/// The range of minimum, maximum and the exclusive bounds, where these are numbers, as check_schema
/// reads them.
whole_numbers whole_numbers_of(const conjunction& all);
/// The number of items with schemas of their own.
std::size_t first_items_of(const conjunction& all);
/// The schemas that item `i` must fit.
conjunction item_at(const conjunction& all, std::size_t i);
/// Each name once: required names in their order, names of properties in key order.
std::vector<std::string> required_of(const conjunction& all);
std::vector<std::string> properties_of(const conjunction& all);
/// The schemas that the member of this name must fit.
conjunction member_at(const conjunction& all, const std::string& name);
/// The schemas that members of other names must fit; nullopt when these are not allowed.
std::optional<conjunction> further_members_of(const conjunction& all);

} // namespace troupe::gbnf
