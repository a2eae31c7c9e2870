// cors: which pages of browsers may ask. Pure.
#pragma once

#include "http/listener.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace troupe::server {

/// Shape:  `origins`: "*" allows any page. `headers`: allowed ones of requests; empty allows those
///         that a page asks for. `credentials`: cookies and HTTP authentication, too.
struct cors_options {
  std::vector<std::string> origins{"*"};
  std::vector<std::string> methods{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"};
  std::vector<std::string> headers{};
  std::vector<std::string> exposed{"content-location", "location", "x-pagination-total",
                                   "x-pagination-next", "x-request-id"};
  bool credentials = false;
  bool private_network = true; ///< pages of public sites may ask a server of a private network
  std::chrono::seconds max_age{600};
};

/// Whether a page of this origin may ask. A request without an origin does not come from a page.
bool is_allowed_origin(const cors_options& rules, std::string_view origin);

/// The answer to a preflight request; nullopt for other requests.
std::optional<http_whole> preflight_answer(const cors_options& rules, const http_asked& head);

/// The headers that an answer needs so that the page may read it; none without an origin.
http_headers cors_headers(const cors_options& rules, const http_asked& head);

} // namespace troupe::server
