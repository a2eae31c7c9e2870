// model_error: reports of providers and failures of connections, as errors.
#include "agents/messages/json_text.hpp"
#include "agents/models/model_wire.hpp"
#include "http/retry.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

struct error_class {
  errc code;
  const char* type;
};

error_class class_of_status(int status) {
  switch (status) {
    case 400: return {errc::invalid_value, "BadRequestError"};
    case 401: return {errc::invalid_config, "AuthenticationError"};
    case 403: return {errc::invalid_config, "PermissionDeniedError"};
    case 404: return {errc::invalid_value, "NotFoundError"};
    case 408: return {errc::node_timeout, "APITimeoutError"};
    case 409: return {errc::node_failed, "ConflictError"};
    case 413: return {errc::invalid_value, "RequestTooLargeError"};
    case 422: return {errc::invalid_value, "UnprocessableEntityError"};
    case 429: return {errc::overloaded, "RateLimitError"};
    case 529: return {errc::overloaded, "OverloadedError"};
    default: break;
  }
  if (status >= 500)
    return {errc::node_failed, "InternalServerError"};
  return {status >= 400 ? errc::invalid_value : errc::node_failed, "APIStatusError"};
}

// The status that an error within a stream would have had.
int status_of_kind(std::string_view kind) {
  struct known {
    std::string_view kind;
    int status;
  };
  constexpr std::array<known, 11> table{{{"invalid_request_error", 400},
                                         {"authentication_error", 401},
                                         {"permission_error", 403},
                                         {"not_found_error", 404},
                                         {"request_too_large", 413},
                                         {"rate_limit_error", 429},
                                         {"rate_limit_exceeded", 429},
                                         {"api_error", 500},
                                         {"server_error", 500},
                                         {"timeout_error", 504},
                                         {"overloaded_error", 529}}};
  auto it = std::ranges::find(table, kind, &known::kind);
  return it == table.end() ? 0 : it->status;
}

model_error refused(int class_status, reported_error said, model_error::facts known) {
  auto [code, type] = class_of_status(class_status);
  if (said.context_overflow) {
    code = errc::invalid_value;
    type = "ContextOverflowError";
    known.may_try_again = false;
  }
  known.kind = std::move(said.kind);
  return {code, std::move(said.message), type, std::move(known)};
}

bool is_failure_status(const value& v) {
  return v.is_int() && v.as_int() >= 400 && v.as_int() < 600;
}

bool tells_of_overflow(const value& error, std::string_view message) {
  return error["code"] == value("context_length_exceeded")
         || message.find("prompt is too long") != message.npos
         || message.find("Input tokens exceed the configured limit") != message.npos;
}

std::string one_line(std::string_view text) {
  std::string out{text.substr(0, limits::model_error_bytes_max)};
  while (!out.empty() && out.size() == limits::model_error_bytes_max
         && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80)
    out.pop_back(); // not within a character
  std::ranges::replace_if(
    out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

// Whether `text` contains a longer piece of `secret`, or the whole of it.
bool repeats(std::string_view text, std::string_view secret) {
  constexpr std::size_t piece = 12; // of a run of 24, one of these is whole
  for (std::size_t at = 0; at + piece <= text.size(); at += piece)
    if (secret.find(text.substr(at, piece)) != secret.npos)
      return true;
  return secret.size() >= 4 && text.find(secret) != text.npos;
}

bool repeats_any(std::string_view text, const value& secrets) {
  if (secrets.is_string())
    return repeats(text, secrets.as_string());
  if (secrets.is_list())
    return std::ranges::any_of(secrets.items(),
                               [text](const value& v) { return repeats_any(text, v); });
  return std::ranges::any_of(secrets.entries(),
                             [text](const auto& e) { return repeats_any(text, e.val); });
}

// Whether `text` contains the key or its beginning, which providers show.
bool shows_key(std::string_view text, std::string_view key) {
  return key.size() >= 4
         && text.find(key.substr(0, std::min<std::size_t>(key.size(), 6))) != text.npos;
}

std::string shown(std::string_view text, const hidden_texts& hidden) {
  if (shows_key(text, hidden.key))
    return "(text left out: it repeats the key)";
  for (const auto& message : hidden.messages.items())
    if (repeats_any(text, message_member(message, "content"))
        || repeats_any(text, message_tool_calls(message)))
      return "(text left out: it repeats the request)";
  return one_line(text);
}

value details_of(const model_error::facts& known) {
  auto out = value::map({{"status", static_cast<std::int64_t>(known.status)},
                         {"kind", known.kind},
                         {"request_id", known.request_id},
                         {"may_try_again", known.may_try_again}});
  return known.retry_after
           ? out.with("retry_after_ms", static_cast<std::int64_t>(known.retry_after->count()))
           : out;
}

// Scheme, host and path: without name, password and query, which may be keys.
std::string address_shown(std::string_view url, std::string_view key) {
  url = url.substr(0, url.find_first_of("?#"));
  auto begin = url.find("://");
  begin = begin == url.npos ? 0 : begin + 3;
  auto at = url.substr(0, url.find('/', begin)).rfind('@');
  auto out = std::string{url.substr(0, begin)}
             + std::string{url.substr(at == url.npos ? begin : at + 1)};
  return shows_key(out, key) ? std::string{} : out;
}

std::string seconds_shown(std::chrono::milliseconds wait) {
  if (wait < std::chrono::seconds{1})
    return std::to_string(wait.count()) + " ms";
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()) + " s";
}

// The wait that the provider asks for, for errors after which no attempt follows.
std::string wait_shown(const model_error::facts& known) {
  if (!known.retry_after)
    return {};
  auto out = "; the provider asks to wait " + seconds_shown(*known.retry_after);
  if (*known.retry_after > limits::model_retry_after)
    out += ", longer than the " + seconds_shown(limits::model_retry_after) + " that a call waits";
  return out;
}

} // namespace

model_error::model_error(errc code, std::string message, std::string type, facts known)
  : error{error{code, std::move(message), std::move(type)}.with_details(details_of(known))},
    facts_{std::move(known)} {}

std::optional<model_error::facts> model_facts(const error& failure) {
  const auto& told = failure.details();
  if (!told["status"].is_int() || !told["kind"].is_string() || !told["may_try_again"].is_bool())
    return std::nullopt;
  model_error::facts out{.status = static_cast<int>(told["status"].as_int()),
                         .kind = told["kind"].as<std::string>(),
                         .request_id = text_in(told["request_id"]),
                         .may_try_again = told["may_try_again"].as_bool()};
  if (const auto& wait = told["retry_after_ms"]; wait.is_int())
    out.retry_after = std::chrono::milliseconds{wait.as_int()};
  return out;
}

reported_error read_reported_error(const value& json) {
  const auto& given = json["error"];
  const auto& error = given.is_map() ? given : json;
  reported_error out;
  out.kind = one_line(text_in(error["type"]));
  out.message = text_in(given.is_string() ? given : error["message"]);
  if (const auto& detail = json["detail"]; out.message.empty() && !detail.is_null())
    out.message = detail.is_string() ? text_in(detail) : to_json(detail);
  out.request_id = one_line(text_in(json["request_id"]));
  for (const auto* name : {"status_code", "code"})
    if (const auto& status = error[name]; out.status == 0 && is_failure_status(status))
      out.status = static_cast<int>(status.as_int());
  out.context_overflow = tells_of_overflow(error, out.message);
  return out;
}

model_error refused_by_status(const http_head& head, std::string_view body,
                              std::chrono::system_clock::time_point now) {
  auto json = from_json(body, json_form::plain);
  auto said = json && json->is_map() ? read_reported_error(*json)
                                     : reported_error{.message = std::string{body.substr(0, 4096)}};
  model_error::facts known{.status = head.status,
                           .retry_after = retry_after(head, now),
                           .may_try_again = may_change(head)};
  for (const auto* name : {"request-id", "x-request-id"})
    if (known.request_id.empty())
      known.request_id = one_line(head.header(name));
  if (known.request_id.empty())
    known.request_id = said.request_id;
  return refused(head.status, std::move(said), std::move(known));
}

model_error refused_by_event(const value& json) {
  auto said = read_reported_error(json);
  auto status = status_of_kind(said.kind);
  if (status == 0)
    status = said.status;
  if (said.message.empty())
    said.message = "An error occurred during streaming";
  model_error::facts known{
    .status = 200, .request_id = said.request_id, .may_try_again = status == 429 || status >= 500};
  return refused(status, std::move(said), std::move(known));
}

model_error lost_connection(const http_error& failure) {
  model_error::facts known{.may_try_again = may_change(failure.fault())};
  switch (failure.fault()) {
    case http_fault::timed_out:
      known.kind = "timeout";
      return {errc::node_timeout, failure.message(), "APITimeoutError", known};
    case http_fault::too_large:
      known.kind = "too_large";
      return {errc::node_failed, failure.message(), "APIResponseError", known};
    default:
      known.kind = "connection";
      return {failure.code(), failure.message(), "APIConnectionError", known};
  }
}

model_error broken_answer(std::string_view what) {
  return {errc::node_failed, std::string{what}, "APIResponseError", {.kind = "broken_answer"}};
}

model_error told_error(std::string_view model, const model_error& raw, const hidden_texts& hidden,
                       std::string_view url) {
  auto known = raw.known();
  for (auto* word : {&known.kind, &known.request_id})
    if (shows_key(*word, hidden.key))
      word->clear();
  std::string text = "ask model `" + std::string{model} + "`: ";
  if (known.status != 0)
    text += "status " + std::to_string(known.status) + (known.kind.empty() ? "" : ", ");
  text += known.kind;
  if (auto said = shown(raw.message(), hidden); !said.empty())
    text += ": " + said;
  auto from = known.status == 0 ? std::string{} : address_shown(url, hidden.key);
  if (!known.request_id.empty())
    from += (from.empty() ? "request " : ", request ") + known.request_id;
  if (!from.empty())
    text += " (" + from + ")";
  text += wait_shown(known);
  return {raw.code(), std::move(text), raw.type(), std::move(known)};
}

} // namespace troupe
