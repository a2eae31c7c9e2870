// The value: immutable, shared state that is cheap to copy and to append to; its JSON and msgpack.
#pragma once

#include <troupe/error.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// On a function whose result ends with its object. With it, clang refuses a loop over the items of
/// a value that nothing keeps.
#if __has_cpp_attribute(clang::lifetimebound)
#define TROUPE_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define TROUPE_LIFETIMEBOUND
#endif

namespace troupe {

/// The closed set of kinds. The first eight are JSON's plus bytes. The others wrap one payload
/// value, so that a channel or checkpoint keeps the meaning of its content.
/// The numbers are wire and storage format (the extension code of msgpack): append only.
/// Errors: none.
/// Source: troupe.
enum class value_kind : std::uint8_t {
  null = 0,
  boolean = 1,
  integer = 2,  // int64
  floating = 3, // double
  string = 4,   // UTF-8 by convention, any bytes in fact
  bytes = 5,
  list = 6,
  map = 7, // string keys, ordered by key (byte order), unique

  message = 16,        // payload: map with at least "role" and "content"
  send = 17,           // payload: list [node, arg]
  interrupt = 18,      // payload: map {value, id, response_schema}
  overwrite = 19,      // payload: the new value
  timestamp = 20,      // payload: integer, microseconds since 1970-01-01 UTC
  delta_snapshot = 21, // payload: the value
  error = 22,          // payload: map {type, message}
  remove_message = 23, // payload: string, the id of the message to remove
};

/// The kind's name as in this file, e.g. "remove_message"; "unknown" for a number not listed.
/// Errors: none.
/// Source: troupe.
std::string_view to_string(value_kind kind) noexcept;

class value;
template <class T> struct value_traits;

namespace detail {

struct map_entry;

/// The head of every shared part of a value: strings, bytes, list buffers, maps, payloads.
struct value_node {
  enum class shape_kind : std::uint8_t { blob, blob_in_block, list, map, extension };

  /// Atomic, by the compiler's functions: <atomic> costs each user's file 3 % of its compile time.
  std::uint64_t refs = 1;
  /// Greater than the rank of every node this one points to. A list is appended to in place only
  /// when its rank stays greater, so nodes never form a cycle.
  std::uint32_t rank;
  shape_kind shape;
  std::uint16_t place = 0; // of a blob in a block: words from the block's start

  value_node(std::uint32_t r, shape_kind s) noexcept : rank{r}, shape{s} {}
  void retain() noexcept { __atomic_fetch_add(&refs, 1, __ATOMIC_RELAXED); }
  /// Drops a reference. True when it was the last one: then the caller calls dispose.
  bool drop() noexcept {
    return __atomic_load_n(&refs, __ATOMIC_ACQUIRE) == 1
           || __atomic_fetch_sub(&refs, 1, __ATOMIC_ACQ_REL) == 1;
  }
  /// Frees a node without references and everything that it alone owned, without recursion.
  static void dispose(value_node* dead) noexcept;
};

} // namespace detail

/// A state value: 16 bytes; a copy increments a reference count. All members are const: a "change"
/// gives a new value that shares what it can with the old one.
/// Cost:   append of k items to a list of n is O(k) amortised and shares the prefix with every
///         older version. with() on a map copies O(entries) handles.
/// Owns:   versions of a list share one buffer, so an old version keeps alive the items appended by
///         newer ones. Short strings that were decoded together share blocks of at most
///         limits::value_block_bytes, so a string keeps its block alive.
/// Thread: values may be copied, read and dropped on any thread at once.
/// Errors: see the members.
/// Source: troupe (design: values are immutable and shared).
class value {
public:
  using map_init = std::pair<std::string, value>;

  constexpr value() noexcept : bits_{0}, tail_{}, len_{0}, tag_{tag::null} {}
  value(std::nullptr_t) noexcept : value() {}
  template <class B>
  requires std::is_same_v<B, bool> // a pointer is not a boolean
  value(B b)
  noexcept : bits_{b ? 1u : 0u}, tail_{}, len_{0}, tag_{tag::boolean} {}
  /// Units:  an unsigned number above int64's range wraps; value::of() throws instead.
  template <class I>
  requires(std::is_integral_v<I> && !std::is_same_v<I, bool> && !std::is_same_v<I, char>) value(I i)
  noexcept
    : bits_{static_cast<std::uint64_t>(static_cast<std::int64_t>(i))},
      tail_{},
      len_{0},
      tag_{tag::integer} {}
  template <class C>
  requires std::is_same_v<C, char> // neither a number nor a string
  value(C c)
  = delete;
  /// Every NaN becomes the same NaN.
  value(double d) noexcept
    : bits_{d == d ? std::bit_cast<std::uint64_t>(d) : nan_bits},
      tail_{},
      len_{0},
      tag_{tag::floating} {}
  value(const char* s) : value(std::string_view{s}) {}
  value(std::string_view s);
  value(const std::string& s) : value(std::string_view{s}) {}

  /// A map when every element is itself a braced pair whose first part is a string; else a list.
  /// `value{{"a", 1}, {"b", {1, 2}}}` is a map, `value{1, 2}` a list. Use list() or map() where the
  /// contents must not decide. Copy with parentheses: compilers disagree whether `value{v}` is v or
  /// a list of v.
  value(std::initializer_list<value> items);

  value(const value& other) noexcept {
    take_words(other);
    if (other.counted())
      node()->retain();
  }
  /// `other` becomes null.
  value(value&& other) noexcept {
    take_words(other);
    other.forget();
  }
  value& operator=(const value& other) noexcept {
    value copy(other);
    swap(copy);
    return *this;
  }
  value& operator=(value&& other) noexcept {
    value moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~value() {
    if (counted() && node()->drop())
      detail::value_node::dispose(node());
  }
  void swap(value& other) noexcept {
    alignas(value) unsigned char words[sizeof(value)];
    std::memcpy(words, static_cast<void*>(this), sizeof words);
    std::memcpy(static_cast<void*>(this), static_cast<void*>(&other), sizeof words);
    std::memcpy(static_cast<void*>(&other), words, sizeof words);
  }
  friend void swap(value& a, value& b) noexcept { a.swap(b); }

  /// A list of these items, or an empty one.
  static value list(std::vector<value> items);
  static value list();
  /// A map of these entries; the last entry of equal keys counts.
  static value map(std::vector<map_init> entries);
  static value map();
  static value bytes(std::span<const std::byte> data);
  /// An extension value around `payload`.
  /// Shape:  `kind` is one of message … (16 and up). `payload` is of the kind listed there, e.g. a
  ///         map for message, interrupt and error, and [string, any] for send.
  /// Errors: throws error{invalid_value} when `kind` or `payload` is a different one.
  static value extension(value_kind kind, value payload);

  /// The kind, and whether it is this one.
  /// Errors: none.
  value_kind kind() const noexcept {
    constexpr value_kind kinds[] = {value_kind::null,     value_kind::boolean, value_kind::integer,
                                    value_kind::floating, value_kind::string,  value_kind::string,
                                    value_kind::bytes,    value_kind::list,    value_kind::map};
    return tag_ == tag::extension ? static_cast<value_kind>(len_)
                                  : kinds[static_cast<std::size_t>(tag_)];
  }
  bool is_null() const noexcept { return tag_ == tag::null; }
  bool is_bool() const noexcept { return tag_ == tag::boolean; }
  bool is_int() const noexcept { return tag_ == tag::integer; }
  bool is_double() const noexcept { return tag_ == tag::floating; }
  bool is_number() const noexcept { return is_int() || is_double(); }
  bool is_string() const noexcept { return tag_ == tag::short_string || tag_ == tag::string; }
  bool is_bytes() const noexcept { return tag_ == tag::bytes; }
  bool is_list() const noexcept { return tag_ == tag::list; }
  bool is_map() const noexcept { return tag_ == tag::map; }
  bool is(value_kind k) const noexcept { return kind() == k; }

  /// The content. as_double also takes an integer.
  /// Errors: throws error{invalid_value} that names both kinds when the value is of another kind.
  bool as_bool() const { return is_bool() ? bits_ != 0 : throw wrong_kind(value_kind::boolean); }
  std::int64_t as_int() const {
    return is_int() ? static_cast<std::int64_t>(bits_) : throw wrong_kind(value_kind::integer);
  }
  double as_double() const {
    return is_double() ? std::bit_cast<double>(bits_) : static_cast<double>(as_number());
  }
  std::string_view as_string() const& { // valid as long as this value lives, unmoved
    return is_string() ? text() : throw wrong_kind(value_kind::string);
  }
  /// The text of a temporary value does not compile: name the value first, or copy the text.
  template <class T = void> std::string_view as_string() && {
    static_assert(!std::is_void_v<T>, "as_string() of a temporary value would refer to nothing: "
                                      "name the value first, or use .as<std::string>()");
    return {};
  }
  std::span<const std::byte> as_bytes() const;
  /// The wrapped value of an extension kind.
  /// Errors: invalid_value for any other kind.
  const value& payload() const;

  /// Elements of a list, entries of a map, bytes of a string; 0 for everything else.
  std::size_t size() const noexcept {
    return tag_ == tag::short_string ? len_ : sized() ? extent() : 0;
  }
  bool empty() const noexcept { return size() == 0; }

  /// Element `i` of a list.
  /// Errors: invalid_value when this is not a list or is too short.
  const value& at(std::size_t i) const;
  /// Member `key` of a map.
  /// Errors: missing_key, also when this is not a map.
  const value& at(std::string_view key) const;
  /// Like at(), but null where the element or member is missing, or this is not a list or map.
  const value& operator[](std::size_t i) const noexcept;
  template <class I>
  requires(
    std::is_integral_v<I> && !std::is_same_v<I, bool> && !std::is_same_v<I, char>) const value&
  operator[](I i) const noexcept {
    return (*this)[static_cast<std::size_t>(i)];
  }
  const value& operator[](std::string_view key) const noexcept;
  const value& operator[](const char* key) const noexcept { return (*this)[std::string_view{key}]; }
  bool contains(std::string_view key) const noexcept;

  /// The elements of a list (empty for other kinds). Valid as long as any copy of this value lives.
  std::span<const value> items() const noexcept TROUPE_LIFETIMEBOUND;
  /// The entries of a map in key order (empty for other kinds). Valid as items().
  std::span<const detail::map_entry> entries() const noexcept TROUPE_LIFETIMEBOUND;

  /// This list with more items at its end.
  /// Errors: invalid_value when this is not a list.
  value append(value item) const;
  value append_all(std::span<const value> items) const;
  /// This map with `key` set, or without `key`.
  /// Errors: invalid_value when this is not a map.
  value with(std::string_view key, value v) const;
  value without(std::string_view key) const;

  /// Converts through value_traits<T>.
  /// Errors: throws error{invalid_value} when the value does not fit T.
  template <class T> T as() const { return value_traits<T>::from(*this); }
  template <class T> static value of(const T& x) { return value_traits<T>::to(x); }

  /// Equality of kind and content, as of the canonical bytes: 1 and 1.0 differ, 0.0 and -0.0
  /// differ, NaN equals itself.
  friend bool operator==(const value& a, const value& b) noexcept;
  /// Equal values have equal hashes, in every process.
  std::uint64_t hash() const noexcept;

private:
  friend struct detail::value_node;
  friend struct value_access; // for list and map code and the codecs
  enum class tag : std::uint8_t {
    null,
    boolean,
    integer,
    floating,
    short_string,
    string,
    bytes,
    list,
    map,
    extension
  };
  static constexpr std::uint64_t nan_bits = 0x7ff8'0000'0000'0000;
  static constexpr std::size_t short_max = 14;

  value(tag t, detail::value_node* n, std::size_t extent, std::uint8_t len = 0) noexcept
    : bits_{reinterpret_cast<std::uintptr_t>(n)},
      tail_{},
      len_{len},
      tag_{t} {
    std::memcpy(tail_, &extent, sizeof tail_);
  }

  /// Empty lists, maps and bytes have no node.
  bool counted() const noexcept { return tag_ >= tag::string && bits_ != 0; }
  bool sized() const noexcept { return tag_ >= tag::string && tag_ <= tag::map; }
  detail::value_node* node() const noexcept {
    return reinterpret_cast<detail::value_node*>(static_cast<std::uintptr_t>(bits_));
  }
  void take_words(const value& other) noexcept {
    std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(value));
  }
  void forget() noexcept {
    bits_ = 0;
    tag_ = tag::null;
  }
  std::size_t extent() const noexcept {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(this) + sizeof bits_, sizeof word);
    return static_cast<std::size_t>(word & 0xffff'ffff'ffffu);
  }
  /// The characters of a string or bytes: in the handle, or right after the node's head.
  std::string_view text() const noexcept {
    if (tag_ == tag::short_string)
      return {reinterpret_cast<const char*>(this), len_};
    if (!counted())
      return {};
    return {reinterpret_cast<const char*>(node() + 1), extent()};
  }
  std::int64_t as_number() const;
  troupe::error wrong_kind(value_kind wanted) const;

  // Strings of up to 14 bytes live in bits_ and tail_, longer ones in a counted node. For counted
  // values tail_ holds the size (48 bits), so versions of a list differ in the handle alone. For
  // messages it holds a fingerprint of the id, so that a message is found by its id in a list
  // without a look at each message.
  std::uint64_t bits_;
  unsigned char tail_[6];
  std::uint8_t len_; // length of a short string; the value_kind of an extension
  tag tag_;
};
static_assert(sizeof(value) == 16);

namespace detail {
struct map_entry {
  value key_value; // always a string
  value val;
  std::string_view key() const noexcept { return key_value.as_string(); }
};

/// How many leading elements of a list passed a check that later elements cannot undo. The versions
/// of a list share the mark, so a list that grows is checked element by element. One check uses it:
/// whether the calls of a conversation have answers (agents/messages/history.cpp).
struct list_mark {
  /// At most the list's size.
  static std::size_t of(const value& list) noexcept;
  /// The check of the first `passed` elements used no others. A smaller mark is ignored.
  static void raise(const value& list, std::size_t passed) noexcept;
};
} // namespace detail

/// Prints JSON text (to_json), or the error's text when to_json fails. Throws only what `out`
/// throws.
/// Errors: none.
/// Source: troupe.
std::ostream& operator<<(std::ostream& out, const value& v);

/// JSON text, members in key order. Kinds that JSON lacks print as an object with one member that
/// begins with `$`: {"$bytes": base64}, {"$message": {…}}, {"$send": [node, arg]} ….
/// A double that is not a JSON number prints as {"$double": "nan" | "inf" | "-inf"}. A user's own
/// map with exactly one member that begins with `$` prints with `$` doubled and reads back as it
/// was. Bytes of a string that are not UTF-8 print as U+FFFD: only msgpack keeps such strings.
/// Shape:  `indent` < 0 prints on one line.
/// Errors: throws error{invalid_value} when deeper than limits::value_depth_max.
/// Source: troupe.
std::string to_json(const value& v, int indent = -1);

/// How from_json reads an object with one `$` member: as the kind that the member names, where it
/// names one, or always as a map. JSON from outside is plain.
/// Errors: none.
/// Source: troupe.
enum class json_form : std::uint8_t { tagged, plain };

/// Reads the output of to_json, and any other JSON. An object with one `$` member that names no
/// known kind is a map as it stands. An integer beyond int64 is a double. The last one of equal
/// keys counts.
/// Units:  at most limits::json_size_bytes_max bytes and limits::value_depth_max levels.
/// Errors: invalid_value, with the byte position.
/// Source: troupe; RFC 8259.
result<value> from_json(std::string_view text, json_form form = json_form::tagged);

/// Canonical msgpack: maps in key order, the shortest form of every number and length; equal values
/// give equal bytes. Extension kinds are ext records whose code is the kind; they count as a level
/// of depth.
/// Shape:  appends to `out`.
/// Units:  at most limits::value_size_bytes_max bytes and limits::value_depth_max levels.
/// Errors: invalid_value when larger or deeper; `out` is unchanged.
/// Source: troupe; msgpack format specification.
result<void> encode_msgpack(const value& v, std::string& out);
result<std::string> to_msgpack(const value& v);

/// Reads one value from the whole of `data`. Any valid msgpack is accepted: numbers and lengths may
/// be longer than needed, and map keys in any order.
/// Units:  never allocates more than a small multiple of data.size(); size and depth are limited as
///         for encode_msgpack.
/// Errors: invalid_value, also for
///         - a key that is not a string, or a duplicate key
///         - an integer beyond int64
///         - an unknown extension, or one whose payload does not fit
///         - bytes after the value
/// Source: troupe; msgpack format specification.
result<value> from_msgpack(std::string_view data);

// ---- conversions ----------------------------------------------------------------------------

namespace detail {
template <class T> inline constexpr bool has_no_value_traits = false;

// The errors of value_traits, which say invalid_value.
[[noreturn]] void throw_too_large(std::uint64_t i);
[[noreturn]] void throw_does_not_fit(std::int64_t i);
[[noreturn]] void throw_is_not(const char* kind);
} // namespace detail

/// Converts a T to a value and back. Supported are value, bool, integers, floating point,
/// std::string, std::optional, std::vector, bytes (std::vector<std::byte>), maps with std::string
/// keys, message, and structs with a TROUPE_STATE declaration. Headers of their own add more types:
///  - troupe/value_enum.hpp: enums, by name
///  - troupe/value_time.hpp: durations and time points of std::chrono, as ISO 8601 text
///  - troupe/value_containers.hpp: std::array, std::pair, std::tuple, sets, std::variant
///  - troupe/value_path.hpp: std::filesystem::path
///  - troupe/uuid.hpp: 128-bit ids
///  - troupe/value_conversions.hpp: all of them
/// Specialise it for types of your own:
///     template <> struct troupe::value_traits<money> {
///       static value to(const money& m) { return m.cents; }
///       static money from(const value& v) { return {v.as_int()}; }
///     };
/// Shape:  `static value to(const T&)` and `static T from(const value&)`, which throws
///         error{invalid_value} when the value does not fit. Optional: `static bool fits(const
///         value&)`, whether from() would accept the value: with it, a wrong write is refused where
///         it is made. Without `fits`, from() is tried, unless the value is a list, a map, bytes or
///         an extension.
/// Errors: those of from().
/// Source: troupe.
template <class T> struct value_traits {
  static_assert(
    detail::has_no_value_traits<T>,
    "troupe can't keep this type in a state: specialise troupe::value_traits<T> for it, "
    "or give the struct a TROUPE_STATE declaration. The header troupe/value_conversions.hpp adds "
    "enums (TROUPE_ENUM), std::chrono, std::array, pairs, tuples, sets, variants, paths and uuids");
  static value to(const T& x);
  static T from(const value& v);
};

template <> struct value_traits<value> {
  static value to(const value& v) { return v; }
  static value from(const value& v) { return v; }
};
template <> struct value_traits<bool> {
  static value to(bool b) { return b; }
  static bool from(const value& v) { return v.as_bool(); }
};
template <class I>
requires(std::is_integral_v<
           I> && !std::is_same_v<I, bool> && !std::is_same_v<I, char>) struct value_traits<I> {
  static value to(I i) {
    if (!std::in_range<std::int64_t>(i))
      detail::throw_too_large(static_cast<std::uint64_t>(i));
    return value(static_cast<std::int64_t>(i));
  }
  static I from(const value& v) {
    auto i = v.as_int();
    if (!std::in_range<I>(i))
      detail::throw_does_not_fit(i);
    return static_cast<I>(i);
  }
};
template <class F>
requires std::is_floating_point_v<F>
struct value_traits<F> {
  static value to(F f) { return value(static_cast<double>(f)); }
  static F from(const value& v) { return static_cast<F>(v.as_double()); }
};
template <> struct value_traits<std::string> {
  static value to(const std::string& s) { return s; }
  static std::string from(const value& v) { return std::string{v.as_string()}; }
};
template <class T> struct value_traits<std::optional<T>> {
  static value to(const std::optional<T>& x) { return x ? value::of(*x) : value{}; }
  static std::optional<T> from(const value& v) {
    if (v.is_null())
      return std::nullopt;
    return v.as<T>();
  }
};
template <class T> struct value_traits<std::vector<T>> {
  static value to(const std::vector<T>& xs) {
    std::vector<value> out;
    out.reserve(xs.size());
    for (const auto& x : xs)
      out.push_back(value_traits<T>::to(x));
    return value::list(std::move(out));
  }
  static std::vector<T> from(const value& v) {
    if (!v.is_list())
      detail::throw_is_not("list");
    std::vector<T> out;
    out.reserve(v.size());
    for (const auto& x : v.items())
      out.push_back(value_traits<T>::from(x));
    return out;
  }
};
/// A value of kind bytes.
/// Errors: from() throws error{invalid_value} for another kind.
/// Source: troupe.
template <> struct value_traits<std::vector<std::byte>> {
  static value to(const std::vector<std::byte>& data);
  static std::vector<std::byte> from(const value& v);
  static bool fits(const value& v) { return v.is_bytes(); }
};
/// Maps with string keys: std::map<std::string, T> and the like.
/// Errors: from() throws error{invalid_value} for a value that is not a map.
/// Source: troupe.
template <class M>
requires(std::is_same_v<typename M::key_type, std::string>&& requires {
  typename M::mapped_type;
}) struct value_traits<M> {
  static value to(const M& m) {
    std::vector<value::map_init> out;
    for (const auto& [k, x] : m)
      out.emplace_back(k, value_traits<typename M::mapped_type>::to(x));
    return value::map(std::move(out));
  }
  static M from(const value& v) {
    if (!v.is_map())
      detail::throw_is_not("map");
    M out;
    for (const auto& e : v.entries())
      out.emplace(std::string{e.key()}, value_traits<typename M::mapped_type>::from(e.val));
    return out;
  }
};

} // namespace troupe
