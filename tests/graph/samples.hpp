// Values for the tests of the value and its codecs: one of every kind, and seeded random ones.
#pragma once

#include <troupe/value.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace troupe::samples {

inline value some_bytes(std::string_view data) {
  return value::bytes(std::as_bytes(std::span{data}));
}

/// Each named by what is special about it.
inline std::vector<std::pair<std::string, value>> every_kind() {
  using limits = std::numeric_limits<double>;
  auto message = value{{"role", "user"}, {"content", "hello there, how are you?"}};
  std::vector<std::pair<std::string, value>> all{
    {"null", nullptr},
    {"false", false},
    {"true", true},
    {"zero", 0},
    {"double zero", 0.0},
    {"double minus zero", -0.0},
    {"one as a double", 1.0},
    {"a third", 1.0 / 3},
    {"double max", limits::max()},
    {"denormal", limits::denorm_min()},
    {"nan", limits::quiet_NaN()},
    {"inf", limits::infinity()},
    {"-inf", -limits::infinity()},
    {"empty string", ""},
    {"14 bytes", "12345678901234"},
    {"15 bytes", "123456789012345"},
    {"escapes", "quote \" backslash \\ line \n zero \x01 euro \u20ac"},
    {"embedded zero", std::string("a\0b", 3)},
    {"long string", std::string(70'000, 'x')},
    {"empty bytes", some_bytes("")},
    {"bytes 1", some_bytes("\xff")},
    {"bytes 2", some_bytes("\x80\x81")},
    {"bytes 3", some_bytes("abc")},
    {"long bytes", some_bytes(std::string(70'000, '\xfe'))},
    {"empty list", value::list()},
    {"empty map", value::map()},
    {"list", value::list({1, "two", 3.0, nullptr, value::list({true})})},
    {"list of 16", value::list(std::vector<value>(16, 7))},
    {"list of 70000", value::list(std::vector<value>(70'000, 7))},
    {"map", value{{"b", 1}, {"a", {1, 2}}, {"", value::map()}}},
    {"message", value::extension(value_kind::message, message)},
    {"send", value::extension(value_kind::send, {"worker", message})},
    {"interrupt", value::extension(value_kind::interrupt, {{"value", "sure?"}, {"id", "x"}})},
    {"overwrite", value::extension(value_kind::overwrite, value::list())},
    {"timestamp", value::extension(value_kind::timestamp, 1'700'000'000'000'000)},
    {"delta snapshot", value::extension(value_kind::delta_snapshot, value::list({message}))},
    {"error", value::extension(value_kind::error, {{"type", "E"}, {"message", "m"}})},
    {"remove message", value::extension(value_kind::remove_message, "id-1")},
    {"large extension", value::extension(value_kind::overwrite, std::string(70'000, 'y'))},
    {"nested extensions",
     value::extension(value_kind::overwrite, value::extension(value_kind::overwrite, nullptr))},
    {"dollar map", value{{"$send", value::list({"a", 1})}}},
    {"double dollar map", value{{"$$bytes", "x"}}},
    {"dollar map of two", value{{"$bytes", "YQ=="}, {"$double", "nan"}}},
  };
  for (auto bits : {5, 7, 8, 15, 16, 31, 32, 62}) {
    for (std::int64_t near : {-1, 0, 1}) {
      auto border = (std::int64_t{1} << bits) + near;
      all.emplace_back(std::to_string(border), border);
      all.emplace_back(std::to_string(-border), -border);
    }
  }
  all.emplace_back("int64 max", std::numeric_limits<std::int64_t>::max());
  all.emplace_back("int64 min", std::numeric_limits<std::int64_t>::min());
  for (std::size_t size : {1, 31, 32, 255, 256, 65'535, 65'536}) {
    all.emplace_back("string of " + std::to_string(size), std::string(size, 's'));
    all.emplace_back("bytes of " + std::to_string(size), some_bytes(std::string(size, 'b')));
    all.emplace_back("extension of " + std::to_string(size),
                     value::extension(value_kind::remove_message, std::string(size, 'e')));
  }
  return all;
}

/// Lists or maps within one another, `depth` levels.
inline value nested(std::size_t depth, value innermost = nullptr, bool maps = false) {
  value v = std::move(innermost);
  for (std::size_t i = 0; i < depth; ++i)
    v = maps ? value::map({{"k", v}}) : value::list({v});
  return v;
}

class random_values {
public:
  explicit random_values(std::uint32_t seed) : random_{seed} {}

  std::size_t below(std::size_t n) { return random_() % n; }

  value next(std::size_t depth = 5) {
    switch (below(depth == 0 ? 6 : 12)) {
      case 0: return below(2) ? value() : value(below(2) == 0);
      case 1: return static_cast<std::int64_t>(wide() >> below(64));
      case 2: return static_cast<std::int64_t>(~(wide() >> below(64)));
      case 3: return std::bit_cast<double>(wide());
      case 4: return text();
      case 5: return some_bytes(text());
      case 6:
      case 7:
      case 8: return list(depth);
      case 9:
      case 10: return value::map(entries(depth));
      default: return extension(depth);
    }
  }

  std::vector<value::map_init> entries(std::size_t depth) {
    std::vector<value::map_init> out;
    for (auto n = below(7); n > 0; --n) {
      std::string key{below(4) ? "" : "$"};
      key += text();
      out.emplace_back(std::move(key), next(depth - 1));
    }
    return out;
  }

  /// UTF-8, often around the border of short strings.
  std::string text() {
    static constexpr std::array<const char*, 8> pieces{"a",  "b",      "Z",      "\"",
                                                       "\n", "\u00e9", "\u20ac", "\U0001f600"};
    std::string out;
    for (auto n = below(below(4) ? 20 : 300); n > 0; --n)
      out += pieces[below(pieces.size())];
    return out;
  }

private:
  std::uint64_t wide() { return std::uint64_t{random_()} << 32 | random_(); }

  value list(std::size_t depth) {
    auto out = value::list();
    for (auto n = below(7); n > 0; --n)
      out = out.append(next(depth - 1));
    return out;
  }

  value extension(std::size_t depth) {
    switch (below(6)) {
      case 0: return value::extension(value_kind::message, value::map(entries(depth)));
      case 1: return value::extension(value_kind::send, value::list({text(), next(depth - 1)}));
      case 2: return value::extension(value_kind::overwrite, next(depth - 1));
      case 3: return value::extension(value_kind::delta_snapshot, next(depth - 1));
      case 4: return value::extension(value_kind::timestamp, static_cast<std::int64_t>(wide()));
      default: return value::extension(value_kind::remove_message, text());
    }
  }

  std::mt19937 random_;
};

} // namespace troupe::samples
