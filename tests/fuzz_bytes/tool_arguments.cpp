// Arguments of tools: a schema, a line break, and JSON that a model may have broken off.
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/agents/schema_check.hpp>

namespace troupe::fuzz_bytes {

namespace {

void try_schema(const value& schema, const value& arguments) {
  auto known = require_known_schema(schema);
  require(known || known.error().code() == errc::invalid_graph, "a refusal is an invalid_graph");
  auto wrong = check_schema(schema, arguments);
  auto again = check_schema(schema, arguments);
  require(wrong.size() == again.size(), "the answer is the same twice");
  for (const auto& one : wrong)
    require(!one.message.empty(), "what does not fit is told");
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto end = bytes.find('\n');
  auto text = end == bytes.npos ? bytes : bytes.substr(end + 1);
  auto read = parse_partial_json(text);
  if (auto whole = from_json(text))
    require(read && *read == *whole, "what is whole reads as it is");
  if (end == bytes.npos)
    return;
  if (auto schema = from_json(bytes.substr(0, end)))
    try_schema(*schema, read.value_or(value{}));
}

std::vector<std::string> seeds() {
  return {R"({"a": 1, "b": [1, 2, {"c": "ab)",
          R"({"a": "x\u00e4\n", "b": tru)",
          R"([1, 2.5e3, nul)",
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1},\"b\":{"
          "\"type\":["
          "\"string\",\"null\"]}},\"required\":[\"a\"],\"additionalProperties\":false}\n{\"a\": 0, "
          "\"c\": 1}",
          "{\"$ref\":\"#/$defs/"
          "n\",\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"array\",\"items\":{\"$ref\":\"#/"
          "$defs/n\"}},{\"const\":1}]}}}\n[[1],[[2]]]",
          "{\"oneOf\":[{\"enum\":[1,\"a\"]},{\"not\":{\"multipleOf\":0.1}}],\"uniqueItems\":true,"
          "\"maxLength\":2}\n\"\xc3\xa4\"",
          "{\"allOf\":[{\"prefixItems\":[{}],\"maxItems\":3},{\"$ref\":\"#\"}]}\n[1, 1.0]"};
}

} // namespace troupe::fuzz_bytes
