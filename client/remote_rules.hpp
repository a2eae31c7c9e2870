// remote_rules: how a remote graph is asked, and what its events mean here. Pure.
#pragma once

#include <troupe/client/requests.hpp>
#include <troupe/compiled_graph.hpp>
#include <troupe/runtime.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The modes on the wire: those of `wanted`, and always values and updates, which show the result
/// and the questions.
/// Source: langgraph/pregel/remote.py, RemoteGraph._get_stream_modes.
std::vector<std::string> wire_modes_for(const std::vector<stream_mode>& wanted);
/// The mode of an event; nothing for "metadata" and others that are not parts.
std::optional<stream_mode> mode_of_event(std::string_view mode);

/// The config of a request: {recursion_limit, tags, metadata, configurable}, without members that
/// are not JSON or that belong to the caller's engine.
/// Source: langgraph/pregel/remote.py, RemoteGraph._sanitize_config.
value config_for_server(const run_config& config);

/// A run of `assistant_id`. Its events are kept, so that it can be joined again.
/// Shape:  `config` is whole, with defaults. A context goes along only without a configurable,
///         since servers refuse both.
remote_run_request run_request_for(const std::string& assistant_id, const run_input& input,
                                   const run_config& config,
                                   const std::vector<stream_mode>& wanted);

/// The questions in a chunk of values or updates; nothing without the member `__interrupt__`.
std::optional<std::vector<interrupt>> questions_in(const value& chunk);

/// The data of a part, from the JSON of an event: questions are interrupts, messages of the mode
/// messages are messages.
value part_data_of(stream_mode mode, const value& data);

/// The next call of a node whose run is resumed.
struct resumed_call {
  enum class kind : std::uint8_t {
    start,   ///< the remote thread is finished: the node's input
    proceed, ///< it waits at a breakpoint, or was cut off: no input
    answer,  ///< `resume` answers its questions
    ask,     ///< its questions have no answer yet
  };
  kind what = kind::start;
  value resume = {};
};
/// Shape:  `answers` by the id of a question. `plain`: an answer without an id, if there is one.
resumed_call call_to_resume(const state_snapshot& remote, const value& answers,
                            const std::optional<value>& plain);

/// A graph of the JSON {nodes, edges} that can be drawn.
/// Source: langgraph/pregel/remote.py, RemoteGraph.get_graph.
compiled_graph graph_to_draw(const value& drawn);

} // namespace troupe
