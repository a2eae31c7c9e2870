// server: the parts of a server, put together.
#include <troupe/server.hpp>

#include "server/api/openapi.hpp"
#include "server/api/rooms.hpp"
#include "server/api/system.hpp"
#include "server/documents/lmdb_documents.hpp"
#include "server/edge/http_edge.hpp"
#include "server/rules/ids.hpp"
#include "server/runs/cron_clock.hpp"
#include "server/runs/webhooks.hpp"

#include <atomic>
#include <filesystem>
#include <utility>

namespace troupe {

namespace {

using namespace server;

runtime_options runtime_of(const server_options& options, const std::shared_ptr<store>& memory) {
  runtime_options out{.data_dir = options.data_dir, .worker_threads = options.worker_threads};
  if (options.data_dir.empty()) {
    out.saver = make_memory_saver();
    out.store = memory;
  }
  return out;
}

webhook_policy policy_of(const webhook_rules& rules) {
  webhook_policy out;
  out.require_https = rules.require_https && !rules.allow_loopback;
  out.disable_loopback = !rules.allow_loopback;
  out.disable_private = !rules.allow_private;
  return out;
}

std::shared_ptr<document_store> documents_of(const server_options& options) {
  if (options.data_dir.empty())
    return memory_documents();
  return open_lmdb_documents(options.data_dir).value();
}

// The assistant of each graph, whose id a graph's name stands for.
void make_default_assistants(document_store& documents, const graph_set& graphs, std::int64_t now) {
  for (const auto& id : graphs.ids()) {
    assistant_record made{.assistant_id = default_assistant_id(id),
                          .graph_id = id,
                          .name = id,
                          .metadata = value::map({{"created_by", "system"}}),
                          .created_at = time_text(now),
                          .updated_at = time_text(now)};
    auto stored =
      documents.commit_and_wait({{document_kind::assistant, made.assistant_id, made.body(), 0}});
    if (!stored && stored.error().code() != errc::conflict)
      throw stored.error();
  }
}

} // namespace

struct agent_server::parts {
  explicit parts(server_options given)
    : options{std::move(given)},
      store{options.data_dir.empty() ? make_memory_store()
                                     : open_lmdb_store(options.data_dir).value()},
      machine{runtime_of(options, store)},
      graphs{machine, options.graphs},
      documents{documents_of(options)},
      hooks{policy_of(options.webhooks), [this] { return runs.now(); },
            [this] { return edge->port(); }},
      runs{graphs,
           documents,
           {.server_id = new_id(1),
            .on_end =
              [this](const run_outcome& outcome) {
                status.ended.count(outcome.run.status);
                hooks.run_ended(outcome);
              }}},
      with{graphs,
           documents,
           runs,
           store,
           std::make_shared<thread_hubs>(runs),
           [this](const std::string& url) {
             if (auto problem = webhook_problem(hooks.policy(), url); !problem.empty())
               throw refusal{422, problem};
           }} {
    make_default_assistants(*documents, graphs, runs.now());
    router routes;
    status.started_at = runs.now();
    add_system(routes, with, status);
    add_assistants(routes, with);
    add_threads(routes, with);
    add_thread_states(routes, with);
    add_runs(routes, with);
    add_store_items(routes, with);
    add_crons(routes, with);
    add_thread_protocol(routes, with);
    add_mcp(routes, with);
    add_a2a(routes, with);
    add_documentation(routes); // after all others
    edge_options edge_parts;
    edge_parts.listen.address = options.address;
    edge_parts.listen.port = options.port;
    edge_parts.cors.origins = options.cors_origins;
    edge_parts.no_auth = options.no_auth;
    edge = std::make_unique<http_edge>(std::move(edge_parts), std::move(routes));
    status.edge = edge.get();
    runs.recover();
    status.phase = server_phase::serving;
    crons = std::make_unique<cron_clock>(
      documents, [this] { return runs.now(); },
      [this](const cron_record& cron) { start_cron(with, cron); });
  }

  const server_options options;
  const std::shared_ptr<troupe::store> store;
  runtime machine;
  graph_set graphs;
  const std::shared_ptr<document_store> documents;
  server_status status;
  webhooks hooks;
  run_service runs;
  const rooms with;
  std::unique_ptr<http_edge> edge;
  std::unique_ptr<cron_clock> crons;
};

agent_server::agent_server(server_options options)
  : parts_{std::make_unique<parts>(std::move(options))} {}

agent_server::~agent_server() {
  drain();
}

std::uint16_t agent_server::port() const noexcept {
  return parts_->edge->port();
}

bool agent_server::drain(std::chrono::milliseconds at_most) {
  parts_->status.phase = server_phase::draining;
  auto stopped = parts_->runs.drain(at_most);
  parts_->edge->drain(at_most, std::chrono::milliseconds{0});
  return stopped;
}

} // namespace troupe
