// rooms: records by id, and pages.
#include "server/api/rooms.hpp"

#include "server/rules/ids.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"
#include "server/runs/checkpoint_values.hpp"

#include <troupe/uuid.hpp>

#include <array>
#include <utility>

namespace troupe::server {

std::optional<assistant_record> find_assistant(const rooms& with, const std::string& id_or_graph) {
  auto id = read_uuid(id_or_graph)          ? id_or_graph
            : with.graphs.find(id_or_graph) ? default_assistant_id(id_or_graph)
                                            : std::string{};
  if (id.empty())
    return std::nullopt;
  auto found = with.documents->get(document_kind::assistant, id).value();
  return found ? std::optional{assistant_record::of(found->body)} : std::nullopt;
}

void check_graph(const rooms& with, const std::string& graph_id) {
  if (with.graphs.find(graph_id))
    return;
  auto text = "Graph '" + graph_id + "' not found. Expected one of: [";
  std::string separator;
  for (const auto& id : with.graphs.ids())
    text.append(std::exchange(separator, ", ")).append("'").append(id).append("'");
  throw refusal{404, text + ']'};
}

assistant_record assistant_of_run(const rooms& with, const std::string& id_or_graph) {
  if (auto found = find_assistant(with, id_or_graph))
    return *found;
  if (read_uuid(id_or_graph))
    throw refusal{404, "Thread or assistant not found."};
  auto text =
    "Invalid assistant: '" + id_or_graph
    + "'. Must be either:\n- A valid assistant UUID, or\n- One of the registered graphs: ";
  std::string separator;
  for (const auto& id : with.graphs.ids())
    text += std::exchange(separator, ", ") + id;
  throw refusal{422, std::move(text)};
}

found_thread thread_at(const rooms& with, const std::string& given) {
  auto id = checked_id(given, "thread");
  auto found = with.documents->get(document_kind::thread, id).value();
  if (!found)
    throw refusal{404, "Thread with ID " + id + " not found"};
  return {thread_record::of(found->body), found->revision};
}

std::optional<app<>> graph_of(const rooms& with, const thread_record& thread) {
  const auto& id = thread.metadata["graph_id"];
  return id.is_string() ? with.graphs.find(std::string{id.as_string()}) : std::nullopt;
}

std::optional<app<>> graph_of_state(const rooms& with, const thread_record& thread) {
  auto graph = graph_of(with, thread);
  if (const auto& id = thread.metadata["graph_id"]; !graph && thread.had_runs && id.is_string())
    throw refusal{404, "Graph '" + std::string{id.as_string()} + "' of thread '" + thread.thread_id
                         + "' is not served here"};
  return graph;
}

// The writes of the newest checkpoint, where a thread asks; else none.
static std::vector<pending_write> writes_beside(const rooms& with, const thread_record& thread,
                                                const state_snapshot& state) {
  const auto& saver = with.graphs.machine().saver();
  if (!saver || thread.status != thread_status::interrupted || state.created_at.empty())
    return {};
  auto read = saver->get_tuple({thread.thread_id, "", state.config.checkpoint_id}).value();
  return read ? std::move(read->pending_writes) : std::vector<pending_write>{};
}

value thread_form(const rooms& with, const thread_record& thread, bool with_ttl) {
  auto out = public_form(thread.body()).without("ttl");
  if (with_ttl && thread.ttl_minutes)
    out = out.with("ttl",
                   value::map({{"ttl", *thread.ttl_minutes}, {"strategy", thread.ttl_strategy}}));
  if (!thread.had_runs)
    return thread.is_copy ? out : out.with("values", nullptr);
  auto graph = graph_of(with, thread);
  auto state = graph ? graph->try_get_state({.thread_id = thread.thread_id})
                     : result<state_snapshot>{state_snapshot{}};
  if (!state)
    throw state.error();
  auto values = graph ? checkpoint_values(*graph, *state).value() : wire_form(state->values);
  return out.with("values", values)
    .with("interrupts", interrupts_form(*state, writes_beside(with, thread, *state)));
}

void read_page(const checked_body& body, std::span<const std::string_view> sorts,
               document_query& into) {
  constexpr std::array<std::string_view, 2> orders{"asc", "desc"};
  into.limit = limit_in(body);
  into.offset = offset_in(body);
  into.order_by = body.one_of("sort_by", sorts).value_or(std::string{sorts.front()});
  into.descending = body.one_of("sort_order", orders).value_or("desc") == "desc";
}

http_headers page_headers(const document_query& query, const document_page& page) {
  http_headers out{{"X-Pagination-Total", std::to_string(page.total)}};
  if (auto end = query.offset + page.documents.size(); end < page.total)
    out.emplace_back("X-Pagination-Next", std::to_string(end));
  return out;
}

} // namespace troupe::server
