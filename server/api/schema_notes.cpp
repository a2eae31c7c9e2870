// schema_notes: the objects of requests and answers.
#include "server/api/route_notes.hpp"

#include <iterator>

namespace troupe::server {
namespace objects {

using member = member_note;

constexpr member error_members[]{{"detail", "any!", "what is wrong, a text"}};
constexpr member protocol_error[]{{"error", "any", "a text, or {code, message}"},
                                  {"message", "text"},
                                  {"detail", "any", "as of an Error"}};
constexpr member event_members[]{{"event", "text"}, {"data", "text!", "JSON"}, {"id", "text"}};

// ---- assistants

constexpr member assistant_shown[]{{"assistant_id", "uuid!"},
                                   {"graph_id", "text!", "the graph that its runs execute"},
                                   {"name", "text!"},
                                   {"description", "text?"},
                                   {"config", "Config!", "defaults of its runs"},
                                   {"context", "map!", "the default context of its runs"},
                                   {"metadata", "map!"},
                                   {"version", "int!", "grows with every change"},
                                   {"created_at", "time!"},
                                   {"updated_at", "time!"}};
constexpr member assistant_create[]{{"graph_id", "text!"},
                                    {"assistant_id", "uuid?", "a new one by default"},
                                    {"name", "text?", "Untitled by default"},
                                    {"description", "text?"},
                                    {"config", "Config?"},
                                    {"context", "map?"},
                                    {"metadata", "map?"},
                                    {"if_exists", "raise|do_nothing",
                                     "for a known assistant_id; raise by default"}};
constexpr member assistant_patch[]{
  {"graph_id", "text?"},    {"name", "text?"},
  {"description", "text?"}, {"config", "Config?", "replaces the old one"},
  {"context", "map?"},      {"metadata", "map?", "its members are added to the old ones"}};
constexpr member assistant_search[]{{"graph_id", "text?"},
                                    {"name", "text?", "a part of the name, in any case"},
                                    {"metadata", "map?",
                                     "members that an assistant's metadata contain"},
                                    {"limit", "int?", "10 by default"},
                                    {"offset", "int?"},
                                    {"sort_by", "created_at|assistant_id|updated_at|name|graph_id"},
                                    {"sort_order", "asc|desc"},
                                    {"select", "[text]?", "the members that are answered"}};
constexpr member version_search[]{
  {"limit", "int?", "10 by default"}, {"offset", "int?"}, {"metadata", "map?"}};
constexpr member version_choice[]{{"version", "int!"}};
constexpr member graph_drawing[]{{"nodes", "[map]!", "{id, type, data} each"},
                                 {"edges", "[map]!", "{source, target, conditional, data} each"}};
constexpr member graph_schemas[]{
  {"graph_id", "text"},      {"input_schema", "map?", "a JSON Schema, as the others"},
  {"output_schema", "map?"}, {"state_schema", "map?"},
  {"config_schema", "map?"}, {"context_schema", "map?"}};
constexpr member config_members[]{
  {"tags", "[text]"}, {"recursion_limit", "int"}, {"configurable", "map"}, {"metadata", "map"}};

// ---- threads

constexpr member thread_shown[]{{"thread_id", "uuid!"},
                                {"created_at", "time!"},
                                {"updated_at", "time!"},
                                {"state_updated_at", "time!"},
                                {"metadata", "map!"},
                                {"config", "map!"},
                                {"status", "idle|busy|interrupted|error!"},
                                {"values", "map?", "those of the newest checkpoint"},
                                {"interrupts", "{[Interrupt]}",
                                 "open questions, by the id of the task"},
                                {"error", "map?", "{error, message} of the last run"}};
constexpr member thread_create[]{
  {"thread_id", "uuid?", "a new one by default"},
  {"metadata", "map?"},
  {"if_exists", "raise|do_nothing", "raise by default"},
  {"ttl", "Ttl?"},
  {"supersteps", "[map]?", "{updates: [{values, command, as_node}]} each: a state to begin with"},
  {"graph_id", "text?", "of the super-steps"}};
constexpr member ttl_members[]{{"ttl", "number!", "minutes without a change"},
                               {"strategy", "delete|keep_latest"}};
constexpr member thread_patch[]{{"metadata", "map?", "its members are added to the old ones"},
                                {"ttl", "Ttl?"}};
constexpr member thread_search[]{
  {"ids", "[uuid]?"},
  {"status", "idle|busy|interrupted|error"},
  {"metadata", "map?", "members that a thread's metadata contain"},
  {"values", "map?", "members that a thread's values contain"},
  {"limit", "int?", "10 by default"},
  {"offset", "int?"},
  {"sort_by", "created_at|thread_id|status|updated_at|state_updated_at"},
  {"sort_order", "asc|desc"},
  {"select", "[text]?", "the members that are answered"},
  {"extract", "{text}?", "names of further members, and the paths of their values"}};
constexpr member thread_prune[]{{"thread_ids", "[uuid]!"}, {"strategy", "delete|keep_latest"}};
constexpr member pruned[]{{"pruned_count", "int!"}};
constexpr member interrupt_members[]{{"id", "text!"}, {"value", "any!"}};
constexpr member checkpoint_members[]{{"thread_id", "uuid"},
                                      {"checkpoint_ns", "text", "of a nested graph"},
                                      {"checkpoint_id", "text?"},
                                      {"checkpoint_map", "map?"}};
constexpr member state_members[]{{"values", "any!"},
                                 {"next", "[text]!", "the nodes that run next"},
                                 {"tasks", "[map]!",
                                  "{id, name, error, interrupts, checkpoint, state, result} each"},
                                 {"interrupts", "[Interrupt]!"},
                                 {"metadata", "map?"},
                                 {"created_at", "time?"},
                                 {"checkpoint", "Checkpoint?"},
                                 {"parent_checkpoint", "Checkpoint?"},
                                 {"checkpoint_id", "text?"},
                                 {"parent_checkpoint_id", "text?"}};
constexpr member state_update_members[]{{"values", "any?", "written as by the node"},
                                        {"as_node", "text?"},
                                        {"checkpoint", "Checkpoint?"},
                                        {"checkpoint_id", "uuid?"}};
constexpr member state_updated[]{
  {"checkpoint", "Checkpoint!"}, {"configurable", "map!"}, {"checkpoint_id", "uuid!"}};
constexpr member state_at[]{{"checkpoint", "Checkpoint!"},
                            {"subgraphs", "bool?", "with the states of nested graphs"},
                            {"select", "[text]?", "values, or values.KEY"}};
constexpr member history_search[]{{"limit", "int?", "10 by default"},
                                  {"before", "any?", "a checkpoint, or its id"},
                                  {"metadata", "map?"},
                                  {"checkpoint", "Checkpoint?", "of a nested graph"},
                                  {"select", "[text]?"}};
constexpr member storage_members[]{
  {"thread_id", "uuid!"}, {"total_bytes", "int!"}, {"checkpoints", "map!", "{count, bytes}"}};
constexpr member protocol_command[]{
  {"id", "int!"},
  {"method", "text!", "run.start, input.respond, state.get, agent.getTree or subscription.…"},
  {"params", "map"}};
constexpr member protocol_answer[]{{"type", "success|error!"}, {"id", "int?"},
                                   {"result", "map"},          {"error", "text"},
                                   {"message", "text"},        {"meta", "map"}};
constexpr member protocol_subscription[]{{"channels", "[text]!",
                                          "lifecycle, values, messages, input, tools"},
                                         {"namespaces", "[[text]]?", "prefixes"},
                                         {"depth", "int?"},
                                         {"since", "int?", "the number of the last known event"}};

// ---- runs

constexpr member command_members[]{{"resume", "any", "the answer to a question, or answers by id"},
                                   {"update", "any", "writes to the state"},
                                   {"goto", "any", "nodes that run next"}};
constexpr member run_members[]{{"run_id", "uuid!"},
                               {"thread_id", "uuid!"},
                               {"assistant_id", "uuid!"},
                               {"created_at", "time!"},
                               {"updated_at", "time!"},
                               {"status", "pending|running|success|error|timeout|interrupted!"},
                               {"metadata", "map!"},
                               {"kwargs", "map!",
                                "the members of the request that the run is carried out with"},
                               {"multitask_strategy", "reject|enqueue|interrupt|rollback!"}};
constexpr member run_create[]{
  {"assistant_id", "text!", "its id, or the name of a graph"},
  {"input", "any?"},
  {"command", "Command?", "in place of an input"},
  {"config", "Config?"},
  {"context", "map?"},
  {"metadata", "map?"},
  {"checkpoint", "Checkpoint?", "where the run begins"},
  {"checkpoint_id", "uuid?"},
  {"stream_mode", "any?",
   "a mode or a list: values, updates, messages, messages-tuple, custom, "
   "debug, tasks, checkpoints, tools, events"},
  {"stream_subgraphs", "bool?"},
  {"stream_resumable", "bool?", "events have ids and are kept, so that a reader can come back"},
  {"interrupt_before", "any?", "nodes, or *"},
  {"interrupt_after", "any?", "nodes, or *"},
  {"durability", "sync|async|exit", "async by default"},
  {"multitask_strategy", "reject|enqueue|interrupt|rollback", "enqueue by default"},
  {"if_not_exists", "reject|create", "for an unknown thread; reject by default"},
  {"on_disconnect", "cancel|continue", "continue by default"},
  {"on_completion", "delete|keep", "of a run without a thread; delete by default"},
  {"after_seconds", "number?", "the run begins so much later"},
  {"webhook", "uri?", "called at the run's end"},
  {"strict_resume", "bool?", "an answer to an unknown question is refused"}};
constexpr member runs_cancel[]{{"status", "pending|running|all"},
                               {"thread_id", "uuid?"},
                               {"run_ids", "[uuid]?", "with thread_id, in place of status"}};

// ---- crons

constexpr member cron_shown[]{{"cron_id", "uuid!"},       {"assistant_id", "uuid!"},
                              {"thread_id", "uuid?"},     {"schedule", "text!"},
                              {"timezone", "text?"},      {"end_time", "time?"},
                              {"enabled", "bool!"},       {"payload", "map!"},
                              {"metadata", "map!"},       {"on_run_completed", "text?"},
                              {"next_run_date", "time?"}, {"created_at", "time!"},
                              {"updated_at", "time!"}};
constexpr member cron_create[]{{"assistant_id", "text!", "its id, or the name of a graph"},
                               {"schedule", "text!", "five fields, as of crontab"},
                               {"timezone", "text?", "a name as Europe/Berlin; UTC by default"},
                               {"end_time", "time?"},
                               {"enabled", "bool?"},
                               {"input", "any?", "of its runs, as the other members of RunCreate"},
                               {"config", "Config?"},
                               {"context", "map?"},
                               {"metadata", "map?"},
                               {"on_run_completed", "delete|keep",
                                "the thread of a run; delete by default"}};
constexpr member cron_patch[]{{"schedule", "text?"},
                              {"timezone", "text?"},
                              {"end_time", "time?", "null removes it"},
                              {"enabled", "bool?"},
                              {"input", "any?"},
                              {"config", "Config?"},
                              {"metadata", "map?"},
                              {"on_run_completed", "delete|keep"}};
constexpr member cron_search[]{
  {"assistant_id", "text?"},
  {"thread_id", "uuid?"},
  {"enabled", "bool?"},
  {"metadata", "map?"},
  {"limit", "int?", "10 by default"},
  {"offset", "int?"},
  {"sort_by", "created_at|cron_id|assistant_id|thread_id|updated_at|next_run_date|end_time"},
  {"sort_order", "asc|desc"},
  {"select", "[text]?"}};

// ---- the store

constexpr member item_members[]{{"namespace", "[text]!"}, {"key", "text!"},
                                {"value", "map!"},        {"created_at", "time!"},
                                {"updated_at", "time!"},  {"score", "number?", "of a search"}};
constexpr member item_put[]{{"namespace", "[text]!"},
                            {"key", "text!"},
                            {"value", "map!"},
                            {"index", "any?", "the members that are searched by meaning, or false"},
                            {"ttl", "number?", "minutes"}};
constexpr member item_delete[]{{"namespace", "[text]!"}, {"key", "text!"}};
constexpr member item_search[]{{"namespace_prefix", "[text]!"},
                               {"filter", "map?"},
                               {"query", "text?", "a meaning"},
                               {"limit", "int?"},
                               {"offset", "int?"},
                               {"refresh_ttl", "bool?"}};
constexpr member items_found[]{{"items", "[Item]!"}};
constexpr member namespace_search[]{{"prefix", "[text]?"},
                                    {"suffix", "[text]?"},
                                    {"max_depth", "int?"},
                                    {"limit", "int?", "100 by default"},
                                    {"offset", "int?"}};
constexpr member namespaces_found[]{{"namespaces", "[[text]]!"}};

// ---- the rest

constexpr member rpc_request[]{{"jsonrpc", "text!", "2.0"},
                               {"id", "any", "a text or an integer; missing in a notification"},
                               {"method", "text!"},
                               {"params", "map"}};
constexpr member rpc_answer[]{{"jsonrpc", "text!", "2.0"},
                              {"id", "any!"},
                              {"result", "any"},
                              {"error", "map", "{code, message}"}};
constexpr member info_members[]{{"version", "text!"}, {"flags", "{bool}!"}};
constexpr member ok_members[]{{"ok", "bool!"}};
constexpr member live_members[]{{"live", "bool!"}};
constexpr member ready_members[]{{"ready", "bool!"}, {"detail", "text", "why it is not"}};

constexpr schema_note all[]{
  {"Error", "The answer of a refusal.", error_members},
  {"ProtocolError", "The answer of a refusal in another protocol.", protocol_error},
  {"Event", "An event of a stream.", event_members},
  {"Config", "A run's config.", config_members},
  {"Assistant", "A graph with defaults for its runs.", assistant_shown},
  {"AssistantVersion", "An assistant as it was.",
   std::span{assistant_shown}.first(std::size(assistant_shown) - 1)}, // all but updated_at
  {"AssistantCreate", "", assistant_create},
  {"AssistantPatch", "", assistant_patch},
  {"AssistantSearch", "", assistant_search},
  {"VersionSearch", "", version_search},
  {"VersionChoice", "", version_choice},
  {"Graph", "The nodes and edges of a graph.", graph_drawing},
  {"GraphSchemas", "The JSON Schemas of a graph.", graph_schemas},
  {"Thread", "A conversation: the state that its runs share.", thread_shown},
  {"ThreadCreate", "", thread_create},
  {"ThreadPatch", "", thread_patch},
  {"ThreadSearch", "", thread_search},
  {"ThreadPrune", "", thread_prune},
  {"Pruned", "", pruned},
  {"Ttl", "The life of a thread.", ttl_members},
  {"ThreadStorage", "The space that a thread takes.", storage_members},
  {"Interrupt", "A question of a run.", interrupt_members},
  {"Checkpoint", "A place in a thread's history.", checkpoint_members},
  {"ThreadState", "The state of a thread after a step.", state_members},
  {"StateUpdate", "", state_update_members},
  {"StateUpdated", "", state_updated},
  {"StateAt", "", state_at},
  {"HistorySearch", "", history_search},
  {"Command", "An answer, writes or destinations in place of an input.", command_members},
  {"Run", "One call of a graph on a thread.", run_members},
  {"RunCreate", "", run_create},
  {"RunsCancel", "", runs_cancel},
  {"Cron", "Runs that the clock starts.", cron_shown},
  {"CronCreate", "", cron_create},
  {"CronPatch", "", cron_patch},
  {"CronSearch", "", cron_search},
  {"Item", "A value of long-term memory.", item_members},
  {"ItemPut", "", item_put},
  {"ItemDelete", "", item_delete},
  {"ItemSearch", "", item_search},
  {"ItemsFound", "", items_found},
  {"NamespaceSearch", "", namespace_search},
  {"NamespacesFound", "", namespaces_found},
  {"ProtocolCommand", "A command of the thread protocol.", protocol_command},
  {"ProtocolAnswer", "", protocol_answer},
  {"ProtocolSubscription", "", protocol_subscription},
  {"RpcRequest", "A message of JSON-RPC 2.0.", rpc_request},
  {"RpcAnswer", "", rpc_answer},
  {"Info", "", info_members},
  {"Ok", "", ok_members},
  {"Live", "", live_members},
  {"Ready", "", ready_members}};

} // namespace objects

std::span<const schema_note> schema_notes() noexcept {
  return objects::all;
}

} // namespace troupe::server
