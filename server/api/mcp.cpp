// mcp: the server as a server of MCP, whose tools are its assistants. Messages stand alone, without
// sessions, so any server of a database can answer.
#include "agents/mcp/mcp_server_session.hpp"
#include "server/api/kept_events.hpp"
#include "server/api/rooms.hpp"
#include "server/api/rpc_answer.hpp"
#include "server/protocol/mcp_tools.hpp"

#include <utility>

namespace troupe::server {
namespace {

// Those that the caller may see. The oldest assistants come first, so that new ones do not take
// their names.
std::vector<assistant_tool> seen_tools(const rooms& with, const api_call& call) {
  document_query query{
    .kind = document_kind::assistant, .order_by = "created_at", .limit = limits::mcp_tools_max};
  if (auto filter = call.filter_for({"assistants", "search"}); !filter.is_null())
    query.contains = value::map({{"metadata", filter_as_metadata(filter)}});
  auto page = with.documents->search(query).value();
  std::vector<assistant_and_graph> all;
  for (const auto& one : page.documents) {
    auto assistant = assistant_record::of(one.body);
    if (auto graph = with.graphs.find(assistant.graph_id))
      all.push_back({std::move(assistant), graph->graph()});
  }
  return tools_of(all);
}

std::shared_ptr<mcp_listing> listing_of_tools(const std::vector<assistant_tool>& tools) {
  auto out = std::make_shared<mcp_listing>();
  out->server_info = value::map({{"name", "troupe"}, {"version", TROUPE_VERSION}});
  out->is_stateless = true;
  for (const auto& one : tools)
    out->tools.push_back(one.definition);
  return out;
}

http_whole mcp_error(int status, const std::string& why) {
  return json_answer(value::map({{"error", why}}), status);
}

std::optional<http_whole> refused_by_headers(const http_asked& request) {
  auto takes = media_accepted(request.header("accept"));
  if (!takes.json && !takes.events)
    return mcp_error(400, "Accept header must include application/json or text/event-stream");
  auto version = request.header("mcp-protocol-version");
  if (!version.empty() && !is_known_mcp_version(version))
    return mcp_error(400, "Unsupported MCP-Protocol-Version");
  return std::nullopt;
}

void begin_call(const rooms& with, const api_call& call, const http_responder& to,
                const std::shared_ptr<mcp_server_session>& session, const assistant_tool& tool,
                const mcp_served_call& asked) {
  auto filter = call.filter_for({"threads", "create_run"});
  auto request = read_run_request(value::map({{"assistant_id", tool.assistant.assistant_id},
                                              {"input", input_of_call(tool, asked.arguments)},
                                              {"metadata", with_filter(filter, value::map())}}));
  auto events = std::make_shared<kept_events>();
  with.runs.create({}, request, tool.assistant, [&](event_log& log) { events->watch(log); });
  auto answer = std::make_shared<rpc_answer>(call, to);
  auto output = std::make_shared<output_of_events>();
  events->begin({.event = [output](const run_event& event) { output->take(event); },
                 .end =
                   [output, session, answer, number = asked.number] {
                     answer->finish(session->answer(number, result_of_call(output->output())));
                   }});
}

void post_mcp(const rooms& with, const api_call& call, const http_responder& to) {
  if (auto no = refused_by_headers(call.request))
    return to.send(std::move(*no));
  auto message = from_json(call.request.body, json_form::plain);
  if (!message)
    return to.send(mcp_error(400, "Invalid JSON"));
  const auto& method = (*message)["method"];
  bool needs_tools = method.is_string() && method.as_string().starts_with("tools/");
  auto tools = needs_tools ? seen_tools(with, call) : std::vector<assistant_tool>{};
  auto session = std::make_shared<mcp_server_session>(listing_of_tools(tools));
  auto heard = session->hear(call.request.body);
  if (heard.call)
    return begin_call(with, call, to, session, tools[heard.call->place], *heard.call);
  if (heard.reply.empty())
    return to.send({.status = 202});
  if (heard.refused)
    return to.send({.status = 400,
                    .headers = {{"Content-Type", "application/json"}},
                    .body = std::move(heard.reply)});
  answer_rpc(call, to, std::move(heard.reply));
}

} // namespace

void add_mcp(router& to, const rooms& with) {
  auto post = [&with](const api_call& call, const http_responder& responder) {
    post_mcp(with, call, responder);
  };
  to.add({"POST", "/mcp", post});
  // A stream and the end of a session belong to servers with sessions.
  auto no_stream = [](const api_call&, const http_responder& responder) {
    responder.send({.status = 405, .headers = {{"Allow", "POST"}}});
  };
  auto no_session = [](const api_call&, const http_responder& responder) {
    responder.send({.status = 404});
  };
  to.add({"GET", "/mcp", no_stream});
  to.add({"DELETE", "/mcp", no_session});
}

} // namespace troupe::server
