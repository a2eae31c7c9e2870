// rooms: what the handlers of all resources work with, and helpers for one handler each.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/edge/refusal.hpp"
#include "server/edge/router.hpp"
#include "server/protocol/thread_hub.hpp"
#include "server/rules/checked_body.hpp"
#include "server/rules/records.hpp"
#include "server/runs/run_service.hpp"

#include <troupe/server.hpp>
#include <troupe/server/limits.hpp>
#include <troupe/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::server {

/// Lives longer than the router and than the runs, whose threads use it.
struct rooms {
  graph_set& graphs;
  std::shared_ptr<document_store> documents;
  run_service& runs;
  std::shared_ptr<troupe::store> store; ///< null: no long-term memory
  std::shared_ptr<thread_hubs> hubs;
  /// Throws refusal{422} for a URL that may not be called; empty: all may be.
  std::function<void(const std::string& url)> check_webhook = {};
  thread_expiry expiry = {}; ///< of new threads
  /// Takes a line for the server's log, about a failure that no answer's status shows.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

/// Each adds the routes of a resource.
void add_assistants(router& to, const rooms& with);
void add_threads(router& to, const rooms& with);
void add_thread_states(router& to, const rooms& with);
void add_runs(router& to, const rooms& with);
void add_store_items(router& to, const rooms& with);
void add_crons(router& to, const rooms& with);
/// Starts a run of a cron. Errors: as run_service::create.
void start_cron(const rooms& with, const cron_record& cron,
                const std::function<document_change()>& along);
/// Removes the crons whose `member`, assistant_id or thread_id, is one of these.
void remove_crons(const rooms& with, std::string_view member, const std::vector<std::string>& ids);
void add_thread_protocol(router& to, const rooms& with);
void add_mcp(router& to, const rooms& with);
void add_a2a(router& to, const rooms& with);

/// A handler that answers at once with what `answer` returns.
template <class F> api_handler answering(const rooms& with, F answer) {
  return [&with, answer](const api_call& call, const http_responder& to) {
    to.send(answer(with, call));
  };
}

// ---- records, or refusals

/// The assistant of an id, or the default one of a graph's name; nullopt for neither.
std::optional<assistant_record> find_assistant(const rooms& with, const std::string& id_or_graph);
/// Errors: throws refusal{404} that names the graphs there are, for one that is not served.
void check_graph(const rooms& with, const std::string& graph_id);
/// The assistant of a run. Errors: throws refusal: 404 for an unknown UUID, 422 for another text.
assistant_record assistant_of_run(const rooms& with, const std::string& id_or_graph);

struct found_thread {
  thread_record thread;
  std::uint64_t revision = 0;
};
/// Errors: throws refusal: 422 for an id that is not a UUID, 404 for an unknown one.
found_thread thread_at(const rooms& with, const std::string& id);
/// The graph of a thread; nullopt for a thread that has none yet.
std::optional<app<>> graph_of(const rooms& with, const thread_record& thread);
/// As graph_of(). Errors: throws refusal{404} for a thread with a state of a graph that is not
/// served.
std::optional<app<>> graph_of_state(const rooms& with, const thread_record& thread);
/// The thread as clients see it, with the values of its newest checkpoint.
value thread_form(const rooms& with, const thread_record& thread, bool with_ttl = false);

// ---- lists

/// How many entries an answer has at most: `limit` of a body or a query.
/// Errors: throws refusal{422} when it is not from 1 to limits::server_page_max.
template <class Members>
std::size_t limit_in(const Members& asked, std::int64_t otherwise = limits::server_page_default) {
  return static_cast<std::size_t>(asked.number("limit", otherwise, 1, limits::server_page_max));
}
/// How many entries are left out before the first: `offset` of a body or a query.
/// Errors: throws refusal{422} when it is not from 0 to limits::server_offset_max.
template <class Members> std::size_t offset_in(const Members& asked) {
  return static_cast<std::size_t>(asked.number("offset", 0, 0, limits::server_offset_max));
}
/// offset and limit of a body, and the order. Shape: `sorts`: what sort_by may be; the first is the
/// default.
void read_page(const checked_body& body, std::span<const std::string_view> sorts,
               document_query& into);
/// The headers x-pagination-total and, when more follow, x-pagination-next.
http_headers page_headers(const document_query& query, const document_page& page);

} // namespace troupe::server
