// Typed state: a struct whose members each name a channel, declared once by TROUPE_STATE.
#pragma once

#include <troupe/channel.hpp>
#include <troupe/control.hpp>
#include <troupe/json_schema.hpp>

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

struct message; // troupe/message.hpp

/// The state a node reads: the available channels of its input schema, frozen at the step's start,
/// or the argument of a send.
/// Shape:  name → value; a channel without a value is absent and reads as null.
/// Owns:   handles to the values; lives as long as the call of the node.
class state_view {
public:
  struct entry {
    std::string_view name;
    troupe::value val;
  };

  state_view() = default;
  explicit state_view(std::vector<entry> entries) : entries_{std::move(entries)}, fields_{true} {}
  explicit state_view(troupe::value whole) : whole_(std::move(whole)) {}

  /// The value of a channel, null when it has none.
  const troupe::value& operator[](std::string_view name) const noexcept;
  bool contains(std::string_view name) const noexcept;
  /// The whole input: a map of the channels that have a value, or the argument of a send as it is.
  troupe::value to_value() const;
  /// Whether this is the state by channel, rather than the argument of a send.
  bool by_field() const noexcept { return fields_; }
  /// The channels that have a value, in the order of the input schema.
  state_update to_update() const;
  /// For the engine: an empty list that keeps the memory of this view's entries.
  std::vector<entry> take_entries() && noexcept {
    entries_.clear();
    return std::move(entries_);
  }

private:
  std::vector<entry> entries_;
  troupe::value whole_;
  bool fields_ = false;
};

/// One member of a typed state.
/// Errors: none.
/// Source: troupe.
template <class S, class T> struct state_field {
  using type = T;
  std::string_view name;
  T S::*member;
  std::optional<channel_spec> spec; // nullopt: last_value
};

namespace detail {
// `member` may belong to a base of S.
template <class S, class B, class T>
state_field<S, T> make_field(std::string_view name, T B::*member) {
  return {name, static_cast<T S::*>(member), std::nullopt};
}
template <class S, class B, class T>
state_field<S, T> make_field(std::string_view name, T B::*member, channel_spec spec) {
  return {name, static_cast<T S::*>(member), std::move(spec)};
}

[[noreturn]] void throw_at_member(const char* type, std::string_view member, const error& e);
[[noreturn]] void throw_not_members_of(const char* type, const value& v);
[[noreturn]] void throw_missing_member(std::string_view member);
[[noreturn]] void throw_undeclared_member(const char* type);
/// Errors: throws error{invalid_value} for a member of `v` that is not one of `known`.
void check_names(const value& v, std::initializer_list<std::string_view> known, const char* type);

// Counts macro arguments in their text: commas outside brackets and string literals separate them.
consteval std::size_t count_arguments(std::string_view list) {
  std::size_t count = 1, depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    else if (c == ',' && depth == 0)
      ++count;
  }
  return count;
}

/// The check of a write to a member of type T: the channel takes a T (a topic: elements of one) and
/// nothing else. Null for a reducer of the user's own or of messages, which decides by itself.
template <class T> const value_check* write_check(const channel_spec& spec) {
  if constexpr (std::is_same_v<T, value>)
    return nullptr;
  else if (spec.kind == channel_kind::topic)
    return &topic_check_of<T>;
  else
    return takes_its_own_kind(spec) ? &check_of<T> : nullptr;
}
} // namespace detail

/// A struct with a TROUPE_STATE declaration.
/// Errors: none.
/// Source: troupe.
template <class S>
concept typed_state = requires {
  S::troupe_fields();
};

/// Calls `f` with the state_field of each member, in the order of the declaration.
/// Errors: none.
/// Source: troupe.
template <typed_state S, class F> void for_each_field(F&& f) {
  std::apply([&f](const auto&... field) { (f(field), ...); }, S::troupe_fields());
}

/// The channels that a typed state declares, in the order of its declaration. A reducer's initial
/// value is the member's value in a default-constructed S; when that is null, the reducer's own.
/// Errors: none.
/// Source: langgraph/graph/state.py, _get_channels.
template <typed_state S> schema schema_of() {
  schema out;
  S defaults{};
  for_each_field<S>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::type;
    auto spec = field.spec.value_or(last_value);
    if ((spec.kind == channel_kind::binary_operator && spec.op->initial)
        || spec.kind == channel_kind::delta)
      if (auto initial = value_traits<T>::to(defaults.*(field.member)); !initial.is_null())
        spec = starting_at(spec, std::move(initial));
    spec.check = detail::write_check<T>(spec);
    if (auto json = json_schema<T>(); !json.empty())
      spec.json = std::make_shared<const value>(std::move(json));
    out.channels.emplace_back(std::string{field.name}, std::move(spec));
  });
  return out;
}

/// The struct a node reads. Members whose channel has no value keep their default.
/// Errors: throws error{invalid_value} that names the struct and the member.
/// Source: troupe.
template <typed_state S> S read_state(const state_view& view) {
  S out{};
  for_each_field<S>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::type;
    if (const auto& v = view[field.name]; !v.is_null()) {
      try {
        out.*(field.member) = value_traits<T>::from(v);
      } catch (const error& e) {
        detail::throw_at_member(S::troupe_name(), field.name, e);
      }
    }
  });
  return out;
}

template <typed_state S> struct value_traits<S> {
  static value to(const S& s) {
    std::vector<value::map_init> out;
    for_each_field<S>([&](const auto& field) {
      out.emplace_back(std::string{field.name}, value::of(s.*(field.member)));
    });
    return value::map(std::move(out));
  }
  static S from(const value& v) { return read_state<S>(state_view{v}); }
  static bool fits(const value& v) {
    bool all = v.is_map();
    for_each_field<S>([&](const auto& field) {
      using T = typename std::remove_cvref_t<decltype(field)>::type;
      if (const auto& member = v[field.name]; all && !member.is_null())
        all = detail::fits<T>(member);
    });
    return all;
  }
};

namespace detail {

/// Checks an answer from outside: it has all members of S that need a value, and no others. A
/// reader of stored state gives defaults instead.
/// Errors: throws error{invalid_value}, which names the member.
template <typed_state S> void check_members(const value& v) {
  if (!v.is_null() && !v.is_map())
    throw_not_members_of(S::troupe_name(), v);
  for_each_field<S>([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::type;
    if constexpr (!is_optional<T>::value && !std::is_same_v<T, value>)
      if (v[field.name].is_null())
        throw_missing_member(field.name);
    if constexpr (typed_state<T>)
      check_members<T>(v[field.name]);
  });
  std::apply([&v](const auto&... field) { check_names(v, {field.name...}, S::troupe_name()); },
             S::troupe_fields());
}

/// Reads a value as a C, to check that it is one.
/// Errors: throws error{invalid_value}.
template <class C> void check_is_a(const value& v) {
  if constexpr (typed_state<C>)
    check_members<C>(v);
  (void)value_traits<C>::from(v);
}

} // namespace detail

template <typed_state S> struct json_schema_traits<S> {
  static value make() {
    std::vector<value::map_init> members;
    for_each_field<S>([&](const auto& field) {
      using T = typename std::remove_cvref_t<decltype(field)>::type;
      members.emplace_back(std::string{field.name}, json_schema<T>());
    });
    return detail::struct_schema(S::troupe_name(), std::move(members));
  }
};

namespace detail {
/// A message that is a value already. Braces within the list mean a troupe::message, not one.
class message_value {
public:
  template <std::same_as<value> V> message_value(V message) : message_(std::move(message)) {}
  operator const value&() const noexcept { return message_; }

private:
  value message_;
};
} // namespace detail

/// Writes to the channels of a typed state, made with set().
/// Errors: set() throws error{invalid_update} for a member that TROUPE_STATE does not name.
/// Source: troupe.
template <class S> class update : public state_update {
public:
  update() = default;

  /// Adds a write. The member names the channel; the compiler checks the type.
  template <class T, class X = T> update set(T S::*member, X&& x) && {
    write(member, std::forward<X>(x));
    return std::move(*this);
  }
  template <class T, class X = T> update& set(T S::*member, X&& x) & {
    write(member, std::forward<X>(x));
    return *this;
  }
  /// A member that S inherits: `update<S>{}.set(&S::member, x)`.
  template <class B, class T, class X = T>
  requires(!std::is_same_v<B, S> && std::is_base_of_v<B, S>) update set(T B::*member, X&& x) && {
    write(static_cast<T S::*>(member), std::forward<X>(x));
    return std::move(*this);
  }

  /// Messages in braces, as ai_message() and its siblings make them.
  template <std::same_as<message> M>
  update set(std::vector<M> S::*member, std::initializer_list<detail::message_value> messages) && {
    write(member, value::list(std::vector<value>(messages.begin(), messages.end())));
    return std::move(*this);
  }

private:
  template <class T, class X> void write(T S::*member, X&& x) {
    static_assert(typed_state<S>,
                  "the struct of this member has no TROUPE_STATE declaration: give it one, or, for "
                  "an inherited member, write update<S>{}.set(&S::member, x)");
    std::string_view name;
    for_each_field<S>([&](const auto& field) {
      if constexpr (
        std::is_same_v<
          decltype(field.member),
          T S::*const> || std::is_same_v<std::remove_cvref_t<decltype(field.member)>, T S::*>)
        if (field.member == member)
          name = field.name;
    });
    if (name.empty())
      detail::throw_undeclared_member(S::troupe_name());
    if constexpr (std::is_same_v<std::remove_cvref_t<X>, value>)
      state_update::set(std::string{name}, std::forward<X>(x)); // overwrite(…), or a raw value
    else if constexpr (std::is_convertible_v<X, T>)
      state_update::set(std::string{name}, value_traits<T>::to(static_cast<T>(std::forward<X>(x))));
    else
      static_assert(std::is_convertible_v<X, T>, "the value does not fit the member");
  }
};

/// An update of one member: `set(&review::words, 3).set(&review::verdict, "ok")`.
/// Errors: throws error{invalid_update} when the TROUPE_STATE declaration does not name the member.
/// Source: troupe.
template <class S, class T, class X = T> update<S> set(T S::*member, X&& x) {
  return update<S>{}.set(member, std::forward<X>(x));
}

/// An update of a list of messages, from messages in braces.
///     set(&chat::messages, {ai_message("hello")})
/// Shape:  `messages` are message values, as ai_message() and its siblings make them.
/// Errors: throws error{invalid_update} when the TROUPE_STATE declaration does not name the member.
/// Source: troupe.
template <class S, std::same_as<message> M>
update<S> set(std::vector<M> S::*member, std::initializer_list<detail::message_value> messages) {
  return update<S>{}.set(member, messages);
}

} // namespace troupe

// TROUPE_STATE(type, member | (member, channel_spec), …): makes `type` a typed state. The macro
// stands inside the struct, after the members; the struct may be local to a function. The macro may
// name inherited members, at most limits::state_members_max members in all. A struct that only
// inherits a declaration is not a typed state of its own members: declare it too.
#define TROUPE_STATE(type, ...)                                                                    \
  [[maybe_unused]] static constexpr const char* troupe_name() {                                    \
    return #type;                                                                                  \
  }                                                                                                \
  static const auto& troupe_fields() {                                                             \
    using troupe_self = type;                                                                      \
    static_assert(::troupe::detail::count_arguments(#__VA_ARGS__)                                  \
                    <= ::troupe::limits::state_members_max,                                        \
                  "TROUPE_STATE takes at most 128 members (limits::state_members_max): group "     \
                  "some of them in a struct of their own");                                        \
    static const auto fields =                                                                     \
      std::make_tuple(TROUPE_DETAIL_EXPAND(TROUPE_DETAIL_FIELDS(__VA_ARGS__)));                    \
    return fields;                                                                                 \
  }

#define TROUPE_DETAIL_PARENS ()
#define TROUPE_DETAIL_EXPAND(...)                                                                  \
  TROUPE_DETAIL_EXPAND4(                                                                           \
    TROUPE_DETAIL_EXPAND4(TROUPE_DETAIL_EXPAND4(TROUPE_DETAIL_EXPAND4(__VA_ARGS__))))
#define TROUPE_DETAIL_EXPAND4(...)                                                                 \
  TROUPE_DETAIL_EXPAND3(TROUPE_DETAIL_EXPAND3(TROUPE_DETAIL_EXPAND3(__VA_ARGS__)))
#define TROUPE_DETAIL_EXPAND3(...)                                                                 \
  TROUPE_DETAIL_EXPAND2(TROUPE_DETAIL_EXPAND2(TROUPE_DETAIL_EXPAND2(__VA_ARGS__)))
#define TROUPE_DETAIL_EXPAND2(...)                                                                 \
  TROUPE_DETAIL_EXPAND1(TROUPE_DETAIL_EXPAND1(TROUPE_DETAIL_EXPAND1(__VA_ARGS__)))
#define TROUPE_DETAIL_EXPAND1(...) __VA_ARGS__
#define TROUPE_DETAIL_FIELDS(x, ...)                                                               \
  TROUPE_DETAIL_FIELD(x) __VA_OPT__(, TROUPE_DETAIL_AGAIN TROUPE_DETAIL_PARENS(__VA_ARGS__))
#define TROUPE_DETAIL_AGAIN() TROUPE_DETAIL_FIELDS
// (member, spec) or member
#define TROUPE_DETAIL_FIELD(x)                                                                     \
  TROUPE_DETAIL_PICK(TROUPE_DETAIL_PROBE x, TROUPE_DETAIL_WITH_SPEC, TROUPE_DETAIL_PLAIN)(x)
#define TROUPE_DETAIL_PROBE(...) ~, ~
#define TROUPE_DETAIL_PICK(...) TROUPE_DETAIL_THIRD(__VA_ARGS__, ~)
#define TROUPE_DETAIL_THIRD(a, b, c, ...) c
#define TROUPE_DETAIL_PLAIN(x) ::troupe::detail::make_field<troupe_self>(#x, &troupe_self::x)
#define TROUPE_DETAIL_WITH_SPEC(x) TROUPE_DETAIL_WITH_SPEC2 x
#define TROUPE_DETAIL_WITH_SPEC2(x, spec)                                                          \
  ::troupe::detail::make_field<troupe_self>(#x, &troupe_self::x, spec)
