// rpc_answer: JSON or an event.
#include "server/api/rpc_answer.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {

accepted_media media_accepted(std::string_view accept) {
  std::string known{accept};
  std::ranges::transform(known, known.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  auto has = [&known](std::string_view type) { return known.find(type) != known.npos; };
  bool all = known.empty() || has("*/*");
  return {.json = all || has("application/json") || has("application/*"),
          .events = all || has("text/event-stream") || has("text/*")};
}

rpc_answer::rpc_answer(const api_call& call, const http_responder& to) {
  if (media_accepted(call.request.header("accept")).json)
    json_.emplace(to, http_headers{});
  else
    events_.emplace(to, http_headers{});
}

void rpc_answer::finish(const std::string& json) const {
  if (json_)
    return json_->finish(json);
  events_->event("message", json);
  events_->end();
}

void answer_rpc(const api_call& call, const http_responder& to, std::string json) {
  if (media_accepted(call.request.header("accept")).json)
    return to.send({.headers = {{"Content-Type", "application/json"}}, .body = std::move(json)});
  rpc_answer{call, to}.finish(json);
}

value rpc_result(const value& id, value result) {
  return value::map({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

value rpc_error(const value& id, std::int64_t code, std::string_view message) {
  return value::map({{"jsonrpc", "2.0"},
                     {"id", id},
                     {"error", value::map({{"code", code}, {"message", message}})}});
}

} // namespace troupe::server
