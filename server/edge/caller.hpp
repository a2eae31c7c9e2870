// caller: who sent a request.
#pragma once

#include <troupe/value.hpp>

#include <string>
#include <vector>

namespace troupe::server {

/// The sender of a request. Without authentication, `identity` is empty.
struct caller {
  std::string identity = {};
  std::string display_name = {};
  bool is_authenticated = false;
  std::vector<std::string> permissions = {};
  value more = {}; ///< further members of the user, a map or null
};

} // namespace troupe::server
