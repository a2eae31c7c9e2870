// refusal: an answer that says no, thrown by handlers and by what they call.
#pragma once

#include "http/listener.hpp"

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <exception>
#include <optional>
#include <string>

namespace troupe::server {

/// Shape:  the body is {"detail": …}; `detail` a text, or for validation what the reference's
///         servers give.
class refusal : public std::exception {
public:
  refusal(int status, std::string detail, http_headers headers = {})
    : status_{status},
      detail_{std::move(detail)},
      headers_{std::move(headers)} {}
  int status() const noexcept { return status_; }
  const std::string& detail() const noexcept { return detail_; }
  const http_headers& headers() const noexcept { return headers_; } ///< e.g. Retry-After
  const char* what() const noexcept override { return detail_.c_str(); }

private:
  int status_;
  std::string detail_;
  http_headers headers_;
};

/// The text, or its beginning with "…" when it is longer than this. It is cut between characters.
std::string shortened(std::string text, std::size_t bytes_max);

/// The answer of a refusal. Shape: a detail above limits::server_detail_bytes_max is shortened.
http_whole answer_of(const refusal& no);
/// The answer of an error: the status of its code (409 conflict, 404 missing_key and
/// checkpoint_missing, 422 invalid_…, 429 overloaded, 503 runtime_stopped, storage_full 507, else
/// 500 "Internal Server Error"). The text of a 500 stays in the log.
http_whole answer_of(const error& why);

/// A JSON answer. Shape: `body` as plain JSON.
http_whole json_answer(const value& body, int status = 200, http_headers headers = {});

/// The body of a request as a value, a map.
/// Errors: throws refusal{422} for invalid JSON, or when it is not a map.
value json_body(const http_asked& request);

} // namespace troupe::server
