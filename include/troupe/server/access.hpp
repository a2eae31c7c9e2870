// Callers of a server: how a program finds out who sent a request, and decides what they may do.
#pragma once

#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The sender of a request. Without authentication, `identity` is empty.
/// Shape:  `more`: further members of the user, a map or null.
/// Errors: none.
/// Source: langgraph_sdk/auth/types.py, BaseUser.
struct caller {
  std::string identity = {};
  std::string display_name = {};
  bool is_authenticated = false;
  std::vector<std::string> permissions = {};
  value more = {};
};

/// The head of a request, for an authenticator.
/// Shape:  `path` without the query, as it was sent. `header` gives a header by its name in lower
///         case, or an empty text. All of it is valid during the call alone.
/// Errors: none.
/// Source: langgraph_sdk/auth, Auth.authenticate.
struct request_head {
  std::string_view method;
  std::string_view path;
  std::string_view peer; ///< the address of the client, numeric
  std::function<std::string_view(std::string_view name)> header;
};

/// The caller of a request. An error refuses the request with status 401 and the error's text.
/// Thread: any, several at once. It may block; a slow one slows down all requests.
/// Errors: any.
/// Source: langgraph_sdk/auth, Auth.authenticate.
using caller_lookup = std::function<result<caller>(const request_head& head)>;

/// The resource and action of a request: "threads" and "create_run".
/// Shape:  resources and their actions:
///         - threads: create, read, update, delete, search, create_run
///         - assistants, crons: create, read, update, delete, search
///         - store: put, get, delete, search, list_namespaces
///         A WebSocket of a thread is one request, to create runs. A message of MCP or A2A is asked
///         about what it touches: assistants to search or read, and threads to create runs in, to
///         read or to update.
/// Errors: none.
/// Source: langgraph_sdk/auth, Auth.on.
struct access {
  std::string_view resource = {};
  std::string_view action = {};
};

/// A question for an authoriser.
/// Shape:  `body`: the members of the request's body; those of its path, as "thread_id"; and of a
///         request without a body, those of its query, as texts. A list for a batch of runs.
/// Errors: none.
/// Source: langgraph_sdk/auth/types.py, AuthContext.
struct access_question {
  const caller& who;
  access what;
  const value& body;
};

/// An answer to a question.
/// Shape:  `filter`: null, or a map of members: {"owner": id}, {"owner": {"$eq": id}} or
///         {"shared_with": {"$contains": id}}, where the last fits a list that has all of the
///         values: one, or a list of them. The values are texts, numbers or booleans. A filter is
///         added to the metadata of what the caller makes, and must fit the metadata of what the
///         caller reads or changes; else that is missing for the caller (404). Items of the store
///         have no metadata: allow or refuse them by their namespace.
/// Errors: none here; a filter of another shape, or of another resource than threads, assistants
///         and crons, refuses the request with status 500.
/// Source: langgraph_sdk/auth/types.py, HandlerResult, FilterType.
struct access_verdict {
  bool is_allowed = true; ///< false: status 403
  value filter = {};
};

/// Decides whether a caller may do something.
/// Thread: any, several at once. An exception refuses the request with status 500.
/// Errors: none.
/// Source: langgraph_sdk/auth, Auth.on.
using authoriser = std::function<access_verdict(const access_question&)>;

} // namespace troupe::server
