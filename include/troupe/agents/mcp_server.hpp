// The MCP server (Model Context Protocol): offers tools and graphs to other agents, over stdin and
// stdout, over HTTP, or in the same process. Clients may also read its resources and prompts.
//
//     troupe::mcp_server server{rt, {.tools = {weather}, .graphs = {{.app = rt.load(research)}}}};
//     troupe::serve_stdio(server).value();
#pragma once

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/tool.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class mcp_host; // agents/mcp/mcp_host.hpp

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
///         A client that announced elicitation is asked the questions of a stored run, and the run
///         resumes with its answers. A `response_schema` must be a flat object or a plain type, as
///         the protocol demands; without one the answer is a text.
/// Errors: a call gives the run's error as a result with isError. So it does with a question that
///         cannot be asked, or is not answered within limits::mcp_question_wait; the text explains
///         how to continue.
/// Source: LangGraph Server, /mcp, where each call has a thread of its own and no questions.
struct mcp_graph {
  basic_app app;
  std::string name = {}; ///< of the tool; empty: the graph's
  std::string description = {};
  /// Used for each run, except thread_id, control, and a run_timeout longer than that of the call.
  run_config config = {.multitask = multitask_strategy::enqueue};
  bool threads = true; ///< false: its tool lacks the arguments `thread_id` and `resume`
};

/// The content of a resource.
/// Shape:  `data` is UTF-8 text or, with `is_binary`, bytes.
/// Errors: none.
/// Source: modelcontextprotocol.io, 2025-11-25, server/resources.
struct mcp_content {
  std::string data;
  std::string mime_type = {}; ///< empty: that of the resource
  bool is_binary = false;
};

/// A resource of a server: data that a client can read.
/// Shape:  `read` runs on the blocking lane. Its argument is the URI.
/// Errors: an exception of `read` is an error to the client, with its text.
/// Source: modelcontextprotocol.io, 2025-11-25, server/resources.
struct mcp_resource {
  std::string uri;
  std::string name;
  std::function<mcp_content(const std::string& uri)> read;
  std::string title = {};
  std::string description = {};
  std::string mime_type = {};
};

/// Resources whose URIs have variable parts.
/// Shape:  `uri_template` has parts in braces: `{name}` stands for characters other than `/`, `?`
///         and `#`, `{+name}` for any. `read` gets the URI and a map of the parts' texts, as the
///         client wrote them: neither decoded nor checked.
/// Errors: as mcp_resource.
/// Source: modelcontextprotocol.io, 2025-11-25, server/resources; RFC 6570, levels 1 and 2.
struct mcp_resource_template {
  std::string uri_template;
  std::string name;
  std::function<mcp_content(const std::string& uri, const value& variables)> read;
  std::string title = {};
  std::string description = {};
  std::string mime_type = {};
};

/// An argument of a prompt; its value is a text.
/// Errors: none.
/// Source: modelcontextprotocol.io, 2025-11-25, server/prompts.
struct mcp_prompt_argument {
  std::string name;
  std::string description = {};
  bool required = false;
};

/// A prompt of a server: messages that a person chooses.
/// Shape:  `get` runs on the blocking lane. It gets a map of texts and returns messages of users
///         and assistants.
/// Errors: an exception of `get` is an error to the client, with its text.
/// Source: modelcontextprotocol.io, 2025-11-25, server/prompts.
struct mcp_prompt {
  std::string name;
  std::vector<mcp_prompt_argument> arguments;
  std::function<std::vector<value>(const value& arguments)> get;
  std::string title = {};
  std::string description = {};
};

/// The parts of a server.
/// Shape:  names are unique across tools and graphs, among prompts, and among resources by URI.
/// Errors: see mcp_server.
/// Source: troupe.
struct mcp_offer {
  std::vector<tool> tools = {};
  std::vector<mcp_graph> graphs = {};
  std::vector<mcp_resource> resources = {};
  std::vector<mcp_resource_template> resource_templates = {};
  std::vector<mcp_prompt> prompts = {};
};

/// The settings of a server.
/// Units:  `calls_max` in calls of one client at a time; further ones are refused.
/// Errors: see mcp_server.
/// Source: troupe.
struct mcp_server_options {
  std::string name = "troupe";
  std::string version = {};      ///< empty: troupe's
  std::string instructions = {}; ///< for models, about the whole server
  std::size_t calls_max = limits::mcp_served_calls_max;
  std::chrono::milliseconds call_timeout = limits::mcp_served_call_timeout; ///< a longer call fails
};

/// Offers tools, graphs, resources and prompts. A call is a run of the graph, or of a tool node, so
/// that lanes, coroutines, the store and cancellation work as in agents. A handle: copies share the
/// server. Arguments and results are not logged.
/// Shape:  results of tools: texts and lists of blocks become content, a map becomes JSON text and
///         structured content. A tool that asks a person fails, since nothing of its run is stored.
/// Owns:   nothing; the runtime must outlive the server and its clients in this process.
/// Blocks: a call that continues a thread first reads the thread, on the transport's thread.
/// Thread: any.
/// Errors: throws error{invalid_config} for
///         - two tools or prompts of one name, two resources of one URI
///         - a name that MCP refuses, a provider's tool, an empty name, URI or function
///         - a channel with the name of a thread argument
///         - a template whose braces do not match
///         - more than limits::mcp_tools_max tools, or mcp_entries_max of another kind
///         - a calls_max of 0, or a time-out that is not above zero
/// Source: modelcontextprotocol.io, 2025-11-25, and the versions that mcp_client knows.
class mcp_server {
public:
  explicit mcp_server(runtime& rt, mcp_offer offer, mcp_server_options options = {});

  /// Replaces the offer. Clients are notified of the lists that changed; calls in flight continue.
  /// Errors: as the constructor; then the old offer stays.
  /// Source: modelcontextprotocol.io, 2025-11-25, notifications/…/list_changed.
  void replace(mcp_offer offer) const;
  /// Notifies the clients that subscribed to this resource.
  /// Errors: none.
  /// Source: modelcontextprotocol.io, 2025-11-25, notifications/resources/updated.
  void resource_updated(const std::string& uri) const;

  const std::shared_ptr<mcp_host>& host() const noexcept { return host_; }

private:
  std::shared_ptr<mcp_host> host_;
};

/// Reports the progress of the call that this body serves, to a client that asked for it. Without
/// such a client, on a worker, and outside of a served call it has no effect.
///     troupe::report_mcp_progress(runtime.info(), {.progress = 3, .total = 10});
/// Shape:  `progress` grows from report to report; another report is dropped. So are those beyond
///         limits::mcp_progress_max.
/// Thread: any that may use the context.
/// Errors: none.
/// Source: modelcontextprotocol.io, 2025-11-25, basic/utilities/progress.
void report_mcp_progress(const context& ctx, const mcp_progress& now);

/// The settings of serve_stdio.
/// Shape:  with `in` 0 and `out` 1, other code of the process meanwhile finds stdin empty, and its
///         output to stdout goes to stderr.
/// Errors: see serve_stdio.
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
/// Errors: see mcp_http_server.
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
/// stream when the answer takes longer. A GET opens the server's own stream, one for each session;
/// a later one takes its place. The end of a connection does not end its calls, as the
/// protocol demands; a cancellation and the end of the session or server do.
/// Errors: throws error{invalid_config} for
///         - an invalid or used address, or one beyond this host without a token
///         - a path that does not begin with `/`, or a sessions_max of 0
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
