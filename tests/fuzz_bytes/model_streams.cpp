// Streamed answers of models' providers: any event is accepted or refused with a typed error;
// accepted events add up, and so do their parts.
#include "agents/models/anthropic_wire.hpp"
#include "agents/models/openai_wire.hpp"
#include "agents/models/responses_wire.hpp"
#include "tests/fuzz_bytes/target.hpp"

#include <troupe/agents/messages.hpp>

namespace troupe::fuzz_bytes {

namespace {

void try_reader(std::unique_ptr<answer_reader> reader, const std::vector<sse_event>& events) {
  std::vector<value> parts;
  auto take_parts = [&] {
    for (auto& part : reader->take_parts())
      parts.push_back(std::move(part));
  };
  try {
    for (const auto& event : events) {
      reader->take(event);
      take_parts();
    }
  } catch (const model_error& refused) {
    require(!refused.type().empty(), "an error has a class");
    return;
  }
  auto answer = reader->finish();
  take_parts();
  require(message_role(answer) == "assistant", "an answer is an assistant's message");
  require(!parts.empty(), "there is a last part");
  try {
    join_chunks(parts);
  } catch (const error& e) { // metadata of two kinds under one name
    require(e.code() == errc::invalid_value, "parts that do not add up are an invalid_value");
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  sse_decoder decoder;
  std::vector<sse_event> events;
  decoder.feed(bytes, events).value();
  try_reader(anthropic_reader("m", true), events);
  try_reader(anthropic_reader("m", false), events);
  try_reader(openai_reader("m", "host"), events);
  try_reader(responses_reader("m"), events);
}

std::vector<std::string> seeds() {
  return {
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"a\",\"usage\":{"
    "\"input_tokens\":1}}}\n\n"
    "event: x\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
    "\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\n"
    "event: x\ndata: "
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_"
    "delta\",\"partial_json\":\"{}\"}}\n\n"
    "event: x\ndata: "
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\","
    "\"text\":\"a\"}}\n\n"
    "event: x\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"signature_"
    "delta\",\"signature\":\"a\"}}\n\n"
    "event: x\ndata: "
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
    "\"output_tokens\":1}}\n\n"
    "event: x\ndata: {\"type\":\"message_stop\"}\n\n",
    "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
    "\"partial_json\":\"{|\"}}\n\n"
    "data: {\"type\":\"message_stop\"}\n\n",
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
    "\"a\"}}\n\n",
    "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"tool_calls\":[{"
    "\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_"
    "reason\":"
    "null}],\"usage\":{\"prompt_tokens\":1}}\n\n"
    "data: "
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}]},\"finish_"
    "reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    "data: "
    "{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"summary_index\":0,"
    "\"delta\":\"a\"}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":"
    "\"reasoning\",\"id\":\"r\",\"summary\":[{\"text\":\"a\"}]}}\n\n"
    "data: "
    "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":"
    "\"a\"}\n\n"
    "data: "
    "{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\","
    "\"id\":\"m\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\",\"annotations\":[{}]}]}}"
    "\n\n"
    "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":"
    "\"function_call\",\"call_id\":\"c\",\"name\":\"f\"}}\n\n"
    "data: "
    "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{}\"}"
    "\n\n"
    "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{"
    "\"input_tokens\":1}}}\n\n"};
}

} // namespace troupe::fuzz_bytes
