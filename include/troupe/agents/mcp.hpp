// The MCP client: tools of MCP servers (Model Context Protocol), as tools of an agent.
//
//     auto files = troupe::mcp_client::connect(troupe::mcp_program{
//       .file = "npx", .arguments = {"-y", "@modelcontextprotocol/server-filesystem",
//       "/srv/data"}});
//     auto tools = files.value().tools().value();
//     auto agent = troupe::create_react_agent(model, tools);
#pragma once

#include <troupe/agents/tool.hpp>
#include <troupe/limits.hpp>

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

/// A server that is a program, connected by its stdin and stdout.
/// Shape:  `file` is looked up in PATH; no shell is involved. The program's environment is
///         `environment` and those variables of this process that `inherited` names; nothing else,
///         so no key leaks by accident.
/// Owns:   the program, in its own process group, until the last handle of the client goes. Then
///         stdin is closed; after `stop_wait` the group is terminated, and after another one
///         killed. The program is always reaped.
/// Source: the reference's behaviour (tests/conformance).
struct mcp_program {
  std::string file;
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> inherited = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"};
  std::string directory = {}; ///< working directory; empty: that of this process
  std::chrono::milliseconds stop_wait = limits::mcp_stop_wait;
};

/// A server elsewhere, connected by streamable HTTP: a POST for each message, answered by JSON or
/// an event stream. A session that the server has forgotten is begun anew. The server's own stream,
/// besides answers, is not read.
/// Shape:  `url` http or https. `headers` go with each request (Authorization …), and into no
///         message.
/// Owns:   the session, which is deleted, without waiting, when the last handle of the client goes.
/// Source: the reference's behaviour (tests/conformance).
struct mcp_endpoint {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The settings of a connection.
struct mcp_options {
  std::string name = "mcp";  ///< of the server: in messages, and as a prefix of tool names
  bool prefix_tools = false; ///< names a tool NAME_TOOL
  std::chrono::milliseconds connect_timeout = limits::mcp_connect_timeout;
  std::chrono::milliseconds call_timeout = limits::mcp_call_timeout; ///< of each request
  /// true: a failed call (an error of the protocol, a time-out, a lost server) is a message to the
  /// model. false: it is raised, and ends the run unless it is handled.
  bool errors_to_model = true;
  /// Receives the server's log: lines of its stderr, log messages, and messages that are not
  /// understood. Lines are cut at limits::mcp_log_bytes_max. Called on the connection's thread;
  /// must be short.
  std::function<void(std::string_view line)> on_log = {};
};

/// A connection to a server. A handle: copies, and the tools made by it, share the connection. The
/// client supports the protocol's tools. Resources, prompts, sampling and elicitation are not
/// announced, and progress is not requested. The server's ping is answered; its other requests are
/// refused.
/// Thread: any. A call that waits for its answer holds no thread.
/// Errors: all members: node_failed of class McpError for a request that the server refused, a lost
///         server, or one of another protocol; node_timeout.
/// Source: langchain_mcp_adapters; modelcontextprotocol.io, 2025-11-25.
class mcp_client {
public:
  /// Starts the server and initialises the connection.
  /// Blocks: until the server answers, connect_timeout at most.
  /// Errors: as above; invalid_config for a program that can't be started, NULs in its texts, and a
  ///         time-out that is not above zero.
  static result<mcp_client> connect(mcp_program program, mcp_options options = {});
  /// Connects to an HTTP server.
  /// Errors: as above; node_failed of class HTTPError for a host that does not answer;
  ///         invalid_value for a malformed URL or header.
  static result<mcp_client> connect(mcp_endpoint endpoint, mcp_options options = {});
  /// Connects to a server in this process, without a socket or a thread: a call waits for its run
  /// alone.
  /// Owns:   nothing; the server's runtime must outlive the client.
  /// Errors: as above.
  static result<mcp_client> connect(const mcp_server& server, mcp_options options = {});

  /// The server's report about itself: {name, version, …}; its instructions for models; the
  /// protocol's version.
  const value& server_info() const noexcept;
  std::string instructions() const;
  const std::string& protocol_version() const noexcept;

  /// The server's tools. Only the server checks their arguments. Their results are lists of blocks
  /// {type: text | image | file}, with {"structured_content": …} as artifact.
  /// Shape:  characters that models refuse in names become `_`.
  /// Blocks: while the server lists them, call_timeout for each page.
  /// Errors: as above; invalid_value for more than limits::mcp_tools_max tools or mcp_pages_max
  ///         pages, and for two tools of one name.
  /// Source: langchain_mcp_adapters/tools.py, load_mcp_tools.
  result<std::vector<tool>> tools() const;
  /// Whether the server announced a change of its tools since the last tools().
  bool tools_changed() const noexcept;

  /// The unchanged result of a call, {content, structuredContent, isError …}.
  /// Errors: throws as above. A call given up with its body is cancelled at the server.
  coro<value> call(std::string tool, value arguments, const context& ctx) const;
  /// The same for a thread that may block.
  result<value> call_and_wait(const std::string& tool, const value& arguments) const;
  /// Checks that the server answers.
  /// Blocks: until it does, call_timeout at most.
  result<void> ping() const;

private:
  struct state;
  template <class Make> static result<mcp_client> begin(mcp_options options, Make make);
  explicit mcp_client(std::shared_ptr<const state> s) : state_{std::move(s)} {}
  std::shared_ptr<const state> state_;
};

} // namespace troupe
