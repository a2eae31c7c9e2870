// Messages as others write them: what reads has one form, in which it stays.
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <optional>

namespace troupe::fuzz_bytes {

namespace {

template <class F> std::optional<value> made(F make) {
  try {
    return make();
  } catch (const error& e) {
    require(e.code() == errc::invalid_update || e.code() == errc::invalid_value,
            "what is no message is refused as such");
    return std::nullopt;
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto given = from_json(bytes);
  if (!given)
    return;
  auto message = made([&] { return message_from_json(*given); });
  if (!message)
    return;
  auto form = made([&] { return message_to_json(*message); });
  require(form.has_value(), "what was read can be written");
  auto again = made([&] { return message_from_json(*form); });
  require(again.has_value(), "what was written reads back");
  require(made([&] { return message_to_json(*again); }) == form, "the form stays as it is");
  message_text(*message);
  content_blocks(*message);
  auto openai = made([&] { return messages_to_openai(value::list({*message})); });
  if (openai)
    for (const auto& one : openai->items())
      made([&] { return message_from_json(one); });
}

std::vector<std::string> seeds() {
  return {
    R"({"type":"human","content":"hi","id":"1","name":"bob","example":false})",
    R"({"type":"ai","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}],"tool_calls":[{"name":"t","args":{"a":1},"id":"c","type":"tool_call"}],"invalid_tool_calls":[{"name":"u","args":"{","id":"d","error":"no"}],"usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}})",
    R"({"type":"tool","data":{"content":"3","tool_call_id":"c","status":"error","artifact":{"x":1}}})",
    R"({"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"a"}})",
    R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{\"a\":1}"}}]})",
    R"({"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]})",
    R"({"role":"tool","content":"3","tool_call_id":"c"})",
    R"({"role":"human","content":"hi","example":false})",
    R"({"role":"user","content":"x","tool_calls":[],"more":[]})",
    R"({"type":"AIMessageChunk","content":[{"type":"thinking","thinking":"a","signature":"b"},{"type":"document","source":{"type":"text","data":"x"}}],"tool_calls":[{"name":"t","args":{},"id":"c"}],"chunk_position":"last"})",
    R"({"type":"remove","id":"x","content":""})",
    R"(["human","hi"])",
    R"("hi")"};
}

} // namespace troupe::fuzz_bytes
