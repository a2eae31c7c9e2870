// An MCP server (Model Context Protocol): tools and graphs for the agents of others, over stdin and
// stdout, over HTTP, or in the same process.
//
//     troupe::mcp_server server{rt, {.tools = {weather}, .graphs = {{.app = rt.load(research)}}}};
//     troupe::serve_stdio(server).value();
#pragma once

#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>
#include <troupe/agents/tool.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class mcp_service; // agents/mcp/mcp_service.hpp

/// A graph that is offered as a tool: its arguments are an input, its result is what the run gives.
/// Shape:  arguments have the graph's input_jsonschema(); of a graph whose state is one bare value
///         that is no object, one argument `input` has. The result is the output as JSON text and,
///         of a map, as structured content; messages are maps {role, content …}. Where threads are
///         kept there are two arguments more: `thread_id` names the conversation to go on with;
///         without it the call has one of its own, that is forgotten unless it waits for an answer.
///         `resume`, with `thread_id` and in place of an input, is the answer; null goes on where
///         it stopped. Who may call may go on with every thread whose id they know.
/// Errors: of a call: what the run fails with, and a question that it waits with, are results with
///         isError whose text says so, and how to go on.
/// Source: LangGraph Server, /mcp, where each call has a thread of its own and no questions.
struct mcp_graph {
  basic_app app;
  std::string name = {}; ///< of the tool; empty: the graph's
  std::string description = {};
  /// Of each run, but thread_id, control, and run_timeout where that of the call is shorter.
  run_config config = {.multitask = multitask_strategy::enqueue};
  bool threads = true; ///< false: `thread_id` and `resume` are no arguments
};

/// What a server has for its clients; it stays as it is.
/// Shape:  names are unique in all of it.
/// Source: troupe.
struct mcp_offer {
  std::vector<tool> tools = {};
  std::vector<mcp_graph> graphs = {};
};

/// Units:  `calls_max` in calls of one client at a time; further ones are refused.
/// Source: troupe.
struct mcp_server_options {
  std::string name = "troupe";
  std::string version = {};      ///< empty: troupe's
  std::string instructions = {}; ///< for models, about all of it
  std::size_t calls_max = limits::mcp_served_calls_max;
  std::chrono::milliseconds call_timeout = limits::mcp_served_call_timeout; ///< then it fails
};

/// Offers tools and graphs. A call is a run: of the graph, or of a tool node, so that lanes,
/// coroutines, the store and cancellation are as they are in agents. A handle: copies are the same
/// server. Of the protocol it has tools, and nothing that is told unasked: no progress, no changes.
/// Nothing of arguments and results is logged.
/// Shape:  what a tool gives: texts and lists of blocks as content, a map as JSON text and as
///         structured content. A tool that asks a person has failed: nobody could answer it.
/// Owns:   the runtime outlives it and its clients in this process.
/// Blocks: a call that goes on with a thread reads it before it runs, on the thread that hears it.
/// Thread: any.
/// Errors: throws error{invalid_config}: two tools of one name, a name that MCP does not take, a
///         tool of a model's provider, a channel that is called as an argument of threads, more
///         than limits::mcp_tools_max, no calls at a time, a time-out that is not above zero.
/// Source: modelcontextprotocol.io, 2025-11-25, and the versions that mcp_client knows.
class mcp_server {
public:
  explicit mcp_server(runtime& rt, mcp_offer offer, mcp_server_options options = {});

  const std::shared_ptr<const mcp_service>& service() const noexcept { return service_; }

private:
  std::shared_ptr<const mcp_service> service_;
};

/// Shape:  `in` 0 and `out` 1 are taken: while it serves, whoever else reads stdin finds it empty,
///         and whoever writes to stdout writes to stderr.
/// Source: troupe.
struct mcp_stdio_options {
  int in = 0;
  int out = 1;
  std::chrono::milliseconds drain_wait = limits::mcp_drain_wait;
  std::stop_token stop = {}; ///< as the client's end: for Ctrl-C
};

/// Serves one client, a line a message, until it ends what it says; then what runs has `drain_wait`
/// to end and is answered, and what still runs is cancelled. A client that does not read is not
/// listened to meanwhile.
/// Blocks: until then. Signals are blocked on the thread that reads and writes.
/// Errors: invalid_config for a descriptor that is none; invalid_value for a line of more than
///         limits::mcp_message_bytes_max bytes; then all is cancelled.
/// Source: modelcontextprotocol.io, basic/transports.
result<void> serve_stdio(const mcp_server& server, mcp_stdio_options options = {});

/// Who may speak to a server over HTTP. There is no TLS: beyond this host, put a proxy before it.
/// Shape:  `address` in numbers; others than loopback's need a `token`, which requests then have as
///         `Authorization: Bearer …`. On loopback a request's Host is a loopback name or one of
///         `hosts` (names without a port), and its Origin, if it has one, such a name's or one of
///         `origins` (as browsers send it: https://app.example); elsewhere one of `origins`.
/// Source: modelcontextprotocol.io, basic/transports.
struct mcp_http_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any
  std::string path = "/mcp";
  std::string token = {};
  std::vector<std::string> hosts = {};
  std::vector<std::string> origins = {};
  std::size_t sessions_max = limits::mcp_sessions_max;
  std::chrono::milliseconds session_idle = limits::mcp_session_idle; ///< nothing said, nothing runs
};

/// Serves clients by streamable HTTP, from when it is made until it is destroyed. One thread
/// carries all connections. A session is begun by `initialize`; it ends by DELETE, when it was idle
/// for too long, or when there are sessions_max and it was idle for longest. A POST is answered by
/// JSON, or by an event stream where that takes longer; a stream of the server's own is not offered
/// (405). A connection that ends does not end its calls, as the protocol asks for: a cancellation
/// does, and the end of the session or the server.
/// Errors: throws error{invalid_config}: an address that is none or is taken, one beyond this host
///         without a token, a path that does not begin with `/`, no sessions.
/// Source: modelcontextprotocol.io, basic/transports.
class mcp_http_server {
public:
  explicit mcp_http_server(const mcp_server& server, mcp_http_options options = {});
  mcp_http_server(const mcp_http_server&) = delete;
  mcp_http_server& operator=(const mcp_http_server&) = delete;
  /// Cancels what runs, and closes all connections.
  ~mcp_http_server();

  std::uint16_t port() const noexcept;
  /// "http://127.0.0.1:PORT/mcp"
  std::string url() const;
  /// Takes no more calls, and waits for those that run.
  /// Blocks: so long at most. Whether all have ended.
  bool drain(std::chrono::milliseconds at_most = limits::mcp_drain_wait);

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace troupe
