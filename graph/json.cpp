// Values to JSON text and nlohmann documents, and back.
#include "graph/plain_json.hpp"
#include "graph/value_builder.hpp"

#include <troupe/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <ostream>

namespace troupe {

namespace {

using limits::json_size_bytes_max;
using limits::value_depth_max;
using nlohmann::json;

constexpr std::string_view bytes_name = "$bytes";
constexpr std::string_view double_name = "$double";

error too_deep(std::string_view doing) {
  return {errc::invalid_value, std::string{doing} + " JSON: too deep: more than "
                                 + std::to_string(value_depth_max) + " levels"};
}

// ---- base64 (RFC 4648, padded) --------------------------------------------------------------

constexpr std::string_view base64_digits =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view data) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < data.size() ? static_cast<unsigned char>(data[i + k]) : 0;
    };
    auto word = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= data.size() ? base64_digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// nullopt unless `text` is exactly as to_base64 writes it.
std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  if (text.size() % 4 != 0)
    return std::nullopt;
  out.reserve(text.size() / 4 * 3);
  auto digits = text.substr(0, text.find('='));
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (char c : digits) {
    auto digit = base64_digits.find(c);
    if (digit == base64_digits.npos)
      return std::nullopt;
    word = (word << 6 | static_cast<std::uint32_t>(digit)) & 0xffff;
    bits += 6;
    if (bits >= 8)
      out += static_cast<char>(word >> (bits -= 8) & 0xff);
  }
  bool left_over = (word & ((1u << bits) - 1)) != 0;
  bool padded = text.size() - digits.size() == (3 - out.size() % 3) % 3
                && text.find_first_not_of('=', digits.size()) == text.npos;
  return padded && !left_over ? std::optional{std::move(out)} : std::nullopt;
}

// ---- the `$` objects ------------------------------------------------------------------------

std::string_view double_text(double d) noexcept {
  return std::isnan(d) ? "nan" : d > 0 ? "inf" : "-inf";
}

bool is_dollar_map(const value& v) noexcept {
  return v.is_map() && v.size() == 1 && v.entries()[0].key().starts_with('$');
}

value single_entry(std::string_view key, value v) {
  return value::map().with(key, std::move(v));
}

std::optional<value> read_double(const value& payload) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (payload == value("nan"))
    return value(std::numeric_limits<double>::quiet_NaN());
  if (payload == value("inf"))
    return value(infinity);
  if (payload == value("-inf"))
    return value(-infinity);
  return std::nullopt;
}

std::optional<value> read_bytes(const value& payload) {
  if (!payload.is_string())
    return std::nullopt;
  auto data = from_base64(payload.as_string());
  return data ? std::optional{value::bytes(std::as_bytes(std::span{*data}))} : std::nullopt;
}

std::optional<value> read_extension(std::string_view name, const value& payload) {
  for (auto kind : {value_kind::message, value_kind::send, value_kind::interrupt,
                    value_kind::overwrite, value_kind::timestamp, value_kind::delta_snapshot,
                    value_kind::error, value_kind::remove_message})
    if (name == detail::json_name(kind) && detail::payload_problem(kind, payload).empty())
      return value::extension(kind, payload);
  return std::nullopt;
}

/// The value that a JSON object stands for: usually the object itself.
value read_object(const value& object) {
  if (!is_dollar_map(object))
    return object;
  auto& entry = object.entries()[0];
  auto name = entry.key();
  if (name.starts_with("$$"))
    return single_entry(name.substr(1), entry.val);
  auto read = name == bytes_name    ? read_bytes(entry.val)
              : name == double_name ? read_double(entry.val)
                                    : read_extension(name, entry.val);
  return read.value_or(object);
}

value read_unsigned(std::uint64_t i) {
  return std::in_range<std::int64_t>(i) ? value(i) : value(static_cast<double>(i));
}

bool nests(const value& v) noexcept {
  return v.is_list() || v.is_map() || v.kind() >= value_kind::message;
}

// ---- writing text ---------------------------------------------------------------------------

class json_writer {
public:
  json_writer(std::string& out, int indent, json_form form = json_form::tagged)
    : out_{out},
      indent_{indent},
      form_{form} {}

  void write(const value& v, std::size_t depth = 0) {
    switch (v.kind()) {
      case value_kind::null: out_ += "null"; return;
      case value_kind::boolean: out_ += v.as_bool() ? "true" : "false"; return;
      case value_kind::integer: return write_number(v.as_int());
      case value_kind::floating: return write_double(v.as_double(), depth);
      case value_kind::string: return write_string(v.as_string());
      case value_kind::bytes:
        return write_member(bytes_name, value(to_base64(value_access::text(v))), depth);
      case value_kind::list: return write_list(v, depth);
      case value_kind::map: return write_map(v, depth);
      default: return write_extension(v, depth);
    }
  }

private:
  template <class Number> void write_number(Number n) {
    char digits[32];
    auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    out_.append(digits, end);
  }

  void write_double(double d, std::size_t depth) {
    if (!std::isfinite(d))
      return write_member(double_name, value(double_text(d)), depth);
    auto start = out_.size();
    write_number(d);
    if (out_.find_first_of(".e", start) == out_.npos)
      out_ += ".0"; // without it, the number would be read back as an integer
  }

  void write_string(std::string_view s) {
    auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    if (std::all_of(s.begin(), s.end(), plain))
      out_.append(1, '"').append(s).append(1, '"');
    else
      out_ += json(s).dump(-1, ' ', false, json::error_handler_t::replace);
  }

  void write_list(const value& v, std::size_t depth) {
    check(depth);
    out_ += '[';
    std::string_view separator;
    for (const auto& item : v.items()) {
      out_ += std::exchange(separator, ",");
      new_line(depth + 1);
      write(item, depth + 1);
    }
    if (!v.empty())
      new_line(depth);
    out_ += ']';
  }

  void write_map(const value& v, std::size_t depth) {
    check(depth);
    if (form_ == json_form::tagged && is_dollar_map(v)) {
      auto& entry = v.entries()[0];
      return write_member("$" + std::string{entry.key()}, entry.val, depth);
    }
    out_ += '{';
    std::string_view separator;
    for (const auto& entry : v.entries()) {
      out_ += std::exchange(separator, ",");
      new_line(depth + 1);
      write_key(entry.key());
      write(entry.val, depth + 1);
    }
    if (!v.empty())
      new_line(depth);
    out_ += '}';
  }

  void write_extension(const value& v, std::size_t depth) {
    check(depth);
    write_member(detail::json_name(v.kind()), v.payload(), depth);
  }

  void write_member(std::string_view key, const value& v, std::size_t depth) {
    out_ += '{';
    new_line(depth + 1);
    write_key(key);
    write(v, depth + 1);
    new_line(depth);
    out_ += '}';
  }

  void write_key(std::string_view key) {
    write_string(key);
    out_ += indent_ < 0 ? ":" : ": ";
  }

  void new_line(std::size_t depth) {
    if (indent_ >= 0)
      out_.append(1, '\n').append(depth * static_cast<std::size_t>(indent_), ' ');
  }

  static void check(std::size_t depth) {
    if (depth >= value_depth_max)
      throw too_deep("write");
  }

  std::string& out_;
  int indent_;
  json_form form_;
};

// ---- reading text ---------------------------------------------------------------------------

/// Iterates over text and shows outside how far the parser got.
struct watched_iterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** seen;

  reference operator*() const { return *at; }
  watched_iterator& operator++() {
    *seen = ++at;
    return *this;
  }
  watched_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const watched_iterator& a, const watched_iterator& b) {
    return a.at == b.at;
  }
};

/// Receives the events of the JSON parser. Returning false stops the parser; problem() then gives
/// the reason.
class json_reader {
public:
  explicit json_reader(json_form form) : form_{form} {}
  std::string_view problem() const noexcept { return problem_; }
  value take() { return builder_.take(); }

  bool null() { return add(value()); }
  bool boolean(bool b) { return add(value(b)); }
  bool number_integer(json::number_integer_t i) { return add(value(i)); }
  bool number_unsigned(json::number_unsigned_t i) { return add(read_unsigned(i)); }
  bool number_float(json::number_float_t d, const std::string&) { return add(value(d)); }
  bool string(const std::string& s) { return add(value(s)); }
  bool binary(json::binary_t&) { return fail("not JSON"); } // never in text
  bool key(const std::string& s) { return add(value(s)); }

  bool start_array(std::size_t) {
    if (builder_.depth() >= value_depth_max)
      return fail("too deep");
    builder_.open();
    return true;
  }
  bool end_array() {
    builder_.close_list();
    return true;
  }
  // One level more than value_depth_max, for an object that stands for bytes or a double.
  bool start_object(std::size_t) {
    if (builder_.depth() > value_depth_max)
      return fail("too deep");
    builder_.open();
    return true;
  }
  bool end_object() {
    builder_.close_map();
    if (form_ == json_form::tagged)
      builder_.replace_last(read_object(builder_.last()));
    return builder_.depth() < value_depth_max || !nests(builder_.last()) || fail("too deep");
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& e) {
    constexpr int number_overflow = 406;
    return fail(e.id == number_overflow ? "a number too large for a double" : "not JSON");
  }

private:
  bool add(value v) {
    builder_.add(std::move(v));
    return true;
  }
  bool fail(std::string_view problem) noexcept {
    problem_ = problem;
    return false;
  }

  json_form form_;
  detail::value_builder builder_;
  std::string_view problem_;
};

error read_error(std::string_view problem, std::size_t position) {
  return {errc::invalid_value,
          "read JSON: " + std::string{problem} + ": at byte " + std::to_string(position)};
}

// ---- documents ------------------------------------------------------------------------------

value read_document(const json& document, std::size_t depth);

value read_members(const json& document, std::size_t depth) {
  std::vector<value> flat;
  flat.reserve(2 * document.size());
  for (const auto& [key, member] : document.items()) {
    flat.push_back(value(key));
    flat.push_back(read_document(member, depth + 1));
  }
  bool duplicates = false;
  auto object = read_object(value_access::map(flat, duplicates));
  if (depth >= value_depth_max && nests(object))
    throw too_deep("read");
  return object;
}

value read_elements(const json& document, std::size_t depth) {
  if (depth >= value_depth_max)
    throw too_deep("read");
  std::vector<value> items;
  items.reserve(document.size());
  for (const auto& item : document)
    items.push_back(read_document(item, depth + 1));
  return value::list(std::move(items));
}

value read_document(const json& document, std::size_t depth) {
  if (depth > value_depth_max + 1)
    throw too_deep("read");
  switch (document.type()) {
    case json::value_t::null: return value();
    case json::value_t::boolean: return value(document.get<bool>());
    case json::value_t::number_integer: return value(document.get<std::int64_t>());
    case json::value_t::number_unsigned: return read_unsigned(document.get<std::uint64_t>());
    case json::value_t::number_float: return value(document.get<double>());
    case json::value_t::string: return value(document.get_ref<const std::string&>());
    case json::value_t::binary:
      return value::bytes(std::as_bytes(std::span{document.get_binary()}));
    case json::value_t::array: return read_elements(document, depth);
    case json::value_t::object: return read_members(document, depth);
    case json::value_t::discarded: break;
  }
  throw troupe::error{errc::invalid_value, "read JSON: a discarded document"};
}

json write_document(const value& v, std::size_t depth);

json write_elements(const value& v, std::size_t depth) {
  auto out = json::array();
  for (const auto& item : v.items())
    out.push_back(write_document(item, depth + 1));
  return out;
}

json write_members(const value& v, std::size_t depth) {
  auto out = json::object();
  std::string escape{is_dollar_map(v) ? "$" : ""};
  for (const auto& entry : v.entries())
    out[escape + std::string{entry.key()}] = write_document(entry.val, depth + 1);
  return out;
}

json member(std::string_view name, json payload) {
  auto out = json::object();
  out[std::string{name}] = std::move(payload);
  return out;
}

json write_floating(double d) {
  return std::isfinite(d) ? json(d) : member(double_name, json(double_text(d)));
}

json write_document(const value& v, std::size_t depth) {
  if (depth >= value_depth_max && nests(v))
    throw too_deep("write");
  switch (v.kind()) {
    case value_kind::null: return nullptr;
    case value_kind::boolean: return v.as_bool();
    case value_kind::integer: return v.as_int();
    case value_kind::floating: return write_floating(v.as_double());
    case value_kind::string: return v.as_string();
    case value_kind::bytes: return member(bytes_name, json(to_base64(value_access::text(v))));
    case value_kind::list: return write_elements(v, depth);
    case value_kind::map: return write_members(v, depth);
    default: return member(detail::json_name(v.kind()), write_document(v.payload(), depth + 1));
  }
}

} // namespace

std::string to_json(const value& v, int indent) {
  std::string out;
  json_writer{out, indent}.write(v);
  return out;
}

std::string to_plain_json(const value& v) {
  std::string out;
  json_writer{out, -1, json_form::plain}.write(v);
  return out;
}

std::ostream& operator<<(std::ostream& out, const value& v) {
  try {
    return out << to_json(v);
  } catch (const error& e) {
    return out << '<' << e.message() << '>';
  }
}

result<value> from_json(std::string_view text, json_form form) {
  if (text.size() > json_size_bytes_max)
    return read_error("too large", json_size_bytes_max);
  const auto* seen = text.data();
  watched_iterator first{text.data(), &seen};
  watched_iterator last{text.data() + text.size(), &seen};
  try {
    json_reader reader{form};
    if (!json::sax_parse(first, last, &reader))
      return read_error(reader.problem(), static_cast<std::size_t>(seen - text.data()));
    return reader.take();
  } catch (const std::exception& e) { // out of memory
    return read_error(e.what(), static_cast<std::size_t>(seen - text.data()));
  }
}

json to_nlohmann(const value& v) {
  return write_document(v, 0);
}

result<value> from_nlohmann(const json& document) {
  try {
    return read_document(document, 0);
  } catch (const error& e) {
    return e;
  }
}

} // namespace troupe
