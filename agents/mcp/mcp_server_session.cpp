// mcp_server_session: handling requests, and answering calls.
#include "agents/mcp/mcp_server_session.hpp"

#include "agents/mcp/mcp_protocol.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t shown_name_bytes = 200; // longer names of a client are cut

mcp_server_session::heard replied(std::string reply) {
  return {.reply = std::move(reply)};
}

mcp_server_session::heard refusal(const value& id, rpc_refused why, std::string_view message) {
  return {.reply = mcp_refusal(id, why, message), .refused = id.is_null()};
}

bool is_rpc_id(const value& id) {
  return id.is_int() || id.is_string();
}

// The place that a cursor stands for, if this server made the cursor.
std::optional<std::size_t> place_of(const value& cursor, std::size_t size) {
  if (cursor.is_null())
    return 0;
  auto text = text_in(cursor);
  std::size_t out = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc{} || end != text.data() + text.size() || out >= size)
    return std::nullopt;
  return out;
}

std::size_t depth_of(const value& v, std::size_t at_most) {
  std::size_t out = 0;
  if (at_most > 0) {
    for (const auto& item : v.items())
      out = std::max(out, depth_of(item, at_most - 1));
    for (const auto& e : v.entries())
      out = std::max(out, depth_of(e.val, at_most - 1));
  }
  return out + (v.is_list() || v.is_map() ? 1 : 0);
}

} // namespace

value mcp_text_result(std::string_view text, bool is_error) {
  return value::map({{"content", value::list({text_block(text)})}, {"isError", is_error}});
}

mcp_server_session::heard mcp_server_session::hear(std::string_view text) {
  auto message = from_json(text, json_form::plain);
  if (!message)
    return refusal({}, rpc_refused::no_json, "Parse error");
  const auto& id = (*message)["id"];
  auto answered = is_rpc_id(id) ? id : value{};
  if (!message->is_map() || (*message)["jsonrpc"] != value("2.0"))
    return refusal(answered, rpc_refused::no_request,
                   "Invalid Request: not a message of JSON-RPC 2.0");
  if (!message->contains("method")) {
    if (message->contains("result") || message->contains("error"))
      return {}; // an answer, but nothing was asked
    return refusal(answered, rpc_refused::no_request, "Invalid Request: its method is missing");
  }
  if (!(*message)["method"].is_string())
    return refusal(answered, rpc_refused::no_request, "Invalid Request: its method is not a text");
  if (!message->contains("id"))
    return hear_notification(*message);
  if (!is_rpc_id(id))
    return refusal({}, rpc_refused::no_request,
                   "Invalid Request: its id is neither a text nor an integer");
  return hear_request(id, *message);
}

mcp_server_session::heard mcp_server_session::hear_request(const value& id, const value& message) {
  const auto& params = message["params"];
  auto method = message["method"].as_string();
  if (find(id) != open_.end())
    return refusal(id, rpc_refused::no_request,
                   "Invalid Request: its id is that of a running call");
  if (!params.is_null() && !params.is_map())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: not an object");
  if (method == "ping")
    return replied(mcp_answer(id, value::map()));
  if (method == "initialize")
    return hear_greeting(id, params);
  if (!greeted_)
    return refusal(id, rpc_refused::no_request,
                   "Invalid Request: initialize must be the first request");
  if (method == "tools/list")
    return list(id, params);
  if (method == "tools/call")
    return begin(id, params);
  return refusal(id, rpc_refused::unknown_method, "Method not found");
}

mcp_server_session::heard mcp_server_session::hear_greeting(const value& id, const value& params) {
  const auto& offered = params["protocolVersion"];
  if (!offered.is_string())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: protocolVersion is missing");
  if (std::exchange(greeted_, true))
    return refusal(id, rpc_refused::no_request, "Invalid Request: it was initialized before");
  auto said = value::map({{"protocolVersion", agreed_mcp_version(offered.as_string())},
                          {"capabilities", value::map({{"tools", value::map()}})},
                          {"serverInfo", listing_->server_info}});
  if (!listing_->instructions.empty())
    said = said.with("instructions", listing_->instructions);
  return replied(mcp_answer(id, said));
}

mcp_server_session::heard mcp_server_session::list(const value& id, const value& params) const {
  const auto& tools = listing_->tools;
  auto first = place_of(params["cursor"], tools.size());
  if (!first && !tools.empty())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: unknown cursor");
  auto begin = tools.begin() + static_cast<std::ptrdiff_t>(first.value_or(0));
  auto size = std::min<std::size_t>(limits::mcp_page_tools_max,
                                    static_cast<std::size_t>(tools.end() - begin));
  auto end = begin + static_cast<std::ptrdiff_t>(size);
  auto page = value::map({{"tools", value::list({begin, end})}});
  if (end != tools.end())
    page = page.with("nextCursor", std::to_string(end - tools.begin()));
  return replied(mcp_answer(id, page));
}

mcp_server_session::heard mcp_server_session::begin(const value& id, const value& params) {
  const auto& name = params["name"];
  const auto& arguments = params["arguments"];
  if (!name.is_string())
    return refusal(id, rpc_refused::wrong_params,
                   "Invalid params: the name of the tool is missing");
  if (!arguments.is_null() && !arguments.is_map())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: arguments must be an object");
  auto found = std::ranges::find_if(listing_->tools,
                                    [&name](const value& t) { return t["name"] == name; });
  if (found == listing_->tools.end())
    return refusal(id, rpc_refused::wrong_params,
                   "Unknown tool: " + text_in(name).substr(0, shown_name_bytes));
  if (open_.size() >= listing_->calls_max)
    return refusal(id, rpc_refused::by_server,
                   "Too many calls: " + std::to_string(listing_->calls_max) + " are running");
  open_.emplace(next_, id);
  auto place = static_cast<std::size_t>(found - listing_->tools.begin());
  return {.call = mcp_served_call{next_++, place, arguments.is_map() ? arguments : value::map()}};
}

mcp_server_session::heard mcp_server_session::hear_notification(const value& message) {
  if (message["method"] != value("notifications/cancelled"))
    return {};
  auto found = find(message["params"]["requestId"]);
  if (found == open_.end())
    return {}; // the call has its answer
  auto number = found->first;
  open_.erase(found);
  return {.cancelled = number};
}

std::string mcp_server_session::answer(std::uint64_t call, const value& result) {
  auto found = open_.extract(call);
  if (!found)
    return {};
  const auto& id = found.mapped();
  auto too_much = [&id](const std::string& what) {
    return mcp_answer(id, mcp_text_result("Error: the result " + what, true));
  };
  if (depth_of(result, limits::value_depth_max)
      >= limits::value_depth_max) // the message is one level more
    return too_much("is nested more deeply than value_depth_max ("
                    + std::to_string(limits::value_depth_max) + ')');
  auto text = mcp_answer(id, result);
  if (text.size() > limits::mcp_message_bytes_max)
    return too_much("has more than mcp_message_bytes_max ("
                    + std::to_string(limits::mcp_message_bytes_max) + ") bytes");
  return text;
}

std::map<std::uint64_t, value>::iterator mcp_server_session::find(const value& id) {
  return std::ranges::find_if(open_, [&id](const auto& one) { return one.second == id; });
}

} // namespace troupe
