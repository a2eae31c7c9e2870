// A server whose answers a test writes: streams of events that end, or break off, where it says so.
#pragma once

#include "tests/provider/fake_provider.hpp"

#include <troupe/client.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

inline constexpr const char* known_thread = "01a20a22-bc8c-7228-95b6-554415de655a";
inline constexpr const char* known_run = "01a20a22-bc8f-7478-950a-c8721082aa97";

inline std::string run_path_here() {
  return std::string{"/threads/"} + known_thread + "/runs/" + known_run;
}

/// No wait between two connections, and nothing of this process's environment.
inline client_options options_for(std::string url) {
  client_options out;
  out.url = std::move(url);
  out.key_from_environment = false;
  out.reconnect_first = std::chrono::milliseconds{1};
  out.reconnect_most = std::chrono::milliseconds{1};
  return out;
}

inline std::string event_text(const std::string& name, const std::string& data,
                              const std::string& id = {}) {
  return "event: " + name + "\ndata: " + data + "\n" + (id.empty() ? "" : "id: " + id + "\n")
         + "\n";
}

/// A stream of events. `cut`: the connection breaks off after them.
inline responder events(std::string text, bool cut = false, std::vector<header> more = {}) {
  http_reply reply;
  reply.headers = {{"Content-Type", "text/event-stream"},
                   {"Content-Location", run_path_here()},
                   {"Location", run_path_here() + "/stream"}};
  for (auto& one : more)
    reply.headers.push_back(std::move(one));
  reply.chunked = true;
  if (!text.empty())
    reply.body.emplace_back(send_bytes{std::move(text)});
  if (cut)
    reply.body.emplace_back(hang_up{});
  return replies(std::move(reply));
}

inline responder json_reply(std::string body, int status = 200) {
  return replies({.status = status,
                  .headers = {{"Content-Type", "application/json"}},
                  .body = {send_bytes{std::move(body)}}});
}

/// The answer to the question whether the run of a stream that ended has ended.
inline responder run_with_status(const std::string& status) {
  return json_reply(R"({"run_id":")" + std::string{known_run} + R"(","status":")" + status + "\"}");
}

/// The names of the events, and their ids.
inline std::vector<std::string> names_of(run_events& stream) {
  std::vector<std::string> out;
  while (auto event = stream.next())
    out.push_back(event->event + (event->id.empty() ? "" : "#" + event->id));
  return out;
}

inline remote_run_request resumable_run() {
  remote_run_request out;
  out.assistant_id = "agent";
  out.input = value::map({{"n", 1}});
  out.stream_resumable = true;
  return out;
}

} // namespace troupe::test
