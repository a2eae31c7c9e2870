// agent_client: one function an endpoint.
#include <troupe/client/agent_client.hpp>

#include "client/addresses.hpp"
#include "client/api_request.hpp"
#include "client/bodies.hpp"
#include "client/rejoined_stream.hpp"
#include "client/remote_rules.hpp"

#include <utility>

namespace troupe {

namespace {

using place_ptr = std::shared_ptr<const api_place>;

std::shared_ptr<detail::api_request> asking(const place_ptr& place, const char* method,
                                            std::string path, value body = {}) {
  auto out = std::make_shared<detail::api_request>();
  out->place = place;
  out->method = method;
  out->path = std::move(path);
  out->body = std::move(body);
  return out;
}

std::shared_ptr<detail::api_request> asking_for(const char* member,
                                                std::shared_ptr<detail::api_request> request) {
  request->member = member;
  return request;
}

std::shared_ptr<detail::api_request> waiting(std::shared_ptr<detail::api_request> request) {
  request->waits = true;
  return request;
}

// "/threads/T/runs/…", or "/runs/…" without a thread.
std::string runs_path(const std::string& thread_id, const std::string& rest) {
  return (thread_id.empty() ? std::string{} : path_of({"threads", thread_id})) + "/runs" + rest;
}

std::string graph_path(const std::string& id, std::uint32_t xray) {
  auto levels = xray == 0 ? "" : xray == xray_all ? "true" : std::to_string(xray);
  return queried_path{path_of({"assistants", id, "graph"})}
    .add("xray", std::string_view{levels})
    .text();
}

value checkpoint_body(const std::string& thread_id, const checkpoint_ref& at) {
  return json_body{}
    .add("thread_id", thread_id)
    .add("checkpoint_ns", at.checkpoint_ns)
    .add("checkpoint_id", at.checkpoint_id)
    .take();
}

bool is_given(const checkpoint_ref& at) noexcept {
  return !at.checkpoint_id.empty() || !at.checkpoint_ns.empty();
}

checkpoint_ref place_of_update(const value& checkpoint) {
  auto text = [&checkpoint](const char* name) {
    return checkpoint[name].is_string() ? checkpoint[name].as<std::string>() : std::string{};
  };
  return {text("thread_id"), text("checkpoint_ns"), text("checkpoint_id")};
}

std::string joined_namespace(const std::vector<std::string>& ns) {
  std::string out;
  for (const auto& label : ns) {
    if (label.find('.') != label.npos)
      throw error{errc::invalid_value, "Invalid namespace label '" + label
                                         + "'. Namespace labels cannot contain periods ('.')."};
    out += (out.empty() ? "" : ".") + label;
  }
  return out;
}

run_events stream_of(const place_ptr& place, stream_opening opening) {
  return run_events{std::make_shared<rejoined_stream>(place, std::move(opening))};
}

} // namespace

// ---- assistants

api_call<remote_assistant> assistants_client::get(const std::string& id) const {
  return api_call<remote_assistant>{asking(place_, "GET", path_of({"assistants", id}))};
}
api_call<remote_assistant> assistants_client::create(const remote_assistant_fields& fields) const {
  return api_call<remote_assistant>{asking(place_, "POST", "/assistants", assistant_body(fields))};
}
api_call<remote_assistant> assistants_client::update(const std::string& id,
                                                     const remote_assistant_fields& fields) const {
  return api_call<remote_assistant>{
    asking(place_, "PATCH", path_of({"assistants", id}), assistant_body(fields))};
}
api_call<void> assistants_client::remove(const std::string& id, bool delete_threads) const {
  return api_call<void>{asking(
    place_, "DELETE",
    queried_path{path_of({"assistants", id})}.add_flag("delete_threads", delete_threads).text())};
}
api_call<std::vector<remote_assistant>>
assistants_client::search(const remote_assistant_search& which) const {
  return api_call<std::vector<remote_assistant>>{
    asking(place_, "POST", "/assistants/search", assistant_search_body(which, true))};
}
api_call<std::int64_t> assistants_client::count(const remote_assistant_search& which) const {
  return api_call<std::int64_t>{
    asking(place_, "POST", "/assistants/count", assistant_search_body(which, false))};
}
api_call<std::vector<remote_assistant>> assistants_client::versions(const std::string& id,
                                                                    const remote_page& page) const {
  return api_call<std::vector<remote_assistant>>{
    asking(place_, "POST", path_of({"assistants", id, "versions"}),
           json_body{}.add("limit", page.limit).add("offset", page.offset).take())};
}
api_call<remote_assistant> assistants_client::set_latest(const std::string& id,
                                                         std::int64_t version) const {
  return api_call<remote_assistant>{asking(place_, "POST", path_of({"assistants", id, "latest"}),
                                           value::map({{"version", version}}))};
}
api_call<value> assistants_client::graph(const std::string& id, std::uint32_t xray) const {
  return api_call<value>{asking(place_, "GET", graph_path(id, xray))};
}
api_call<compiled_graph> assistants_client::drawable(const std::string& id,
                                                     std::uint32_t xray) const {
  return api_call<compiled_graph>{asking(place_, "GET", graph_path(id, xray)), &graph_to_draw};
}
api_call<value> assistants_client::schemas(const std::string& id) const {
  return api_call<value>{asking(place_, "GET", path_of({"assistants", id, "schemas"}))};
}
api_call<value> assistants_client::subgraphs(const std::string& id, bool recurse) const {
  return api_call<value>{asking(
    place_, "GET",
    queried_path{path_of({"assistants", id, "subgraphs"})}.add_flag("recurse", recurse).text())};
}

// ---- threads

api_call<remote_thread> threads_client::get(const std::string& id) const {
  return api_call<remote_thread>{asking(place_, "GET", path_of({"threads", id}))};
}
api_call<remote_thread> threads_client::create(const remote_thread_fields& fields) const {
  return api_call<remote_thread>{asking(place_, "POST", "/threads", thread_body(fields))};
}
api_call<remote_thread> threads_client::update(const std::string& id, const value& metadata) const {
  return api_call<remote_thread>{
    asking(place_, "PATCH", path_of({"threads", id}), value::map({{"metadata", metadata}}))};
}
api_call<void> threads_client::remove(const std::string& id) const {
  return api_call<void>{asking(place_, "DELETE", path_of({"threads", id}))};
}
api_call<std::vector<remote_thread>>
threads_client::search(const remote_thread_search& which) const {
  return api_call<std::vector<remote_thread>>{
    asking(place_, "POST", "/threads/search", thread_search_body(which, true))};
}
api_call<std::int64_t> threads_client::count(const remote_thread_search& which) const {
  return api_call<std::int64_t>{
    asking(place_, "POST", "/threads/count", thread_search_body(which, false))};
}
api_call<remote_thread> threads_client::copy(const std::string& id) const {
  return api_call<remote_thread>{asking(place_, "POST", path_of({"threads", id, "copy"}))};
}
api_call<value> threads_client::prune(const std::vector<std::string>& ids,
                                      const std::string& strategy) const {
  return api_call<value>{
    asking(place_, "POST", "/threads/prune",
           value::map({{"thread_ids", texts_value(ids)}, {"strategy", strategy}}))};
}

api_call<state_snapshot> threads_client::get_state(const std::string& id, const checkpoint_ref& at,
                                                   bool subgraphs) const {
  auto request =
    is_given(at)
      ? asking(place_, "POST", path_of({"threads", id, "state", "checkpoint"}),
               value::map({{"checkpoint", checkpoint_body(id, at)}, {"subgraphs", subgraphs}}))
      : asking(
        place_, "GET",
        queried_path{path_of({"threads", id, "state"})}.add_flag("subgraphs", subgraphs).text());
  return api_call<state_snapshot>{std::move(request), &snapshot_of_thread_state};
}
api_call<std::vector<state_snapshot>> threads_client::get_history(const std::string& id,
                                                                  const history_options& which,
                                                                  const std::string& ns) const {
  json_body body;
  body.add("limit", which.limit.value_or(remote_page{}.limit)).add("metadata", which.filter);
  if (which.before) // the form that every server takes
    body.add("before",
             value::map({{"configurable", value::map({{"checkpoint_id", *which.before}})}}));
  if (!ns.empty())
    body.add("checkpoint", checkpoint_body(id, {id, ns, {}}));
  return api_call<std::vector<state_snapshot>>{
    asking(place_, "POST", path_of({"threads", id, "history"}), body.take()),
    &snapshots_of_history};
}
api_call<checkpoint_ref> threads_client::update_state(const std::string& id, const value& values,
                                                      const std::string& as_node,
                                                      const checkpoint_ref& at) const {
  auto body = json_body{}.add("as_node", as_node).take().with("values", values);
  if (is_given(at))
    body = body.with("checkpoint", checkpoint_body(id, at));
  return api_call<checkpoint_ref>{
    asking_for("checkpoint",
               asking(place_, "POST", path_of({"threads", id, "state"}), std::move(body))),
    &place_of_update};
}
run_events threads_client::join_stream(const std::string& id,
                                       const std::string& last_event_id) const {
  stream_opening opening;
  opening.target = path_of({"threads", id, "stream"});
  opening.last_event_id = last_event_id;
  opening.rejoin_at = opening.target;
  return stream_of(place_, std::move(opening));
}

// ---- runs

api_call<remote_run> runs_client::create(const std::string& thread_id,
                                         const remote_run_request& request) const {
  return api_call<remote_run>{
    asking(place_, "POST", runs_path(thread_id, ""), run_body_of(request))};
}
api_call<std::vector<remote_run>>
runs_client::create_batch(const std::vector<remote_run_request>& requests) const {
  std::vector<value> all;
  for (const auto& request : requests)
    all.push_back(run_body_of(request));
  return api_call<std::vector<remote_run>>{
    asking(place_, "POST", "/runs/batch", value::list(std::move(all)))};
}
api_call<value> runs_client::wait(const std::string& thread_id,
                                  const remote_run_request& request) const {
  return api_call<value>{
    waiting(asking(place_, "POST", runs_path(thread_id, "/wait"), run_body_of(request)))};
}
run_events runs_client::stream(const std::string& thread_id,
                               const remote_run_request& request) const {
  stream_opening opening;
  opening.method = "POST";
  opening.target = runs_path(thread_id, "/stream");
  opening.body = run_body_of(request);
  opening.is_resumable = request.stream_resumable;
  return stream_of(place_, std::move(opening));
}
api_call<remote_run> runs_client::get(const std::string& thread_id,
                                      const std::string& run_id) const {
  return api_call<remote_run>{asking(place_, "GET", runs_path(thread_id, path_of({run_id})))};
}
api_call<std::vector<remote_run>> runs_client::list(const std::string& thread_id,
                                                    const std::string& status,
                                                    const remote_page& page) const {
  queried_path path{runs_path(thread_id, "")};
  path.add("limit", std::uint64_t{page.limit}).add("offset", std::uint64_t{page.offset});
  path.add("status", std::string_view{status});
  return api_call<std::vector<remote_run>>{asking(place_, "GET", path.text())};
}
api_call<value> runs_client::join(const std::string& thread_id, const std::string& run_id) const {
  return api_call<value>{
    waiting(asking(place_, "GET", runs_path(thread_id, path_of({run_id, "join"}))))};
}
run_events runs_client::join_stream(const std::string& thread_id, const std::string& run_id,
                                    const std::string& last_event_id,
                                    const std::vector<std::string>& stream_mode) const {
  stream_opening opening;
  queried_path path{runs_path(thread_id, path_of({run_id, "stream"}))};
  if (!stream_mode.empty())
    path.add("stream_mode", std::string_view{to_json(texts_value(stream_mode))});
  opening.target = path.text();
  opening.last_event_id = last_event_id;
  opening.rejoin_at = opening.target;
  return stream_of(place_, std::move(opening));
}
api_call<void> runs_client::cancel(const std::string& thread_id, const std::string& run_id,
                                   bool wait, const std::string& action) const {
  queried_path path{runs_path(thread_id, path_of({run_id, "cancel"}))};
  path.add("wait", std::string_view{wait ? "1" : "0"}).add("action", std::string_view{action});
  return api_call<void>{asking(place_, "POST", path.text())};
}
api_call<void> runs_client::remove(const std::string& thread_id, const std::string& run_id) const {
  return api_call<void>{asking(place_, "DELETE", runs_path(thread_id, path_of({run_id})))};
}

// ---- crons

api_call<remote_cron> crons_client::create(const remote_cron_fields& fields,
                                           const std::string& thread_id) const {
  return api_call<remote_cron>{
    asking(place_, "POST", runs_path(thread_id, "/crons"), cron_body(fields))};
}
api_call<remote_cron> crons_client::update(const std::string& id,
                                           const remote_cron_fields& fields) const {
  return api_call<remote_cron>{
    asking(place_, "PATCH", runs_path("", path_of({"crons", id})), cron_body(fields))};
}
api_call<void> crons_client::remove(const std::string& id) const {
  return api_call<void>{asking(place_, "DELETE", runs_path("", path_of({"crons", id})))};
}
api_call<std::vector<remote_cron>> crons_client::search(const remote_cron_search& which) const {
  return api_call<std::vector<remote_cron>>{
    asking(place_, "POST", "/runs/crons/search", cron_search_body(which, true))};
}
api_call<std::int64_t> crons_client::count(const remote_cron_search& which) const {
  return api_call<std::int64_t>{
    asking(place_, "POST", "/runs/crons/count", cron_search_body(which, false))};
}

// ---- the store

api_call<void> store_client::put(const std::vector<std::string>& ns, const std::string& key,
                                 const value& item, std::optional<double> ttl_minutes) const {
  joined_namespace(ns); // checks the labels
  return api_call<void>{asking(place_, "PUT", "/store/items",
                               json_body{}
                                 .add("namespace", texts_value(ns))
                                 .add("key", key)
                                 .add("value", item)
                                 .add_number("ttl", ttl_minutes)
                                 .take())};
}
api_call<std::optional<remote_item>> store_client::get(const std::vector<std::string>& ns,
                                                       const std::string& key) const {
  queried_path path{"/store/items"};
  path.add("namespace", std::string_view{joined_namespace(ns)}).add("key", std::string_view{key});
  return api_call<std::optional<remote_item>>{asking(place_, "GET", path.text())};
}
api_call<void> store_client::remove(const std::vector<std::string>& ns,
                                    const std::string& key) const {
  return api_call<void>{asking(place_, "DELETE", "/store/items",
                               value::map({{"namespace", texts_value(ns)}, {"key", key}}))};
}
api_call<std::vector<remote_item>> store_client::search(const remote_item_search& which) const {
  return api_call<std::vector<remote_item>>{
    asking_for("items", asking(place_, "POST", "/store/items/search",
                               json_body{}
                                 .add("namespace_prefix", texts_value(which.prefix))
                                 .add("filter", which.filter)
                                 .add("query", which.query)
                                 .add("limit", which.limit)
                                 .add("offset", which.offset)
                                 .take()))};
}
api_call<std::vector<std::vector<std::string>>>
store_client::namespaces(const std::vector<std::string>& prefix, std::size_t limit) const {
  return api_call<std::vector<std::vector<std::string>>>{
    asking_for("namespaces", asking(place_, "POST", "/store/namespaces",
                                    json_body{}.add("prefix", prefix).add("limit", limit).take()))};
}

// ---- the client

agent_client::agent_client(client_options options)
  : agent_client{std::make_shared<const api_place>(std::move(options))} {}

agent_client::agent_client(const std::shared_ptr<const api_place>& place)
  : assistants{place},
    threads{place},
    runs{place},
    crons{place},
    store{place},
    place_{place} {}

} // namespace troupe
