// Operators that need nothing but values, variables and the counters of the case.
#include "tests/conformance/arithmetic.hpp"
#include "tests/conformance/expr.hpp"

#include <algorithm>

namespace troupe::conformance {
namespace {

value evaluated(const script_json& expr, scope& s) {
  return evaluate(expr, s).to_value();
}

// An operator of one value.
template <class F> operation unary(F f) {
  return
    [f](const script_json& argument, scope& s) -> term { return value(f(evaluated(argument, s))); };
}

// An operator of a pair of values.
template <class F> operation binary(F f) {
  return [f](const script_json& argument, scope& s) -> term {
    auto a = evaluated(argument.at(0), s);
    auto b = evaluated(argument.at(1), s);
    return value(f(a, b));
  };
}

value text_of(const value& v) {
  return v.is_int() ? std::to_string(v.as_int()) : std::string{v.as_string()};
}

value sum_of(const value& numbers) {
  value out = 0;
  for (const auto& number : numbers.items())
    out = add(out, number);
  return out;
}

value sorted(const value& list) {
  auto items = list.items();
  std::vector<value> out{items.begin(), items.end()};
  std::stable_sort(out.begin(), out.end(), less);
  return value::list(std::move(out));
}

value keys_of(const value& object) {
  const auto& members = object.is(value_kind::message) ? object.payload() : object;
  std::vector<value> out;
  for (const auto& entry : members.entries())
    out.push_back(entry.key_value);
  return value::list(std::move(out));
}

value range(const value& end) {
  std::vector<value> out;
  for (std::int64_t i = 0; i < end.as_int(); ++i)
    out.emplace_back(i);
  return value::list(std::move(out));
}

// The elements of the list in `argument` until one is true, or until one is not.
bool any_is(bool wanted, const script_json& argument, scope& s) {
  return std::any_of(argument.begin(), argument.end(), [&](const script_json& condition) {
    return evaluate(condition, s).is_true() == wanted;
  });
}

term map_list(const script_json& argument, scope& s) {
  auto list = evaluated(argument.at(0), s);
  auto inner = s;
  auto& item = inner.locals[argument.at(1).get<std::string>()];
  term::list_type out;
  for (const auto& v : list.items()) {
    item = v;
    out.push_back(evaluate(argument.at(2), inner));
  }
  return out;
}

term variable(const script_json& argument, scope& s) {
  auto found = s.locals.find(argument.get_ref<const std::string&>());
  if (found == s.locals.end())
    throw error{errc::missing_key, "evaluate a case: no variable " + argument.dump()};
  return found->second;
}

term count(const script_json& name, scope& s) {
  auto counter = text(name, s);
  note_use("$count " + counter, s);
  return value(s.shared.count(counter));
}

term arm(const script_json& argument, scope& s) {
  return evaluate(argument.at(evaluate(argument.at(0), s).is_true() ? 1 : 2), s);
}

} // namespace

const operation_table& value_operations() {
  static const operation_table table{
    {"$quote", [](const script_json& json, scope&) { return term_of(json); }},
    {"$var", variable},
    {"$count", count},
    {"$raise", [](const script_json& failure, scope& s) -> term { raise(failure, s); }},

    {"$at", binary(at)},
    {"$len", unary(length)},
    {"$str", unary(text_of)},
    {"$sum", unary(sum_of)},
    {"$sorted", unary(sorted)},
    {"$keys", unary(keys_of)},
    {"$range", unary(range)},
    {"$map", map_list},

    {"$add", binary(add)},
    {"$sub", binary(subtract)},
    {"$mul", binary(multiply_numbers)},
    {"$mod", binary(modulo)},
    {"$eq", binary(same)},
    {"$lt", binary(less)},
    {"$gt", binary([](const value& a, const value& b) { return less(b, a); })},

    {"$not",
     [](const script_json& e, scope& s) -> term { return value(!evaluate(e, s).is_true()); }},
    {"$and",
     [](const script_json& list, scope& s) -> term { return value(!any_is(false, list, s)); }},
    {"$or", [](const script_json& list, scope& s) -> term { return value(any_is(true, list, s)); }},
    {"$if", arm},
  };
  return table;
}

} // namespace troupe::conformance
