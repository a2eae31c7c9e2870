// expect: the expectations of conformance checks. One that does not hold ends its check with a
// message of what was expected and what came.
#pragma once

#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::testing {

using texts = std::vector<std::string>;

/// End a check. They never leave run_check().
struct check_failed {
  std::string message;
};
struct check_not_supported {
  std::string message;
};

/// In quotes, and cut when it is long.
std::string shown_text(std::string_view text);
std::string shown_value(const value& v);
std::string shown_ref(const checkpoint_ref& ref);
std::string shown_write(const pending_write& write);
std::string shown_item(const store_item& item);

namespace detail {
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_pair = false;
template <class A, class B> inline constexpr bool is_pair<std::pair<A, B>> = true;
} // namespace detail

/// A result as the messages of failures show it.
template <class T> std::string shown(const T& x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ? "true" : "false";
  else if constexpr (std::is_arithmetic_v<T>)
    return std::to_string(x);
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return shown_text(x);
  else if constexpr (std::is_same_v<T, value>)
    return shown_value(x);
  else if constexpr (std::is_same_v<T, version>)
    return std::to_string(x.number) + "." + std::to_string(x.tag);
  else if constexpr (std::is_same_v<T, checkpoint_ref>)
    return shown_ref(x);
  else if constexpr (std::is_same_v<T, pending_write>)
    return shown_write(x);
  else if constexpr (std::is_same_v<T, store_item>)
    return shown_item(x);
  else if constexpr (std::is_same_v<T, prune_report>)
    return shown(x.checkpoints) + " checkpoints, " + shown(x.values) + " values";
  else if constexpr (detail::is_optional<T>)
    return x ? shown(*x) : "nothing";
  else if constexpr (detail::is_pair<T>)
    return shown(x.first) + ": " + shown(x.second);
  else {
    std::string out;
    for (const auto& element : x)
      out += (out.empty() ? "[" : ", ") + shown(element);
    return out.empty() ? "[]" : out + "]";
  }
}

[[noreturn]] void fail(std::string_view what, std::string_view expected, std::string_view came);

template <class A, class B>
void expect_equal(std::string_view what, const A& came, const B& expected) {
  bool same;
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool>)
    same = std::cmp_equal(came, expected);
  else
    same = came == expected;
  if (!same)
    fail(what, shown(expected), shown(came));
}

/// `what` is the expectation.
inline void expect(std::string_view what, bool holds) {
  if (!holds)
    fail(what, "true", "false");
}

[[noreturn]] void fail_refusal(std::string_view what, errc expected, const error* came);

/// The call failed with this code.
template <class T> void expect_error(std::string_view what, const result<T>& r, errc code) {
  if (r.has_value() || r.error().code() != code)
    fail_refusal(what, code, r.has_value() ? nullptr : &r.error());
}

/// Both are equal in everything but their thread.
void expect_same(const checkpoint_tuple& came, const checkpoint_tuple& expected);
void expect_same(const std::vector<checkpoint_tuple>& came,
                 const std::vector<checkpoint_tuple>& expected);
void expect_same(const checkpoint& came, const checkpoint& expected);

} // namespace troupe::testing
