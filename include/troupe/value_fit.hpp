// The fit check: whether a value can be read as a C++ type, without reading it.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// The check of a write to a channel of a typed state. Both functions are set.
/// Shape:  `fits`: whether the value can be read as the type. `why`: the reason when it can't, as
///         "wanted integer: it is string".
/// Errors: none.
/// Source: troupe.
struct value_check {
  bool (*fits)(const value&);
  std::string (*why)(const value&);
};

namespace detail {

/// A type whose value_traits has a fits() of its own.
template <class T>
concept says_what_fits = requires(const value& v) {
  { value_traits<T>::fits(v) } -> std::same_as<bool>;
};

// Reads a scalar to find out. Lists, maps, bytes and extensions count as readable: reading them at
// each write could cost too much.
template <class T> bool can_be_read(const value& v) {
  if (v.is_list() || v.is_map() || v.is_bytes() || v.kind() >= value_kind::message)
    return true;
  try {
    (void)value_traits<T>::from(v);
    return true;
  } catch (const error&) {
    return false;
  }
}

template <class T> struct is_vector : std::false_type {};
template <class T> struct is_vector<std::vector<T>> : std::true_type {};
template <> struct is_vector<std::vector<std::byte>> : std::false_type {}; // it is not a list
template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
concept string_map = std::is_same_v<typename T::key_type, std::string> && requires {
  typename T::mapped_type;
};

template <class T> bool fits(const value& v);

/// The last elements of a list, where new ones stand, at most limits::typed_elements_checked_max:
/// the cost of checking a write must not grow with the older elements.
std::span<const value> checked_elements(const value& v) noexcept;

template <class T> bool elements_fit(const value& v) {
  for (const auto& item : checked_elements(v))
    if (!fits<T>(item))
      return false;
  return true;
}

template <class T> bool members_fit(const value& v) {
  for (const auto& e : v.entries())
    if (!fits<T>(e.val))
      return false;
  return true;
}

template <class T> bool fits(const value& v) {
  if constexpr (std::is_same_v<T, value>)
    return true;
  else if constexpr (says_what_fits<T>)
    return value_traits<T>::fits(v);
  else if constexpr (std::is_same_v<T, bool>)
    return v.is_bool();
  else if constexpr (std::is_integral_v<T>)
    return v.is_int() && std::in_range<T>(v.as_int());
  else if constexpr (std::is_floating_point_v<T>)
    return v.is_number();
  else if constexpr (std::is_same_v<T, std::string>)
    return v.is_string();
  else if constexpr (is_optional<T>::value)
    return v.is_null() || fits<typename T::value_type>(v);
  else if constexpr (is_vector<T>::value)
    return v.is_list() && elements_fit<typename T::value_type>(v);
  else if constexpr (string_map<T>)
    return v.is_map() && members_fit<typename T::mapped_type>(v);
  else
    return can_be_read<T>(v);
}

std::string unfit_kind(const value& v); // "it is " and the kind

/// The reason why a value can't be read as a T.
template <class T> std::string why_unfit(const value& v) {
  try {
    (void)value_traits<T>::from(v);
  } catch (const error& e) {
    return e.message();
  }
  return unfit_kind(v);
}

/// Null stands for the default of a member, so it fits every one.
template <class T>
inline constexpr value_check check_of{
  [](const value& v) { return v.is_null() || fits<T>(v); },
  [](const value& v) { return why_unfit<T>(v); },
};

/// The check for a topic, which takes a list of elements or one element.
template <class T> bool fits_topic(const value& v) {
  if constexpr (is_vector<T>::value)
    return v.is_null() || (v.is_list() ? fits<T>(v) : fits<typename T::value_type>(v));
  else
    return true;
}
template <class T>
inline constexpr value_check topic_check_of{
  [](const value& v) { return fits_topic<T>(v); },
  [](const value& v) {
    if constexpr (is_vector<T>::value)
      return v.is_list() ? why_unfit<T>(v) : why_unfit<typename T::value_type>(v);
    else
      return why_unfit<T>(v);
  },
};

} // namespace detail

} // namespace troupe
