// Values as canonical msgpack, and bytes that are not msgpack.
#include "tests/graph/samples.hpp"

#include <troupe/limits.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe {

namespace {

namespace data = boost::unit_test::data;
using limits::value_depth_max;
using namespace std::string_literals;

std::string encoded(const value& v) {
  auto bytes = to_msgpack(v);
  BOOST_REQUIRE(bytes.has_value());
  return *bytes;
}

void check_msgpack_round_trip(const value& v) {
  auto bytes = encoded(v);
  auto back = from_msgpack(bytes);
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST((*back == v));
  BOOST_TEST(back->hash() == v.hash());
  BOOST_TEST((encoded(*back) == bytes));
}

struct form {
  std::string bytes;
  value read;
};
std::ostream& operator<<(std::ostream& out, const form& f) {
  return out << f.read;
}

const std::vector<form> canonical_forms{
  {"\xc0"s, nullptr},
  {"\xc2"s, false},
  {"\xc3"s, true},
  {"\x00"s, 0},
  {"\x7f"s, 127},
  {"\xcc\x80"s, 128},
  {"\xcc\xff"s, 255},
  {"\xcd\x01\x00"s, 256},
  {"\xce\x00\x01\x00\x00"s, 65'536},
  {"\xcf\x00\x00\x00\x01\x00\x00\x00\x00"s, std::int64_t{1} << 32},
  {"\xe0"s, -32},
  {"\xd0\xdf"s, -33},
  {"\xd0\x80"s, -128},
  {"\xd1\xff\x7f"s, -129},
  {"\xd2\xff\xff\x7f\xff"s, -32'769},
  {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00"s, std::numeric_limits<std::int64_t>::min()},
  {"\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"s, 1.0},
  {"\xcb\x80\x00\x00\x00\x00\x00\x00\x00"s, -0.0},
  {"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"s, std::bit_cast<double>(0xfff8'dead'beef'0001)},
  {"\xa0"s, ""},
  {"\xa2"
   "ab"s,
   "ab"},
  {"\xd9\x20"s + std::string(32, 'x'), std::string(32, 'x')},
  {"\xc4\x01"
   "a"s,
   samples::some_bytes("a")},
  {"\x90"s, value::list()},
  {"\x80"s, value::map()},
  {"\x82\xa1"
   "a\x01\xa1"
   "b\x02"s,
   {{"b", 2}, {"a", 1}}},
  {"\xd4\x14\x05"s, value::extension(value_kind::timestamp, 5)},
  {"\xd6\x17\xa3"
   "abc"s,
   value::extension(value_kind::remove_message, "abc")},
  {"\xc7\x03\x17\xa2"
   "ab"s,
   value::extension(value_kind::remove_message, "ab")},
};

/// Valid, but not what we write.
const std::vector<form> other_forms{
  {"\xcc\x05"s, 5},
  {"\xcf\x00\x00\x00\x00\x00\x00\x00\x05"s, 5},
  {"\xd3\x00\x00\x00\x00\x00\x00\x00\x05"s, 5},
  {"\xca\x3f\x80\x00\x00"s, 1.0},
  {"\xca\x7f\x80\x00\x01"s, std::nan("")},
  {"\xdb\x00\x00\x00\x01"
   "a"s,
   "a"},
  {"\xdd\x00\x00\x00\x01\x05"s, value::list({5})},
  {"\xdf\x00\x00\x00\x02\xa1"
   "b\x02\xa1"
   "a\x01"s,
   {{"a", 1}, {"b", 2}}},
  {"\xc9\x00\x00\x00\x01\x14\x05"s, value::extension(value_kind::timestamp, 5)},
};

const std::vector<std::pair<std::string, std::string>> hostile_bytes{
  {"nothing", ""s},
  {"the unused code", "\xc1"s},
  {"the unused code in a list", "\x91\xc1"s},
  {"two values", "\x01\x02"s},
  {"a list and a byte", "\x90\xc0"s},
  {"a huge list", "\xdd\xff\xff\xff\xff\x01"s},
  {"a huge map", "\xdf\xff\xff\xff\xff\xa1"
                 "a\x01"s},
  {"a huge string", "\xdb\xff\xff\xff\xff"
                    "abc"s},
  {"huge bytes", "\xc6\xff\xff\xff\xff"
                 "abc"s},
  {"a huge extension", "\xc9\xff\xff\xff\xff\x10"
                       "abc"s},
  {"huge lists in one another", "\xdd\xff\xff\xff\xff\xdd\xff\xff\xff\xff\xdd\xff\xff\xff\xff"s},
  {"an integer too large for int64", "\xcf\x80\x00\x00\x00\x00\x00\x00\x00"s},
  {"a number as key", "\x81\x01\x01"s},
  {"null as key", "\x81\xc0\x01"s},
  {"bytes as key", "\x81\xc4\x01"
                   "a\x01"s},
  {"a list as key", "\x81\x90\x01"s},
  {"a map as key", "\x81\x80\x01"s},
  {"an extension as key", "\x81\xd4\x14\x05\x01"s},
  {"a key twice", "\x82\xa1"
                  "a\x01\xa1"
                  "a\x02"s},
  {"a key twice, apart", "\x83\xa1"
                         "a\x01\xa1"
                         "b\x01\xa1"
                         "a\x02"s},
  {"unknown extension", "\xd4\x18\x05"s},
  {"a plain kind as extension", "\xd4\x06\x90"s},
  {"negative extension", "\xd4\xff\x05"s},
  {"empty extension", "\xc7\x00\x14"s},
  {"extension of two values", "\xd5\x13\x05\x05"s},
  {"extension cut short", "\xd4\x13\xa1"s},
  {"message of a list", "\xd4\x10\x90"s},
  {"send of a map", "\xd4\x11\x80"s},
  {"send of one", "\xc7\x03\x11\x91\xa1"
                  "a"s},
  {"send to a number", "\xc7\x03\x11\x92\x01\x01"s},
  {"interrupt of null", "\xd4\x12\xc0"s},
  {"timestamp of a string", "\xd4\x14\xa0"s},
  {"error of a string", "\xd4\x16\xa0"s},
  {"remove_message of a number", "\xd4\x17\x01"s},
};

value sample_state() {
  auto message = value::extension(
    value_kind::message, {{"role", "user"}, {"content", "hello there, how are you?"}, {"id", 17}});
  return {{"messages", value::list({message, message})},
          {"sends", value::list({value::extension(value_kind::send, {"worker", {{"n", 1.5}}})})},
          {"at", value::extension(value_kind::timestamp, 1'700'000'000'000'000)},
          {"blob", samples::some_bytes("\x00\x01\x02")},
          {"empty", value::list()}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_msgpack)

BOOST_AUTO_TEST_CASE(every_kind_reads_back_as_it_was_written) {
  for (const auto& [name, v] : samples::every_kind())
    BOOST_TEST_CONTEXT(name) check_msgpack_round_trip(v);
}

BOOST_DATA_TEST_CASE(random_values_read_back_as_they_were_written, data::xrange(500), seed) {
  check_msgpack_round_trip(samples::random_values{static_cast<std::uint32_t>(seed)}.next());
}

BOOST_DATA_TEST_CASE(values_are_written_in_the_shortest_form, data::make(canonical_forms)) {
  BOOST_TEST((encoded(sample.read) == sample.bytes));
  check_msgpack_round_trip(sample.read);
}

BOOST_DATA_TEST_CASE(longer_forms_are_read, data::make(other_forms)) {
  auto read = from_msgpack(sample.bytes);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(*read == sample.read);
}

BOOST_DATA_TEST_CASE(equal_maps_have_equal_bytes_in_any_order, data::xrange(100), seed) {
  samples::random_values random{static_cast<std::uint32_t>(seed)};
  auto entries = random.entries(3);
  auto at_once = value::map(entries);
  std::reverse(entries.begin(), entries.end());
  auto one_by_one = value::map();
  for (const auto& [key, v] : entries)
    if (!one_by_one.contains(key))
      one_by_one = one_by_one.with(key, v);
  BOOST_TEST((encoded(at_once) == encoded(one_by_one)));
}

BOOST_AUTO_TEST_CASE(encoding_appends_and_leaves_the_output_alone_when_it_fails) {
  std::string out = "before";
  BOOST_TEST(encode_msgpack(5, out).has_value());
  BOOST_TEST(out == "before\x05");
  auto deeper = value::list({1, 2, samples::nested(value_depth_max)});
  BOOST_TEST(!encode_msgpack(deeper, out).has_value());
  BOOST_TEST(out == "before\x05");
}

BOOST_DATA_TEST_CASE(depth_is_allowed_to_the_limit_and_not_past, data::make({false, true}), maps) {
  auto deepest = samples::nested(value_depth_max, 1, maps);
  check_msgpack_round_trip(deepest);
  auto stamp = value::extension(value_kind::timestamp, 1);
  check_msgpack_round_trip(samples::nested(value_depth_max - 1, stamp, maps));
  for (const auto& innermost : {value::list(), value::map(), stamp}) {
    auto deeper = to_msgpack(samples::nested(value_depth_max, innermost, maps));
    BOOST_REQUIRE(!deeper.has_value());
    BOOST_TEST((deeper.error().code() == errc::invalid_value));
  }
  auto head = maps ? "\x81\xa1k"s : "\x91"s;
  auto bytes = head + encoded(deepest);
  auto read = from_msgpack(bytes);
  BOOST_REQUIRE(!read.has_value());
  BOOST_TEST(read.error().message().find("too deep") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(extensions_in_one_another_count_as_depth) {
  auto nested = [](std::size_t depth) {
    value v = 1;
    for (std::size_t i = 0; i < depth; ++i)
      v = value::extension(value_kind::overwrite, v);
    return v;
  };
  auto bytes = encoded(nested(value_depth_max));
  check_msgpack_round_trip(nested(value_depth_max));
  BOOST_TEST(!to_msgpack(nested(value_depth_max + 1)).has_value());
  BOOST_REQUIRE(bytes.size() < 0x10000);
  std::string head{'\xc8', static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size()),
                   '\x13'};
  BOOST_TEST(!from_msgpack(head + bytes).has_value());
  BOOST_TEST(!from_msgpack(std::string(1'000'000, '\x91')).has_value());
}

BOOST_AUTO_TEST_CASE(values_beyond_the_size_limit_are_refused_both_ways) {
  value large(std::string(limits::value_size_bytes_max, 'x'));
  std::string out;
  BOOST_TEST(!encode_msgpack(large, out).has_value());
  BOOST_TEST(out.empty());
  value half(std::string(limits::value_size_bytes_max / 2, 'x'));
  BOOST_TEST(!encode_msgpack(value::list({half, half}), out).has_value());
  BOOST_TEST(!from_msgpack(std::string(limits::value_size_bytes_max + 1, '\x01')).has_value());
}

BOOST_AUTO_TEST_CASE(hostile_bytes_are_refused) {
  for (const auto& [name, bytes] : hostile_bytes)
    BOOST_TEST_CONTEXT(name) {
      auto read = from_msgpack(bytes);
      BOOST_REQUIRE(!read.has_value());
      BOOST_TEST((read.error().code() == errc::invalid_value));
    }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  auto bytes = encoded(sample_state());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    BOOST_TEST(!from_msgpack(std::string_view{bytes}.substr(0, size)).has_value());
  BOOST_TEST(!from_msgpack(bytes + '\0').has_value());
}

BOOST_AUTO_TEST_CASE(every_changed_byte_gives_a_value_or_an_error) {
  auto bytes = encoded(sample_state());
  std::size_t values = 0, errors = 0;
  for (auto& byte : bytes) {
    auto before = byte;
    for (int other = 0; other < 256; ++other) {
      byte = static_cast<char>(other);
      auto read = from_msgpack(bytes);
      ++(read ? values : errors);
      if (read)
        BOOST_REQUIRE((from_msgpack(encoded(*read)).value() == *read));
      else
        BOOST_REQUIRE(read.error().code() == errc::invalid_value);
    }
    byte = before;
  }
  BOOST_TEST(values > bytes.size()); // each byte as it was, and some of the changed ones
  BOOST_TEST(errors > bytes.size());
}

BOOST_DATA_TEST_CASE(random_bytes_give_a_value_or_an_error, data::xrange(500), seed) {
  samples::random_values random{static_cast<std::uint32_t>(seed)};
  std::string bytes;
  for (auto n = random.below(200); n > 0; --n)
    bytes += static_cast<char>(random.below(2) ? 0x80 + random.below(0x80) : random.below(0x30));
  auto read = from_msgpack(bytes);
  if (read)
    check_msgpack_round_trip(*read);
  else
    BOOST_TEST((read.error().code() == errc::invalid_value));
}

BOOST_AUTO_TEST_CASE(short_strings_that_share_a_block_outlive_the_value_they_were_read_with) {
  constexpr auto size_max = limits::value_block_string_bytes_max;
  std::vector<value> texts;
  for (std::size_t size = 0; size < 2 * size_max; ++size)
    for (char c = 'a'; c < 'e'; ++c)
      texts.emplace_back(std::string(size, c));
  auto read = from_msgpack(encoded(value::list(texts))).value();
  BOOST_REQUIRE((read == value::list(texts)));
  std::vector<value> kept;
  for (std::size_t i = 0; i < read.size(); i += 3)
    kept.push_back(read.items()[i]);
  read = {};
  for (std::size_t i = 0; i < kept.size(); ++i)
    BOOST_REQUIRE((kept[i] == texts[3 * i]));
}

BOOST_AUTO_TEST_CASE(neighbours_in_a_block_are_closer_than_its_size) {
  std::string text(limits::value_block_string_bytes_max / 2, 'x');
  auto read = from_msgpack(encoded(value::list(std::vector<value>(1000, value(text))))).value();
  auto far = [](const value& a, const value& b) {
    auto apart = b.as_string().data() - a.as_string().data();
    return apart < 0 || apart > std::ptrdiff_t{limits::value_block_bytes};
  };
  std::size_t blocks = 0;
  for (std::size_t i = 1; i < read.size(); ++i)
    blocks += far(read[i - 1], read[i]);
  BOOST_TEST(blocks < read.size() / 2);
}

BOOST_AUTO_TEST_CASE(equal_long_keys_of_one_value_share_their_bytes) {
  std::string key(20, 'k');
  auto map = value::map({{key, 1}});
  auto read = from_msgpack(encoded(value::list({map, map}))).value();
  auto key_of = [&read](std::size_t i) { return read.items()[i].entries()[0].key().data(); };
  BOOST_TEST(static_cast<const void*>(key_of(0)) == static_cast<const void*>(key_of(1)));
  BOOST_TEST((read == value::list({map, map})));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
