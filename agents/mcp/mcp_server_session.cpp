// mcp_server_session: handling requests, and answering calls.
#include "agents/mcp/mcp_server_session.hpp"

#include "agents/mcp/mcp_uri_template.hpp"
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

std::optional<std::size_t> place_in(const std::vector<value>& all, const char* member,
                                    const value& what) {
  auto found = std::ranges::find_if(all, [&](const value& one) { return one[member] == what; });
  return found == all.end() ? std::nullopt
                            : std::optional{static_cast<std::size_t>(found - all.begin())};
}

// Why this is not a URI; null when it is one.
const char* wrong_uri(const value& uri) {
  if (!uri.is_string() || uri.empty())
    return "Invalid params: the uri is missing";
  return uri.as_string().size() > limits::mcp_uri_bytes_max ? "Invalid params: the uri is too long"
                                                            : nullptr;
}

value capabilities_of(const mcp_listing& listing) {
  auto changes = value::map({{"listChanged", !listing.is_stateless}});
  auto out = value::map({{"tools", changes}});
  return listing.is_stateless
           ? out
           : out.with("resources", changes.with("subscribe", true)).with("prompts", changes);
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
      return hear_answer(*message);
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
  if (!greeted_ && !listing_->is_stateless)
    return refusal(id, rpc_refused::no_request,
                   "Invalid Request: initialize must be the first request");
  if (method == "tools/list")
    return list(id, params, listing_->tools, "tools");
  if (method == "tools/call")
    return call_tool(id, params);
  if (listing_->is_stateless)
    return refusal(id, rpc_refused::unknown_method, "Method not found");
  if (method == "resources/list")
    return list(id, params, listing_->resources, "resources");
  if (method == "resources/templates/list")
    return list(id, params, listing_->templates, "resourceTemplates");
  if (method == "resources/read")
    return read_resource(id, params);
  if (method == "resources/subscribe" || method == "resources/unsubscribe")
    return subscribe(id, params, method == "resources/subscribe");
  if (method == "prompts/list")
    return list(id, params, listing_->prompts, "prompts");
  if (method == "prompts/get")
    return get_prompt(id, params);
  return refusal(id, rpc_refused::unknown_method, "Method not found");
}

mcp_server_session::heard mcp_server_session::hear_greeting(const value& id, const value& params) {
  const auto& offered = params["protocolVersion"];
  if (!offered.is_string())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: protocolVersion is missing");
  if (std::exchange(greeted_, true))
    return refusal(id, rpc_refused::no_request, "Invalid Request: it was initialized before");
  // The form is a mode of its own since 2025-11-25; an object without modes means the form.
  const auto& elicits = params["capabilities"]["elicitation"];
  can_elicit_ = elicits.is_map() && (elicits["form"].is_map() || elicits["url"].is_null());
  auto said = value::map({{"protocolVersion", agreed_mcp_version(offered.as_string())},
                          {"capabilities", capabilities_of(*listing_)},
                          {"serverInfo", listing_->server_info}});
  if (!listing_->instructions.empty())
    said = said.with("instructions", listing_->instructions);
  return replied(mcp_answer(id, said));
}

mcp_server_session::heard mcp_server_session::list(const value& id, const value& params,
                                                   const std::vector<value>& all,
                                                   const char* member) const {
  auto first = place_of(params["cursor"], all.size());
  if (!first && !all.empty())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: unknown cursor");
  auto begin = all.begin() + static_cast<std::ptrdiff_t>(first.value_or(0));
  auto size = std::min<std::size_t>(limits::mcp_page_tools_max,
                                    static_cast<std::size_t>(all.end() - begin));
  auto end = begin + static_cast<std::ptrdiff_t>(size);
  auto page = value::map({{member, value::list({begin, end})}});
  if (end != all.end())
    page = page.with("nextCursor", std::to_string(end - all.begin()));
  return replied(mcp_answer(id, page));
}

mcp_server_session::heard mcp_server_session::call_tool(const value& id, const value& params) {
  const auto& name = params["name"];
  const auto& arguments = params["arguments"];
  if (!name.is_string())
    return refusal(id, rpc_refused::wrong_params,
                   "Invalid params: the name of the tool is missing");
  if (!arguments.is_null() && !arguments.is_map())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: arguments must be an object");
  auto place = place_in(listing_->tools, "name", name);
  if (!place)
    return refusal(id, rpc_refused::wrong_params,
                   "Unknown tool: " + text_in(name).substr(0, shown_name_bytes));
  return begin(id, params,
               {.place = *place, .arguments = arguments.is_map() ? arguments : value::map()});
}

mcp_server_session::heard mcp_server_session::read_resource(const value& id, const value& params) {
  using kind = mcp_served_call::kind;
  const auto& uri = params["uri"];
  if (auto why = wrong_uri(uri))
    return refusal(id, rpc_refused::wrong_params, why);
  if (auto place = place_in(listing_->resources, "uri", uri))
    return begin(id, params,
                 {.what = kind::resource, .place = *place, .arguments = {}, .uri = text_in(uri)});
  for (std::size_t i = 0; i < listing_->templates.size(); ++i) {
    auto variables = match_uri_template(listing_->templates[i]["uriTemplate"].as_string(),
                                        uri.as_string());
    if (variables)
      return begin(id, params,
                   {.what = kind::templated,
                    .place = i,
                    .arguments = std::move(*variables),
                    .uri = text_in(uri)});
  }
  return refusal(id, rpc_refused::no_resource,
                 "Resource not found: " + text_in(uri).substr(0, shown_name_bytes));
}

mcp_server_session::heard mcp_server_session::subscribe(const value& id, const value& params,
                                                        bool on) {
  const auto& uri = params["uri"];
  if (auto why = wrong_uri(uri))
    return refusal(id, rpc_refused::wrong_params, why);
  if (!on)
    subscribed_.erase(text_in(uri));
  else if (subscribed_.size() >= limits::mcp_subscriptions_max)
    return refusal(id, rpc_refused::by_server,
                   "Too many subscriptions: mcp_subscriptions_max ("
                     + std::to_string(limits::mcp_subscriptions_max) + ")");
  else
    subscribed_.insert(text_in(uri));
  return replied(mcp_answer(id, value::map()));
}

mcp_server_session::heard mcp_server_session::get_prompt(const value& id, const value& params) {
  const auto& name = params["name"];
  const auto& arguments = params["arguments"];
  auto place = name.is_string() ? place_in(listing_->prompts, "name", name) : std::nullopt;
  if (!place)
    return refusal(id, rpc_refused::wrong_params,
                   "Unknown prompt: " + text_in(name).substr(0, shown_name_bytes));
  if (!arguments.is_null() && !arguments.is_map())
    return refusal(id, rpc_refused::wrong_params, "Invalid params: arguments must be an object");
  for (const auto& e : arguments.entries())
    if (!e.val.is_string())
      return refusal(id, rpc_refused::wrong_params, "Invalid params: an argument is not a text");
  for (const auto& known : listing_->prompts[*place]["arguments"].items())
    if (known["required"] == value(true) && !arguments.contains(known["name"].as_string()))
      return refusal(id, rpc_refused::wrong_params,
                     "Invalid params: a required argument is missing: " + text_in(known["name"]));
  return begin(id, params,
               {.what = mcp_served_call::kind::prompt,
                .place = *place,
                .arguments = arguments.is_map() ? arguments : value::map()});
}

mcp_server_session::heard mcp_server_session::begin(const value& id, const value& params,
                                                    mcp_served_call call) {
  if (open_.size() >= listing_->calls_max)
    return refusal(id, rpc_refused::by_server,
                   "Too many calls: " + std::to_string(listing_->calls_max) + " are running");
  const auto& token = params["_meta"]["progressToken"];
  call.number = next_++;
  call.wants_progress = is_rpc_id(token);
  open_.emplace(call.number, open_call{.id = id,
                                       .token = is_rpc_id(token) ? token : value{},
                                       .is_tool = call.what == mcp_served_call::kind::tool});
  return {.call = std::move(call)};
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

mcp_server_session::heard mcp_server_session::hear_answer(const value& message) {
  const auto& id = message["id"];
  auto number = id.is_int() && id.as_int() >= 0 ? static_cast<std::uint64_t>(id.as_int()) : 0;
  if (!id.is_int() || id.as_int() < 0 || asked_.erase(number) == 0)
    return {}; // nothing was asked
  const auto& given = message["result"];
  if (given.is_map())
    return {.answered = number, .with = given};
  auto why = text_in(message["error"]["message"]).substr(0, shown_name_bytes);
  return {.answered = number,
          .with = mcp_failure("client", why.empty() ? "the client refused the request" : why)};
}

std::string mcp_server_session::ask(std::uint64_t call, std::string_view method,
                                    const value& params, std::uint64_t& number) {
  auto found = open_.find(call);
  if (found == open_.end())
    return {};
  number = next_question_++;
  asked_.insert(number);
  auto related = value::map({{mcp_related_member, found->second.id}});
  return mcp_request(static_cast<std::int64_t>(number), method,
                     params.with("_meta", std::move(related)));
}

std::string mcp_server_session::progress(std::uint64_t call, const mcp_progress& now) {
  auto found = open_.find(call);
  if (found == open_.end() || found->second.token.is_null())
    return {};
  auto& one = found->second;
  if ((one.reports > 0 && !(now.progress > one.last)) || one.reports >= limits::mcp_progress_max)
    return {};
  ++one.reports;
  one.last = now.progress;
  auto params = value::map({{"progressToken", one.token}, {"progress", now.progress}});
  if (now.total)
    params = params.with("total", *now.total);
  if (!now.message.empty())
    params = params.with("message", now.message.substr(0, limits::mcp_log_bytes_max));
  return mcp_notification("notifications/progress", params);
}

std::string mcp_server_session::answer(std::uint64_t call, const mcp_outcome& how) {
  auto found = open_.extract(call);
  if (!found)
    return {};
  const auto& id = found.mapped().id;
  if (how.refused)
    return mcp_refusal(id, *how.refused, how.why);
  bool is_tool = found.mapped().is_tool;
  auto too_much = [&](const std::string& what) {
    return is_tool ? mcp_answer(id, mcp_text_result("Error: the result " + what, true))
                   : mcp_refusal(id, rpc_refused::by_server, "The result " + what);
  };
  if (depth_of(how.result, limits::value_depth_max)
      >= limits::value_depth_max) // the message is one level more
    return too_much("is nested more deeply than value_depth_max ("
                    + std::to_string(limits::value_depth_max) + ')');
  auto text = mcp_answer(id, how.result);
  if (text.size() > limits::mcp_message_bytes_max)
    return too_much("has more than mcp_message_bytes_max ("
                    + std::to_string(limits::mcp_message_bytes_max) + ") bytes");
  return text;
}

std::map<std::uint64_t, mcp_server_session::open_call>::iterator
mcp_server_session::find(const value& id) {
  return std::ranges::find_if(open_, [&id](const auto& one) { return one.second.id == id; });
}

} // namespace troupe
