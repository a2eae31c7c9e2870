// server: the parts of a server, put together.
#include <troupe/server.hpp>

#include "actors/log.hpp"
#include "server/api/filtered_routes.hpp"
#include "server/api/openapi.hpp"
#include "server/api/rooms.hpp"
#include "server/api/system.hpp"
#include "server/documents/lmdb_documents.hpp"
#include "server/documents/postgres_documents.hpp"
#include "server/edge/configured_callers.hpp"
#include "server/edge/http_edge.hpp"
#include "server/rules/ids.hpp"
#include "server/rules/option_rules.hpp"
#include "server/runs/cron_clock.hpp"
#include "server/runs/thread_sweeper.hpp"
#include "server/runs/webhooks.hpp"
#include "server/runs/work_queue.hpp"

#include <troupe/postgres.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

using namespace server;

// The options with one key ring for all that is stored.
server_options checked_options(server_options options) {
  if (auto problem = options_problem(options); !problem.empty())
    throw error{errc::invalid_config, "make a server: " + problem};
  if (options.postgres && options.postgres->keyring)
    options.keyring = options.postgres->keyring;
  if (!options.keyring)
    options.keyring = keyring::from_environment().value();
  if (options.postgres)
    options.postgres->keyring = options.keyring;
  return options;
}

// The places of a server's records: a database, a directory, or the memory.
struct kept_records {
  std::shared_ptr<troupe::saver> saver; // null: the runtime opens that of the directory
  std::shared_ptr<troupe::store> store;
  std::shared_ptr<document_store> documents;
  std::shared_ptr<void> mark = nullptr; // of a directory
};

kept_records open_records(const server_options& options) {
  if (const auto& database = options.postgres)
    return {open_postgres_saver(*database).value(),
            open_postgres_store(*database, options.store).value(),
            open_postgres_documents(*database).value()};
  if (options.data_dir.empty())
    return {make_memory_saver(), make_memory_store(options.store), memory_documents()};
  return {
    nullptr,
    open_lmdb_store(options.data_dir, {.store = options.store, .keyring = options.keyring}).value(),
    open_lmdb_documents(options.data_dir, options.keyring).value(),
    mark_as_served(options.data_dir).value()};
}

runtime_options runtime_of(const server_options& options, const kept_records& kept) {
  return {.data_dir = options.data_dir,
          .keyring = options.keyring,
          .saver = kept.saver,
          .store = kept.store,
          .worker_threads = options.worker_threads};
}

webhook_policy policy_of(const webhook_rules& rules) {
  return {.require_https = rules.require_https,
          .disable_loopback = !rules.allow_loopback,
          .disable_private = !rules.allow_private,
          .allowed_domains = rules.allowed_domains,
          .allowed_ports = rules.allowed_ports,
          .max_url_length = rules.url_bytes_max,
          .headers = rules.headers};
}

cors_options cors_of(const cors_rules& rules) {
  cors_options out{.origins = rules.origins,
                   .headers = rules.headers,
                   .credentials = rules.credentials,
                   .max_age = rules.max_age};
  if (!rules.methods.empty())
    out.methods = rules.methods;
  if (!rules.exposed.empty())
    out.exposed = rules.exposed;
  return out;
}

edge_options edge_of(const server_options& options) {
  edge_options out;
  out.listen.address = options.address;
  out.listen.port = options.port;
  if (!options.tls_certificate.empty())
    out.listen.tls = http_tls_files{options.tls_certificate, options.tls_key};
  out.cors = cors_of(options.cors);
  const auto& rate = options.rate;
  out.rate = {rate.per_second, rate.burst > 0 ? rate.burst : std::max(1.0, rate.per_second)};
  out.authenticate = authenticator_of(options, [](const std::string& line) { log_warning(line); });
  out.authorise = options.authorise;
  out.no_auth = options.no_auth;
  return out;
}

router served_routes(const router& all, const disabled_paths& disabled) {
  router out;
  for (const auto& one : all.routes())
    if (is_served(disabled, one.pattern))
      out.add(one);
  return out;
}

// The assistant of each graph, whose id a graph's name stands for. The first graph is the newest,
// so that a client which lists assistants gets them in the order of the graphs.
void make_default_assistants(document_store& documents, const graph_set& graphs, std::int64_t now) {
  for (const auto& id : graphs.ids()) {
    --now;
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
    : options{checked_options(std::move(given))},
      edge_parts{edge_of(options)},
      kept{open_records(options)},
      machine{runtime_of(options, kept)},
      graphs{machine, options.graphs},
      documents{kept.documents},
      hooks{policy_of(options.webhooks)},
      with{graphs,
           documents,
           runs,
           kept.store,
           std::make_shared<thread_hubs>(runs),
           [this](const std::string& url) {
             if (auto problem = webhook_problem(hooks.policy(), url); !problem.empty())
               throw refusal{422, problem};
           },
           options.expiry,
           [](const std::string& line) { log_warning(line); }},
      runs{graphs,
           documents,
           {.server_id = new_id(1),
            .thread_ttl_minutes = options.expiry.minutes,
            .thread_ttl_strategy = options.expiry.strategy,
            .on_end =
              [this](const run_outcome& outcome) {
                status.ended.count(outcome.run.status);
                if (!options.webhooks.is_off)
                  hooks.run_ended(outcome);
              }}},
      threads{documents, runs, machine.saver()},
      sweeps{1} {
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
    edge = std::make_unique<http_edge>(std::move(edge_parts),
                                       with_filters(served_routes(routes, options.disabled), with));
    status.edge = edge.get();
    hooks.set_port(edge->port());
    runs.recover();
    status.phase = server_phase::serving;
    crons = std::make_unique<cron_clock>(
      documents, [this] { return runs.now(); },
      [this](const auto& cron, const auto& along) { start_cron(with, cron, along); });
    sweep_every(options.expiry.sweep_interval, [this] { threads.sweep(); });
    if (auto interval = options.store.ttl.sweep_interval; interval != store_forever)
      sweep_every(std::clamp(interval, limits::server_sweep_interval_min,
                             limits::server_sweep_interval_max),
                  [this] { kept.store->sweep().value(); });
  }

  // A failure is logged by the queue; the next sweep comes in any case.
  void sweep_every(std::chrono::milliseconds interval, std::function<void()> sweep) {
    sweeps.post_at(work_queue::clock::now() + interval, [this, interval, sweep] {
      sweep_every(interval, sweep);
      sweep();
    });
  }

  const server_options options;
  edge_options edge_parts; // a wrong file of keys is found before anything is opened
  const kept_records kept;
  runtime machine;
  graph_set graphs;
  const std::shared_ptr<document_store> documents;
  server_status status;
  webhooks hooks;
  const rooms with;
  run_service runs; // its threads use all above
  std::unique_ptr<http_edge> edge;
  std::unique_ptr<cron_clock> crons;
  thread_sweeper threads;
  work_queue sweeps; // the last member: its thread uses all others
};

agent_server::agent_server(server_options options)
  : parts_{std::make_unique<parts>(std::move(options))} {}

agent_server::~agent_server() {
  drain();
}

std::uint16_t agent_server::port() const noexcept {
  return parts_->edge->port();
}

void agent_server::replace_graph(const std::string& name, const compiled_graph& graph) {
  parts_->graphs.replace(name, graph);
}

bool agent_server::drain(std::chrono::milliseconds at_most) {
  using std::chrono::milliseconds;
  auto end = std::chrono::steady_clock::now() + at_most;
  auto left = [&] {
    auto rest = std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
    return std::max(rest, milliseconds{0});
  };
  parts_->status.phase = server_phase::draining;
  auto stopped = parts_->runs.drain(at_most);
  parts_->hooks.drain(left() / 2); // before the edge, which may be what they call
  parts_->edge->drain(left(), milliseconds{0});
  return stopped;
}

} // namespace troupe
