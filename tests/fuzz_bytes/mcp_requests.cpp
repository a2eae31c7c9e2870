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
  out.resources.push_back(value::map({{"uri", "file:///a"}, {"name", "a"}}));
  out.templates.push_back(value::map({{"uriTemplate", "log://{day}/{+rest}"}, {"name", "l"}}));
  out.prompts.push_back(
    from_json(R"({"name":"p","arguments":[{"name":"x","required":true}]})").value());
  return std::make_shared<const mcp_listing>(std::move(out));
}

void require_message(const std::string& text, bool has_id, bool is_request = false) {
  require(text.find('\n') == std::string::npos, "a reply is one line");
  auto message = from_json(text, json_form::plain);
  require(message.has_value() && (*message)["jsonrpc"] == value("2.0"), "a reply is JSON-RPC");
  require(is_request || message->contains("result") != message->contains("error"),
          "a reply says one thing");
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
      using kind = mcp_served_call::kind;
      bool is_resource = heard.call->what == kind::resource;
      require(session.is_greeted() && heard.call->place < listing->tools.size()
                && (is_resource || heard.call->arguments.is_map()),
              "a call is one of a tool, a resource or a prompt");
      std::uint64_t number = 0;
      require_message(session.ask(heard.call->number, "elicitation/create", value::map(), number),
                      true, true);
      auto told = session.progress(heard.call->number, {.progress = 1});
      require(told.empty() != heard.call->wants_progress, "progress is reported when wanted");
      require(running.insert(heard.call->number).second, "a call has a number of its own");
    }
    require(heard.answered.has_value() == heard.with.has_value(), "an answer has its question");
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
      + R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"log://1/a/b","_meta":{"progressToken":"t"}}})"
        "\n"
        R"({"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{}}})"
        "\n"
        R"({"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file:///a"}})"
        "\n"
        R"({"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"p","arguments":{"x":"y"}}})",
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
