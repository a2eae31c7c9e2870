// The records of an Agent Server: assistants, threads, runs, crons and items, as a client gets
// them.
#pragma once

#include <troupe/runtime.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A version of a graph's configuration.
/// Shape:  `raw` is the server's whole record, also in the structs below. A member that the server
///         leaves out is empty. Times are ISO 8601 text.
/// Units:  `version` counts from 1.
/// Errors: none.
/// Source: langgraph_sdk/schema.py, Assistant.
struct remote_assistant {
  std::string assistant_id;
  std::string graph_id;
  std::string name;
  std::string description;
  std::int64_t version = 0;
  value config;
  value context;
  value metadata;
  std::string created_at;
  std::string updated_at;
  value raw;
};

/// A thread of the server.
/// Shape:  `status` is "idle", "busy", "interrupted" or "error". `values` is null before the first
///         run. `interrupts`: the questions that wait, of all tasks.
/// Errors: none.
/// Source: langgraph_sdk/schema.py, Thread.
struct remote_thread {
  std::string thread_id;
  std::string status;
  value metadata;
  value values;
  std::vector<interrupt> interrupts;
  std::string created_at;
  std::string updated_at;
  value raw;
};

/// A run of the server.
/// Shape:  `status` is "pending", "running", "success", "error", "timeout" or "interrupted".
/// Errors: none.
/// Source: langgraph_sdk/schema.py, Run.
struct remote_run {
  std::string run_id;
  std::string thread_id;
  std::string assistant_id;
  std::string status;
  std::string multitask_strategy;
  value metadata;
  std::string created_at;
  std::string updated_at;
  value raw;
  /// Whether it has not ended.
  bool goes_on() const noexcept { return status == "pending" || status == "running"; }
};

/// A run that is started again and again.
/// Shape:  `thread_id` is empty when each run gets a thread of its own. `end_time` and
///         `next_run_date` may be empty.
/// Errors: none.
/// Source: langgraph_sdk/schema.py, Cron.
struct remote_cron {
  std::string cron_id;
  std::string assistant_id;
  std::string thread_id;
  std::string schedule;
  std::string timezone;
  std::string end_time;
  std::string next_run_date;
  bool enabled = true;
  value payload;
  value metadata;
  std::string created_at;
  std::string updated_at;
  value raw;
};

/// An item of the server's store.
/// Units:  `score` from a search with a query; higher is closer.
/// Errors: none.
/// Source: langgraph_sdk/schema.py, Item, SearchItem.
struct remote_item {
  std::vector<std::string> ns;
  std::string key;
  troupe::value value;
  std::optional<double> score;
  std::string created_at;
  std::string updated_at;
  troupe::value raw;
};

/// Reads and writes `raw`.
/// Errors: throws error{invalid_value} for a value that is not a map.
/// Source: troupe.
template <> struct value_traits<remote_assistant> {
  static value to(const remote_assistant& a) { return a.raw; }
  static remote_assistant from(const value& v);
};
template <> struct value_traits<remote_thread> {
  static value to(const remote_thread& t) { return t.raw; }
  static remote_thread from(const value& v);
};
template <> struct value_traits<remote_run> {
  static value to(const remote_run& r) { return r.raw; }
  static remote_run from(const value& v);
};
template <> struct value_traits<remote_cron> {
  static value to(const remote_cron& c) { return c.raw; }
  static remote_cron from(const value& v);
};
template <> struct value_traits<remote_item> {
  static value to(const remote_item& i) { return i.raw; }
  static remote_item from(const value& v);
};

/// The snapshot of a ThreadState, the server's JSON of a state.
/// Shape:  an error of a task is an error value of class RemoteException. task_snapshot::path is
///         empty.
/// Errors: throws error{invalid_value} for a value that is not a map.
/// Source: langgraph/pregel/remote.py, RemoteGraph._create_state_snapshot.
state_snapshot snapshot_of_thread_state(const value& state);
/// Errors: throws error{invalid_value} for a value that is not a list of such maps.
/// Source: langgraph/pregel/remote.py, RemoteGraph.get_state_history.
std::vector<state_snapshot> snapshots_of_history(const value& states);

} // namespace troupe
