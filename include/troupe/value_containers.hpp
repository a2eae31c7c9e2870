// The conversions of std::array, std::pair, std::tuple, sets and std::variant.
#pragma once

#include <troupe/json_schema.hpp>
#include <troupe/value.hpp>
#include <troupe/value_fit.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

namespace detail {

/// Throws error{invalid_value} unless `v` is a list of `size` elements.
void expect_elements(const value& v, std::size_t size);
/// The elements in an order that depends on them alone.
value list_in_order(std::vector<value> items);
/// The error for a value that fits no alternative, with the reason of each.
error no_alternative(const std::vector<std::string>& reasons);

/// Element `i` of a list.
/// Errors: throws error{invalid_value} that names the place.
template <class T> T element_at(const value& v, std::size_t i) {
  try {
    return value_traits<T>::from(v[i]);
  } catch (const error& e) {
    throw error{e.code(), "element " + std::to_string(i) + ": " + e.message()};
  }
}

/// A tuple-like type as a list with one element for each of its own.
template <class Tuple, class... Ts> struct tuple_traits {
  static value to(const Tuple& t) {
    return std::apply([](const auto&... x) { return value::list({value::of(x)...}); }, t);
  }
  static Tuple from(const value& v) {
    expect_elements(v, sizeof...(Ts));
    return read(v, std::index_sequence_for<Ts...>{});
  }
  static bool fits(const value& v) {
    return v.is_list() && v.size() == sizeof...(Ts) && all_fit(v, std::index_sequence_for<Ts...>{});
  }

private:
  template <std::size_t... I> static Tuple read(const value& v, std::index_sequence<I...>) {
    return Tuple{element_at<Ts>(v, I)...};
  }
  template <std::size_t... I> static bool all_fit(const value& v, std::index_sequence<I...>) {
    return (detail::fits<Ts>(v[I]) && ...);
  }
};

template <class... Ts> struct tuple_schema {
  static value make() {
    return {{"type", "array"},
            {"prefixItems", value::list({json_schema<Ts>()...})},
            {"minItems", sizeof...(Ts)},
            {"maxItems", sizeof...(Ts)}};
  }
};

/// std::set, std::unordered_set and the like: no equal elements.
template <class S>
concept set_like = requires(S s, const typename S::key_type& key) {
  requires std::same_as<typename S::key_type, typename S::value_type>;
  requires !requires {
    typename S::mapped_type;
  };
  { s.insert(key).second } -> std::convertible_to<bool>;
};

} // namespace detail

/// An array, as a list of as many elements.
/// Shape:  a list of exactly N elements.
/// Errors: throws error{invalid_value} that names the element, and for a list of another size.
/// Source: pydantic's of a list with min_length and max_length.
template <class T, std::size_t N> struct value_traits<std::array<T, N>> {
  static value to(const std::array<T, N>& xs) {
    std::vector<value> out;
    for (const auto& x : xs)
      out.push_back(value::of(x));
    return value::list(std::move(out));
  }
  static std::array<T, N> from(const value& v) {
    detail::expect_elements(v, N);
    return read(v, std::make_index_sequence<N>{});
  }
  static bool fits(const value& v) {
    return v.is_list() && v.size() == N && detail::elements_fit<T>(v);
  }

private:
  template <std::size_t... I>
  static std::array<T, N> read(const value& v, std::index_sequence<I...>) {
    return {{detail::element_at<T>(v, I)...}};
  }
};

/// An array of bytes, as a value of kind bytes.
/// Shape:  exactly N bytes.
/// Errors: throws error{invalid_value} for another kind or size.
/// Source: troupe.
template <std::size_t N> struct value_traits<std::array<std::byte, N>> {
  static value to(const std::array<std::byte, N>& data) { return value::bytes(data); }
  static std::array<std::byte, N> from(const value& v) {
    auto data = v.as_bytes();
    if (data.size() != N)
      throw error{errc::invalid_value, "read bytes: wanted " + std::to_string(N) + ": there are "
                                         + std::to_string(data.size())};
    std::array<std::byte, N> out;
    for (std::size_t i = 0; i < N; ++i)
      out[i] = data[i];
    return out;
  }
  static bool fits(const value& v) { return v.is_bytes() && v.size() == N; }
};

/// A pair or tuple, as a list with one element for each of its own.
/// Shape:  a list of exactly as many elements, in order.
/// Errors: throws error{invalid_value} that names the element, and for a list of another size.
/// Source: pydantic's of tuple.
template <class A, class B>
struct value_traits<std::pair<A, B>> : detail::tuple_traits<std::pair<A, B>, A, B> {};
template <class... Ts>
struct value_traits<std::tuple<Ts...>> : detail::tuple_traits<std::tuple<Ts...>, Ts...> {};

/// std::set, std::unordered_set and the like, as a list.
/// Shape:  elements in the order of a std::set; those of an unordered set in an order that depends
///         on the elements alone. Equal elements of a list are read as one.
/// Errors: throws error{invalid_value} for a value that is not a list, or an element that does not
///         fit.
/// Source: pydantic's of set.
template <detail::set_like S> struct value_traits<S> {
  static value to(const S& s) {
    std::vector<value> out;
    for (const auto& x : s)
      out.push_back(value::of(x));
    if constexpr (requires { typename S::key_compare; })
      return value::list(std::move(out));
    else
      return detail::list_in_order(std::move(out));
  }
  static S from(const value& v) {
    S out;
    for (auto& x : value_traits<std::vector<typename S::key_type>>::from(v))
      out.insert(std::move(x));
    return out;
  }
  static bool fits(const value& v) {
    return v.is_list() && detail::elements_fit<typename S::key_type>(v);
  }
};

template <> struct value_traits<std::monostate> {
  static value to(std::monostate) { return {}; }
  static std::monostate from(const value& v) {
    if (!v.is_null())
      throw error{errc::invalid_value, "read nothing: it is " + std::string{to_string(v.kind())}};
    return {};
  }
  static bool fits(const value& v) { return v.is_null(); }
};

/// A variant, as the value of its alternative; the alternative itself is not kept.
/// Shape:  read is the first alternative that gives the same value again, else the first that can
///         be read. So 1 is an int and 1.0 a double, and of two structs the one with all the
///         members. Alternatives whose values look alike, as two enums with a common name, need
///         structs.
/// Errors: throws error{invalid_value}, with the reason of each alternative.
/// Source: pydantic's of Union, in its smart mode.
template <class... Ts> struct value_traits<std::variant<Ts...>> {
  using type = std::variant<Ts...>;
  static value to(const type& x) {
    return std::visit([](const auto& alternative) { return value::of(alternative); }, x);
  }
  static type from(const value& v) {
    type out{};
    std::vector<std::string> reasons;
    if ((read_if<Ts>(v, true, out, reasons) || ...))
      return out;
    reasons.clear();
    if ((read_if<Ts>(v, false, out, reasons) || ...))
      return out;
    throw detail::no_alternative(reasons);
  }
  static bool fits(const value& v) { return (detail::fits<Ts>(v) || ...); }

private:
  template <class T>
  static bool read_if(const value& v, bool exactly, type& out, std::vector<std::string>& reasons) {
    if (exactly && !detail::fits<T>(v))
      return false;
    try {
      auto x = value_traits<T>::from(v);
      if (exactly && !(value::of(x) == v))
        return false;
      out.template emplace<T>(std::move(x));
      return true;
    } catch (const error& e) {
      reasons.push_back(e.message());
      return false;
    }
  }
};

template <class T, std::size_t N> struct json_schema_traits<std::array<T, N>> {
  static value make() {
    return {{"type", "array"}, {"items", json_schema<T>()}, {"minItems", N}, {"maxItems", N}};
  }
};
template <std::size_t N>
struct json_schema_traits<std::array<std::byte, N>> : json_schema_traits<std::vector<std::byte>> {};
template <class A, class B>
struct json_schema_traits<std::pair<A, B>> : detail::tuple_schema<A, B> {};
template <class... Ts>
struct json_schema_traits<std::tuple<Ts...>> : detail::tuple_schema<Ts...> {};
template <detail::set_like S> struct json_schema_traits<S> {
  static value make() {
    return {
      {"type", "array"}, {"items", json_schema<typename S::key_type>()}, {"uniqueItems", true}};
  }
};
template <> struct json_schema_traits<std::monostate> {
  static value make() { return {{"type", "null"}}; }
};
template <class... Ts> struct json_schema_traits<std::variant<Ts...>> {
  static value make() { return {{"anyOf", value::list({json_schema<Ts>()...})}}; }
};

} // namespace troupe
