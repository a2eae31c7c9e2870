// The MCP client: tools, resources and prompts of MCP servers (Model Context Protocol), for agents.
//
//     auto files = troupe::mcp_client::connect(troupe::mcp_program{
//       .file = "npx", .arguments = {"-y", "@modelcontextprotocol/server-filesystem",
//       "/srv/data"}});
//     auto tools = files.value().tools().value();
//     auto agent = troupe::create_react_agent(model, tools);
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/agents/mcp_oauth.hpp>
#include <troupe/agents/tool.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
/// Errors: calls in flight fail with McpError when the program dies. The next call starts it again,
///         after a wait that doubles from limits::mcp_restart_first. After `restarts_max` deaths in
///         a row, calls fail with McpError.
/// Source: the reference's behaviour (tests/conformance); restarts are troupe's.
struct mcp_program {
  std::string file;
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> inherited = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"};
  std::string directory = {}; ///< working directory; empty: that of this process
  std::chrono::milliseconds stop_wait = limits::mcp_stop_wait;
  unsigned restarts_max = limits::mcp_restarts_max; ///< 0: a program that died stays dead
};

/// A server elsewhere, connected by streamable HTTP: a POST for each message, answered by JSON or
/// an event stream. A session that the server has forgotten is begun anew. The server's own stream
/// is read when the server announces changes, and opened again after it ended, with waits.
/// Shape:  `url` http or https. `headers` go with each request (Authorization …), and into no
///         message. `oauth`: how to get a token when the server asks for one.
/// Owns:   the session, which is deleted, without waiting, when the last handle of the client goes.
/// Errors: node_failed of class AuthorizationError when no token can be had.
/// Source: the reference's behaviour (tests/conformance).
struct mcp_endpoint {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<mcp_oauth> oauth = std::nullopt;
};

/// The decision about a request of a server to a model.
/// Errors: none.
/// Source: troupe.
enum class mcp_permission : std::uint8_t {
  deny,  ///< the server gets an error
  ask,   ///< a question of the run decides
  allow, ///< the model answers
};

/// The model that answers requests of servers (sampling).
/// Shape:  `permission` gets the request's params {messages, maxTokens, systemPrompt …}; unset: ask
///         each time. A question has the shape {type: "mcp_sampling", server, request}; its answer
///         is true or false. The model gets the server's messages and its system prompt. The
///         server's tools, and its wishes about the model, are ignored.
/// Units:  `tokens_max` in tokens of an answer; `calls_max` in answers during one call.
/// Errors: the server gets an error for a refused request, one beyond limits::mcp_sampled_* and a
///         failed model. Only agents' tools answer such requests.
/// Source: modelcontextprotocol.io, 2025-11-25, client/sampling.
struct mcp_sampling {
  chat_model_ptr model = nullptr; ///< null: sampling is not announced
  std::function<mcp_permission(const value& request)> permission = {};
  std::int64_t tokens_max = limits::mcp_sampled_tokens_max;
  std::size_t calls_max = limits::mcp_sampled_max;
};

/// The progress of a call.
/// Shape:  `total` is missing when the server does not know it. `message` is cut at
///         limits::mcp_log_bytes_max.
/// Errors: none.
/// Source: modelcontextprotocol.io, 2025-11-25, basic/utilities/progress.
struct mcp_progress {
  double progress = 0;
  std::optional<double> total = std::nullopt;
  std::string message = {};
};

/// A change that a server announced.
/// Shape:  `uri` names the resource of `resource`, else it is empty.
/// Errors: none.
/// Source: modelcontextprotocol.io, 2025-11-25, server.
struct mcp_change {
  enum class kind : std::uint8_t { tools, resources, prompts, resource };
  kind what = kind::tools;
  std::string uri = {};
};

/// The settings of a connection.
/// Errors: see mcp_client::connect.
/// Source: troupe.
struct mcp_options {
  std::string name = "mcp";  ///< of the server: in messages, and as a prefix of tool names
  bool prefix_tools = false; ///< names a tool NAME_TOOL
  std::chrono::milliseconds connect_timeout = limits::mcp_connect_timeout;
  std::chrono::milliseconds call_timeout = limits::mcp_call_timeout; ///< of each request
  /// Whether a failed call (an error of the protocol, a time-out, a lost server) is a message to
  /// the model. Otherwise it is raised, and ends the run unless it is handled.
  bool errors_to_model = true;
  /// Receives the server's log: lines of its stderr, log messages, and messages that are not
  /// understood. Lines are cut at limits::mcp_log_bytes_max. Called on the connection's thread;
  /// must be short.
  std::function<void(std::string_view line)> on_log = {};
  /// Receives changes that the server announced. Called on the connection's thread; must be short,
  /// and must not wait for this client.
  std::function<void(const mcp_change& change)> on_change = {};
  /// true: a question of the server during an agent's call interrupts the run. The question has the
  /// shape {type: "mcp_elicitation", server, message, requested_schema}; its answer has the shape
  /// {action: "accept" | "decline" | "cancel", content}. An answer that does not fit is
  /// invalid_resume, and the question stays open. The call waits at the server for
  /// `question_wait`. Later, or in another process, the call is made again, and its questions get
  /// the stored answers in their order. A question that belongs to no known call is cancelled, and
  /// so is one beyond limits::mcp_questions_max of a call. One of more than
  /// limits::mcp_sampled_bytes_max bytes is refused.
  bool elicitation = false;
  mcp_sampling sampling = {};
  std::chrono::milliseconds question_wait = limits::mcp_question_wait;
};

/// A connection to a server. A handle: copies, and the tools made by it, share the connection. The
/// server's ping is answered. Its other requests are refused, except those that the options
/// announce.
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
  /// Connects to an HTTP server. With `oauth`, a person may have to agree meanwhile.
  /// Blocks: until the server answers, connect_timeout at most, and mcp_oauth::person_wait.
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
  /// {type: text | image | file}, with {"structured_content": …} as artifact. Their progress goes
  /// to readers of the `custom` stream, as {type: "mcp_progress", tool, tool_call_id, progress,
  /// total, message}.
  /// Shape:  characters that models refuse in names become `_`.
  /// Blocks: while the server lists them, call_timeout for each page.
  /// Errors: as above; invalid_value for more than limits::mcp_tools_max tools or mcp_pages_max
  ///         pages, and for two tools of one name.
  /// Source: langchain_mcp_adapters/tools.py, load_mcp_tools.
  result<std::vector<tool>> tools() const;
  /// The tools of the last tools(), or listed again when the server announced a change since.
  /// Blocks: as tools(), only when it lists.
  /// Errors: as tools().
  /// Source: troupe.
  result<std::vector<tool>> current_tools() const;
  /// Whether the server announced a change of its tools since the last tools().
  bool tools_changed() const noexcept;

  /// The unchanged result of a call, {content, structuredContent, isError …}.
  /// Errors: throws as above. A call given up with its body is cancelled at the server.
  coro<value> call(std::string tool, value arguments, const context& ctx) const;
  /// The same for a thread that may block. `on_progress` is called on the connection's thread; must
  /// be short.
  /// Errors: as call().
  result<value>
  call_and_wait(const std::string& tool, const value& arguments,
                std::function<void(const mcp_progress& progress)> on_progress = {}) const;

  /// The resources as the server lists them: maps {uri, name, title, description, mimeType …}; and
  /// its templates: maps {uriTemplate, name …}.
  /// Blocks: while the server lists them, call_timeout for each page.
  /// Errors: as above; invalid_value for more than limits::mcp_entries_max entries or
  ///         mcp_pages_max pages.
  /// Source: langchain_mcp_adapters/resources.py, load_mcp_resources.
  result<std::vector<value>> resources() const;
  result<std::vector<value>> resource_templates() const;
  /// The contents of a resource: a list of maps {uri, mimeType, text | blob}, `blob` in base64.
  /// Errors: throws as above; invalid_value for an empty URI or one of more than
  ///         limits::mcp_uri_bytes_max bytes.
  /// Source: langchain_mcp_adapters/resources.py, get_mcp_resource.
  coro<value> read_resource(std::string uri, const context& ctx) const;
  /// The same for a thread that may block.
  /// Errors: as read_resource().
  result<value> read_resource_and_wait(const std::string& uri) const;
  /// Asks for changes of a resource, which go to mcp_options::on_change; or no longer.
  /// Blocks: until the server answers, call_timeout at most. A lost connection loses them.
  /// Errors: as read_resource.
  /// Source: modelcontextprotocol.io, 2025-11-25, server/resources.
  result<void> subscribe(const std::string& uri) const;
  result<void> unsubscribe(const std::string& uri) const;

  /// The prompts as the server lists them: maps {name, title, description, arguments}.
  /// Blocks: as resources().
  /// Errors: as resources().
  /// Source: langchain_mcp_adapters/prompts.py.
  result<std::vector<value>> prompts() const;
  /// The messages of a prompt, a list of message values.
  /// Shape:  `arguments` is a map of texts.
  /// Errors: throws as above.
  /// Source: langchain_mcp_adapters/prompts.py, load_mcp_prompt.
  coro<value> prompt(std::string name, value arguments, const context& ctx) const;
  /// The same for a thread that may block.
  /// Errors: as prompt().
  result<value> prompt_and_wait(const std::string& name, const value& arguments = {}) const;

  /// Checks that the server answers.
  /// Blocks: until it does, call_timeout at most.
  /// Errors: see mcp_client.
  result<void> ping() const;

private:
  struct state;
  template <class Make> static result<mcp_client> begin(mcp_options options, Make make);
  explicit mcp_client(std::shared_ptr<const state> s) : state_{std::move(s)} {}
  std::vector<tool> tools_now() const;
  coro<value> ask(std::string method, value params, const context& ctx) const;
  result<std::vector<value>> list(const char* method, const char* member) const;
  result<void> ask_about(const std::string& uri, const char* method) const;
  std::shared_ptr<const state> state_;
};

} // namespace troupe
