// The remote graph: a graph on an Agent Server, as a node of a graph here, or on its own.
//
//     troupe::remote_graph writer{client, "writer"};
//     g.add_node("write", writer);
//     auto out = writer.invoke({{"topic", "rain"}}, {.thread_id = id}).value();
#pragma once

#include <troupe/client/agent_client.hpp>
#include <troupe/compiled_graph.hpp>
#include <troupe/node_body.hpp>
#include <troupe/runtime.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class remote_reader; // client/remote_run.hpp

/// The parts of a run of a remote graph, and its result. The first next() or get() starts it.
/// Thread: one at a time.
/// Errors: next() and get() throw those of run_events; node_failed of the run's class when the
///         run failed; parent_command when it ended with a command for a graph around it.
/// Source: langgraph/pregel/remote.py, RemoteGraph.stream.
class remote_parts {
public:
  explicit remote_parts(std::shared_ptr<remote_reader> reader) noexcept;
  remote_parts(remote_parts&&) noexcept;
  remote_parts& operator=(remote_parts&&) noexcept;
  ~remote_parts();

  /// The next part of the modes that were asked for, or nothing at the end.
  /// Shape:  as stream_part, from JSON: a message of a state is a map, of mode messages a message.
  ///         Unless the config has `subgraphs`, `ns` is empty.
  /// Blocks: until a part is there.
  std::optional<stream_part> next();
  result<std::optional<stream_part>> try_next();
  coro<std::optional<stream_part>> next(context& ctx);

  /// Reads to the end.
  /// Shape:  its value is the last state of the run; `next` and `checkpoint_id` are empty.
  run_result get();
  coro<run_result> get(context& ctx);

private:
  std::shared_ptr<remote_reader> reader_;
};

/// Defaults of a remote graph.
/// Shape:  `name`: empty for the assistant's. `config` as basic_app::with_config.
/// Errors: none.
/// Source: langgraph/pregel/remote.py, RemoteGraph.
struct remote_graph_options {
  std::string name = {};
  run_config config = {};
};

/// A graph on an Agent Server. Cheap to copy.
///
/// A request has these members of a config: recursion_limit, tags, metadata, configurable, context,
/// breakpoints, durability and, unless it is take_over, multitask. Members of metadata and
/// configurable that are not JSON are left out. The thread's id on the server is thread_of() the
/// config's.
///
/// As a node it runs on the thread of its caller, or without one. The node's input is its input,
/// and its last state is the node's update. Its questions are questions of the caller's run, under
/// their ids, and an answer resumes the remote thread. A command for the parent graph is the node's
/// output. A stream of the caller with `subgraphs` has its parts.
///
/// A lost connection joins the run again, from the event after the last one. No run is started a
/// second time, unless a retry policy runs the node again. A run whose caller is given up continues
/// on its server.
/// Thread: any.
/// Errors: those of remote_parts. As a node, of the node.
/// Source: langgraph/pregel/remote.py, RemoteGraph. There a resumed node sends its input again.
class remote_graph {
public:
  /// Shape:  `assistant_id` may be the name of a graph.
  remote_graph(agent_client client, std::string assistant_id, remote_graph_options options = {});

  const std::string& name() const noexcept;
  const std::string& assistant_id() const noexcept;

  /// The body of a node.
  coro<node_output> operator()(const state_view& input, context& ctx) const;

  /// Runs until the graph ends or pauses. In a coroutine body: stream(…).get(ctx).
  /// Blocks: until then.
  run_result invoke(const run_input& input, const run_config& config = {}) const;
  result<run_result> try_invoke(const run_input& input, const run_config& config = {}) const;
  remote_parts stream(const run_input& input, const run_config& config = {},
                      const std::vector<stream_mode>& modes = {stream_mode::updates}) const;

  /// The state of a thread, its history, and a write as if a node had written.
  /// Errors: throw error{invalid_config} for a config without a thread_id; the calls as api_call.
  api_call<state_snapshot> get_state(const run_config& config, bool subgraphs = false) const;
  api_call<std::vector<state_snapshot>> get_state_history(const run_config& config,
                                                          const history_options& which = {}) const;
  api_call<checkpoint_ref> update_state(const run_config& config, const optional_update& values,
                                        const std::string& as_node = {}) const;

  /// A graph with the nodes and edges of the remote one, to be drawn. Its nodes can't run.
  /// Units:  `xray` in levels, as draw_options::xray.
  api_call<compiled_graph> get_graph(std::uint32_t xray = 0) const;

  /// The id of a thread on servers, which take UUIDs alone: `thread_id` itself, if it is one.
  /// Otherwise a UUID that follows from it, always the same.
  /// Source: troupe; the reference sends any id.
  static std::string thread_of(const std::string& thread_id);

  struct parts;

private:
  std::shared_ptr<const parts> parts_;
};

} // namespace troupe
