// mcp_protocol: messages, and the questions that are open.
#include "agents/mcp/mcp_protocol.hpp"

#include "agents/messages/json_text.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace troupe {
namespace {

// A message with these members, without those that are null.
std::string rpc_text(std::vector<value::map_init> members) {
  std::erase_if(members, [](const value::map_init& m) { return m.second.is_null(); });
  members.emplace_back("jsonrpc", "2.0");
  return spaced_json(value::map(std::move(members)));
}

// Accepts a number as text: a server may return it so.
std::optional<std::int64_t> number_of(const value& id) {
  if (id.is_int())
    return id.as_int();
  if (!id.is_string())
    return std::nullopt;
  auto text = id.as_string();
  std::int64_t out = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return out;
}

error rpc_refusal(const std::string& method, const value& why) {
  auto code = why["code"].is_int() ? " (" + std::to_string(why["code"].as_int()) + ')' : "";
  auto text = text_in(why["message"]);
  return mcp_failure(method, (text.empty() ? "the server refused it" : text) + code);
}

} // namespace

bool is_known_mcp_version(std::string_view version) noexcept {
  constexpr std::array known{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
  return std::ranges::find(known, version) != known.end();
}

std::string_view agreed_mcp_version(std::string_view offered) noexcept {
  return is_known_mcp_version(offered) ? offered : mcp_version;
}

std::string mcp_request(std::int64_t id, std::string_view method, const value& params) {
  return rpc_text({{"id", id}, {"method", method}, {"params", params}});
}

std::string mcp_notification(std::string_view method, const value& params) {
  return rpc_text({{"method", method}, {"params", params}});
}

std::string mcp_answer(const value& id, const value& result) {
  return rpc_text({{"id", id}, {"result", result}});
}

std::string mcp_refusal(const value& id, rpc_refused why, std::string_view message) {
  auto said = value::map({{"code", static_cast<std::int64_t>(why)}, {"message", message}});
  return rpc_text({{"id", id}, {"error", std::move(said)}});
}

value mcp_greeting(mcp_abilities abilities) {
  auto announced = value::map();
  if (abilities.elicitation) // an object with the form alone, and to older servers just an object
    announced = announced.with("elicitation", value::map({{"form", value::map()}}));
  if (abilities.sampling)
    announced = announced.with("sampling", value::map());
  return value::map(
    {{"protocolVersion", mcp_version},
     {"capabilities", std::move(announced)},
     {"clientInfo", value::map({{"name", "troupe"}, {"version", TROUPE_VERSION}})}});
}

std::string mcp_cancellation(std::int64_t id) {
  if (id == 0)
    return {};
  return mcp_notification(
    "notifications/cancelled",
    value::map({{"requestId", id}, {"reason", "the result is no longer needed"}}));
}

error mcp_failure(std::string_view doing, std::string what) {
  return {errc::node_failed, "ask an MCP server: " + std::string{doing} + ": " + what, "McpError",
          std::move(what)};
}

std::string mcp_unanswerable(const mcp_asked& request) {
  if (request.method == "elicitation/create")
    return mcp_answer(request.id, value::map({{"action", "cancel"}}));
  return mcp_refusal(request.id, rpc_refused::by_server,
                     "No call is known to which this request belongs");
}

std::optional<error> mcp_session::refusal(std::string_view server) const {
  if (open_.size() < limits::mcp_calls_max)
    return std::nullopt;
  return error{errc::overloaded, "ask an MCP server: " + std::string{server} + ": "
                                   + std::to_string(limits::mcp_calls_max)
                                   + " calls wait (mcp_calls_max)"};
}

std::int64_t mcp_session::ask(std::string method, answer then,
                              std::shared_ptr<mcp_listener> listener) {
  open_.emplace(next_, question{std::move(method), std::move(then), std::move(listener)});
  return next_++;
}

std::optional<mcp_session::answer> mcp_session::forget(std::int64_t id) {
  auto found = open_.extract(id);
  return found ? std::optional{std::move(found.mapped().then)} : std::nullopt;
}

std::vector<mcp_session::answer> mcp_session::forget_all() {
  std::vector<answer> out;
  for (auto& [id, asked] : std::exchange(open_, {}))
    out.push_back(std::move(asked.then));
  return out;
}

mcp_session::heard mcp_session::hear(std::string_view text, std::optional<std::int64_t> carrier) {
  auto message = from_json(text, json_form::plain);
  if (!message)
    return {.log = "not a message: " + message.error().message()};
  if ((*message)["jsonrpc"] != value("2.0"))
    return {.log = "not a message of JSON-RPC 2.0"};
  if (!(*message)["method"].is_string())
    return hear_answer(*message);
  return message->contains("id") ? hear_request(*message, carrier) : hear_notification(*message);
}

mcp_session::heard mcp_session::hear_answer(const value& message) {
  auto id = number_of(message["id"]);
  auto asked = id ? open_.find(*id) : open_.end();
  if (asked == open_.end())
    return {.log = "an answer for which no call waits"};
  auto method = std::move(asked->second.method);
  heard out{.then = std::move(asked->second.then), .id = id};
  open_.erase(asked);
  if (message.contains("error"))
    out.with = rpc_refusal(method, message["error"]);
  else if (message["result"].is_map())
    out.with = message["result"];
  else
    out.with = mcp_failure(method, "its answer has neither a result nor an error");
  return out;
}

// The question to which a request of the server belongs. Without a sign of it, the only one that
// can be meant; never a guess among several, which may be of different people.
std::shared_ptr<mcp_listener> mcp_session::listener_of(const value& params,
                                                       std::optional<std::int64_t> carrier) const {
  auto id = carrier ? carrier : number_of(params["_meta"][mcp_related_member]);
  if (id) {
    auto found = open_.find(*id);
    return found == open_.end() ? nullptr : found->second.listener;
  }
  std::shared_ptr<mcp_listener> only;
  for (const auto& [number, one] : open_) {
    if (one.listener && only)
      return nullptr;
    if (one.listener)
      only = one.listener;
  }
  return only;
}

mcp_session::heard mcp_session::hear_request(const value& message,
                                             std::optional<std::int64_t> carrier) {
  const auto& id = message["id"];
  if (!id.is_int() && !id.is_string())
    return {.log = "a request without an id"};
  auto method = message["method"].as<std::string>();
  if (method == "ping")
    return {.reply = mcp_answer(id, value::map())};
  bool is_known = (abilities_.elicitation && method == "elicitation/create")
                  || (abilities_.sampling && method == "sampling/createMessage");
  if (!is_known)
    return {.reply = mcp_refusal(id, rpc_refused::unknown_method, "Method not found")};
  const auto& params = message["params"];
  if (!params.is_map())
    return {.reply = mcp_refusal(id, rpc_refused::wrong_params, "Invalid request parameters")};
  mcp_asked asked{.id = id, .method = std::move(method), .params = params};
  auto listener = listener_of(params, carrier);
  if (!listener)
    return {.reply = mcp_unanswerable(asked), .log = "a request that belongs to no known call"};
  return {.listener = std::move(listener), .asked = std::move(asked)};
}

mcp_session::heard mcp_session::hear_notification(const value& message) {
  auto method = message["method"].as_string();
  const auto& params = message["params"];
  if (method == "notifications/message") {
    const auto& said = params["data"];
    return {.log = said.is_string() ? said.as<std::string>() : spaced_json(said)};
  }
  if (method == "notifications/progress") {
    auto id = number_of(params["progressToken"]);
    auto found = id ? open_.find(*id) : open_.end();
    if (found == open_.end() || !found->second.listener)
      return {};
    return {.listener = found->second.listener, .progress = params};
  }
  if (method == "notifications/resources/updated") {
    auto uri = text_in(params["uri"]);
    if (uri.empty() || uri.size() > limits::mcp_uri_bytes_max)
      return {.log = "a changed resource without a valid URI"};
    return {.changed = mcp_announced{"resource", std::move(uri)}};
  }
  for (std::string_view what : {"tools", "resources", "prompts"})
    if (method == "notifications/" + std::string{what} + "/list_changed") {
      tool_changes_ += what == "tools" ? 1 : 0;
      return {.changed = mcp_announced{what}};
    }
  return {};
}

} // namespace troupe
