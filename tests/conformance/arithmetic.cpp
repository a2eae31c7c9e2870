#include "tests/conformance/arithmetic.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

template <class Op> value calculate(const value& a, const value& b, Op op) {
  if (a.is_int() && b.is_int())
    return op(a.as_int(), b.as_int());
  return op(a.as_double(), b.as_double());
}

bool same_lists(const value& a, const value& b) {
  auto x = a.items();
  auto y = b.items();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
}

bool same_maps(const value& a, const value& b) {
  auto x = a.entries();
  auto y = b.entries();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return p.key() == q.key() && same(p.val, q.val);
  });
}

std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80; // no continuation of a character
  });
}

value element(const value& list, std::int64_t i) {
  auto size = static_cast<std::int64_t>(list.size());
  auto index = i < 0 ? i + size : i;
  return index >= 0 && index < size ? list[index] : value{};
}

} // namespace

bool same(const value& a, const value& b) {
  if (a.is_number() && b.is_number())
    return a.is_int() && b.is_int() ? a.as_int() == b.as_int() : a.as_double() == b.as_double();
  if (a.is_list() && b.is_list())
    return same_lists(a, b);
  if (a.is_map() && b.is_map())
    return same_maps(a, b);
  return a == b;
}

bool less(const value& a, const value& b) {
  if (a.is_string() && b.is_string())
    return a.as_string() < b.as_string();
  return a.is_int() && b.is_int() ? a.as_int() < b.as_int() : a.as_double() < b.as_double();
}

value add(const value& a, const value& b) {
  if (a.is_string() && b.is_string())
    return std::string{a.as_string()} + std::string{b.as_string()};
  if (a.is_list())
    return a.append_all(b.items());
  return calculate(a, b, [](auto x, auto y) { return x + y; });
}

value subtract(const value& a, const value& b) {
  return calculate(a, b, [](auto x, auto y) { return x - y; });
}

value multiply_numbers(const value& a, const value& b) {
  return calculate(a, b, [](auto x, auto y) { return x * y; });
}

value modulo(const value& a, const value& b) {
  if (!a.is_int() || !b.is_int()) {
    auto x = a.as_double();
    auto y = b.as_double();
    return x - y * std::floor(x / y);
  }
  auto divisor = b.as_int();
  if (divisor == 0)
    throw error{errc::invalid_value, "evaluate a case: modulo by zero"};
  return (a.as_int() % divisor + divisor) % divisor;
}

std::int64_t length(const value& v) {
  return v.is_string() ? characters(v.as_string()) : static_cast<std::int64_t>(v.size());
}

value at(const value& container, const value& key) {
  if (container.is(value_kind::message))
    return at(container.payload(), key);
  if (container.is_list() && key.is_int())
    return element(container, key.as_int());
  return key.is_string() ? container[key.as_string()] : value{};
}

} // namespace troupe::conformance
