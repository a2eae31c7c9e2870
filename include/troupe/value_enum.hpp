// The conversion of enums: an enumerator is kept as its name.
#pragma once

#include <troupe/json_schema.hpp>
#include <troupe/value.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace troupe {

namespace detail {

/// The names of an enum, as the text of the macro's arguments: "good, bad".
struct enum_names {
  std::string_view type;
  std::string_view names;
};

/// The values in the order of the names.
template <class E> struct enum_table {
  enum_names text;
  std::span<const E> values;
};

/// The name at `index`.
/// Errors: throws error{invalid_value} when `index` is past the last name.
value enum_value(const enum_names& text, std::size_t index);
/// The place of a name.
/// Errors: throws error{invalid_value}, with the names that there are.
std::size_t enum_index(const enum_names& text, const value& v);
bool is_enum_name(const enum_names& text, const value& v) noexcept;
value enum_schema(const enum_names& text);

/// An enum with a TROUPE_ENUM declaration.
template <class E>
concept named_enum = std::is_enum_v<E> && requires(E e) {
  { troupe_enum(e) } -> std::same_as<enum_table<E>>;
};

} // namespace detail

/// An enum with a TROUPE_ENUM declaration, as the name of its enumerator.
/// Shape:  a string, such as "good". If two names have one number, the first is written.
/// Errors: throws error{invalid_value} for a string that is not a name, with the names that there
///         are, and for a number without a name.
/// Source: pydantic's of enum.Enum, by name.
template <detail::named_enum E> struct value_traits<E> {
  static value to(E e) {
    auto table = troupe_enum(e);
    std::size_t i = 0;
    while (i < table.values.size() && table.values[i] != e)
      ++i;
    return detail::enum_value(table.text, i);
  }
  static E from(const value& v) {
    auto table = troupe_enum(E{});
    return table.values[detail::enum_index(table.text, v)];
  }
  static bool fits(const value& v) { return detail::is_enum_name(troupe_enum(E{}).text, v); }
};

template <detail::named_enum E> struct json_schema_traits<E> {
  static value make() { return detail::enum_schema(troupe_enum(E{}).text); }
};

} // namespace troupe

// TROUPE_ENUM(type, enumerator, …): lets a state keep `type`, by the names of these enumerators.
// The macro stands in the namespace of the enum, after it; for an enum within a struct, after the
// struct:
//     enum class mood { good, bad };
//     TROUPE_ENUM(mood, good, bad)
#define TROUPE_ENUM(type, ...)                                                                     \
  [[maybe_unused]] inline ::troupe::detail::enum_table<type> troupe_enum(type) {                   \
    using enum type;                                                                               \
    static constexpr type values[] = {__VA_ARGS__};                                                \
    return {{#type, #__VA_ARGS__}, values};                                                        \
  }
