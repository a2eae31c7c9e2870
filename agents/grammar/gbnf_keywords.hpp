// What the keywords of JSON Schemas say, as far as a grammar can. Pure.
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

/// A schema, and its place, for errors.
struct placed {
  value schema;
  std::string at;
};
/// Schemas all of which must fit.
using conjunction = std::vector<placed>;

/// Errors: throws error{invalid_value} that names the place.
[[noreturn]] void refuse(const std::string& at, const std::string& why);

/// Kinds of JSON, as bits.
enum kind : unsigned {
  null_kind = 1,
  boolean_kind = 2,
  integer_kind = 4,
  fraction_kind = 8, // a number that is no integer
  text_kind = 16,
  list_kind = 32,
  object_kind = 64,
  all_kinds = 127
};
/// Of what may fit; by the types, else by what is spoken of.
unsigned kinds_of(const conjunction& all);

/// Only the keywords of a schema that a grammar can hold: others make no two schemas different.
value said_by(const value& schema);
/// Without schemas in it.
value flat(const value& schema);
/// Equal for conjunctions of equal schemas, wherever they stand.
value key_of(const conjunction& all);

/// The list that a keyword has. Errors: throws error{invalid_value} for what is none.
const value& list_at(const placed& in, std::string_view keyword);
/// What a keyword has, or a part of it, as a schema.
placed below(const placed& in, std::string_view keyword, const value& part);

/// Errors: throw error{invalid_value} for keywords that are not of their kind.
bounds bounds_of(const conjunction& all, std::string_view least, std::string_view most);
/// By minimum, maximum and the exclusive ones, where they are numbers, as the check takes them.
whole_numbers whole_numbers_of(const conjunction& all);
/// How many items have schemas of their own.
std::size_t first_items_of(const conjunction& all);
/// What item `i` must fit.
conjunction item_at(const conjunction& all, std::size_t i);
/// Each once: required names in their order, names of properties in key order.
std::vector<std::string> required_of(const conjunction& all);
std::vector<std::string> properties_of(const conjunction& all);
/// What the member of this name must fit.
conjunction member_at(const conjunction& all, const std::string& name);
/// What members of other names must fit; nothing where there are none.
std::optional<conjunction> further_members_of(const conjunction& all);

} // namespace troupe::gbnf
