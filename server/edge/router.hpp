// router: which handler answers a request, by its method and path. Pure.
#pragma once

#include "http/listener.hpp"
#include "server/auth/authorise.hpp"
#include "server/edge/query.hpp"

#include <troupe/server/access.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::server {

/// A request on its way to a handler.
struct api_call {
  http_asked request;
  std::vector<std::string> parameters; ///< the pattern's {…} segments, decoded, in order
  query_parameters query;
  caller who;
  std::string request_id; ///< for log lines
  /// From the authoriser, or null. A handler applies it to metadata: with_filter() when it makes
  /// something, fits_filter() when it reads or changes something (else 404). Null for a route
  /// without an access.
  value filter = {};
  /// Asks the authoriser for what a call touches besides its route's access; empty without one.
  std::function<value(const access& what)> ask = {};

  /// The filter for a further resource that the call touches, or null. During the handler alone,
  /// and once for each access: an authoriser may count its questions.
  /// Errors: throws refusal{403} when the authoriser refuses.
  value filter_for(const access& what) const { return ask ? ask(what) : value{}; }
};

/// Answers a call by its responder, now or later. It may throw: refusal, or troupe::error, which
/// becomes the status of its code (edge/refusal.hpp).
/// Thread: a pool's; it may read the disk, and must not wait for runs.
using api_handler = std::function<void(const api_call& call, const http_responder& to)>;

struct route {
  std::string_view method;  ///< GET, POST, …; a GET route answers HEAD, too
  std::string_view pattern; ///< "/threads/{thread_id}/runs"
  api_handler handle;
  /// The authoriser is asked for it before the handler. Empty: the message decides, so the handler
  /// asks, by api_call::filter_for().
  troupe::server::access access = {};
  bool is_public = false; ///< answered without authentication: /ok, /info
};

/// The members of a request as its authoriser sees them (access_question::body).
/// Shape:  a parameter of the path named `id` has the name of its resource: "thread_id".
value asked_members(const route& found, const api_call& call);

/// Shape:  `parameters` as api_call has them.
struct route_match {
  const route* found;
  std::vector<std::string> parameters;
};
/// No route: 404; 405 when the path has routes of other methods, which `allow` lists; 307 when the
/// path without its last slash has one, so that the client asks for that path.
/// Source: starlette/routing.py, Router.redirect_slashes.
struct no_route {
  int status;
  std::string allow = {};
};

class router {
public:
  void add(route one);
  /// Shape:  `path` is the target without its query, still encoded. A segment that does not decode
  ///         to UTF-8 gives 404.
  std::variant<route_match, no_route> match(std::string_view method, std::string_view path) const;
  const std::vector<route>& routes() const noexcept { return routes_; }

private:
  std::vector<route> routes_;
};

} // namespace troupe::server
