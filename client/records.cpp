// records: the server's JSON as structs.
#include <troupe/client/records.hpp>

namespace troupe {

namespace {

void check_record(const value& v, const char* what) {
  if (!v.is_map())
    throw error{errc::invalid_value, std::string{"read the agent server's answer: "} + what
                                       + " is not an object: " + to_json(v).substr(0, 200)};
}

std::string text_of_member(const value& v, const char* name) {
  return v[name].is_string() ? v[name].as<std::string>() : std::string{};
}

std::int64_t number_of_member(const value& v, const char* name) {
  return v[name].is_int() ? v[name].as_int() : 0;
}

std::vector<interrupt> questions_of(const value& list) {
  std::vector<interrupt> out;
  for (const auto& one : list.items())
    out.push_back({text_of_member(one, "id"), one["value"], one["response_schema"]});
  return out;
}

checkpoint_ref place_of_checkpoint(const value& v) {
  return {text_of_member(v, "thread_id"), text_of_member(v, "checkpoint_ns"),
          text_of_member(v, "checkpoint_id")};
}

value task_error(const value& given) {
  if (given.is_null())
    return {};
  auto text = given.is_string() ? given.as<std::string>() : to_json(given);
  return value::extension(value_kind::error,
                          value::map({{"type", "RemoteException"}, {"message", text}}));
}

task_snapshot task_of(const value& v) {
  task_snapshot out;
  out.id = text_of_member(v, "id");
  out.name = text_of_member(v, "name");
  out.error = task_error(v["error"]);
  out.interrupts = questions_of(v["interrupts"]);
  if (!v["result"].is_null())
    out.result = v["result"];
  out.subgraph_ns = text_of_member(v["checkpoint"], "checkpoint_ns");
  if (v["state"].is_map()) {
    out.state = std::make_shared<state_snapshot>(snapshot_of_thread_state(v["state"]));
    out.subgraph_ns = out.state->config.checkpoint_ns;
  }
  return out;
}

} // namespace

remote_assistant value_traits<remote_assistant>::from(const value& v) {
  check_record(v, "an assistant");
  remote_assistant out;
  out.assistant_id = text_of_member(v, "assistant_id");
  out.graph_id = text_of_member(v, "graph_id");
  out.name = text_of_member(v, "name");
  out.description = text_of_member(v, "description");
  out.version = number_of_member(v, "version");
  out.config = v["config"];
  out.context = v["context"];
  out.metadata = v["metadata"];
  out.created_at = text_of_member(v, "created_at");
  out.updated_at = text_of_member(v, "updated_at");
  out.raw = v;
  return out;
}

remote_thread value_traits<remote_thread>::from(const value& v) {
  check_record(v, "a thread");
  remote_thread out;
  out.thread_id = text_of_member(v, "thread_id");
  out.status = text_of_member(v, "status");
  out.metadata = v["metadata"];
  out.values = v["values"];
  for (const auto& task : v["interrupts"].entries())
    for (auto& question : questions_of(task.val))
      out.interrupts.push_back(std::move(question));
  out.created_at = text_of_member(v, "created_at");
  out.updated_at = text_of_member(v, "updated_at");
  out.raw = v;
  return out;
}

remote_run value_traits<remote_run>::from(const value& v) {
  check_record(v, "a run");
  remote_run out;
  out.run_id = text_of_member(v, "run_id");
  out.thread_id = text_of_member(v, "thread_id");
  out.assistant_id = text_of_member(v, "assistant_id");
  out.status = text_of_member(v, "status");
  out.multitask_strategy = text_of_member(v, "multitask_strategy");
  out.metadata = v["metadata"];
  out.created_at = text_of_member(v, "created_at");
  out.updated_at = text_of_member(v, "updated_at");
  out.raw = v;
  return out;
}

remote_cron value_traits<remote_cron>::from(const value& v) {
  check_record(v, "a cron");
  remote_cron out;
  out.cron_id = text_of_member(v, "cron_id");
  out.assistant_id = text_of_member(v, "assistant_id");
  out.thread_id = text_of_member(v, "thread_id");
  out.schedule = text_of_member(v, "schedule");
  out.timezone = text_of_member(v, "timezone");
  out.end_time = text_of_member(v, "end_time");
  out.next_run_date = text_of_member(v, "next_run_date");
  out.enabled = !v["enabled"].is_bool() || v["enabled"].as_bool();
  out.payload = v["payload"];
  out.metadata = v["metadata"];
  out.created_at = text_of_member(v, "created_at");
  out.updated_at = text_of_member(v, "updated_at");
  out.raw = v;
  return out;
}

remote_item value_traits<remote_item>::from(const value& v) {
  check_record(v, "an item");
  remote_item out;
  for (const auto& label : v["namespace"].items())
    out.ns.push_back(label.as<std::string>());
  out.key = text_of_member(v, "key");
  out.value = v["value"];
  if (v["score"].is_number())
    out.score = v["score"].as_double();
  out.created_at = text_of_member(v, "created_at");
  out.updated_at = text_of_member(v, "updated_at");
  out.raw = v;
  return out;
}

state_snapshot snapshot_of_thread_state(const value& state) {
  check_record(state, "a state");
  state_snapshot out;
  out.values = state["values"].is_null() ? value::map() : state["values"];
  for (const auto& node : state["next"].items())
    out.next.push_back(node.as<std::string>());
  out.config = place_of_checkpoint(state["checkpoint"]);
  out.metadata = state["metadata"];
  out.created_at = text_of_member(state, "created_at");
  out.parent_id = text_of_member(state["parent_checkpoint"], "checkpoint_id");
  for (const auto& task : state["tasks"].items()) {
    out.tasks.push_back(task_of(task));
    const auto& asked = out.tasks.back().interrupts;
    out.interrupts.insert(out.interrupts.end(), asked.begin(), asked.end());
  }
  return out;
}

std::vector<state_snapshot> snapshots_of_history(const value& states) {
  if (!states.is_list())
    throw error{errc::invalid_value, "read the agent server's answer: a history is not a list"};
  std::vector<state_snapshot> out;
  for (const auto& state : states.items())
    out.push_back(snapshot_of_thread_state(state));
  return out;
}

} // namespace troupe
