// store_filter: checking and applying filters. Recursion is bounded by the filter's depth, which
// check_filter bounds.
#include "persistence/store/store_filter.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

namespace {

using detail::map_entry;

bool is_deeper(const value& v, std::size_t levels) {
  auto is_extension = v.kind() >= value_kind::message;
  if (!v.is_list() && !v.is_map() && !is_extension)
    return false;
  if (levels == 0)
    return true;
  if (is_extension)
    return is_deeper(v.payload(), levels - 1);
  return std::ranges::any_of(v.items(), [&](const value& x) { return is_deeper(x, levels - 1); })
         || std::ranges::any_of(v.entries(),
                                [&](const map_entry& e) { return is_deeper(e.val, levels - 1); });
}

// ---- numbers ------------------------------------------------------------------------------------

std::optional<double> parse_number(std::string_view text) {
  constexpr std::string_view blank = " \t\n\v\f\r";
  auto begin = std::min(text.find_first_not_of(blank), text.size());
  text.remove_prefix(begin);
  text.remove_suffix(text.size() - (text.find_last_not_of(blank) + 1));
  if (text.starts_with('+') && !text.starts_with("+-"))
    text.remove_prefix(1);
  double number = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size() || text.ends_with(')'))
    return std::nullopt; // "nan(…)" is not a number
  return number;
}

std::optional<double> as_number(const value& v) {
  if (v.is_number())
    return v.as_double();
  if (v.is_bool())
    return v.as_bool() ? 1 : 0;
  return v.is_string() ? parse_number(v.as_string()) : std::nullopt;
}

bool number_equals(std::int64_t i, double d) {
  constexpr double bound = 9223372036854775808.0; // 2^63
  return d >= -bound && d < bound && static_cast<std::int64_t>(d) == i
         && static_cast<double>(static_cast<std::int64_t>(d)) == d;
}

bool numbers_are_equal(const value& a, const value& b) {
  if (a.is_int() && b.is_int())
    return a.as_int() == b.as_int();
  if (a.is_int() || b.is_int())
    return a.is_int() ? number_equals(a.as_int(), b.as_double())
                      : number_equals(b.as_int(), a.as_double());
  return a.as_double() == b.as_double();
}

bool equals(const value& a, const value& b) {
  if (a.is_number() && b.is_number())
    return numbers_are_equal(a, b);
  if (a.is_list() && b.is_list())
    return std::ranges::equal(a.items(), b.items(), equals);
  if (a.is_map() && b.is_map())
    return std::ranges::equal(a.entries(), b.entries(), [](const map_entry& x, const map_entry& y) {
      return x.key() == y.key() && equals(x.val, y.val);
    });
  return a == b;
}

// ---- operators ----------------------------------------------------------------------------------

enum class relation { eq, ne, gt, gte, lt, lte };

std::optional<relation> relation_of(std::string_view name) {
  constexpr std::pair<std::string_view, relation> names[] = {
    {"$eq", relation::eq},   {"$ne", relation::ne}, {"$gt", relation::gt},
    {"$gte", relation::gte}, {"$lt", relation::lt}, {"$lte", relation::lte}};
  auto at = std::ranges::find(names, name, &std::pair<std::string_view, relation>::first);
  return at == std::end(names) ? std::nullopt : std::optional{at->second};
}

bool has_operators(const value& condition) {
  return std::ranges::any_of(condition.entries(),
                             [](const map_entry& e) { return e.key().starts_with('$'); });
}

bool is_in_order(relation how, double a, double b) {
  switch (how) {
    case relation::gt: return a > b;
    case relation::gte: return a >= b;
    case relation::lt: return a < b;
    default: return a <= b;
  }
}

bool fits_operator(const value& stored, relation how, const value& operand) {
  if (how == relation::eq || how == relation::ne)
    return equals(stored, operand) == (how == relation::eq);
  auto a = as_number(stored);
  auto b = as_number(operand);
  return a && b && is_in_order(how, *a, *b);
}

bool fits_condition(const value& stored, const value& condition) {
  if (condition.is_list())
    return stored.is_list()
           && std::ranges::equal(stored.items(), condition.items(), fits_condition);
  if (!condition.is_map())
    return equals(stored, condition);
  if (has_operators(condition))
    return std::ranges::all_of(condition.entries(), [&stored](const map_entry& e) {
      auto how = relation_of(e.key());
      return how && fits_operator(stored, *how, e.val);
    });
  return stored.is_map() && fits_filter(stored, condition);
}

error refused_filter(std::string what, std::string_view key, std::string type) {
  what.insert(0, "search the store: ").append(": `").append(key).append("`");
  return {errc::invalid_value, std::move(what), std::move(type)};
}

result<void> check_operator(std::string_view name, const value& operand) {
  auto how = relation_of(name);
  if (!how)
    return refused_filter("unsupported operator", name, "ValueError");
  if (how != relation::eq && how != relation::ne && !as_number(operand))
    return refused_filter("a comparison needs a number", name,
                          operand.is_string() ? "ValueError" : "TypeError");
  return {};
}

result<void> check_condition(const value& condition) {
  for (const auto& element : condition.items())
    if (auto ok = check_condition(element); !ok)
      return ok;
  auto operators = has_operators(condition);
  for (const auto& e : condition.entries())
    if (auto ok = operators ? check_operator(e.key(), e.val) : check_condition(e.val); !ok)
      return ok;
  return {};
}

} // namespace

result<void> check_filter(const value& filter) {
  if (!filter.is_map() && !filter.is_null())
    return refused_filter("a filter must be a map, not", to_string(filter.kind()), "TypeError");
  if (is_deeper(filter, limits::value_depth_max))
    return troupe::error{errc::invalid_value, "search the store: the filter is too deep: more than "
                                                + std::to_string(limits::value_depth_max)
                                                + " levels"};
  for (const auto& e : filter.entries())
    if (auto ok = check_condition(e.val); !ok)
      return ok;
  return {};
}

bool fits_filter(const value& stored, const value& filter) {
  return std::ranges::all_of(filter.entries(), [&stored](const map_entry& e) {
    return fits_condition(stored[e.key()], e.val);
  });
}

} // namespace troupe
