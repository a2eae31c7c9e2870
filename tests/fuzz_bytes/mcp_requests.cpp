// Messages of a client to an MCP server, line by line: each request has at most one answer, for any
// input. The running calls are those that began and were not cancelled.
#include "tests/fuzz_bytes/target.hpp"

#include "agents/mcp/mcp_server_session.hpp"

#include <algorithm>
#include <set>

namespace troupe::fuzz_bytes {

namespace {

std::shared_ptr<const mcp_listing> two_tools() {
  mcp_listing out;
  out.server_info = value::map({{"name", "s"}, {"version", "1"}});
  out.calls_max = 3;
  for (const char* name : {"a", "b"})
    out.tools.push_back(value::map({{"name", name}}));
  return std::make_shared<const mcp_listing>(std::move(out));
}

void require_message(const std::string& text, bool has_id) {
  require(text.find('\n') == std::string::npos, "a reply is one line");
  auto message = from_json(text, json_form::plain);
  require(message.has_value() && (*message)["jsonrpc"] == value("2.0"), "a reply is JSON-RPC");
  require(message->contains("result") != message->contains("error"), "a reply says one thing");
  require(message->contains("id") == has_id, "a reply has the id, where there was one");
}

} // namespace

void try_bytes(std::string_view bytes) {
  static const auto listing = two_tools();
  mcp_server_session session{listing};
  std::set<std::uint64_t> running;
  while (!bytes.empty()) {
    auto line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    auto heard = session.hear(line);
    if (!heard.reply.empty())
      require_message(heard.reply, !heard.refused);
    if (heard.call) {
      require(heard.reply.empty(), "a call that began is not answered yet");
      require(session.is_greeted() && heard.call->tool < listing->tools.size()
                && heard.call->arguments.is_map(),
              "a call is one of a tool");
      require(running.insert(heard.call->number).second, "a call has a number of its own");
    }
    if (heard.cancelled)
      require(running.erase(*heard.cancelled) == 1, "what is cancelled runs");
    require(running.size() == session.running() && running.size() <= listing->calls_max,
            "so many run");
    if (line.size() % 3 == 0 && !running.empty()) {
      auto number = *running.begin();
      running.erase(running.begin());
      require_message(session.answer(number, value::map()), true);
      require(session.answer(number, value::map()).empty(), "a call is answered once");
    }
  }
}

std::vector<std::string> seeds() {
  std::string greeting =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"
    "\n"
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
    "\n";
  return {
    greeting + R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"1"}})",
    greeting
      + R"({"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":{}}})"
        "\n"
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}})",
    greeting
      + R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","arguments":{"$bytes":"aGk="}}})"
        "\n"
        R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"c"}})",
    R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
    "\n"
    R"([{"jsonrpc":"2.0","id":1.5,"method":"ping"}])"
    "\n"
    R"({"jsonrpc":"2.0","id":1,"result":{}})"};
}

} // namespace troupe::fuzz_bytes
