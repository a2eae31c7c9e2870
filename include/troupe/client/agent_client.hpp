// The agent client: assistants, threads, runs, crons and the store of an Agent Server, troupe's or
// LangGraph's.
//
//     troupe::agent_client client{{.url = "http://127.0.0.1:2024"}};
//     auto thread = client.threads.create().get();
//     auto out = client.runs.wait(thread.thread_id, {.assistant_id = "agent", .input = in}).get();
#pragma once

#include <troupe/client/api_call.hpp>
#include <troupe/client/limits.hpp>
#include <troupe/client/records.hpp>
#include <troupe/client/requests.hpp>
#include <troupe/client/run_events.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class api_place; // client/api_place.hpp

/// How an Agent Server is reached.
/// Shape:  `url` http or https, perhaps with a path. `api_key` goes into the header x-api-key; when
///         it is empty, the first of LANGGRAPH_API_KEY, LANGSMITH_API_KEY and LANGCHAIN_API_KEY in
///         the environment does. `headers` go with each request; x-api-key can't be one of them.
/// Units:  times in ms. `reconnects_max`: lost connections without an event between.
/// Errors: see agent_client.
/// Source: langgraph_sdk/_sync/client.py, get_sync_client.
struct client_options {
  std::string url = "http://127.0.0.1:2024";
  std::string api_key = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string proxy = {};
  bool key_from_environment = true;
  unsigned reconnects_max = limits::client_reconnects_max;
  std::chrono::milliseconds reconnect_first = limits::client_reconnect_first;
  std::chrono::milliseconds reconnect_most = limits::client_reconnect_most;
  std::chrono::milliseconds silence_max = limits::client_silence_max; ///< of streams; 0: no limit
  std::chrono::milliseconds answer_timeout =
    limits::http_response_timeout; ///< until its first byte
};

/// The assistants of a server.
/// Errors: as api_call; the members build requests and don't fail.
/// Source: langgraph_sdk/_sync/assistants.py, SyncAssistantsClient.
class assistants_client {
public:
  explicit assistants_client(std::shared_ptr<const api_place> place) : place_{std::move(place)} {}

  /// Shape:  `id` is a UUID, or the name of a graph where the server takes one.
  api_call<remote_assistant> get(const std::string& id) const;
  api_call<remote_assistant> create(const remote_assistant_fields& fields) const;
  /// Makes a new version.
  api_call<remote_assistant> update(const std::string& id,
                                    const remote_assistant_fields& fields) const;
  api_call<void> remove(const std::string& id, bool delete_threads = false) const;
  api_call<std::vector<remote_assistant>> search(const remote_assistant_search& which = {}) const;
  api_call<std::int64_t> count(const remote_assistant_search& which = {}) const;
  api_call<std::vector<remote_assistant>> versions(const std::string& id,
                                                   const remote_page& page = {}) const;
  api_call<remote_assistant> set_latest(const std::string& id, std::int64_t version) const;
  /// {nodes, edges} of the graph. Units: `xray` in levels, xray_all for all of them.
  api_call<value> graph(const std::string& id, std::uint32_t xray = 0) const;
  /// A graph with these nodes and edges, to be drawn. Its nodes can't run.
  api_call<compiled_graph> drawable(const std::string& id, std::uint32_t xray = 0) const;
  /// {input_schema, output_schema, state_schema, …}, JSON Schemas.
  api_call<value> schemas(const std::string& id) const;
  /// The schemas of nested graphs, by namespace.
  api_call<value> subgraphs(const std::string& id, bool recurse = false) const;

private:
  std::shared_ptr<const api_place> place_;
};

/// The threads of a server, and their states.
/// Errors: as api_call.
/// Source: langgraph_sdk/_sync/threads.py, SyncThreadsClient.
class threads_client {
public:
  explicit threads_client(std::shared_ptr<const api_place> place) : place_{std::move(place)} {}

  api_call<remote_thread> get(const std::string& id) const;
  api_call<remote_thread> create(const remote_thread_fields& fields = {}) const;
  /// Merges the metadata.
  api_call<remote_thread> update(const std::string& id, const value& metadata) const;
  api_call<void> remove(const std::string& id) const;
  api_call<std::vector<remote_thread>> search(const remote_thread_search& which = {}) const;
  api_call<std::int64_t> count(const remote_thread_search& which = {}) const;
  api_call<remote_thread> copy(const std::string& id) const;
  /// Shape:  `strategy` is "delete" or "keep_latest". Gives {pruned_count}.
  api_call<value> prune(const std::vector<std::string>& ids,
                        const std::string& strategy = "delete") const;

  /// The state at a checkpoint, the newest for an empty one.
  /// Shape:  of `at`: its thread id counts as `id`.
  api_call<state_snapshot> get_state(const std::string& id, const checkpoint_ref& at = {},
                                     bool subgraphs = false) const;
  /// Newest first. Shape: a limit of 10 unless `which` has one; `ns` of a nested graph.
  api_call<std::vector<state_snapshot>> get_history(const std::string& id,
                                                    const history_options& which = {},
                                                    const std::string& ns = {}) const;
  /// Writes as if a node had written; gives the place of the new checkpoint.
  /// Shape:  `values` null: no writes.
  api_call<checkpoint_ref> update_state(const std::string& id, const value& values,
                                        const std::string& as_node = {},
                                        const checkpoint_ref& at = {}) const;
  /// The events of all runs of a thread, until the reader leaves.
  run_events join_stream(const std::string& id, const std::string& last_event_id = {}) const;

private:
  std::shared_ptr<const api_place> place_;
};

/// The runs of a server. An empty thread id: a run without a thread.
/// Errors: as api_call.
/// Source: langgraph_sdk/_sync/runs.py, SyncRunsClient.
class runs_client {
public:
  explicit runs_client(std::shared_ptr<const api_place> place) : place_{std::move(place)} {}

  /// Starts a run, which nobody waits for.
  api_call<remote_run> create(const std::string& thread_id,
                              const remote_run_request& request) const;
  api_call<std::vector<remote_run>>
  create_batch(const std::vector<remote_run_request>& requests) const;
  /// Runs and gives the values at the end. A question is in the member `__interrupt__`. A lost
  /// connection joins the run again.
  /// Errors: node_failed for a run that failed; its type is the run's class.
  api_call<value> wait(const std::string& thread_id, const remote_run_request& request) const;
  /// Runs and gives the events.
  run_events stream(const std::string& thread_id, const remote_run_request& request) const;

  api_call<remote_run> get(const std::string& thread_id, const std::string& run_id) const;
  api_call<std::vector<remote_run>> list(const std::string& thread_id,
                                         const std::string& status = {},
                                         const remote_page& page = {}) const;
  /// Waits for a run; gives what wait() gives.
  api_call<value> join(const std::string& thread_id, const std::string& run_id) const;
  /// The events of a run that are still to come; with the id of an event, those after it.
  run_events join_stream(const std::string& thread_id, const std::string& run_id,
                         const std::string& last_event_id = {},
                         const std::vector<std::string>& stream_mode = {}) const;
  /// Shape:  `action` is "interrupt" or "rollback".
  api_call<void> cancel(const std::string& thread_id, const std::string& run_id, bool wait = false,
                        const std::string& action = "interrupt") const;
  api_call<void> remove(const std::string& thread_id, const std::string& run_id) const;

private:
  std::shared_ptr<const api_place> place_;
};

/// The crons of a server.
/// Errors: as api_call.
/// Source: langgraph_sdk/_sync/cron.py, SyncCronClient.
class crons_client {
public:
  explicit crons_client(std::shared_ptr<const api_place> place) : place_{std::move(place)} {}

  /// Each run gets a thread of its own, unless a thread is named.
  api_call<remote_cron> create(const remote_cron_fields& fields,
                               const std::string& thread_id = {}) const;
  api_call<remote_cron> update(const std::string& id, const remote_cron_fields& fields) const;
  api_call<void> remove(const std::string& id) const;
  api_call<std::vector<remote_cron>> search(const remote_cron_search& which = {}) const;
  api_call<std::int64_t> count(const remote_cron_search& which = {}) const;

private:
  std::shared_ptr<const api_place> place_;
};

/// The store of a server.
/// Errors: as api_call; put() and get() throw error{invalid_value} for a label with a period.
/// Source: langgraph_sdk/_sync/store.py, SyncStoreClient.
class store_client {
public:
  explicit store_client(std::shared_ptr<const api_place> place) : place_{std::move(place)} {}

  /// Shape:  `item` is a map. Units: `ttl_minutes` until the item goes.
  api_call<void> put(const std::vector<std::string>& ns, const std::string& key, const value& item,
                     std::optional<double> ttl_minutes = std::nullopt) const;
  /// The item; nothing for one that is missing.
  api_call<std::optional<remote_item>> get(const std::vector<std::string>& ns,
                                           const std::string& key) const;
  api_call<void> remove(const std::vector<std::string>& ns, const std::string& key) const;
  api_call<std::vector<remote_item>> search(const remote_item_search& which = {}) const;
  api_call<std::vector<std::vector<std::string>>>
  namespaces(const std::vector<std::string>& prefix = {}, std::size_t limit = 100) const;

private:
  std::shared_ptr<const api_place> place_;
};

/// A client of one server. Cheap to copy; copies share connections.
/// Thread: any.
/// Errors: the constructor throws error{invalid_config} for an address that can't be used, a header
///         x-api-key, and a key or header of more than one line. It connects to nothing.
/// Source: langgraph_sdk/_sync/client.py, SyncLangGraphClient.
class agent_client {
public:
  explicit agent_client(client_options options = {});

  assistants_client assistants;
  threads_client threads;
  runs_client runs;
  crons_client crons;
  store_client store;

  /// For remote_graph: the server and its key.
  const std::shared_ptr<const api_place>& place() const noexcept { return place_; }

private:
  explicit agent_client(const std::shared_ptr<const api_place>& place);

  std::shared_ptr<const api_place> place_;
};

} // namespace troupe
