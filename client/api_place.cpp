// api_place: options become requests.
#include "client/api_place.hpp"

#include "client/addresses.hpp"
#include "coordinator/sse_text.hpp"
#include "graph/plain_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace troupe {

namespace {

bool is_key_header(std::string_view name) {
  constexpr std::string_view key = "x-api-key";
  return std::ranges::equal(name, key, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a | 32 : a) == b;
  });
}

std::string key_of_environment() {
  for (const auto* name : {"LANGGRAPH_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"})
    if (const char* text = std::getenv(name); text && *text) {
      std::string key = text;
      auto from = key.find_first_not_of(" \t\r\n\"'");
      auto to = key.find_last_not_of(" \t\r\n\"'");
      return from == key.npos ? std::string{} : key.substr(from, to - from + 1);
    }
  return {};
}

} // namespace

api_place::api_place(client_options options)
  : options_{std::move(options)},
    loop_{http_loop::shared()} {
  while (options_.url.ends_with('/'))
    options_.url.pop_back();
  if (options_.api_key.empty() && options_.key_from_environment)
    options_.api_key = key_of_environment();
  headers_.emplace_back("User-Agent", "troupe/" TROUPE_VERSION);
  for (const auto& [name, text] : options_.headers) {
    if (is_key_header(name))
      throw error{
        errc::invalid_config,
        "connect to an agent server: set client_options::api_key, not a header x-api-key"};
    headers_.emplace_back(name, text);
    secrets_.push_back(text);
  }
  if (!options_.api_key.empty()) {
    headers_.emplace_back("x-api-key", options_.api_key);
    secrets_.push_back(options_.api_key);
  }
  try {
    check_request(request("GET", "/ok"));
  } catch (const error& wrong) {
    throw error{errc::invalid_config, "connect to an agent server: " + wrong.message()};
  }
}

std::string api_place::url_of(const std::string& target) const {
  return target.starts_with('/') ? options_.url + target : target;
}

http_request api_place::request(std::string method, const std::string& target,
                                const value& body) const {
  http_request out;
  out.method = std::move(method);
  out.url = url_of(target);
  out.headers = headers_;
  out.headers.emplace_back("Accept", "application/json");
  out.proxy = options_.proxy;
  out.body_bytes_max = limits::client_answer_bytes_max;
  out.timeouts.response = options_.answer_timeout;
  out.timeouts.idle = options_.silence_max;
  if (!body.is_null()) {
    out.headers.emplace_back("Content-Type", "application/json");
    out.body = to_plain_json(client_form(body));
  }
  return out;
}

http_request api_place::stream_request(std::string method, const std::string& target,
                                       const value& body, const std::string& last_event_id) const {
  auto out = request(std::move(method), target, body);
  std::erase_if(out.headers, [](const auto& header) { return header.first == "Accept"; });
  out.headers.emplace_back("Accept", "text/event-stream");
  out.headers.emplace_back("Cache-Control", "no-store");
  if (!last_event_id.empty())
    out.headers.emplace_back("Last-Event-ID", last_event_id);
  out.body_bytes_max = SIZE_MAX; // each event has its bound
  return out;
}

std::string api_place::joining_url(const http_head& head, std::string_view end) const {
  if (auto location = std::string{head.header("location")}; !location.empty()) {
    auto url = url_of(location);
    if (!has_same_origin(url, options_.url))
      throw error{errc::node_failed,
                  "follow a run: the server's Location is another server: " + http_origin(url)};
    return url;
  }
  auto place = place_of_run(head.header("content-location"));
  return place ? options_.url + place->path + std::string{end} : std::string{};
}

} // namespace troupe
