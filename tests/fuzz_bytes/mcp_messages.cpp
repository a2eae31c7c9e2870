// Messages of an MCP server, line by line: each question has at most one answer, for any input.
#include "tests/fuzz_bytes/target.hpp"

#include "agents/mcp/mcp_protocol.hpp"
#include "agents/mcp/mcp_tools.hpp"
#include "agents/messages/json_text.hpp"

#include <array>

namespace troupe::fuzz_bytes {

namespace {

void try_result(const value& result) {
  std::vector<mcp_definition> tools;
  auto added = add_mcp_page(result, "p_", tools);
  require(added || added.error().code() == errc::node_failed
            || added.error().code() == errc::invalid_value,
          "a page that is none is refused as such");
  for (const auto& t : tools)
    require(t.tool.size() <= 64 && t.tool.find_first_of(" ./\n") == std::string::npos,
            "a name is one that models take");
  mcp_definition called{"t", "t", "", value::map(), result["outputSchema"]};
  try {
    auto out = mcp_output(called, result, value::map({{"id", "c"}, {"name", "t"}}));
    require(out.parts().size() == 1, "a result is one message");
  } catch (const error& e) {
    require(e.type() == "McpError", "a result that is none is refused as such");
  }
}

class quiet_listener final : public mcp_listener {
public:
  void progressed(const value&) override {}
  bool asked(mcp_asked) override { return true; }
};

} // namespace

void try_bytes(std::string_view bytes) {
  constexpr std::size_t questions = 4;
  std::array<int, questions> answered{};
  mcp_session session{{.elicitation = true, .sampling = true}};
  auto listener = std::make_shared<quiet_listener>();
  for (auto& count : answered)
    session.ask(
      "tools/call", [&count](result<value>) { ++count; },
      &count == &answered[0] ? listener : nullptr);
  while (!bytes.empty()) {
    auto line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    auto heard = session.hear(line);
    require(heard.reply.empty() || from_json(heard.reply, json_form::plain).has_value(),
            "a reply is JSON");
    require(heard.reply.find('\n') == std::string::npos, "a reply is one line");
    require(!heard.then == !heard.with, "an answer comes with its question");
    require((heard.progress || heard.asked) == (heard.listener != nullptr),
            "an event of a question has its listener");
    if (heard.progress)
      require(mcp_progress_of(*heard.progress).message.size() <= limits::mcp_log_bytes_max,
              "a message is cut");
    if (heard.then)
      heard.then(*heard.with);
    if (heard.with && *heard.with)
      try_result(**heard.with);
  }
  std::size_t open = 0;
  for (auto count : answered) {
    require(count <= 1, "a question is answered once");
    open += count == 0;
  }
  require(session.waiting() == open, "what was not answered waits");
}

std::vector<std::string> seeds() {
  return {
    R"({"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"a":1},"outputSchema":{"type":"object"}}})"
    "\n"
    R"({"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"no"}})"
    "\n"
    R"({"jsonrpc":"2.0","id":0,"result":{}})",
    R"({"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a.b","inputSchema":{"type":"object"},"outputSchema":{}},{"name":"ü"}],"nextCursor":"x"}})",
    R"({"jsonrpc":"2.0","id":"q","method":"ping"})"
    "\n"
    R"({"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}})"
    "\n"
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"data":{"$bytes":"aGk="}}})",
    R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1,"total":2}})"
    "\n"
    R"({"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}})"
    "\n"
    R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}})",
    R"({"jsonrpc":"2.0","id":3,"result":{"isError":true,"content":[{"type":"resource","resource":{"uri":"x","blob":"aGk=","mimeType":"image/gif"}},{"type":"resource_link","uri":"y"}]}})"};
}

} // namespace troupe::fuzz_bytes
