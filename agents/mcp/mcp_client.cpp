// mcp_client: greeting a server, listing its tools, calling them.
#include "agents/mcp/mcp_tools.hpp"
#include "agents/mcp/mcp_transport.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/mcp_server.hpp>
#include <troupe/completion.hpp>

#include <atomic>
#include <future>
#include <utility>

namespace troupe {

struct mcp_client::state {
  std::shared_ptr<mcp_transport> transport;
  mcp_options options;
  value greeting; // of the server
  std::string version;
  mutable std::atomic<std::uint64_t> changes_seen{0};
};

namespace {

// Asks on a thread that may wait.
result<value> ask_and_wait(mcp_transport& transport, const char* method, value params,
                           std::chrono::milliseconds timeout) {
  auto answered = std::make_shared<std::promise<result<value>>>();
  auto answer = answered->get_future();
  transport.ask(method, std::move(params), timeout,
                [answered](result<value> r) { answered->set_value(std::move(r)); });
  return answer.get();
}

value call_params(const std::string& tool, const value& arguments) {
  return value::map({{"name", tool}, {"arguments", arguments}});
}

// The server's answer to the greeting.
result<value> greet(mcp_transport& transport, const mcp_options& options) {
  auto said = ask_and_wait(transport, "initialize", mcp_greeting(), options.connect_timeout);
  if (!said)
    return said;
  auto version = text_in((*said)["protocolVersion"]);
  if (!is_known_mcp_version(version))
    return mcp_failure("initialize",
                       "Unsupported protocol version from the server: " + quoted_text(version));
  transport.agree(version);
  auto told = std::make_shared<std::promise<void>>();
  auto arrived = told->get_future();
  transport.tell("notifications/initialized", value{}, [told] { told->set_value(); });
  arrived.wait();
  return said;
}

// The data for a tool's calls.
struct mcp_tool_of {
  mcp_client client;
  mcp_definition definition;
};

coro<tool_output> call_mcp_tool(std::shared_ptr<const mcp_tool_of> of, value args,
                                tool_runtime& runtime) {
  auto asked = of->client.call(of->definition.name, std::move(args), runtime.info());
  auto result = co_await asked;
  auto out = mcp_output(of->definition, result, runtime.call());
  co_return out;
}

tool make_mcp_tool(const mcp_client& client, mcp_definition definition, bool errors_to_model) {
  auto of = std::make_shared<const mcp_tool_of>(mcp_tool_of{client, std::move(definition)});
  tool_body body;
  body.coroutine = [of](value args, tool_runtime& runtime) {
    return call_mcp_tool(of, std::move(args), runtime);
  };
  tool_options options;
  options.check_arguments = false; // the server checks them
  if (errors_to_model)
    options.on_error = [](const error& e) { return std::optional{"Error: " + e.text()}; };
  return {of->definition.tool, of->definition.description, of->definition.schema, std::move(body),
          std::move(options)};
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
               [&](const mcp_options& o) { return make_mcp_in_process(server.service(), o); });
}

template <class Make> result<mcp_client> mcp_client::begin(mcp_options options, Make make) {
  if (options.connect_timeout.count() <= 0 || options.call_timeout.count() <= 0)
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

result<std::vector<tool>> mcp_client::tools() const {
  state_->changes_seen = state_->transport->tool_changes();
  const auto& options = state_->options;
  auto prefix = options.prefix_tools ? options.name + '_' : std::string{};
  std::vector<mcp_definition> definitions;
  value cursor;
  for (std::size_t pages = 0; pages == 0 || !text_in(cursor).empty(); ++pages) {
    if (pages == limits::mcp_pages_max)
      return error{errc::invalid_value, "list an MCP server's tools: more than "
                                          + std::to_string(limits::mcp_pages_max) + " pages"};
    auto params = pages == 0 ? value{} : value::map({{"cursor", cursor}});
    auto page = ask_and_wait(*state_->transport, "tools/list", params, options.call_timeout);
    if (!page)
      return page.error();
    if (auto added = add_mcp_page(*page, prefix, definitions); !added)
      return added.error();
    cursor = (*page)["nextCursor"];
  }
  std::vector<tool> out;
  for (auto& d : definitions)
    out.push_back(make_mcp_tool(*this, std::move(d), options.errors_to_model));
  return out;
}

bool mcp_client::tools_changed() const noexcept {
  return state_->transport->tool_changes() != state_->changes_seen;
}

coro<value> mcp_client::call(std::string tool, value arguments, const context& ctx) const {
  auto kept = state_;
  auto answered = ctx.completion<result<value>>();
  auto done = answered.completer();
  auto id = kept->transport->ask("tools/call", call_params(tool, arguments),
                                 kept->options.call_timeout,
                                 [done](result<value> r) { done.set(std::move(r)); });
  done.when_left([weak = std::weak_ptr{kept->transport}, id] {
    if (auto transport = weak.lock())
      transport->cancel(id);
  });
  auto answer = co_await answered;
  co_return std::move(answer).value();
}

result<value> mcp_client::call_and_wait(const std::string& tool, const value& arguments) const {
  return ask_and_wait(*state_->transport, "tools/call", call_params(tool, arguments),
                      state_->options.call_timeout);
}

result<void> mcp_client::ping() const {
  auto said = ask_and_wait(*state_->transport, "ping", value{}, state_->options.call_timeout);
  if (!said)
    return said.error();
  return {};
}

} // namespace troupe
