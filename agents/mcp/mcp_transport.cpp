// mcp_transport: opening questions, and carrying out what a server's messages mean.
#include "agents/mcp/mcp_transport.hpp"

#include <troupe/limits.hpp>

#include <utility>

namespace troupe {
namespace {

mcp_change change_of(mcp_announced announced) {
  using kind = mcp_change::kind;
  auto what = announced.what == "tools"       ? kind::tools
              : announced.what == "resources" ? kind::resources
              : announced.what == "prompts"   ? kind::prompts
                                              : kind::resource;
  return {.what = what, .uri = std::move(announced.uri)};
}

} // namespace

mcp_abilities mcp_abilities_of(const mcp_options& options) {
  return {.elicitation = options.elicitation, .sampling = options.sampling.model != nullptr};
}

std::optional<std::int64_t> mcp_transport::open(const std::string& method,
                                                const mcp_session::answer& then,
                                                std::shared_ptr<mcp_listener> listener) {
  std::optional<error> refused;
  {
    std::scoped_lock lock{mutex_};
    refused = session_.refusal(options_.name);
    if (!refused)
      return session_.ask(method, then, std::move(listener));
  }
  then(*std::move(refused));
  return std::nullopt;
}

std::string mcp_transport::question_text(std::int64_t id, const std::string& method,
                                         const value& params, bool listens) {
  if (!listens)
    return mcp_request(id, method, params);
  return mcp_request(id, method, params.with("_meta", value::map({{"progressToken", id}})));
}

void mcp_transport::carry_out(mcp_session::heard heard) {
  log(heard.log);
  if (heard.changed && options_.on_change)
    options_.on_change(change_of(std::move(*heard.changed)));
  if (heard.progress)
    heard.listener->progressed(*heard.progress);
  if (heard.asked && !heard.listener->asked(*heard.asked))
    reply(mcp_unanswerable(*heard.asked));
  if (heard.then)
    heard.then(std::move(*heard.with));
}

void mcp_transport::log(std::string_view line) const {
  if (options_.on_log && !line.empty())
    options_.on_log(line.substr(0, limits::mcp_log_bytes_max));
}

error mcp_transport::late(std::chrono::milliseconds after) const {
  return {errc::node_timeout, "ask an MCP server: " + options_.name + ": no answer within "
                                + std::to_string(after.count()) + " ms"};
}

error mcp_transport::closed() const {
  return mcp_failure("connection", options_.name + ": the connection was closed");
}

error mcp_transport::without_answer() const {
  return mcp_failure("response", options_.name + ": the response does not contain the answer");
}

} // namespace troupe
