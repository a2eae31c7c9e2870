// Schemas, which an MCP server may give, as grammars: a schema, a line break, and a text to accept.
#include "tests/agents/grammar/gbnf_recogniser.hpp"
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/agents/grammar.hpp>

#include <algorithm>
#include <optional>

namespace troupe::fuzz_bytes {

namespace {

constexpr std::size_t text_bytes_max = 64; // the recogniser follows all ways

std::optional<std::string> grammar_of(const value& schema) {
  try {
    return gbnf_of_schema(schema);
  } catch (const error& e) {
    require(e.code() == errc::invalid_value, "a refusal is an invalid_value");
    return std::nullopt;
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  // A schema may lead to each other one, and reading a grammar takes more than making it.
  allow_memory(256 << 20);
  auto end = std::min(bytes.find('\n'), bytes.size());
  auto schema = from_json(bytes.substr(0, end), json_form::plain);
  if (!schema)
    return;
  auto grammar = grammar_of(*schema);
  require(grammar == grammar_of(*schema), "the answer is the same twice");
  if (!grammar || grammar->size() > 64 << 10)
    return;
  test::gbnf_recogniser recogniser{*grammar}; // throws for text that is not a grammar
  auto text = bytes.substr(std::min(end + 1, bytes.size())).substr(0, text_bytes_max);
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) > 0x7f; }))
    return; // the recogniser believes that a text is UTF-8
  require(!recogniser.accepts(text) || from_json(text, json_form::plain).has_value(),
          "only JSON is accepted");
}

std::vector<std::string> seeds() {
  return {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,"
          "\"maximum\":120},\"b\":{\"type\":[\"string\",\"null\"],\"maxLength\":2}},"
          "\"required\":[\"b\"],\"additionalProperties\":false}\n{\"b\":\"x\",\"a\":12}",
          "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"array\",\"items\":"
          "{\"$ref\":\"#/$defs/n\"},\"minItems\":1,\"maxItems\":3},{\"const\":1}]}}}\n[[1],[[1]]]",
          "{\"allOf\":[{\"prefixItems\":[{\"type\":\"number\"}],\"items\":false},"
          "{\"oneOf\":[{\"minItems\":1},{\"type\":\"array\"}]}]}\n[-1.5e3]",
          "{\"properties\":{\"ab\":{},\"a\":{}},\"additionalProperties\":{\"enum\":[1,\"\\\"]\"]}}"
          "\n{\"abc\":\"\\\"]\"}"};
}

} // namespace troupe::fuzz_bytes
