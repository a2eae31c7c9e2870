// option_rules: which options of a server exclude each other. Pure.
#pragma once

#include <troupe/server.hpp>

#include <string>
#include <string_view>

namespace troupe::server {

/// The message of what is wrong with options before anything is opened; empty when they fit.
std::string options_problem(const server_options& options);

/// Whether the server has the path of a route.
/// Shape:  `pattern` as a route has it: "/threads/{thread_id}/runs".
bool is_served(const disabled_paths& disabled, std::string_view pattern);

} // namespace troupe::server
