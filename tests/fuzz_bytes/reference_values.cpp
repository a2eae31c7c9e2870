// The reference's msgpack: what reads can be stored, anything else is an error.
#include "tools/troupe/reference_values.hpp"
#include "tests/fuzz_bytes/target.hpp"

namespace troupe::fuzz_bytes {

namespace {

using reading = value (*)(std::string_view);

void try_to_read(reading read, std::string_view bytes) {
  try {
    auto v = read(bytes);
    auto written = to_msgpack(v);
    require(written.has_value(), "what was read can be written");
    auto again = from_msgpack(*written);
    require(again && *again == v, "what was written reads back");
  } catch (const error& why) {
    require(why.code() == errc::invalid_value, "what does not read is an invalid_value");
  }
}

std::string text(std::string_view of) {
  return static_cast<char>(0xa0 | of.size()) + std::string{of};
}

std::string extension(char code, const std::string& content) {
  return std::string{"\xc7"} + static_cast<char>(content.size()) + code + content;
}

std::string instance(char code, std::string_view module, std::string_view name,
                     const std::string& arguments) {
  return extension(code, "\x93" + text(module) + text(name) + arguments);
}

} // namespace

void try_bytes(std::string_view bytes) {
  try_to_read(cli::from_reference_msgpack, bytes);
  try_to_read(cli::from_reference_checkpoint, bytes);
}

std::vector<std::string> seeds() {
  const std::string one_text = "\x81" + text("content") + text("hi");
  std::vector<std::string> out{
    instance(5, "langchain_core.messages.human", "HumanMessage", one_text),
    instance(5, "langchain_core.messages.ai", "AIMessageChunk", one_text),
    instance(5, "langchain_core.messages.x", "RemoveMessage", "\x81" + text("id") + text("1")),
    instance(1, "langgraph.types", "Send", "\x92" + text("node") + "\x01"),
    instance(2, "langgraph.types", "Overwrite", "\x81" + text("value") + "\x91\x01"),
    instance(2, "langgraph.types", "Interrupt",
             "\x82" + text("value") + "\xc2" + text("id") + text("i")),
    extension(7, "\x91\x01"),
  };
  std::string values;
  for (std::size_t i = 0; i < out.size(); ++i)
    values += text("channel " + std::to_string(i)) + out[i];
  values += text("join:a+b:c") + instance(0, "builtins", "set", "\x92" + text("b") + text("a"));
  out.push_back("\x82" + text("v") + "\x04" + text("channel_values")
                + static_cast<char>(0x80 | (out.size() + 1)) + values);
  out.emplace_back("\xdf\xff\xff\xff\xff", 5); // a map of four thousand million entries
  out.emplace_back("\xc9\xff\xff\xff\xff\x05", 6);
  return out;
}

} // namespace troupe::fuzz_bytes
