// answers: codes and texts.
#include "client/answers.hpp"

#include "graph/cut_utf8.hpp"

#include <troupe/client/limits.hpp>

#include <algorithm>
#include <array>
#include <cctype>

namespace troupe {

namespace {

struct known_status {
  int status;
  errc code;
  std::string_view type;
};
constexpr std::array<known_status, 12> known_statuses{
  {{400, errc::invalid_value, "BadRequestError"},
   {401, errc::invalid_config, "AuthenticationError"},
   {403, errc::invalid_config, "PermissionDeniedError"},
   {404, errc::missing_key, "NotFoundError"},
   {405, errc::invalid_value, "APIStatusError"},
   {408, errc::node_timeout, "APIStatusError"},
   {409, errc::conflict, "ConflictError"},
   {413, errc::invalid_value, "APIStatusError"},
   {422, errc::invalid_value, "UnprocessableEntityError"},
   {429, errc::overloaded, "RateLimitError"},
   {503, errc::overloaded, "InternalServerError"},
   {504, errc::node_timeout, "InternalServerError"}}};

known_status meaning_of(int status) {
  auto at = std::ranges::find(known_statuses, status, &known_status::status);
  if (at != known_statuses.end())
    return *at;
  return {status, errc::node_failed, status >= 500 ? "InternalServerError" : "APIStatusError"};
}

constexpr std::size_t secret_bytes_min = 4; // shorter texts are in any message

void hide(std::string& text, const secret_texts& secrets) {
  for (const auto& secret : secrets)
    if (secret.size() >= secret_bytes_min)
      for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos; at += 3)
        text.replace(at, secret.size(), "***");
}

// One line of UTF-8 that is not cut within a character.
std::string shown(std::string text) {
  std::ranges::replace_if(
    text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (text.size() <= limits::client_detail_bytes_max)
    return text;
  return std::string{cut_utf8(text, limits::client_detail_bytes_max)} + "…";
}

// The text of a server: `detail`, else `message` or `error`, else the body.
std::string text_of(std::string_view body) {
  auto json = from_json(body, json_form::plain);
  if (!json || !json->is_map())
    return std::string{body};
  for (const auto* name : {"detail", "message", "error"})
    if (const auto& given = (*json)[name]; given.is_string())
      return given.as<std::string>();
    else if (!given.is_null())
      return to_json(given);
  return std::string{body};
}

} // namespace

error refusal_of(int status, std::string_view body, const secret_texts& secrets) {
  auto detail = text_of(body);
  hide(detail, secrets);
  detail = shown(std::move(detail));
  auto meaning = meaning_of(status);
  auto text = "status " + std::to_string(status) + (detail.empty() ? "" : ": " + detail);
  return error{meaning.code, "ask the agent server: " + text, std::string{meaning.type}, text}
    .with_details(value::map({{"status", status}, {"detail", detail}}));
}

bool may_pass(int status) noexcept {
  return status == 429 || status >= 500;
}

value json_of_answer(std::string_view body) {
  if (std::ranges::all_of(body, [](unsigned char c) { return std::isspace(c) != 0; }))
    return {};
  auto json = from_json(body, json_form::plain);
  if (!json)
    throw error{errc::invalid_value,
                "read the agent server's answer: it is not JSON: " + json.error().message()};
  return *json;
}

error failure_of_run(const value& given) {
  auto text_at = [&given](const char* name, const char* otherwise) {
    const auto& text = given[name];
    return text.is_string() ? text.as<std::string>() : std::string{otherwise};
  };
  auto type = text_at("error", "RemoteException");
  auto text = given.is_string() ? given.as<std::string>() : text_at("message", "");
  return error{errc::node_failed, "the remote run failed: " + type + ": " + shown(text), type,
               shown(text)};
}

value values_of_wait(const value& answer) {
  if (const auto& failure = answer["__error__"]; failure.is_map())
    throw failure_of_run(failure);
  return answer;
}

} // namespace troupe
