// The MCP server (Model Context Protocol): offers tools and graphs to other agents, over stdin and
// stdout, over HTTP, or in the same process.
//
//     troupe::mcp_server server{rt, {.tools = {weather}, .graphs = {{.app = rt.load(research)}}}};
//     troupe::serve_stdio(server).value();
#pragma once

#include <troupe/agents/tool.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class mcp_service; // agents/mcp/mcp_service.hpp

/// A graph that is offered as a tool: its arguments are an input, its result is the output of the
/// run.
/// Shape:  arguments are described by the graph's input_jsonschema(). A graph whose state is one
///         bare value that is not an object has one argument, `input`. The result is the output as
///         JSON text and, for a map, as structured content; messages are maps {role, content …}.
///         With stored threads there are two more arguments:
///         - `thread_id` names the conversation to continue. Without it the call has its own
///           thread, which is deleted afterwards unless it waits for an answer.
///         - `resume`, with `thread_id` and without an input, is the answer; null continues a
///           thread where it stopped.
///         A caller can continue every thread whose id it knows.
/// Errors: a call gives the run's error, or a question that the run waits with, as a result with
///         isError, whose text explains how to continue.
/// Source: LangGraph Server, /mcp, where each call has a thread of its own and no questions.
struct mcp_graph {
  basic_app app;
  std::string name = {}; ///< of the tool; empty: the graph's
  std::string description = {};
  /// Used for each run, except thread_id, control, and a run_timeout longer than that of the call.
  run_config config = {.multitask = multitask_strategy::enqueue};
  bool threads = true; ///< false: its tool lacks the arguments `thread_id` and `resume`
};

/// The tools and graphs of a server; they do not change.
/// Shape:  names are unique across both lists.
/// Source: troupe.
struct mcp_offer {
  std::vector<tool> tools = {};
  std::vector<mcp_graph> graphs = {};
};

/// The settings of a server.
/// Units:  `calls_max` in calls of one client at a time; further ones are refused.
/// Source: troupe.
struct mcp_server_options {
  std::string name = "troupe";
  std::string version = {};      ///< empty: troupe's
  std::string instructions = {}; ///< for models, about the whole server
  std::size_t calls_max = limits::mcp_served_calls_max;
  std::chrono::milliseconds call_timeout = limits::mcp_served_call_timeout; ///< a longer call fails
};

/// Offers tools and graphs. A call is a run of the graph, or of a tool node, so that lanes,
/// coroutines, the store and cancellation work as in agents. A handle: copies share the server. The
/// server supports the protocol's tools and sends no unrequested messages: no progress, no changes.
/// Arguments and results are not logged.
/// Shape:  results of tools: texts and lists of blocks become content, a map becomes JSON text and
///         structured content. A tool that asks a person fails, since no one can answer.
/// Owns:   nothing; the runtime must outlive the server and its clients in this process.
/// Blocks: a call that continues a thread first reads the thread, on the transport's thread.
/// Thread: any.
/// Errors: throws error{invalid_config} for
///         - two tools of one name, a name that MCP refuses, a provider's tool
///         - a channel with the name of a thread argument
///         - more than limits::mcp_tools_max tools
///         - a calls_max of 0, or a time-out that is not above zero
/// Source: modelcontextprotocol.io, 2025-11-25, and the versions that mcp_client knows.
class mcp_server {
public:
  explicit mcp_server(runtime& rt, mcp_offer offer, mcp_server_options options = {});

  const std::shared_ptr<const mcp_service>& service() const noexcept { return service_; }

private:
  std::shared_ptr<const mcp_service> service_;
};

/// The settings of serve_stdio.
/// Shape:  with `in` 0 and `out` 1, other code of the process meanwhile finds stdin empty, and its
///         output to stdout goes to stderr.
/// Source: troupe.
struct mcp_stdio_options {
  int in = 0;
  int out = 1;
  std::chrono::milliseconds drain_wait = limits::mcp_drain_wait;
  std::stop_token stop = {}; ///< as the client's end: for Ctrl-C
};

/// Serves one client, a line a message, until its input ends. Calls in flight then have
/// `drain_wait` to end and are answered; later they are cancelled. While a client does not read,
/// its input is not read either.
/// Blocks: until then. Signals are blocked on the thread that reads and writes.
/// Errors: invalid_config for an invalid descriptor; invalid_value for a line of more than
///         limits::mcp_message_bytes_max bytes; then all calls are cancelled.
/// Source: modelcontextprotocol.io, basic/transports.
result<void> serve_stdio(const mcp_server& server, mcp_stdio_options options = {});

/// The access to a server over HTTP. The server has no TLS: beyond this host, put a proxy before
/// it.
/// Shape:  `address` is numeric. An address other than loopback needs a `token`, which requests
///         send as `Authorization: Bearer …`. On loopback a request's Host must be a loopback name
///         or one of `hosts` (names without a port). An Origin, if present, must be of such a name
///         or one of `origins` (as browsers send it: https://app.example). Elsewhere an Origin must
///         be one of `origins`.
/// Source: modelcontextprotocol.io, basic/transports.
struct mcp_http_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any
  std::string path = "/mcp";
  std::string token = {};
  std::vector<std::string> hosts = {};
  std::vector<std::string> origins = {};
  std::size_t sessions_max = limits::mcp_sessions_max;
  /// A session without a message or a running call for this long ends.
  std::chrono::milliseconds session_idle = limits::mcp_session_idle;
};

/// Serves clients by streamable HTTP, from construction to destruction. One thread carries all
/// connections. A session begins with `initialize`. A session ends by DELETE, when it was idle too
/// long, or as the longest idle one of sessions_max. A POST is answered by JSON, or by an event
/// stream when the answer takes longer. A stream of the server's own is not offered (405). The end
/// of a connection does not end its calls, as the protocol demands; a cancellation and the end of
/// the session or server do.
/// Errors: throws error{invalid_config}: an invalid or used address, one beyond this host without a
///         token, a path that does not begin with `/`, a sessions_max of 0.
/// Source: modelcontextprotocol.io, basic/transports.
class mcp_http_server {
public:
  explicit mcp_http_server(const mcp_server& server, mcp_http_options options = {});
  mcp_http_server(const mcp_http_server&) = delete;
  mcp_http_server& operator=(const mcp_http_server&) = delete;
  /// Cancels all calls, and closes all connections.
  ~mcp_http_server();

  std::uint16_t port() const noexcept;
  /// "http://127.0.0.1:PORT/mcp"
  std::string url() const;
  /// Takes no more calls, and waits for those in flight. Returns whether all have ended.
  /// Blocks: `at_most`.
  bool drain(std::chrono::milliseconds at_most = limits::mcp_drain_wait);

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace troupe
