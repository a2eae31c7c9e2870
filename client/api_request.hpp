// api_request: one request of an api_call, and its answer.
#pragma once

#include "client/api_place.hpp"

#include <string>

namespace troupe::detail {

/// Shape:  `member`, when given, names the member of the answer that is the result.
class api_request {
public:
  std::shared_ptr<const api_place> place;
  std::string method = "GET";
  std::string path;
  value body = {};
  std::string member = {};
  /// A wait for a run: a lost connection joins the run, and a failed run is an error.
  bool waits = false;
};

} // namespace troupe::detail
