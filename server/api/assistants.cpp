// assistants: graphs with defaults for their runs, and their versions.
#include "server/api/rooms.hpp"
#include "server/rules/graph_forms.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/run_request.hpp"

#include <array>
#include <cstdio>

namespace troupe::server {

namespace {

constexpr std::array<std::string_view, 5> assistant_sorts{"created_at", "assistant_id",
                                                          "updated_at", "name", "graph_id"};
constexpr std::array<std::string_view, 2> assistant_if_exists{"raise", "do_nothing"};
constexpr std::array<std::string_view, 10> assistant_members{
  "assistant_id", "graph_id", "name",    "description", "config",
  "context",      "metadata", "version", "created_at",  "updated_at"};

std::string version_id(const std::string& assistant_id, std::int64_t version) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(version));
  return assistant_id + '/' + digits;
}

value version_form(const assistant_record& one) {
  return one.body().without("updated_at").with("created_at", one.updated_at);
}

refusal no_assistant(const std::string& id) {
  return {404, "Assistant " + id + " not found"};
}

assistant_record known_assistant(const rooms& with, const std::string& id) {
  if (auto found = find_assistant(with, id))
    return *found;
  throw refusal{404, "Not Found"};
}

// Config and context of an assistant mirror each other: a context is its configurable, too. A
// member that is empty or missing leaves what was there, but for an empty context.
void take_settings(assistant_record& into, const checked_body& body) {
  auto config = body.map("config");
  auto context = body.map("context");
  if (!config["configurable"].empty() && !context.empty())
    throw refusal{400,
                  "Cannot specify both configurable and context. Prefer setting context alone."};
  if (!context.empty()) {
    into.config = config.with("configurable", context);
    into.context = context;
    return;
  }
  if (body.has("context"))
    into.context = context;
  if (config.empty())
    return;
  if (config["configurable"].is_map())
    into.context = config["configurable"];
  into.config = config;
}

document_query assistant_query(const rooms& with, const checked_body& body) {
  document_query out{.kind = document_kind::assistant};
  if (auto graph = body.text("graph_id")) {
    check_graph(with, *graph);
    out.equal.emplace_back("graph_id", *graph);
  }
  if (auto name = body.text("name"))
    out.like = std::pair{std::string{"name"}, *name};
  if (auto metadata = body.map("metadata"); !metadata.empty())
    out.contains = value::map({{"metadata", metadata}});
  return out;
}

http_whole search_assistants(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto query = assistant_query(with, body);
  read_page(body, assistant_sorts, query);
  auto select = body.some_of("select", assistant_members);
  auto page = with.documents->search(query).value();
  std::vector<value> out;
  for (const auto& one : page.documents)
    out.push_back(selected(public_form(one.body), select));
  return json_answer(value::list(std::move(out)), 200, page_headers(query, page));
}

http_whole count_assistants(const rooms& with, const api_call& call) {
  auto query = assistant_query(with, checked_body{json_body(call.request)});
  query.limit = 0;
  return json_answer(with.documents->search(query).value().total);
}

http_whole create_assistant(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto time = with.runs.now();
  assistant_record made{.assistant_id = body.id("assistant_id", "assistant").value_or(new_id(time)),
                        .graph_id = body.required_text("graph_id"),
                        .name = body.text("name").value_or("Untitled"),
                        .description = body.has("description") ? value(*body.text("description"))
                                                               : value{},
                        .metadata = body.map("metadata"),
                        .created_at = time_text(time),
                        .updated_at = time_text(time)};
  check_graph(with, made.graph_id);
  take_settings(made, body);
  auto or_else = body.one_of("if_exists", assistant_if_exists).value_or("raise");
  auto stored = with.documents->commit_and_wait(
    {{document_kind::assistant, made.assistant_id, made.body(), 0},
     {document_kind::assistant_version, version_id(made.assistant_id, 1), version_form(made)}});
  if (stored)
    return json_answer(made.body());
  if (stored.error().code() != errc::conflict)
    throw stored.error();
  if (or_else == "raise")
    throw refusal{409, "Assistant " + made.assistant_id + " already exists"};
  return json_answer(public_form(known_assistant(with, made.assistant_id).body()));
}

http_whole get_assistant(const rooms& with, const api_call& call) {
  return json_answer(known_assistant(with, call.parameters[0]).body());
}

std::vector<document> versions_of(const rooms& with, const std::string& assistant_id) {
  return with.documents
    ->search({.kind = document_kind::assistant_version,
              .id_prefix = assistant_id + '/',
              .descending = true})
    .value()
    .documents;
}

http_whole update_assistant(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  for (;;) {
    auto known = find_assistant(with, call.parameters[0]);
    if (!known)
      throw no_assistant(call.parameters[0]);
    auto found = with.documents->get(document_kind::assistant, known->assistant_id).value();
    if (!found)
      throw no_assistant(call.parameters[0]);
    auto changed = assistant_record::of(found->body);
    if (auto graph = body.text("graph_id")) {
      check_graph(with, *graph);
      changed.graph_id = *graph;
    }
    if (auto name = body.text("name"))
      changed.name = *name;
    if (body.has("description"))
      changed.description = *body.text("description");
    const auto metadata = body.map("metadata");
    for (const auto& e : metadata.entries())
      changed.metadata = changed.metadata.with(e.key(), e.val);
    if (body.has("config") || body.has("context"))
      take_settings(changed, body);
    auto versions = versions_of(with, changed.assistant_id);
    changed.version = 1
                      + (versions.empty() ? changed.version : versions[0].body["version"].as_int());
    changed.updated_at = time_text(with.runs.now());
    auto stored = with.documents->commit_and_wait(
      {{document_kind::assistant, changed.assistant_id, changed.body(), found->revision},
       {document_kind::assistant_version, version_id(changed.assistant_id, changed.version),
        version_form(changed), 0}});
    if (stored)
      return json_answer(changed.body());
    if (stored.error().code() != errc::conflict)
      throw stored.error();
  }
}

http_whole delete_assistant(const rooms& with, const api_call& call) {
  auto id = checked_id(call.parameters[0], "assistant");
  if (!with.documents->get(document_kind::assistant, id).value())
    throw refusal{404, "Assistant with ID " + id + " not found"};
  std::vector<document_change> changes{{document_kind::assistant, id, std::nullopt}};
  for (const auto& one : versions_of(with, id))
    changes.push_back({document_kind::assistant_version, one.id, std::nullopt});
  if (call.query.flag("delete_threads", false))
    for (const auto& one : with.documents
                             ->search({.kind = document_kind::thread,
               .contains = value::map(
                 {{"metadata", with_filter(call.filter, value::map({{"assistant_id", id}}))}})})
                             .value()
                             .documents)
      with.runs.remove_thread(one.id);
  with.documents->commit_and_wait(std::move(changes)).value();
  remove_crons(with, "assistant_id", {id});
  return {.status = 204};
}

http_whole list_versions(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto known = find_assistant(with, call.parameters[0]);
  if (!known)
    throw no_assistant(call.parameters[0]);
  document_query query{.kind = document_kind::assistant_version,
                       .id_prefix = known->assistant_id + '/',
                       .descending = true,
                       .offset = offset_in(body),
                       .limit = limit_in(body)};
  if (auto metadata = body.map("metadata"); !metadata.empty())
    query.contains = value::map({{"metadata", metadata}});
  std::vector<value> out;
  for (const auto& one : with.documents->search(query).value().documents)
    out.push_back(public_form(one.body));
  return json_answer(value::list(std::move(out)));
}

http_whole set_latest(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto version = body.has("version")
                   ? body.number("version", 0, 0, limits::server_version_max)
                   : call.query.number("version", 0, 0, limits::server_version_max);
  auto known = find_assistant(with, call.parameters[0]);
  if (!known)
    throw no_assistant(call.parameters[0]);
  auto kept = with.documents
                ->get(document_kind::assistant_version, version_id(known->assistant_id, version))
                .value();
  if (!kept)
    throw refusal{404, "Version " + std::to_string(version) + " not found for assistant "
                         + known->assistant_id};
  auto changed = assistant_record::of(kept->body);
  changed.created_at = known->created_at;
  changed.context = known->context; // as the reference: of the version before
  changed.updated_at = time_text(with.runs.now());
  with.documents
    ->commit_and_wait({{document_kind::assistant, changed.assistant_id, changed.body()}})
    .value();
  return json_answer(changed.body());
}

app<> graph_of_assistant(const rooms& with, const api_call& call) {
  auto graph = with.graphs.find(known_assistant(with, call.parameters[0]).graph_id);
  if (!graph)
    throw refusal{404, "Not Found"};
  return *graph;
}

http_whole draw_graph(const rooms& with, const api_call& call) {
  auto xray = call.query.text("xray").value_or("false");
  std::size_t levels = 0;
  if (!xray.empty() && xray.find_first_not_of("0123456789") == xray.npos)
    levels = static_cast<std::size_t>(call.query.number("xray", 0, 0, limits::server_xray_max));
  else if (call.query.flag("xray", false))
    levels = limits::graph_depth_max; // true: all of them
  return json_answer(graph_form(graph_of_assistant(with, call).graph(), levels));
}

http_whole get_schemas(const rooms& with, const api_call& call) {
  auto known = known_assistant(with, call.parameters[0]);
  return json_answer(
    schemas_form(graph_of_assistant(with, call).graph()).with("graph_id", known.graph_id));
}

http_whole get_subgraphs(const rooms& with, const api_call& call) {
  auto ns = call.parameters.size() > 1 ? call.parameters[1] : std::string{};
  auto graph = graph_of_assistant(with, call);
  auto out = value::map();
  for (const auto& [name, inner] : graph.graph().subgraphs(call.query.flag("recurse", false), ns))
    out = out.with(name, schemas_form(inner));
  return json_answer(out);
}

} // namespace

void add_assistants(router& to, const rooms& with) {
  constexpr std::string_view all = "assistants";
  to.add({"POST", "/assistants", answering(with, create_assistant), {all, "create"}});
  to.add({"POST", "/assistants/search", answering(with, search_assistants), {all, "search"}});
  to.add({"POST", "/assistants/count", answering(with, count_assistants), {all, "search"}});
  to.add({"GET", "/assistants/{assistant_id}", answering(with, get_assistant), {all, "read"}});
  to.add(
    {"PATCH", "/assistants/{assistant_id}", answering(with, update_assistant), {all, "update"}});
  to.add(
    {"DELETE", "/assistants/{assistant_id}", answering(with, delete_assistant), {all, "delete"}});
  to.add(
    {"POST", "/assistants/{assistant_id}/versions", answering(with, list_versions), {all, "read"}});
  to.add(
    {"POST", "/assistants/{assistant_id}/latest", answering(with, set_latest), {all, "update"}});
  to.add({"GET", "/assistants/{assistant_id}/graph", answering(with, draw_graph), {all, "read"}});
  to.add(
    {"GET", "/assistants/{assistant_id}/schemas", answering(with, get_schemas), {all, "read"}});
  to.add(
    {"GET", "/assistants/{assistant_id}/subgraphs", answering(with, get_subgraphs), {all, "read"}});
  to.add({"GET",
          "/assistants/{assistant_id}/subgraphs/{namespace}",
          answering(with, get_subgraphs),
          {all, "read"}});
}

} // namespace troupe::server
