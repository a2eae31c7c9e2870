// msgpack: what reads writes itself, always as the same bytes, and reads back.
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/value.hpp>

namespace troupe::fuzz_bytes {

void try_bytes(std::string_view bytes) {
  auto v = from_msgpack(bytes);
  if (!v) {
    require(v.error().code() == errc::invalid_value, "what does not read is an invalid_value");
    return;
  }
  auto written = to_msgpack(*v);
  require(written.has_value(), "what was read can be written");
  require(written->size() <= 2 * bytes.size(), "only a float grows, and to no more than a double");
  auto again = from_msgpack(*written);
  require(again && *again == *v && again->hash() == v->hash(), "what was written reads back");
  require(*to_msgpack(*again) == *written, "equal values have equal bytes");
  require(from_json(to_json(*v)).has_value(), "every value prints as JSON");
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const auto& v :
       {value{}, value(true), value(-1), value(1.5), value("text"), value(std::string(300, 'x')),
        value::bytes(std::as_bytes(std::span{"bytes"})), value{1, {2, "three"}},
        value{{"a", 1}, {"b", {{"c", nullptr}}}},
        value::extension(value_kind::message, {{"content", "hello"}, {"role", "user"}}),
        value::extension(value_kind::send, {"node", {{"n", 1}}}),
        value::extension(value_kind::overwrite, {1, 2})})
    out.push_back(to_msgpack(v).value());
  out.emplace_back("\xdf\xff\xff\xff\xff", 5); // a map of four thousand million entries
  out.emplace_back("\xdd\xff\xff\xff\xff", 5);
  out.emplace_back("\xca\x3f\xc0\x00\x00", 5);
  return out;
}

} // namespace troupe::fuzz_bytes
