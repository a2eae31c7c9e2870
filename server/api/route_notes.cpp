// route_notes: one line for each route, in the order of the document.
#include "server/api/route_notes.hpp"

namespace troupe::server {
namespace queries {

using member = member_note;

constexpr member check_db[]{{"check_db", "bool", "also reads the database"}};
constexpr member metrics_format[]{{"format", "prometheus|json"}};
constexpr member card_of[]{{"assistant_id", "uuid!"}};
constexpr member xray[]{{"xray", "any", "true, or how many levels of nested graphs are opened"}};
constexpr member recurse[]{{"recurse", "bool"}};
constexpr member delete_threads[]{{"delete_threads", "bool", "those of its runs, too"}};
constexpr member include[]{{"include", "[text]", "ttl"}};
constexpr member subgraphs[]{{"subgraphs", "bool", "with the states of nested graphs"}};
constexpr member history[]{{"limit", "int"}, {"before", "uuid", "a checkpoint"}};
constexpr member stream_modes[]{{"stream_modes", "[run_modes|lifecycle|state_update]"},
                                {"stream_mode", "[text]", "the same; other names select nothing"}};
constexpr member run_list[]{
  {"limit", "int"}, {"offset", "int"}, {"status", "text"}, {"select", "[text]"}};
constexpr member join[]{{"cancel_on_disconnect", "bool"}};
constexpr member join_stream[]{{"cancel_on_disconnect", "bool"},
                               {"stream_mode", "[text]", "only events of these modes"}};
constexpr member cancel[]{{"wait", "bool", "answers at the run's end"},
                          {"action", "interrupt|rollback"}};
constexpr member cancel_all[]{{"action", "interrupt|rollback"}};
constexpr member item_at[]{{"namespace", "text!", "labels with dots between them"},
                           {"key", "text!"},
                           {"refresh_ttl", "bool"}};
constexpr member item_gone[]{{"namespace", "text"}, {"key", "text"}};

} // namespace queries

namespace answers {

constexpr answer_note other_refusals[]{{0, "ProtocolError"}};
constexpr answer_note mcp_answers[]{{202, ""}, {0, "ProtocolError"}};
constexpr answer_note metrics_as_json[]{{200, "map"}};
constexpr answer_note not_ready[]{{503, "Ready"}};
constexpr answer_note cancelled[]{{200, "map"}};
constexpr answer_note minimal[]{{204, ""}};

} // namespace answers

namespace described {

using namespace queries;
using namespace answers;
constexpr std::string_view json = "application/json";
constexpr std::string_view events = "text/event-stream";

constexpr route_note all[]{
  // ---- assistants
  {"POST", "/assistants", "Assistants", "Create an assistant", "AssistantCreate", "Assistant"},
  {"POST", "/assistants/search", "Assistants", "Search assistants", "AssistantSearch",
   "[Assistant~]"},
  {"POST", "/assistants/count", "Assistants", "Count assistants", "AssistantSearch", "int"},
  {"GET", "/assistants/{assistant_id}", "Assistants", "Get an assistant", "", "Assistant"},
  {"PATCH", "/assistants/{assistant_id}", "Assistants", "Change an assistant: a new version",
   "AssistantPatch", "Assistant"},
  {"DELETE", "/assistants/{assistant_id}", "Assistants", "Delete an assistant", "", "", 204,
   delete_threads},
  {"POST", "/assistants/{assistant_id}/versions", "Assistants", "List versions", "VersionSearch",
   "[AssistantVersion]"},
  {"POST", "/assistants/{assistant_id}/latest", "Assistants", "Return to a version",
   "VersionChoice", "Assistant"},
  {"GET", "/assistants/{assistant_id}/graph", "Assistants", "Get the graph's nodes and edges", "",
   "Graph", 200, xray},
  {"GET", "/assistants/{assistant_id}/schemas", "Assistants", "Get the graph's schemas", "",
   "GraphSchemas"},
  {"GET", "/assistants/{assistant_id}/subgraphs", "Assistants", "Get schemas of nested graphs", "",
   "{GraphSchemas}", 200, recurse},
  {"GET", "/assistants/{assistant_id}/subgraphs/{namespace}", "Assistants",
   "Get schemas of one nested graph", "", "{GraphSchemas}", 200, recurse},

  // ---- threads
  {"POST", "/threads", "Threads", "Create a thread", "ThreadCreate", "Thread"},
  {"POST", "/threads/search", "Threads", "Search threads", "ThreadSearch", "[Thread~]"},
  {"POST", "/threads/count", "Threads", "Count threads", "ThreadSearch", "int"},
  {"POST", "/threads/prune", "Threads", "Delete threads, or their old checkpoints", "ThreadPrune",
   "Pruned"},
  {"GET", "/threads/{thread_id}", "Threads", "Get a thread", "", "Thread", 200, include},
  {"PATCH",
   "/threads/{thread_id}",
   "Threads",
   "Change a thread",
   "ThreadPatch",
   "Thread",
   200,
   {},
   json,
   minimal},
  {"DELETE", "/threads/{thread_id}", "Threads", "Delete a thread and all it has", "", "", 204},
  {"GET", "/threads/{thread_id}/storage", "Threads", "Get the space that a thread takes", "",
   "ThreadStorage"},
  {"POST", "/threads/{thread_id}/copy", "Threads", "Copy a thread", "", "Thread"},
  {"GET", "/threads/{thread_id}/state", "Threads", "Get the present state", "", "ThreadState", 200,
   subgraphs},
  {"POST", "/threads/{thread_id}/state", "Threads", "Write to the state", "StateUpdate",
   "StateUpdated"},
  {"POST", "/threads/{thread_id}/state/checkpoint", "Threads", "Get the state at a checkpoint",
   "StateAt", "ThreadState~"},
  {"GET", "/threads/{thread_id}/state/{checkpoint_id}", "Threads", "Get the state at a checkpoint",
   "", "ThreadState", 200, subgraphs},
  {"POST", "/threads/{thread_id}/history", "Threads", "List states, the newest first",
   "HistorySearch", "[ThreadState~]"},
  {"GET", "/threads/{thread_id}/history", "Threads", "List states, the newest first", "",
   "[ThreadState]", 200, history},
  {"GET", "/threads/{thread_id}/stream", "Threads", "Follow all runs of a thread", "", "Event", 200,
   stream_modes, events},
  {"POST",
   "/threads/{thread_id}/commands",
   "Threads",
   "Send a command of the thread protocol",
   "ProtocolCommand",
   "ProtocolAnswer",
   200,
   {},
   json,
   other_refusals},
  {"POST",
   "/threads/{thread_id}/stream/events",
   "Threads",
   "Follow the events of the thread protocol",
   "ProtocolSubscription",
   "Event",
   200,
   {},
   events},
  {"GET", "/threads/{thread_id}/stream/events", "Threads",
   "Open a WebSocket for commands and events of the thread protocol", "", "", 101},

  // ---- runs
  {"POST", "/threads/{thread_id}/runs", "Runs", "Create a run", "RunCreate", "Run"},
  {"GET", "/threads/{thread_id}/runs", "Runs", "List the runs of a thread", "", "[Run~]", 200,
   run_list},
  {"POST",
   "/threads/{thread_id}/runs/stream",
   "Runs",
   "Create a run and stream its events",
   "RunCreate",
   "Event",
   200,
   {},
   events},
  {"POST", "/threads/{thread_id}/runs/wait", "Runs", "Create a run and wait for its output",
   "RunCreate", "any"},
  {"GET", "/threads/{thread_id}/runs/{run_id}", "Runs", "Get a run", "", "Run"},
  {"DELETE", "/threads/{thread_id}/runs/{run_id}", "Runs", "Delete a run and its checkpoints", "",
   "", 204},
  {"GET", "/threads/{thread_id}/runs/{run_id}/join", "Runs", "Wait for a run's output", "", "any",
   200, join},
  {"GET", "/threads/{thread_id}/runs/{run_id}/stream", "Runs", "Follow a run's events", "", "Event",
   200, join_stream, events},
  {"POST", "/threads/{thread_id}/runs/{run_id}/cancel", "Runs", "Cancel a run", "", "", 202, cancel,
   json, cancelled},
  {"POST", "/runs", "Runs", "Create a run without a thread", "RunCreate", "Run"},
  {"POST",
   "/runs/stream",
   "Runs",
   "Create a run without a thread and stream its events",
   "RunCreate",
   "Event",
   200,
   {},
   events},
  {"POST", "/runs/wait", "Runs", "Create a run without a thread and wait for its output",
   "RunCreate", "any"},
  {"POST", "/runs/batch", "Runs", "Create runs without threads", "[RunCreate]", "[Run]"},
  {"POST", "/runs/cancel", "Runs", "Cancel runs", "RunsCancel", "", 204, cancel_all},
  {"GET", "/runs/{run_id}/stream", "Runs", "Follow a run's events", "", "Event", 200, join_stream,
   events},
  {"GET", "/runs/{run_id}/join", "Runs", "Wait for a run's output", "", "any", 200, join},

  // ---- crons
  {"POST", "/runs/crons", "Crons", "Create a cron", "CronCreate", "Cron"},
  {"POST", "/threads/{thread_id}/runs/crons", "Crons", "Create a cron of a thread", "CronCreate",
   "Cron"},
  {"POST", "/runs/crons/search", "Crons", "Search crons", "CronSearch", "[Cron~]"},
  {"POST", "/runs/crons/count", "Crons", "Count crons", "CronSearch", "int"},
  {"GET", "/runs/crons/{cron_id}", "Crons", "Get a cron", "", "Cron"},
  {"PATCH", "/runs/crons/{cron_id}", "Crons", "Change a cron", "CronPatch", "Cron"},
  {"DELETE", "/runs/crons/{cron_id}", "Crons", "Delete a cron", "", "", 204},

  // ---- the store
  {"PUT", "/store/items", "Store", "Put an item", "ItemPut", "", 204},
  {"GET", "/store/items", "Store", "Get an item, or null", "", "Item?", 200, item_at, json,
   other_refusals},
  {"DELETE", "/store/items", "Store", "Delete an item, named by the body or the query",
   "ItemDelete", "", 204, item_gone},
  {"POST", "/store/items/search", "Store", "Search items", "ItemSearch", "ItemsFound"},
  {"POST", "/store/namespaces", "Store", "List namespaces", "NamespaceSearch", "NamespacesFound"},

  // ---- agents of others
  {"POST",
   "/mcp",
   "MCP",
   "Send a message of MCP; the tools are the assistants",
   "RpcRequest",
   "RpcAnswer",
   200,
   {},
   json,
   mcp_answers},
  {"GET", "/mcp", "MCP", "Refused: there is no stream without sessions", "", "", 405},
  {"DELETE", "/mcp", "MCP", "Refused: there are no sessions", "", "", 404},
  {"POST",
   "/a2a/{assistant_id}",
   "A2A",
   "Send a request of A2A to an assistant",
   "RpcRequest",
   "RpcAnswer",
   200,
   {},
   json,
   other_refusals},
  {"GET",
   "/a2a/{assistant_id}",
   "A2A",
   "Get an agent card",
   "",
   "map",
   200,
   {},
   json,
   other_refusals},
  {"GET",
   "/a2a/{assistant_id}/.well-known/agent-card.json",
   "A2A",
   "Get an agent card",
   "",
   "map",
   200,
   {},
   json,
   other_refusals},
  {"GET",
   "/a2a/{assistant_id}/.well-known/agent.json",
   "A2A",
   "Get an agent card",
   "",
   "map",
   200,
   {},
   json,
   other_refusals},
  {"GET", "/.well-known/agent-card.json", "A2A", "Get an agent card", "", "map", 200, card_of, json,
   other_refusals},

  // ---- the server
  {"GET", "/", "System", "Whether the server is there", "", "Ok"},
  {"GET", "/ok", "System", "Whether the server is there", "", "Ok", 200, check_db},
  {"GET", "/live", "System", "Whether the process lives", "", "Live"},
  {"GET",
   "/ready",
   "System",
   "Whether the server takes runs; else status 503",
   "",
   "Ready",
   200,
   {},
   json,
   not_ready},
  {"GET", "/info", "System", "Get the version and what is supported", "", "Info"},
  {"GET", "/metrics", "System", "Get counts for Prometheus, or as JSON", "", "text", 200,
   metrics_format, "text/plain", metrics_as_json},
  {"GET", "/openapi.json", "System", "Get this document", "", "map"},
  {"GET", "/docs", "System", "Read this document as a page", "", "text", 200, {}, "text/html"},
};

} // namespace described

std::span<const route_note> route_notes() noexcept {
  return described::all;
}

} // namespace troupe::server
