// The requests to an Agent Server: what a client sends. Empty and null members are not sent, so the
// server's defaults count.
#pragma once

#include <troupe/control.hpp>
#include <troupe/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A part of a list: how many records, after how many others, in which order.
/// Shape:  `sort_by` names a member, `sort_order` is "asc" or "desc". `select` names the members
///         that are wanted.
/// Units:  `limit` 1 … 1000; `offset` in records.
/// Errors: none here; the server refuses bad ones with invalid_value.
/// Source: langgraph_sdk/_sync/threads.py, search.
struct remote_page {
  std::size_t limit = 10;
  std::size_t offset = 0;
  std::string sort_by = {};
  std::string sort_order = {};
  std::vector<std::string> select = {};
};

/// A new assistant, or the changes of one.
/// Shape:  `if_exists` is "raise" or "do_nothing"; no meaning for a change.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/assistants.py, create and update.
struct remote_assistant_fields {
  std::string graph_id = {};
  std::string assistant_id = {};
  value config = {};
  value context = {};
  value metadata = {};
  std::string name = {};
  std::string description = {};
  std::string if_exists = {};
};

/// Selects assistants.
/// Shape:  `name` is a part of the name; `metadata` has members that must be equal.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/assistants.py, search.
struct remote_assistant_search {
  std::string graph_id = {};
  std::string name = {};
  value metadata = {};
  remote_page page = {};
};

/// A new thread.
/// Shape:  `thread_id` is a UUID. `supersteps` is a list of {updates}, which is a list of {values,
///         command, as_node}.
/// Units:  `ttl_minutes` until the thread is deleted.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/threads.py, create.
struct remote_thread_fields {
  std::string thread_id = {};
  value metadata = {};
  std::string graph_id = {};
  std::string if_exists = {};
  value supersteps = {};
  std::optional<double> ttl_minutes = std::nullopt;
};

/// Selects threads.
/// Shape:  `extract` maps a name to a path in the values.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/threads.py, search.
struct remote_thread_search {
  value metadata = {};
  value values = {};
  std::vector<std::string> ids = {};
  std::string status = {};
  value extract = {};
  remote_page page = {};
};

/// A run to create.
/// Shape:  `assistant_id` may be the name of a graph. `input` null and no `command`: the thread
///         continues. `stream_mode`: modes of the wire, "messages-tuple" for messages. `checkpoint`
///         is {checkpoint_id, checkpoint_ns}. The text fields have the words of the reference:
///         `multitask_strategy` "reject", "enqueue", "interrupt", "rollback"; `if_not_exists`
///         "reject", "create"; `on_disconnect` "cancel", "continue"; `on_completion` "delete",
///         "keep"; `durability` "sync", "async", "exit".
/// Errors: none here.
/// Source: langgraph_sdk/_sync/runs.py, create, stream and wait.
struct remote_run_request {
  std::string assistant_id = {};
  value input = {};
  std::optional<troupe::command> command = std::nullopt;
  value config = {};
  value context = {};
  value metadata = {};
  value checkpoint = {};
  std::vector<std::string> stream_mode = {};
  bool stream_subgraphs = false;
  bool stream_resumable = false;
  std::vector<std::string> interrupt_before = {};
  std::vector<std::string> interrupt_after = {};
  std::string multitask_strategy = {};
  std::string if_not_exists = {};
  std::string on_disconnect = {};
  std::string on_completion = {};
  std::string durability = {};
  std::string webhook = {};
  std::optional<double> after_seconds = std::nullopt;
};

/// A cron to create, or the changes of one.
/// Shape:  `schedule` has five fields; `timezone` is an IANA name; `end_time` ISO 8601 text.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/cron.py, create and update.
struct remote_cron_fields {
  std::string schedule = {};
  std::string timezone = {};
  std::string end_time = {};
  std::optional<bool> enabled = std::nullopt;
  std::string on_run_completed = {};
  remote_run_request run = {};
};

/// Selects crons.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/cron.py, search.
struct remote_cron_search {
  std::string assistant_id = {};
  std::string thread_id = {};
  value metadata = {};
  remote_page page = {};
};

/// Selects items of the store, those below a namespace.
/// Shape:  `filter` has members of the value, equal or with operators as {"$gt": 1}.
/// Errors: none here.
/// Source: langgraph_sdk/_sync/store.py, search_items.
struct remote_item_search {
  std::vector<std::string> prefix = {};
  value filter = {};
  std::string query = {};
  std::size_t limit = 10;
  std::size_t offset = 0;
};

} // namespace troupe
