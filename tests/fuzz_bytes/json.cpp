// JSON: what reads prints, and reads back the same, as text, as a document and through msgpack.
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/json.hpp>

namespace troupe::fuzz_bytes {

void try_bytes(std::string_view bytes) {
  auto v = from_json(bytes);
  if (!v) {
    require(v.error().code() == errc::invalid_value, "what does not read is an invalid_value");
    return;
  }
  for (int indent : {-1, 1}) {
    auto again = from_json(to_json(*v, indent));
    require(again && *again == *v, "what was printed reads back");
  }
  auto document = from_nlohmann(to_nlohmann(*v));
  require(document && *document == *v, "a document reads back");
  auto packed = to_msgpack(*v);
  require(packed.has_value(), "JSON is never too large for msgpack");
  auto unpacked = from_msgpack(*packed);
  require(unpacked && *unpacked == *v, "msgpack reads back");
}

std::vector<std::string> seeds() {
  return {R"({"a": [1, -2, 3.5e-7, true, null, "\u00e4\n\ud83d\ude00"]})",
          R"({"$bytes": "aGVsbG8="})",
          R"({"$$bytes": 1})",
          R"([{"$double": "nan"}, {"$double": "-inf"}])",
          R"({"$message": {"role": "user", "content": "hello"}})",
          R"({"$send": ["node", {"n": 1}]})",
          R"({"$overwrite": {"$interrupt": {"id": "x", "value": 1}}})",
          R"([18446744073709551615, 9223372036854775807, -9223372036854775808, 1e308, 1e400])",
          R"({"a": 1, "a": 2})",
          std::string(127, '[') + "1" + std::string(127, ']')};
}

} // namespace troupe::fuzz_bytes
