// mcp_client: greeting a server, listing its tools, resources and prompts, asking for them.
#include "agents/mcp/mcp_call.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/mcp_server.hpp>
#include <troupe/completion.hpp>

#include <atomic>
#include <future>
#include <utility>

namespace troupe {

struct mcp_client::state {
  std::shared_ptr<mcp_transport> transport;
  std::shared_ptr<mcp_held_calls> held = std::make_shared<mcp_held_calls>();
  mcp_options options = {};
  value greeting = {}; // of the server
  std::string version = {};
  mutable std::atomic<std::uint64_t> changes_seen{0};
  mutable std::mutex mutex;
  mutable std::vector<mcp_definition> listed; // by the last tools(), under the mutex
  mutable bool is_listed = false;             // under the mutex
};

namespace {

// Asks on a thread that may wait.
result<value> ask_and_wait(mcp_transport& transport, const char* method, value params,
                           std::chrono::milliseconds timeout,
                           std::shared_ptr<mcp_listener> listener = nullptr) {
  auto answered = std::make_shared<std::promise<result<value>>>();
  auto answer = answered->get_future();
  transport.ask(
    method, std::move(params), timeout,
    [answered](result<value> r) { answered->set_value(std::move(r)); }, std::move(listener));
  return answer.get();
}

value call_params(const std::string& tool, const value& arguments) {
  return value::map({{"name", tool}, {"arguments", arguments}});
}

// The server's answer to the greeting.
result<value> greet(mcp_transport& transport, const mcp_options& options) {
  auto said = ask_and_wait(transport, "initialize", mcp_greeting(mcp_abilities_of(options)),
                           options.connect_timeout);
  if (!said)
    return said;
  auto version = text_in((*said)["protocolVersion"]);
  if (!is_known_mcp_version(version))
    return mcp_failure("initialize",
                       "Unsupported protocol version from the server: " + quoted_text(version));
  transport.agree(*said);
  auto told = std::make_shared<std::promise<void>>();
  auto arrived = told->get_future();
  transport.tell("notifications/initialized", value{}, [told] { told->set_value(); });
  arrived.wait();
  transport.established();
  return said;
}

tool make_mcp_tool(std::shared_ptr<const mcp_called_tool> of) {
  tool_body body;
  body.coroutine = [of](value args, tool_runtime& runtime) {
    return run_mcp_tool(of, std::move(args), runtime);
  };
  tool_options options;
  options.check_arguments = false; // the server checks them
  if (of->options.errors_to_model)
    options.on_error = [](const error& e) {
      bool is_open = e.code() == errc::invalid_resume; // its question waits for another answer
      return is_open ? std::nullopt : std::optional{"Error: " + e.text()};
    };
  return {of->definition.tool, of->definition.description, of->definition.schema, std::move(body),
          std::move(options)};
}

// Progress for a caller that waits.
class waiting_listener final : public mcp_listener {
public:
  explicit waiting_listener(std::function<void(const mcp_progress&)> then)
    : then_{std::move(then)} {}
  void progressed(const value& params) override { then_(mcp_progress_of(params)); }
  bool asked(mcp_asked) override { return false; }

private:
  const std::function<void(const mcp_progress&)> then_;
};

result<value> uri_params(const std::string& uri) {
  if (uri.empty() || uri.size() > limits::mcp_uri_bytes_max)
    return error{errc::invalid_value, "ask for a resource: its URI must have 1 to "
                                        + std::to_string(limits::mcp_uri_bytes_max) + " bytes"};
  return value::map({{"uri", uri}});
}

result<value> contents_of(const value& answer) {
  std::vector<value> out;
  if (auto added = add_mcp_entries(answer, "resources/read", "contents", out); !added)
    return added.error();
  return value::list(std::move(out));
}

value prompt_params(const std::string& name, const value& arguments) {
  return value::map({{"name", name}, {"arguments", arguments.is_map() ? arguments : value::map()}});
}

result<value> messages_of(const value& answer) {
  try {
    return mcp_messages(answer);
  } catch (const error& e) {
    return e;
  }
}

} // namespace

result<mcp_client> mcp_client::connect(mcp_program program, mcp_options options) {
  return begin(std::move(options),
               [&](const mcp_options& o) { return make_mcp_stdio(program, o); });
}

result<mcp_client> mcp_client::connect(mcp_endpoint endpoint, mcp_options options) {
  return begin(std::move(options),
               [&](const mcp_options& o) { return make_mcp_http(endpoint, o); });
}

result<mcp_client> mcp_client::connect(const mcp_server& server, mcp_options options) {
  return begin(std::move(options),
               [&](const mcp_options& o) { return make_mcp_in_process(server.host(), o); });
}

template <class Make> result<mcp_client> mcp_client::begin(mcp_options options, Make make) {
  if (options.connect_timeout.count() <= 0 || options.call_timeout.count() <= 0
      || options.question_wait.count() <= 0)
    return error{errc::invalid_config,
                 "connect to an MCP server: " + options.name + ": a time-out must be above zero"};
  try {
    auto made = std::make_shared<state>();
    made->options = std::move(options);
    made->transport = make(made->options);
    auto said = greet(*made->transport, made->options);
    if (!said)
      return said.error();
    made->greeting = *said;
    made->version = text_in((*said)["protocolVersion"]);
    return mcp_client{std::move(made)};
  } catch (const error& e) {
    return e;
  }
}

const value& mcp_client::server_info() const noexcept {
  return state_->greeting["serverInfo"];
}
std::string mcp_client::instructions() const {
  return text_in(state_->greeting["instructions"]);
}
const std::string& mcp_client::protocol_version() const noexcept {
  return state_->version;
}

// ---- lists ----------------------------------------------------------------------------------

// Calls `add` with each page of a list.
namespace {

result<void> read_pages(mcp_transport& transport, const char* method, std::string_view what,
                        std::chrono::milliseconds timeout,
                        const std::function<result<void>(const value& page)>& add) {
  value cursor;
  for (std::size_t pages = 0; pages == 0 || !text_in(cursor).empty(); ++pages) {
    if (pages == limits::mcp_pages_max)
      return error{errc::invalid_value, "list an MCP server's " + std::string{what} + ": more than "
                                          + std::to_string(limits::mcp_pages_max) + " pages"};
    auto params = pages == 0 ? value{} : value::map({{"cursor", cursor}});
    auto page = ask_and_wait(transport, method, params, timeout);
    if (!page)
      return page.error();
    if (auto added = add(*page); !added)
      return added;
    cursor = (*page)["nextCursor"];
  }
  return {};
}

} // namespace

result<std::vector<tool>> mcp_client::tools() const {
  state_->changes_seen = state_->transport->tool_changes();
  const auto& options = state_->options;
  auto prefix = options.prefix_tools ? options.name + '_' : std::string{};
  std::vector<mcp_definition> definitions;
  auto read =
    read_pages(*state_->transport, "tools/list", "tools", options.call_timeout,
               [&](const value& page) { return add_mcp_page(page, prefix, definitions); });
  if (!read)
    return read.error();
  {
    std::scoped_lock lock{state_->mutex};
    state_->listed = std::move(definitions);
    state_->is_listed = true;
  }
  return tools_now();
}

std::vector<tool> mcp_client::tools_now() const {
  std::vector<tool> out;
  std::scoped_lock lock{state_->mutex};
  for (const auto& definition : state_->listed)
    out.push_back(make_mcp_tool(std::make_shared<const mcp_called_tool>(
      mcp_called_tool{state_->transport, state_->held, state_->options, definition, state_})));
  return out;
}

result<std::vector<tool>> mcp_client::current_tools() const {
  {
    std::scoped_lock lock{state_->mutex};
    if (!state_->is_listed)
      state_->changes_seen = state_->transport->tool_changes() - 1;
  }
  return tools_changed() ? tools() : result<std::vector<tool>>{tools_now()};
}

bool mcp_client::tools_changed() const noexcept {
  return state_->transport->tool_changes() != state_->changes_seen;
}

result<std::vector<value>> mcp_client::list(const char* method, const char* member) const {
  std::vector<value> out;
  auto read =
    read_pages(*state_->transport, method, member, state_->options.call_timeout,
               [&](const value& page) { return add_mcp_entries(page, method, member, out); });
  if (!read)
    return read.error();
  return out;
}

result<std::vector<value>> mcp_client::resources() const {
  return list("resources/list", "resources");
}
result<std::vector<value>> mcp_client::resource_templates() const {
  return list("resources/templates/list", "resourceTemplates");
}
result<std::vector<value>> mcp_client::prompts() const {
  return list("prompts/list", "prompts");
}

// ---- requests -------------------------------------------------------------------------------

coro<value> mcp_client::ask(std::string method, value params, const context& ctx) const {
  auto kept = state_;
  auto answered = ctx.completion<result<value>>();
  auto done = answered.completer();
  auto id = kept->transport->ask(std::move(method), std::move(params), kept->options.call_timeout,
                                 [done](result<value> r) { done.set(std::move(r)); });
  done.when_left([weak = std::weak_ptr{kept->transport}, id] {
    if (auto transport = weak.lock())
      transport->cancel(id);
  });
  auto answer = co_await answered;
  co_return std::move(answer).value();
}

coro<value> mcp_client::call(std::string tool, value arguments, const context& ctx) const {
  return ask("tools/call", call_params(tool, arguments), ctx);
}

result<value>
mcp_client::call_and_wait(const std::string& tool, const value& arguments,
                          std::function<void(const mcp_progress& progress)> on_progress) const {
  std::shared_ptr<mcp_listener> listener;
  if (on_progress)
    listener = std::make_shared<waiting_listener>(std::move(on_progress));
  return ask_and_wait(*state_->transport, "tools/call", call_params(tool, arguments),
                      state_->options.call_timeout, std::move(listener));
}

coro<value> mcp_client::read_resource(std::string uri, const context& ctx) const {
  auto params = uri_params(uri).value();
  auto asked = ask("resources/read", std::move(params), ctx);
  auto answer = co_await asked;
  co_return contents_of(answer).value();
}

result<value> mcp_client::read_resource_and_wait(const std::string& uri) const {
  auto params = uri_params(uri);
  if (!params)
    return params;
  auto answer = ask_and_wait(*state_->transport, "resources/read", *params,
                             state_->options.call_timeout);
  return answer ? contents_of(*answer) : answer;
}

result<void> mcp_client::subscribe(const std::string& uri) const {
  return ask_about(uri, "resources/subscribe");
}
result<void> mcp_client::unsubscribe(const std::string& uri) const {
  return ask_about(uri, "resources/unsubscribe");
}

result<void> mcp_client::ask_about(const std::string& uri, const char* method) const {
  auto params = uri_params(uri);
  if (!params)
    return params.error();
  auto said = ask_and_wait(*state_->transport, method, *params, state_->options.call_timeout);
  if (!said)
    return said.error();
  return {};
}

coro<value> mcp_client::prompt(std::string name, value arguments, const context& ctx) const {
  auto asked = ask("prompts/get", prompt_params(name, arguments), ctx);
  auto answer = co_await asked;
  co_return messages_of(answer).value();
}

result<value> mcp_client::prompt_and_wait(const std::string& name, const value& arguments) const {
  auto answer = ask_and_wait(*state_->transport, "prompts/get", prompt_params(name, arguments),
                             state_->options.call_timeout);
  return answer ? messages_of(*answer) : answer;
}

result<void> mcp_client::ping() const {
  auto said = ask_and_wait(*state_->transport, "ping", value{}, state_->options.call_timeout);
  if (!said)
    return said.error();
  return {};
}

} // namespace troupe
