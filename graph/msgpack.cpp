// Values to canonical msgpack and back.
#define MSGPACK_NO_BOOST

#include "graph/crash_point.hpp"
#include "graph/value_builder.hpp"

#include <msgpack.hpp>

#include <exception>
#include <new>
#include <string>

namespace troupe {

namespace {

using limits::value_depth_max;
using limits::value_size_bytes_max;

struct string_sink {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

/// Appends one value to a string; stops at the first problem.
class msgpack_writer {
public:
  explicit msgpack_writer(std::string& out)
    : out_{out},
      start_{out.size()},
      sink_{out},
      pack_{sink_} {}

  /// The problem; empty on success.
  std::string_view write(const value& v, std::size_t depth = 0) {
    switch (v.kind()) {
      case value_kind::null: pack_.pack_nil(); return check_size();
      case value_kind::boolean: write_bool(v.as_bool()); return check_size();
      case value_kind::integer: pack_.pack_int64(v.as_int()); return check_size();
      case value_kind::floating: write_double(v.as_double()); return check_size();
      case value_kind::string: return write_string(v.as_string());
      case value_kind::bytes: return write_bytes(value_access::text(v));
      case value_kind::list: return write_list(v, depth + 1);
      case value_kind::map: return write_map(v, depth + 1);
      default: return write_extension(v, depth + 1);
    }
  }

private:
  static constexpr std::string_view too_deep = "too deep";
  static constexpr std::string_view too_large = "too large";

  bool fits(std::size_t more) const noexcept {
    return more <= value_size_bytes_max && out_.size() - start_ <= value_size_bytes_max - more;
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
      if (auto problem = write(item, depth); !problem.empty())
        return problem;
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
    auto at = out_.size();
    constexpr std::size_t head_usual = 3;
    out_.append(head_usual, '\0');
    if (auto problem = write(v.payload(), depth); !problem.empty())
      return problem;
    std::string head;
    string_sink sink{head};
    msgpack::packer<string_sink>{sink}.pack_ext(out_.size() - at - head_usual,
                                                static_cast<std::int8_t>(v.kind()));
    out_.replace(at, head_usual, head);
    return check_size();
  }

  std::string& out_;
  std::size_t start_;
  string_sink sink_;
  msgpack::packer<string_sink> pack_;
};

/// Receives the events of the msgpack parser. Returning false stops the parser; problem() then
/// gives the reason.
class msgpack_reader : public msgpack::null_visitor {
public:
  /// Reads all of `data` as one value into the builder.
  bool read(std::string_view data) {
    std::size_t position = 0;
    if (!msgpack::v2::parse(data.data(), data.size(), position, *this))
      return fail("not msgpack");
    return position == data.size() || fail("more than one value");
  }
  std::string_view problem() const noexcept { return problem_; }
  value take() { return builder_.take(); }

  bool visit_nil() { return add(value()); }
  bool visit_boolean(bool b) { return add(value(b)); }
  bool visit_positive_integer(std::uint64_t i) {
    return std::in_range<std::int64_t>(i) ? add(value(i)) : fail("an integer too large for int64");
  }
  bool visit_negative_integer(std::int64_t i) { return add(value(i)); }
  bool visit_float32(float f) { return add(value(static_cast<double>(f))); }
  bool visit_float64(double d) { return add(value(d)); }
  bool visit_str(const char* data, std::uint32_t size) {
    return add(value(std::string_view{data, size}));
  }
  bool visit_bin(const char* data, std::uint32_t size) {
    return add(value::bytes(std::as_bytes(std::span{data, size})));
  }
  /// `data` begins with the code.
  bool visit_ext(const char* data, std::uint32_t size) {
    auto kind = static_cast<value_kind>(data[0]);
    if (detail::json_name(kind).empty())
      return fail("an unknown extension");
    if (!open() || !read({data + 1, size - 1}))
      return false;
    auto misfit = builder_.close_extension(kind);
    return misfit.empty() || fail(misfit);
  }

  bool start_array(std::uint32_t) { return open(); }
  bool end_array() {
    builder_.close_list();
    return true;
  }
  bool start_map(std::uint32_t) { return open(); }
  bool end_map_key() { return builder_.last().is_string() || fail("a key that is not a string"); }
  bool end_map() { return !builder_.close_map() || fail("a key given twice"); }

  void parse_error(std::size_t, std::size_t) { fail("not msgpack"); }
  void insufficient_bytes(std::size_t, std::size_t) { fail("it ends too early"); }

private:
  bool add(value v) {
    builder_.add(std::move(v));
    return true;
  }
  bool open() {
    if (builder_.depth() == value_depth_max && !mutated(mutation::no_depth_limit))
      return fail("too deep");
    builder_.open();
    return true;
  }
  /// Keeps the first problem.
  bool fail(std::string_view problem) noexcept {
    if (problem_.empty())
      problem_ = problem;
    return false;
  }

  detail::value_builder builder_;
  std::string_view problem_;
};

error read_error(std::string_view problem, std::string_view data) {
  return {errc::invalid_value,
          "read msgpack: " + std::string{problem} + ": " + std::to_string(data.size()) + " bytes"};
}

} // namespace

result<void> encode_msgpack(const value& v, std::string& out) {
  auto size = out.size();
  auto problem = msgpack_writer{out}.write(v);
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
  try {
    msgpack_reader reader;
    if (!reader.read(data))
      return read_error(reader.problem(), data);
    return reader.take();
  } catch (const std::bad_alloc&) {
    throw; // an exception says nothing about the bytes
  } catch (const std::exception& e) {
    return read_error(e.what(), data);
  }
}

} // namespace troupe
