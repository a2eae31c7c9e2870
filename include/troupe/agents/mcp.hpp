// Tools of MCP servers (Model Context Protocol), as tools of an agent.
//
//     auto files = troupe::mcp_client::connect(troupe::mcp_program{
//       .file = "npx", .arguments = {"-y", "@modelcontextprotocol/server-filesystem",
//       "/srv/data"}});
//     auto tools = files.value().tools().value();
//     auto agent = troupe::create_react_agent(model, tools);
#pragma once

#include <troupe/limits.hpp>
#include <troupe/agents/tool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class mcp_server; // troupe/mcp_server.hpp

/// A server that is a program, spoken to over its stdin and stdout.
/// Shape:  `file` is looked up in PATH; no shell sees it or the arguments. Its environment is
///         `environment` and, of this process's, the variables named in `inherited`: nothing else,
///         no key that happens to be set here.
/// Owns:   the program has a process group of its own, that ends with the last handle of the
/// client:
///         stdin is closed, after `stop_wait` the group is terminated, after another one killed. It
///         is reaped in any case.
/// Source: the reference's behaviour (tests/conformance).
struct mcp_program {
  std::string file;
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> inherited = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"};
  std::string directory = {}; ///< where it runs; empty: where this process does
  std::chrono::milliseconds stop_wait = limits::mcp_stop_wait;
};

/// A server that is somewhere else, spoken to by streamable HTTP: a POST for each message, answered
/// by JSON or an event stream. A session that it has forgotten is begun anew; its own stream,
/// besides answers, is not listened to.
/// Shape:  `url` http or https; `headers` go with each request (Authorization …), and into no
///         message.
/// Owns:   the session, that is deleted with the last handle of the client; nobody waits for that.
/// Source: the reference's behaviour (tests/conformance).
struct mcp_endpoint {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// What is said of a connection.
struct mcp_options {
  std::string name = "mcp";  ///< of the server: in messages, and before names of tools
  bool prefix_tools = false; ///< a tool is called NAME_TOOL
  std::chrono::milliseconds connect_timeout = limits::mcp_connect_timeout;
  std::chrono::milliseconds call_timeout = limits::mcp_call_timeout; ///< of each request
  /// A failed call (an error of the protocol, a time-out, a server that is gone) is a message to
  /// the model. false: it is raised, and ends the run unless somebody handles it.
  bool errors_to_model = true;
  /// What the server logs: lines of its stderr, log messages, and what it says that is not
  /// understood. Lines are cut at limits::mcp_log_bytes_max. Called on the connection's thread;
  /// must be short.
  std::function<void(std::string_view line)> on_log = {};
};

/// A connection to a server. A handle: copies, and the tools made by it, are the same connection.
/// Of the protocol it has tools: resources, prompts, sampling and elicitation are not announced,
/// progress is not asked for, and of what a server asks only a ping is answered with more than no.
/// Thread: any. A call that waits for its answer holds no thread.
/// Errors: of all: node_failed of class McpError, for what the server refused, and for one that is
///         gone, or speaks another protocol; node_timeout.
/// Source: langchain_mcp_adapters; modelcontextprotocol.io, 2025-11-25.
class mcp_client {
public:
  /// Starts the server and greets it.
  /// Blocks: until it answers, connect_timeout at most.
  /// Errors: as above; invalid_config for a program that can't be started, NULs in it, and a
  ///         time-out that is not above zero.
  static result<mcp_client> connect(mcp_program program, mcp_options options = {});
  /// Errors: as above; node_failed of class HTTPError where nobody answers; invalid_value for a URL
  ///         or header that is none.
  static result<mcp_client> connect(mcp_endpoint endpoint, mcp_options options = {});
  /// To a server in this process, without a socket or a thread: what a call waits for is the run.
  /// Owns:   the runtime of the server outlives the client.
  /// Errors: as above.
  static result<mcp_client> connect(const mcp_server& server, mcp_options options = {});

  /// Of the server, as it said: {name, version, …}, what it tells models, the protocol's version.
  const value& server_info() const noexcept;
  std::string instructions() const;
  const std::string& protocol_version() const noexcept;

  /// The server's tools. Their arguments are checked by the server alone; their results are lists
  /// of blocks {type: text | image | file}, with {"structured_content": …} as artifact.
  /// Shape:  characters that models refuse in names become `_`.
  /// Blocks: while the server lists them, call_timeout for each page.
  /// Errors: as above; invalid_value for more than limits::mcp_tools_max tools or mcp_pages_max
  ///         pages, and for two tools of one name.
  /// Source: langchain_mcp_adapters/tools.py, load_mcp_tools.
  result<std::vector<tool>> tools() const;
  /// Whether the server said since the last tools() that they have changed.
  bool tools_changed() const noexcept;

  /// The result of a call as the server gave it, {content, structuredContent, isError …}.
  /// Errors: throws as above. Given up with its body, it is cancelled at the server.
  coro<value> call(std::string tool, value arguments, const context& ctx) const;
  /// The same for a thread that may wait.
  result<value> call_and_wait(const std::string& tool, const value& arguments) const;
  /// Whether the server answers.
  /// Blocks: until it does, call_timeout at most.
  result<void> ping() const;

private:
  struct state;
  template <class Make> static result<mcp_client> begin(mcp_options options, Make make);
  explicit mcp_client(std::shared_ptr<const state> s) : state_{std::move(s)} {}
  std::shared_ptr<const state> state_;
};

} // namespace troupe
