// Values to canonical msgpack and back.
#define MSGPACK_NO_BOOST

#include "graph/crash_point.hpp"
#include "graph/value_node.hpp"

#include <troupe/limits.hpp>

#include <msgpack.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace troupe {

namespace {

using limits::value_depth_max;
using limits::value_size_bytes_max;

/// Appends to a string by way of a chunk, so that most writes are a store without a call.
class chunked_sink {
public:
  explicit chunked_sink(std::string& out) : out_{out}, start_{out.size()} {}
  chunked_sink(const chunked_sink&) = delete;
  chunked_sink& operator=(const chunked_sink&) = delete;

  void write(const char* data, std::size_t size) {
    if (size > chunk_.size() - used_) {
      flush();
      if (size > chunk_.size()) {
        out_.append(data, size);
        flushed_ += size;
        return;
      }
    }
    std::memcpy(chunk_.data() + used_, data, size);
    used_ += size;
  }
  /// All that was written is in the string.
  void flush() {
    out_.append(chunk_.data(), used_);
    used_ = 0;
    flushed_ = out_.size() - start_;
  }
  /// The bytes that were written.
  std::size_t size() const noexcept { return flushed_ + used_; }
  std::string& out() noexcept { return out_; }

private:
  std::string& out_;
  std::size_t start_;
  std::size_t flushed_ = 0;
  std::size_t used_ = 0;
  std::array<char, 2048> chunk_;
};

/// Appends one value to a string; stops at the first problem.
class msgpack_writer {
public:
  explicit msgpack_writer(std::string& out) : sink_{out}, pack_{sink_} {}

  /// The problem; empty on success.
  std::string_view write_all(const value& v) {
    auto problem = write(v, 0);
    sink_.flush();
    return problem;
  }

private:
  static constexpr std::string_view too_deep = "too deep";
  static constexpr std::string_view too_large = "too large";

  std::string_view write(const value& v, std::size_t depth) {
    if (write_scalar(v))
      return check_size();
    switch (v.kind()) {
      case value_kind::string: return write_string(v.as_string());
      case value_kind::bytes: return write_bytes(value_access::text(v));
      case value_kind::list: return write_list(v, depth + 1);
      case value_kind::map: return write_map(v, depth + 1);
      default: return write_extension(v, depth + 1);
    }
  }

  // The kinds of most values, without a call. False for the others.
  bool write_scalar(const value& v) {
    if (v.is_int())
      pack_.pack_int64(v.as_int());
    else if (v.is_null())
      pack_.pack_nil();
    else if (v.is_bool())
      write_bool(v.as_bool());
    else if (v.is_double())
      write_double(v.as_double());
    else
      return false;
    return true;
  }

  bool fits(std::size_t more) const noexcept {
    return more <= value_size_bytes_max && sink_.size() <= value_size_bytes_max - more;
  }
  std::string_view check_size() const noexcept { return fits(0) ? "" : too_large; }

  void write_bool(bool b) { b ? pack_.pack_true() : pack_.pack_false(); }

  // Written by hand: the packer would turn 1.0 into the integer 1.
  void write_double(double d) {
    auto bits = std::bit_cast<std::uint64_t>(d);
    char record[9] = {'\xcb'};
    for (int i = 0; i < 8; ++i)
      record[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
    sink_.write(record, sizeof record);
  }

  std::string_view write_string(std::string_view s) {
    if (!fits(s.size()))
      return too_large;
    pack_.pack_str(static_cast<std::uint32_t>(s.size()));
    pack_.pack_str_body(s.data(), static_cast<std::uint32_t>(s.size()));
    return check_size();
  }

  std::string_view write_bytes(std::string_view s) {
    if (!fits(s.size()))
      return too_large;
    pack_.pack_bin(static_cast<std::uint32_t>(s.size()));
    if (!s.empty()) // the address of empty bytes may be null
      pack_.pack_bin_body(s.data(), static_cast<std::uint32_t>(s.size()));
    return check_size();
  }

  std::string_view write_list(const value& v, std::size_t depth) {
    if (depth > value_depth_max)
      return too_deep;
    if (!fits(v.size()))
      return too_large;
    pack_.pack_array(static_cast<std::uint32_t>(v.size()));
    for (const auto& item : v.items())
      if (!write_scalar(item)) {
        if (auto problem = write(item, depth); !problem.empty())
          return problem;
      } else if (!fits(0)) {
        return too_large;
      }
    return check_size();
  }

  std::string_view write_map(const value& v, std::size_t depth) {
    if (depth > value_depth_max)
      return too_deep;
    if (!fits(v.size()))
      return too_large;
    pack_.pack_map(static_cast<std::uint32_t>(v.size()));
    for (const auto& entry : v.entries()) {
      if (auto problem = write_string(entry.key()); !problem.empty())
        return problem;
      if (auto problem = write(entry.val, depth); !problem.empty())
        return problem;
    }
    return check_size();
  }

  // The length of the head depends on that of the payload, so the payload is written first and the
  // head is inserted before it.
  std::string_view write_extension(const value& v, std::size_t depth) {
    if (depth > value_depth_max)
      return too_deep;
    sink_.flush();
    auto& out = sink_.out();
    auto at = out.size();
    constexpr std::size_t head_usual = 3;
    out.append(head_usual, '\0');
    if (auto problem = write(v.payload(), depth); !problem.empty())
      return problem;
    sink_.flush();
    std::string head;
    {
      chunked_sink sink{head};
      msgpack::packer<chunked_sink>{sink}.pack_ext(out.size() - at - head_usual,
                                                   static_cast<std::int8_t>(v.kind()));
      sink.flush();
    }
    out.replace(at, head_usual, head);
    sink_.flush(); // counts what was inserted
    return check_size();
  }

  chunked_sink sink_;
  msgpack::packer<chunked_sink> pack_;
};

/// Reads one value. Lists and maps are filled where they stay, so their size must be known. A count
/// is refused when the bytes that are left can't hold what all open lists and maps still need. So
/// no bytes make the reader allocate more than a small multiple of their number.
class msgpack_reader {
public:
  explicit msgpack_reader(std::string_view data)
    : at_{data.data()},
      end_{data.data() + data.size()} {}

  /// Reads all of the bytes as one value into a null value.
  bool read(value& out, std::size_t depth = 0) {
    return read_item(out, depth) && (at_ == end_ || fail("more than one value"));
  }
  std::string_view problem() const noexcept { return problem_; }

private:
  static constexpr std::string_view too_early = "it ends too early";

  // A slot holds null, which owns nothing, until its value is constructed there.
  template <class T> static bool put(value& slot, T&& content) {
    new (&slot) value(std::forward<T>(content));
    return true;
  }

  bool read_item(value& slot, std::size_t depth) {
    if (at_ == end_)
      return fail(too_early);
    auto head = static_cast<std::uint8_t>(*at_++);
    if (head <= 0x7f)
      return put(slot, head);
    if (head >= 0xe0)
      return put(slot, static_cast<std::int8_t>(head));
    if (head >= 0xa0 && head <= 0xbf)
      return read_string(slot, head & 0x1fu);
    if (head <= 0x8f)
      return read_map(slot, head & 0x0fu, depth);
    if (head <= 0x9f)
      return read_list(slot, head & 0x0fu, depth);
    switch (head) {
      case 0xc0: return true;
      case 0xc2: return put(slot, false);
      case 0xc3: return put(slot, true);
      case 0xc4: return sized<std::uint8_t>([&](auto n) { return read_bytes(slot, n); });
      case 0xc5: return sized<std::uint16_t>([&](auto n) { return read_bytes(slot, n); });
      case 0xc6: return sized<std::uint32_t>([&](auto n) { return read_bytes(slot, n); });
      case 0xc7: return sized<std::uint8_t>([&](auto n) { return read_extension(slot, n, depth); });
      case 0xc8:
        return sized<std::uint16_t>([&](auto n) { return read_extension(slot, n, depth); });
      case 0xc9:
        return sized<std::uint32_t>([&](auto n) { return read_extension(slot, n, depth); });
      case 0xca:
        return sized<std::uint32_t>(
          [&](auto bits) { return put(slot, static_cast<double>(std::bit_cast<float>(bits))); });
      case 0xcb:
        return sized<std::uint64_t>(
          [&](auto bits) { return put(slot, std::bit_cast<double>(bits)); });
      case 0xcc: return sized<std::uint8_t>([&](auto i) { return put(slot, i); });
      case 0xcd: return sized<std::uint16_t>([&](auto i) { return put(slot, i); });
      case 0xce: return sized<std::uint32_t>([&](auto i) { return put(slot, i); });
      case 0xcf:
        return sized<std::uint64_t>([&](auto i) {
          return std::in_range<std::int64_t>(i) ? put(slot, i)
                                                : fail("an integer too large for int64");
        });
      case 0xd0:
        return sized<std::uint8_t>([&](auto i) { return put(slot, static_cast<std::int8_t>(i)); });
      case 0xd1:
        return sized<std::uint16_t>(
          [&](auto i) { return put(slot, static_cast<std::int16_t>(i)); });
      case 0xd2:
        return sized<std::uint32_t>(
          [&](auto i) { return put(slot, static_cast<std::int32_t>(i)); });
      case 0xd3:
        return sized<std::uint64_t>(
          [&](auto i) { return put(slot, static_cast<std::int64_t>(i)); });
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8: return read_extension(slot, std::size_t{1} << (head - 0xd4), depth);
      case 0xd9: return sized<std::uint8_t>([&](auto n) { return read_string(slot, n); });
      case 0xda: return sized<std::uint16_t>([&](auto n) { return read_string(slot, n); });
      case 0xdb: return sized<std::uint32_t>([&](auto n) { return read_string(slot, n); });
      case 0xdc: return sized<std::uint16_t>([&](auto n) { return read_list(slot, n, depth); });
      case 0xdd: return sized<std::uint32_t>([&](auto n) { return read_list(slot, n, depth); });
      case 0xde: return sized<std::uint16_t>([&](auto n) { return read_map(slot, n, depth); });
      case 0xdf: return sized<std::uint32_t>([&](auto n) { return read_map(slot, n, depth); });
      default: return fail("not msgpack");
    }
  }

  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  // Reads a number in network byte order for `use`.
  template <class U, class Use> bool sized(Use use) {
    if (left() < sizeof(U))
      return fail(too_early);
    U number = 0;
    for (std::size_t i = 0; i < sizeof(U); ++i)
      number =
        static_cast<U>(static_cast<std::uint64_t>(number) << 8 | static_cast<std::uint8_t>(at_[i]));
    at_ += sizeof(U);
    return use(number);
  }

  std::optional<std::string_view> take(std::size_t size) {
    if (size > left()) {
      fail(too_early);
      return std::nullopt;
    }
    return std::string_view{std::exchange(at_, at_ + size), size};
  }
  bool read_string(value& slot, std::size_t size) {
    auto text = take(size);
    return text && put(slot, *text);
  }
  bool read_bytes(value& slot, std::size_t size) {
    auto text = take(size);
    return text && put(slot, value::bytes(std::as_bytes(std::span{*text})));
  }

  // Begins a list or map of so many items.
  bool open(std::size_t items, std::size_t depth) {
    if (depth == value_depth_max && !mutated(mutation::no_depth_limit))
      return fail("too deep");
    if (owed_ > left() || items > left() - owed_)
      return fail(too_early);
    owed_ += items;
    return true;
  }

  bool read_list(value& slot, std::size_t count, std::size_t depth) {
    if (!open(count, depth))
      return false;
    auto items = value_access::list_of_nulls(count);
    put(slot, std::move(items.made));
    for (auto& item : items.slots) {
      --owed_;
      if (!read_item(item, depth + 1))
        return false;
    }
    items.settle();
    return true;
  }

  bool read_map(value& slot, std::size_t count, std::size_t depth) {
    if (!open(2 * count, depth))
      return false;
    auto entries = value_access::map_of_nulls(count);
    put(slot, std::move(entries.made));
    for (auto& entry : entries.slots) {
      owed_ -= 2;
      if (!read_item(entry.key_value, depth + 1))
        return false;
      if (!entry.key_value.is_string())
        return fail("a key that is not a string");
      if (!read_item(entry.val, depth + 1))
        return false;
    }
    return entries.settle() || fail("a key given twice");
  }

  // The bytes of an extension are its code and, as one value, its payload.
  bool read_extension(value& slot, std::size_t size, std::size_t depth) {
    auto code = take(1);
    auto content = code ? take(size) : std::nullopt;
    if (!content)
      return false;
    auto kind = static_cast<value_kind>((*code)[0]);
    if (detail::json_name(kind).empty())
      return fail("an unknown extension");
    if (depth == value_depth_max && !mutated(mutation::no_depth_limit))
      return fail("too deep");
    msgpack_reader inner{*content};
    value payload;
    if (!inner.read(payload, depth + 1))
      return fail(inner.problem());
    if (auto misfit = detail::payload_problem(kind, payload); !misfit.empty())
      return fail(misfit);
    return put(slot, value::extension(kind, std::move(payload)));
  }

  /// Keeps the first problem.
  bool fail(std::string_view problem) noexcept {
    if (problem_.empty())
      problem_ = problem;
    return false;
  }

  const char* at_;
  const char* end_;
  std::size_t owed_ = 0; // items of open lists and maps that did not begin
  std::string_view problem_;
};

error read_error(std::string_view problem, std::string_view data) {
  return {errc::invalid_value,
          "read msgpack: " + std::string{problem} + ": " + std::to_string(data.size()) + " bytes"};
}

} // namespace

result<void> encode_msgpack(const value& v, std::string& out) {
  auto size = out.size();
  auto problem = msgpack_writer{out}.write_all(v);
  if (problem.empty())
    return {};
  out.resize(size);
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
