// Values to canonical msgpack and back.
//
// Both directions hand the place in the bytes from function to function, and null after a failure:
// a member would be stored and loaded again around each byte that is written.
#include "graph/crash_point.hpp"
#include "graph/value_node.hpp"

#include <troupe/limits.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace troupe {

namespace {

using limits::value_depth_max;
using limits::value_size_bytes_max;

template <std::unsigned_integral U> U swapped(U number) noexcept { // to and from network order
  if constexpr (sizeof(U) == 8)
    return __builtin_bswap64(number);
  else if constexpr (sizeof(U) == 4)
    return __builtin_bswap32(number);
  else if constexpr (sizeof(U) == 2)
    return __builtin_bswap16(number);
  else
    return number;
}

template <std::unsigned_integral U> char* put_number(char* at, std::uint8_t code, U number) {
  *at = static_cast<char>(code);
  number = swapped(number);
  std::memcpy(at + 1, &number, sizeof number);
  return at + 1 + sizeof number;
}

// The shortest of the heads that end in a number of 8, 16 or 32 bits; their codes follow each
// other.
char* put_size(char* at, std::uint8_t first_code, std::size_t size) {
  if (size <= 0xff)
    return put_number(at, first_code, static_cast<std::uint8_t>(size));
  if (size <= 0xffff)
    return put_number(at, first_code + 1, static_cast<std::uint16_t>(size));
  return put_number(at, first_code + 2, static_cast<std::uint32_t>(size));
}

// The head of a list or map.
char* put_count(char* at, std::uint8_t short_code, std::uint8_t code, std::size_t count) {
  if (count <= 15) {
    *at = static_cast<char>(short_code | count);
    return at + 1;
  }
  if (count <= 0xffff)
    return put_number(at, code, static_cast<std::uint16_t>(count));
  return put_number(at, code + 1, static_cast<std::uint32_t>(count));
}

char* put_long_integer(char* at, std::int64_t i) {
  auto bits = static_cast<std::uint64_t>(i);
  if (i >= 0)
    return put_size(at, 0xcc, bits);
  if (std::in_range<std::int8_t>(i))
    return put_number(at, 0xd0, static_cast<std::uint8_t>(bits));
  if (std::in_range<std::int16_t>(i))
    return put_number(at, 0xd1, static_cast<std::uint16_t>(bits));
  if (std::in_range<std::int32_t>(i))
    return put_number(at, 0xd2, static_cast<std::uint32_t>(bits));
  return put_number(at, 0xd3, bits);
}

inline char* put_integer(char* at, std::int64_t i) {
  if (i > 0xffff'ffff)
    return put_number(at, 0xcf, static_cast<std::uint64_t>(i));
  if (i < -32 || i > 127)
    return put_long_integer(at, i);
  *at = static_cast<char>(i);
  return at + 1;
}

// Copies a text. Most texts have a few dozen bytes, for which a call costs more than the copy.
[[gnu::always_inline]] inline char* put_text(char* at, const char* text, std::size_t size) {
  if (size <= 16) {
    detail::copy_small(at, text, size);
  } else if (size <= 32) {
    std::memcpy(at, text, 16);
    std::memcpy(at + size - 16, text + size - 16, 16);
  } else {
    std::memcpy(at, text, size);
  }
  return at + size;
}

/// Writes one value; stops at the first problem. The bytes are in a buffer of its own until they
/// are complete, so that the string they are appended to grows once.
class msgpack_writer {
public:
  msgpack_writer() = default;
  msgpack_writer(const msgpack_writer&) = delete;
  msgpack_writer& operator=(const msgpack_writer&) = delete;

  /// Appends the bytes. Result: the problem, with which nothing is appended; empty on success.
  std::string_view write_all(const value& v, std::string& out) {
    auto* end = write(v, start_, 0);
    if (end && size_at(end) > value_size_bytes_max)
      fail(too_large);
    if (problem_.empty())
      out.append(start_, size_at(end));
    return problem_;
  }

private:
  static constexpr std::string_view too_deep = "too deep";
  static constexpr std::string_view too_large = "too large";
  // Room for a number, for the head of anything else, and for a short text with its head.
  static constexpr std::ptrdiff_t item_room = 1 + value_access::short_room;

  // Inlined into the loops over items: most items are numbers and texts, and cost less than a call.
  [[gnu::always_inline]] char* write(const value& v, char* at, std::size_t depth) {
    if (end_ - at < item_room) {
      at = grown(at, item_room);
      if (!at)
        return nullptr;
    }
    // Comparisons, since a jump through a table is predicted worse. The usual forms come first.
    using form = value_access::form;
    auto kind = value_access::form_of(v);
    if (kind == form::string)
      return write_string(value_access::text(v), at);
    if (kind == form::integer)
      return put_integer(at, v.as_int());
    if (kind == form::short_string)
      return write_short(v, at);
    if (kind > form::string)
      return write_other(v, at, depth);
    if (kind == form::floating)
      return put_number(at, 0xcb, value_access::bits(v));
    *at = static_cast<char>(kind == form::null ? 0xc0 : v.as_bool() ? 0xc3 : 0xc2);
    return at + 1;
  }

  [[gnu::noinline]] char* write_other(const value& v, char* at, std::size_t depth) {
    if (v.is_bytes())
      return write_bytes(value_access::text(v), at);
    if (depth == value_depth_max)
      return fail(too_deep);
    if (v.is_list())
      return write_list(v, at, depth + 1);
    return v.is_map() ? write_map(v, at, depth + 1) : write_extension(v, at, depth + 1);
  }

  // Copies the whole handle: what follows the text is overwritten by the next item.
  static char* write_short(const value& v, char* at) {
    auto size = value_access::short_size(v);
    *at = static_cast<char>(0xa0 | size);
    std::memcpy(at + 1, static_cast<const void*>(&v), value_access::short_room);
    return at + 1 + size;
  }

  char* write_string(std::string_view s, char* at) {
    if (s.size() > 31)
      return write_body(s, put_size(at, 0xd9, s.size()));
    *at = static_cast<char>(0xa0 | s.size());
    return write_body(s, at + 1);
  }

  char* write_bytes(std::string_view s, char* at) {
    return write_body(s, put_size(at, 0xc4, s.size()));
  }

  char* write_body(std::string_view s, char* at) {
    if (static_cast<std::size_t>(end_ - at) < s.size()) {
      at = grown(at, s.size());
      if (!at)
        return nullptr;
    }
    return put_text(at, s.data(), s.size());
  }

  char* write_list(const value& v, char* at, std::size_t depth) {
    at = put_count(at, 0x90, 0xdc, v.size());
    for (const auto& item : v.items()) {
      at = write(item, at, depth);
      if (!at)
        return nullptr;
    }
    return at;
  }

  char* write_map(const value& v, char* at, std::size_t depth) {
    at = put_count(at, 0x80, 0xde, v.size());
    for (const auto& entry : v.entries()) {
      at = write(entry.key_value, at, depth);
      if (at)
        at = write(entry.val, at, depth);
      if (!at)
        return nullptr;
    }
    return at;
  }

  // The length of the head depends on that of the payload, so the payload is written first, after
  // room for the usual head, and moved when that was not the right one.
  char* write_extension(const value& v, char* at, std::size_t depth) {
    constexpr std::size_t head_usual = 3, head_max = 6;
    auto start = size_at(at);
    at = write(value_access::payload(v), at + head_usual, depth);
    if (at && end_ - at < static_cast<std::ptrdiff_t>(head_max))
      at = grown(at, head_max);
    if (!at)
      return nullptr;
    auto* head = start_ + start;
    auto size = static_cast<std::size_t>(at - head) - head_usual;
    auto head_size = extension_head_size(size);
    if (head_size != head_usual)
      std::memmove(head + head_size, head + head_usual, size);
    put_extension_head(head, v.kind(), size);
    return head + head_size + size;
  }

  static bool is_fixed_size(std::size_t size) noexcept {
    return size <= 16 && std::has_single_bit(size);
  }
  static std::size_t extension_head_size(std::size_t size) noexcept {
    if (is_fixed_size(size))
      return 2;
    return size <= 0xff ? 3 : size <= 0xffff ? 4 : 6;
  }
  static void put_extension_head(char* at, value_kind kind, std::size_t size) {
    if (is_fixed_size(size)) {
      *at = static_cast<char>(0xd4 + std::bit_width(size) - 1);
      ++at;
    } else {
      at = put_size(at, 0xc7, size);
    }
    *at = static_cast<char>(kind);
  }

  std::size_t size_at(const char* at) const noexcept {
    return static_cast<std::size_t>(at - start_);
  }

  char* fail(std::string_view problem) noexcept {
    problem_ = problem;
    return nullptr;
  }

  // The place in a buffer with room for `more` bytes; null when the value is too large.
  [[gnu::noinline]] char* grown(char* at, std::size_t more) {
    auto used = size_at(at);
    if (used > value_size_bytes_max || more > value_size_bytes_max)
      return fail(too_large);
    auto capacity = std::max(2 * size_at(end_), used + more);
    auto* before = heap_.release();
    auto* bigger = static_cast<char*>(std::realloc(before, capacity));
    heap_.reset(bigger ? bigger : before);
    if (!bigger)
      throw std::bad_alloc{};
    if (!before)
      std::memcpy(bigger, start_, used);
    start_ = bigger;
    end_ = bigger + capacity;
    return start_ + used;
  }

  struct freed {
    void operator()(char* memory) const noexcept { std::free(memory); }
  };

  std::array<char, 4096> first_; // enough for most values
  std::unique_ptr<char, freed> heap_;
  char* start_ = first_.data();
  char* end_ = first_.data() + first_.size();
  std::string_view problem_;
};

/// Keys of the maps of one value that are too long for a handle: equal ones share their bytes,
/// where few others came between.
class long_keys {
public:
  value get(detail::blob_maker& blobs, std::string_view key) {
    auto& known = keys_[(key.size() ^ static_cast<unsigned char>(key.back())) % keys_.size()];
    if (value_access::text(known) != key)
      known = value_access::long_text(blobs, key);
    return value(known);
  }

private:
  std::array<value, 8> keys_;
};

/// Reads one value. Lists and maps are filled where they stay, so their size must be known. A count
/// is refused when the bytes that are left can't hold what all open lists and maps still need. So
/// no bytes make the reader allocate more than a small multiple of their number.
class msgpack_reader {
public:
  explicit msgpack_reader(std::string_view data)
    : begin_{data.data()},
      end_{data.data() + data.size()} {}

  /// Reads all of the bytes as one value into a null value.
  bool read(value& out) { return read_all(begin_, out, 0); }
  std::string_view problem() const noexcept { return problem_; }

private:
  static constexpr std::string_view too_early = "it ends too early";

  // A slot holds null, which owns nothing, until its value is constructed there.
  template <class T> static const char* put(const char* at, value& slot, T&& content) {
    new (&slot) value(std::forward<T>(content));
    return at;
  }

  template <class Signed> static auto signed_number(value& slot) {
    return
      [&slot](const char* body, auto bits) { return put(body, slot, static_cast<Signed>(bits)); };
  }

  bool read_all(const char* at, value& out, std::size_t depth) {
    at = read_item(at, out, depth);
    return at && (at == end_ || fail("more than one value"));
  }

  // Inlined into the loops over items, as in the writer.
  [[gnu::always_inline]] const char* read_item(const char* at, value& slot, std::size_t depth) {
    if (at == end_)
      return fail(too_early);
    auto head = static_cast<std::uint8_t>(*at++);
    if (head <= 0x7f)
      return put(at, slot, head);
    if (head >= 0xe0)
      return put(at, slot, static_cast<std::int8_t>(head));
    if (head >= 0xa0 && head <= 0xbf)
      return read_string(at, slot, head & 0x1fu);
    if (head == 0xc0)
      return at;
    if (head == 0xc2 || head == 0xc3)
      return put(at, slot, head == 0xc3);
    return read_other(at, slot, head, depth);
  }

  [[gnu::noinline]] const char* read_other(const char* at, value& slot, std::uint8_t head,
                                           std::size_t depth) {
    if (head <= 0x8f)
      return read_map(at, slot, head & 0x0fu, depth);
    if (head <= 0x9f)
      return read_list(at, slot, head & 0x0fu, depth);
    auto string = [&](const char* body, auto n) { return read_string(body, slot, n); };
    auto bytes = [&](const char* body, auto n) { return read_bytes(body, slot, n); };
    auto list = [&](const char* body, auto n) { return read_list(body, slot, n, depth); };
    auto map = [&](const char* body, auto n) { return read_map(body, slot, n, depth); };
    auto extension = [&](const char* body, auto n) { return read_extension(body, slot, n, depth); };
    auto number = [&](const char* body, auto i) { return put(body, slot, i); };
    switch (head) {
      case 0xc4: return sized<std::uint8_t>(at, bytes);
      case 0xc5: return sized<std::uint16_t>(at, bytes);
      case 0xc6: return sized<std::uint32_t>(at, bytes);
      case 0xc7: return sized<std::uint8_t>(at, extension);
      case 0xc8: return sized<std::uint16_t>(at, extension);
      case 0xc9: return sized<std::uint32_t>(at, extension);
      case 0xca:
        return sized<std::uint32_t>(at, [&](const char* body, auto bits) {
          return put(body, slot, static_cast<double>(std::bit_cast<float>(bits)));
        });
      case 0xcb:
        return sized<std::uint64_t>(at, [&](const char* body, auto bits) {
          return put(body, slot, std::bit_cast<double>(bits));
        });
      case 0xcc: return sized<std::uint8_t>(at, number);
      case 0xcd: return sized<std::uint16_t>(at, number);
      case 0xce: return sized<std::uint32_t>(at, number);
      case 0xcf:
        return sized<std::uint64_t>(at, [&](const char* body, auto i) {
          return std::in_range<std::int64_t>(i) ? put(body, slot, i)
                                                : fail("an integer too large for int64");
        });
      case 0xd0: return sized<std::uint8_t>(at, signed_number<std::int8_t>(slot));
      case 0xd1: return sized<std::uint16_t>(at, signed_number<std::int16_t>(slot));
      case 0xd2: return sized<std::uint32_t>(at, signed_number<std::int32_t>(slot));
      case 0xd3: return sized<std::uint64_t>(at, signed_number<std::int64_t>(slot));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8: return read_extension(at, slot, std::size_t{1} << (head - 0xd4), depth);
      case 0xd9: return sized<std::uint8_t>(at, string);
      case 0xda: return sized<std::uint16_t>(at, string);
      case 0xdb: return sized<std::uint32_t>(at, string);
      case 0xdc: return sized<std::uint16_t>(at, list);
      case 0xdd: return sized<std::uint32_t>(at, list);
      case 0xde: return sized<std::uint16_t>(at, map);
      case 0xdf: return sized<std::uint32_t>(at, map);
      default: return fail("not msgpack");
    }
  }

  std::size_t left(const char* at) const noexcept { return static_cast<std::size_t>(end_ - at); }

  // Reads a number in network byte order for `use`.
  template <class U, class Use> const char* sized(const char* at, Use use) {
    if (left(at) < sizeof(U))
      return fail(too_early);
    U number;
    std::memcpy(&number, at, sizeof number);
    return use(at + sizeof(U), swapped(number));
  }

  [[gnu::always_inline]] const char* read_string(const char* at, value& slot, std::size_t size) {
    if (size > left(at))
      return fail(too_early);
    if (size > value_access::short_max)
      return put(at + size, slot, value_access::long_text(blobs_, {at, size}));
    if (left(at) >= value_access::short_room)
      return put(at + size, slot, value_access::short_text(at, size));
    return put(at + size, slot, std::string_view{at, size});
  }

  const char* read_bytes(const char* at, value& slot, std::size_t size) {
    if (size > left(at))
      return fail(too_early);
    return put(at + size, slot, value::bytes(std::as_bytes(std::span{at, size})));
  }

  // Begins a list or map of so many items.
  bool open(const char* at, std::size_t items, std::size_t depth) {
    if (depth == value_depth_max && !mutated(mutation::no_depth_limit))
      return fail("too deep");
    if (owed_ > left(at) || items > left(at) - owed_)
      return fail(too_early);
    owed_ += items;
    return true;
  }

  // The rank of what was read, for the list or map around it.
  void ends_with(const value& made, std::uint32_t outer) {
    rank_ = std::max(outer, value_access::rank(made));
  }

  const char* read_list(const char* at, value& slot, std::size_t count, std::size_t depth) {
    if (!open(at, count, depth))
      return nullptr;
    auto outer = std::exchange(rank_, 0);
    auto items = value_access::list_of_nulls(count);
    put(at, slot, std::move(items.made));
    for (auto& item : items.slots) {
      --owed_;
      at = read_item(at, item, depth + 1);
      if (!at)
        return nullptr;
    }
    items.settle(rank_);
    ends_with(slot, outer);
    return at;
  }

  const char* read_map(const char* at, value& slot, std::size_t count, std::size_t depth) {
    if (!open(at, 2 * count, depth))
      return nullptr;
    auto outer = std::exchange(rank_, 0);
    auto entries = value_access::map_of_nulls(count);
    put(at, slot, std::move(entries.made));
    for (auto& entry : entries.slots) {
      owed_ -= 2;
      at = read_key(at, entry.key_value, depth + 1);
      if (at)
        at = read_item(at, entry.val, depth + 1);
      if (!at)
        return nullptr;
    }
    if (!entries.settle(rank_))
      return fail("a key given twice");
    ends_with(slot, outer);
    return at;
  }

  const char* read_key(const char* at, value& slot, std::size_t depth) {
    constexpr std::uint8_t fixed = 0xa0, fixed_end = 0xc0;
    auto head = at == end_ ? std::uint8_t{0} : static_cast<std::uint8_t>(*at);
    std::size_t size = head & 0x1fu;
    if (head >= fixed && head < fixed_end && size > value_access::short_max && size < left(at))
      return put(at + 1 + size, slot, keys_.get(blobs_, {at + 1, size}));
    at = read_item(at, slot, depth);
    return !at || slot.is_string() ? at : fail("a key that is not a string");
  }

  // The bytes of an extension are its code and, as one value, its payload.
  const char* read_extension(const char* at, value& slot, std::size_t size, std::size_t depth) {
    if (left(at) == 0 || size > left(at) - 1)
      return fail(too_early);
    auto kind = static_cast<value_kind>(*at++);
    if (detail::json_name(kind).empty())
      return fail("an unknown extension");
    if (depth == value_depth_max && !mutated(mutation::no_depth_limit))
      return fail("too deep");
    auto* end = std::exchange(end_, at + size);
    auto owed = std::exchange(owed_, 0);
    auto outer = std::exchange(rank_, 0);
    value payload;
    if (!read_all(at, payload, depth + 1))
      return nullptr;
    end_ = end;
    owed_ = owed;
    if (auto misfit = detail::payload_problem(kind, payload); !misfit.empty())
      return fail(misfit);
    put(at, slot, value_access::extension(kind, std::move(payload)));
    ends_with(slot, outer);
    return at + size;
  }

  /// Keeps the first problem. Converts to false and to no place.
  struct failure {
    operator bool() const noexcept { return false; }
    operator const char*() const noexcept { return nullptr; }
  };
  failure fail(std::string_view problem) noexcept {
    if (problem_.empty())
      problem_ = problem;
    return {};
  }

  const char* begin_;
  const char* end_;        // of the value, or of the extension that is being read
  std::size_t owed_ = 0;   // items of open lists and maps that did not begin
  std::uint32_t rank_ = 0; // the highest of the items of the innermost open list or map
  detail::blob_maker blobs_;
  long_keys keys_;
  std::string_view problem_;
};

error read_error(std::string_view problem, std::string_view data) {
  return {errc::invalid_value,
          "read msgpack: " + std::string{problem} + ": " + std::to_string(data.size()) + " bytes"};
}

} // namespace

result<void> encode_msgpack(const value& v, std::string& out) {
  msgpack_writer writer; // without {}, which would fill its buffer with zeros
  auto problem = writer.write_all(v, out);
  if (problem.empty())
    return {};
  return error{errc::invalid_value, "write msgpack: " + std::string{problem} + ": a "
                                      + std::string{to_string(v.kind())}};
}

result<std::string> to_msgpack(const value& v) {
  std::string out;
  if (auto done = encode_msgpack(v, out); !done)
    return done.error();
  return out;
}

result<value> from_msgpack(std::string_view data) {
  if (data.size() > value_size_bytes_max)
    return read_error("too large", data);
  msgpack_reader reader{data};
  value out;
  if (!reader.read(out))
    return read_error(reader.problem(), data);
  return out;
}

} // namespace troupe
