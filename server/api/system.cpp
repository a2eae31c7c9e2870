// system: the routes that monitors and load balancers ask.
#include "server/api/system.hpp"

namespace troupe::server {

namespace {

void check_documents(const rooms& with) {
  with.documents->get(document_kind::server, "check").value();
}

http_whole is_there(const rooms& with, const api_call& call) {
  if (call.query.flag("check_db", false))
    check_documents(with);
  return json_answer(value::map({{"ok", true}}));
}

http_whole about(const rooms& /*with*/, const api_call& /*call*/) {
  return json_answer(
    value::map({{"version", TROUPE_VERSION},
                {"flags", value::map({{"assistants", true},
                                      {"crons", true},
                                      {"langsmith", false},
                                      {"langsmith_tracing_replicas", false},
                                      {"langsmith_tracing_session_on_runs", false}})}}));
}

// Why the server takes no runs now; empty when it does.
std::string unready_reason(const rooms& with, const server_status& status) {
  switch (status.phase.load()) {
    case server_phase::starting: return "the server takes up the runs that were left";
    case server_phase::draining: return "the server ends";
    case server_phase::serving: break;
  }
  auto read = with.documents->get(document_kind::server, "check");
  return read ? std::string{} : "the server's documents cannot be read";
}

http_whole is_ready(const rooms& with, const server_status& status) {
  auto why = unready_reason(with, status);
  if (why.empty())
    return json_answer(value::map({{"ready", true}}));
  return json_answer(value::map({{"ready", false}, {"detail", why}}), 503, {{"Retry-After", "1"}});
}

std::size_t runs_with(const rooms& with, run_status status) {
  return with.documents
    ->search(
      {.kind = document_kind::run, .equal = {{"status", value(to_string(status))}}, .limit = 0})
    .value()
    .total;
}

http_whole show_metrics(const rooms& with, const server_status& status, const api_call& call) {
  auto format = call.query.text("format").value_or("prometheus");
  if (format != "prometheus" && format != "json")
    throw refusal{422, "format: neither prometheus nor json"};
  const auto* edge = status.edge.load();
  if (!edge)
    throw refusal{503, "the server starts", {{"Retry-After", "1"}}};
  server_counts counts{.requests = edge->counts(),
                       .load = edge->load(),
                       .ended = status.ended.counts(),
                       .pending = runs_with(with, run_status::pending),
                       .running = runs_with(with, run_status::running),
                       .carried = with.runs.running(),
                       .started_at = status.started_at,
                       .is_ready = status.phase == server_phase::serving};
  if (format == "json")
    return json_answer(metrics_json(counts));
  return {.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
          .body = metrics_text(counts)};
}

} // namespace

void add_system(router& to, const rooms& with, const server_status& status) {
  to.add({"GET", "/", answering(with, is_there), {}, true});
  to.add({"GET", "/ok", answering(with, is_there), {}, true});
  to.add({"GET", "/info", answering(with, about), {}, true});
  auto is_alive = [](const rooms&, const api_call&) {
    return json_answer(value::map({{"live", true}}));
  };
  to.add({"GET", "/live", answering(with, is_alive), {}, true});
  auto ready = [&status](const rooms& w, const api_call&) { return is_ready(w, status); };
  to.add({"GET", "/ready", answering(with, ready), {}, true});
  auto metrics = [&status](const rooms& w, const api_call& call) {
    return show_metrics(w, status, call);
  };
  to.add({"GET", "/metrics", answering(with, metrics), {"server", "metrics"}});
}

} // namespace troupe::server
