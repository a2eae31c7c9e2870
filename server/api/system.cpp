// system: whether the server is there, and what it is.
#include "server/api/system.hpp"

namespace troupe::server {

namespace {

http_whole is_there(const rooms& with, const api_call& call) {
  if (call.query.flag("check_db", false))
    with.documents->get(document_kind::server, "check").value();
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

} // namespace

void add_system(router& to, const rooms& with) {
  to.add({"GET", "/", answering(with, is_there), {}, true});
  to.add({"GET", "/ok", answering(with, is_there), {}, true});
  to.add({"GET", "/info", answering(with, about), {}, true});
}

} // namespace troupe::server
