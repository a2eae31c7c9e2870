// run_tracing: the parts of a run as events of LangChain's tracers, the stream mode `events`. Pure.
#pragma once

#include "server/rules/growing_message.hpp"

#include <troupe/runtime.hpp>
#include <troupe/value.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The run that the events are about.
/// Shape:  `input`: as its client gave it. `nested`: the names of nested graphs by the names of
///         their nodes, as "outer|inner".
struct traced_run {
  std::string run_id;
  std::string name; ///< of the run, or of its graph
  value input;
  value tags = value::list();
  value metadata = value::map();
  std::map<std::string, std::string> nested = {};
};

/// Translates the parts of modes debug, messages and tools of one run, nested graphs included.
/// Shape:  an event is {event, name, run_id, parent_ids, tags, metadata, data}; `event` is
///         on_chain_start, _stream or _end of graphs and nodes, on_chat_model_start, _stream or
///         _end, or on_tool_start or _end. A task that fails or asks has no end.
/// Order:  a start comes before all within it. Parents are from the root on.
/// Source: langchain_core/tracers/event_stream.py, astream_events(version="v2").
class run_tracing {
public:
  using events = std::vector<value>;

  /// `new_id`: gives a new id for what runs within the run.
  run_tracing(traced_run run, std::function<std::string()> new_id);

  value began() const;
  events part(const stream_part& part);
  /// Shape:  `output`: the run's, without questions.
  value ended(const value& output) const;

private:
  struct span {
    std::string run_id = {};
    std::string name = {};
    std::vector<std::string> parents = {};
    value tags = {};
    value metadata = {};
    value input = {};
  };
  struct model_span : span {
    growing_message answer = {};
  };
  struct task_span : span {
    std::string ns = {};                           // of its graph
    std::optional<span> graph = std::nullopt;      // the one within it
    std::map<std::string, model_span> models = {}; // by message id
    std::map<std::string, span> tools = {};        // by the id of the call
  };

  static value event(std::string_view name, const span& of, value data);
  static std::vector<std::string> within(const span& outer);
  void begin_task(const stream_part& part, events& out);
  void end_task(const stream_part& part, events& out);
  void take_message(const stream_part& part, events& out);
  void take_tool(const stream_part& part, events& out);
  model_span model_of(const task_span& task, const value& metadata) const;
  static void end_model(const model_span& model, events& out);
  const span& graph_at(const std::vector<std::string>& ns, events& out);
  task_span* task_of_call(const std::vector<std::string>& ns, const std::string& call_id);

  span root_;
  std::map<std::string, std::string> nested_;
  std::function<std::string()> new_id_;
  std::map<std::string, task_span> tasks_; // by task id, until they end
};

} // namespace troupe::server
