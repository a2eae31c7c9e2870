// api_place: one Agent Server: its address, the headers of each request, and their secrets.
#pragma once

#include "client/answers.hpp"
#include "http/loop.hpp"

#include <troupe/client/agent_client.hpp>

namespace troupe {

class api_place {
public:
  /// Errors: as agent_client's constructor.
  explicit api_place(client_options options);

  /// A request of this server.
  /// Shape:  `target` is a path, or a whole URL of this server. A null `body` is not sent.
  http_request request(std::string method, const std::string& target, const value& body = {}) const;
  /// A request for a stream of events. With `last_event_id`, for those after it.
  http_request stream_request(std::string method, const std::string& target, const value& body,
                              const std::string& last_event_id) const;

  /// The URL at which the run of this answer is joined: its Location, else the place of the run
  /// with `end` after it; empty without both.
  /// Errors: throws error{node_failed} for a Location on another server, which gets no key.
  std::string joining_url(const http_head& head, std::string_view end) const;

  error refusal(int status, std::string_view body) const {
    return refusal_of(status, body, secrets_);
  }
  const client_options& options() const noexcept { return options_; }

private:
  std::string url_of(const std::string& target) const;

  client_options options_;
  http_headers headers_;
  secret_texts secrets_;
  std::shared_ptr<http_loop> loop_; // keeps connections between requests
};

} // namespace troupe
