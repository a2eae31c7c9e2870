// fields: reads a list that another process wrote, field by field, and checks the type of each.
#pragma once

#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cluster {

/// A reader of a list. Each call takes the next field.
/// Errors: a bad field throws error{invalid_value}, which names the message and the field's place.
///         from_bytes() is the one place that catches it.
class fields {
public:
  /// Errors: throws when `list` is not a list of `count` elements.
  fields(value list, std::size_t count, const char* of);

  const value& any() { return list_[at_++]; }
  std::string text();
  std::int64_t number();
  std::uint64_t word() { return static_cast<std::uint64_t>(number()); } // all 64 bits
  /// A number of at most `most`: the highest value of an enumeration, or another bound.
  std::uint64_t upto(std::uint64_t most);
  template <class E> E one_of(E last) {
    return static_cast<E>(upto(static_cast<std::uint64_t>(last)));
  }
  bool flag();
  std::vector<std::string> texts();
  /// A field that may be null; nullopt for null.
  template <class F>
  auto maybe(F&& read) -> std::optional<decltype(read(std::declval<fields&>()))> {
    if (!list_[at_].is_null())
      return read(*this);
    ++at_;
    return std::nullopt;
  }
  /// A list: the results of `read` for each element.
  template <class F> auto each(F&& read) {
    std::vector<std::decay_t<decltype(read(std::declval<const value&>()))>> out;
    const auto& items = a_list();
    out.reserve(items.size()); // the elements exist, so a peer's claim reserves nothing
    for (const auto& item : items.items())
      out.push_back(read(item));
    return out;
  }

private:
  const value& a_list();
  const value& expect(bool fits, const char* what);

  value list_;
  std::size_t at_ = 0;
  const char* of_;
};

/// A list: the results of `write` for each element.
template <class C, class F> value list_of(const C& items, F&& write) {
  std::vector<value> out;
  out.reserve(items.size());
  for (const auto& item : items)
    out.push_back(write(item));
  return value::list(std::move(out));
}
value list_of(const std::vector<std::string>& texts);

/// Errors: invalid_value for a value that is too large or too deep.
result<std::vector<std::uint8_t>> to_bytes(const value& v);

/// The result of `read` for the value in `data`.
/// Errors: invalid_value for bytes that are not a value, and for all that `read` throws.
template <class F>
auto from_bytes(const std::vector<std::uint8_t>& data, F&& read)
  -> result<decltype(read(std::declval<value>()))> {
  auto v = from_msgpack({reinterpret_cast<const char*>(data.data()), data.size()});
  if (!v)
    return v.error();
  try {
    return read(std::move(*v));
  } catch (const error& wrong) {
    return wrong;
  }
}

/// An error as a value between processes, with all of its parts.
value to_value(const error& e);
error to_error(const value& v);

} // namespace troupe::cluster
