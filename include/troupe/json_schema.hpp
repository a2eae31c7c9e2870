// The JSON Schema of a C++ type.
#pragma once

#include <troupe/value.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

template <class T> value json_schema();

namespace detail {
/// Whether one of the alternatives of `schema` (anyOf) is null.
bool allows_null(const value& schema);

value type_schema(const char* name);
value optional_schema(value of);
value list_schema(value items);
value map_schema(value values);
/// A member is required unless it may be null.
value struct_schema(const char* title, std::vector<value::map_init> members);
} // namespace detail

/// The JSON Schema of T. Specialise it for types with value_traits of their own.
/// Shape:  `static value make()`, a map of JSON Schema 2020-12 keywords; an empty one allows
///         everything.
/// Errors: none.
/// Source: troupe.
template <class T> struct json_schema_traits {
  static value make() { return value::map(); }
};
template <> struct json_schema_traits<bool> { static value make(); };
template <std::integral I> struct json_schema_traits<I> {
  static value make() { return detail::type_schema("integer"); }
};
template <std::floating_point F> struct json_schema_traits<F> {
  static value make() { return detail::type_schema("number"); }
};
template <> struct json_schema_traits<std::string> { static value make(); };
template <class T> struct json_schema_traits<std::optional<T>> {
  static value make() { return detail::optional_schema(json_schema<T>()); }
};
template <class T> struct json_schema_traits<std::vector<T>> {
  static value make() { return detail::list_schema(json_schema<T>()); }
};
/// The form in which to_json writes bytes. As a pattern, since to_json doubles the `$` of a lone
/// member.
/// Errors: none.
/// Source: troupe.
template <> struct json_schema_traits<std::vector<std::byte>> { static value make(); };
/// Maps with string keys.
/// Errors: none.
/// Source: pydantic's of dict.
template <class M>
requires(std::is_same_v<typename M::key_type, std::string>&& requires {
  typename M::mapped_type;
}) struct json_schema_traits<M> {
  static value make() { return detail::map_schema(json_schema<typename M::mapped_type>()); }
};

/// The JSON Schema of bool, numbers, strings, std::optional, std::vector, string maps, and structs
/// with a TROUPE_STATE declaration. The headers that value_traits names have the schemas of their
/// types. A struct is an object whose members are required unless they may be null. The schema of
/// any other type allows everything.
/// Errors: none.
/// Source: langgraph/pregel/main.py, Pregel.get_input_jsonschema (Pydantic's of Python types).
template <class T> value json_schema() {
  return json_schema_traits<T>::make();
}

} // namespace troupe
