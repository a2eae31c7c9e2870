// authorise: filters and metadata.
#include "server/auth/authorise.hpp"

#include <algorithm>
#include <string>

namespace troupe::server {
namespace {

constexpr std::string_view equals_operator = "$eq";
constexpr std::string_view contains_operator = "$contains";

// Whether a search by containment finds the same documents as a comparison with this.
bool is_plain(const value& operand) {
  return operand.is_string() || operand.is_number() || operand.is_bool();
}

// The operator and operand of a filter's member: {"$eq": 1} and 1 are the same.
struct filter_rule {
  bool is_contains = false;
  value operand;
};

filter_rule rule_of(const value& member) {
  if (!member.is_map())
    return {false, member};
  if (member.contains(contains_operator)) {
    const auto& operand = member[contains_operator];
    return {true, operand.is_list() ? operand : value::list({operand})};
  }
  return {false, member[equals_operator]};
}

bool fits_rule(const filter_rule& rule, const value& given) {
  if (!rule.is_contains)
    return given == rule.operand;
  return given.is_list() && std::ranges::all_of(rule.operand.items(), [&given](const value& one) {
           return std::ranges::find(given.items(), one) != given.items().end();
         });
}

} // namespace

std::string filter_problem(const value& filter) {
  if (filter.is_null())
    return {};
  if (!filter.is_map())
    return "a filter is a map of metadata";
  for (const auto& entry : filter.entries()) {
    const auto& member = entry.val;
    auto where = "`" + std::string{entry.key()} + "`: ";
    if (!member.is_map() && !is_plain(member))
      return where + "a value is a text, a number or a boolean";
    if (!member.is_map())
      continue;
    if (member.size() != 1
        || (!member.contains(equals_operator) && !member.contains(contains_operator)))
      return where + "one operator is needed, `$eq` or `$contains`";
    const auto& operand = member[contains_operator];
    if (operand.is_list() && operand.empty())
      return where + "`$contains` needs a value";
    auto rule = rule_of(member);
    if (rule.is_contains ? !std::ranges::all_of(rule.operand.items(), is_plain)
                         : !is_plain(rule.operand))
      return where + "a value is a text, a number or a boolean";
  }
  return {};
}

bool fits_filter(const value& filter, const value& metadata) {
  if (!filter_problem(filter).empty())
    return false;
  return std::ranges::all_of(filter.entries(), [&metadata](const auto& entry) {
    return metadata.contains(entry.key()) && fits_rule(rule_of(entry.val), metadata[entry.key()]);
  });
}

value filter_as_metadata(const value& filter) {
  auto out = value::map();
  for (const auto& entry : filter.entries())
    out = out.with(entry.key(), rule_of(entry.val).operand);
  return out;
}

value with_filter(const value& filter, const value& metadata) {
  auto out = metadata.is_map() ? metadata : value::map();
  auto wanted = filter_as_metadata(filter);
  for (const auto& entry : wanted.entries())
    out = out.with(entry.key(), entry.val);
  return out;
}

} // namespace troupe::server
