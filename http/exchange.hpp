// http exchange: requests and responses as data.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

using http_headers = std::vector<std::pair<std::string, std::string>>;

/// The time limits of a request; 0: no limit. `response`: until its first byte. `idle`: between two
/// pieces of the body, while the reader takes them.
struct http_timeouts {
  std::chrono::milliseconds connect = limits::http_connect_timeout;
  std::chrono::milliseconds response = limits::http_response_timeout;
  std::chrono::milliseconds idle{0};
  std::chrono::milliseconds total{0};
};

/// A request. Redirects are not followed.
/// Shape:  `url` http or https, without a name and password. A header is a name and a value.
///         `proxy`: http, https, socks5 or socks5h, also without these; empty: from curl's
///         environment variables.
/// Not an aggregate, so that it can stand in a co_await expression.
class http_request {
public:
  http_request() = default;

  std::string method = "GET";
  std::string url;
  http_headers headers;
  std::string body;
  std::string proxy;
  http_timeouts timeouts;
  std::size_t body_bytes_max = limits::http_body_bytes_default; ///< of the response
  /// Whether an address may be connected to, numeric and as the host's name was resolved; empty
  /// allows all. With it, the request uses no proxy and no connection of another request.
  /// Thread: the loop's. Must be short; an exception counts as false.
  std::function<bool(const std::string& address)> may_connect{};
};

/// Shape:  names of headers are in lower case.
class http_head {
public:
  int status = 0;
  http_headers headers;

  /// The first header of this name (in lower case); empty without one.
  std::string_view header(std::string_view name) const noexcept;
};

class http_response {
public:
  http_head head;
  std::string body;
};

/// The reason why a response is missing or incomplete.
enum class http_fault : std::uint8_t {
  not_sent,      ///< the request or this process is the cause
  no_connection, ///< the server could not be reached
  untrusted,     ///< the certificate of the server or proxy
  timed_out,
  broken, ///< the connection ended too early
  too_large,
  given_up, ///< the reader does not wait any more
};

/// Codes: invalid_value for not_sent, node_timeout for timed_out, else node_failed; its type is
/// HTTPError. Its text has no header and no body, and of the URL neither path nor query.
class http_error : public error {
public:
  http_error(http_fault fault, std::string_view url, std::string_view what);
  http_fault fault() const noexcept { return fault_; }

private:
  http_fault fault_;
};

/// Scheme, host and port of a URL, for messages.
std::string http_origin(std::string_view url);

/// Errors: http_error not_sent. URL and proxy: another scheme, a name and password, or characters
///         that a URL can't have. Method and headers: a line end, which would begin another header.
void check_request(const http_request& request);

} // namespace troupe
