// refusal: errors as answers, and JSON bodies.
#include "server/edge/refusal.hpp"

#include "graph/cut_utf8.hpp"
#include "graph/plain_json.hpp"

#include <troupe/server/limits.hpp>

namespace troupe::server {
namespace {

http_whole detail_answer(int status, std::string detail, http_headers headers = {}) {
  auto text = shortened(std::move(detail), limits::server_detail_bytes_max);
  return json_answer(value::map({{"detail", text}}), status, std::move(headers));
}

int status_of(errc code) {
  switch (code) {
    case errc::conflict: return 409;
    case errc::missing_key:
    case errc::checkpoint_missing: return 404;
    case errc::invalid_graph:
    case errc::invalid_update:
    case errc::empty_input:
    case errc::invalid_config:
    case errc::invalid_value:
    case errc::invalid_resume:
    case errc::unknown_interrupt:
    case errc::ambiguous_resume: return 422;
    case errc::overloaded: return 429;
    case errc::runtime_stopped: return 503;
    case errc::storage_full: return 507;
    default: return 500;
  }
}

} // namespace

std::string shortened(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max)
    return text;
  text.resize(cut_utf8(text, bytes_max).size());
  return text += "…";
}

http_whole json_answer(const value& body, int status, http_headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  return {.status = status, .headers = std::move(headers), .body = to_plain_json(body)};
}

http_whole answer_of(const refusal& no) {
  return detail_answer(no.status(), no.detail(), no.headers());
}

http_whole answer_of(const error& why) {
  auto status = status_of(why.code());
  if (status == 500)
    return detail_answer(500, "Internal Server Error");
  bool is_later = status == 429 || status == 503;
  return detail_answer(status, why.message(),
                       is_later ? http_headers{{"Retry-After", "1"}} : http_headers{});
}

value json_body(const http_asked& request) {
  auto body = from_json(request.body, json_form::plain);
  if (!body) // for example JSON that is nested too deeply
    throw refusal{422, body.error().message().starts_with("read JSON: not JSON")
                         ? "Invalid JSON in request body"
                         : body.error().message()};
  if (!body->is_map())
    throw refusal{422, shortened(to_plain_json(*body), limits::server_echo_bytes_max)
                         + " is not of type \"object\""};
  return std::move(*body);
}

} // namespace troupe::server
