// The API call: a request to an Agent Server, which a thread waits for or a coroutine body awaits.
//
//     auto made = client.threads.create().get();          a thread waits
//
//     auto asked = client.threads.get(id).get(ctx);       a body awaits
//     auto found = co_await asked;
#pragma once

#include <troupe/context.hpp>
#include <troupe/coro.hpp>
#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

class api_request; // client/api_request.hpp

/// The answer of the server.
value ask(const std::shared_ptr<const api_request>& request);
coro<value> ask(std::shared_ptr<const api_request> request, context& ctx);

template <class T> T answer_as(const value& answer) {
  if constexpr (!std::is_void_v<T>)
    return answer.as<T>();
}

} // namespace detail

/// A request that was not sent yet. Each get() sends it, and gives its answer as a T.
/// Thread: any.
/// Errors: by the status of the server's answer, with its text in the message:
///         - missing_key for 404; conflict for 409; overloaded for 429 and 503
///         - invalid_config for 401 and 403; invalid_value for 400, 405, 413 and 422
///         - node_failed for other ones, node_timeout for 408 and 504
///         error::type() is the class of the reference's client, e.g. "NotFoundError".
///         error::details() is {status, detail}. Without an answer: node_failed or node_timeout of
///         type HTTPError. For an answer that is not such a T: invalid_value. A key or header of
///         the client is never in a message.
/// Source: langgraph_sdk/_sync/http.py, langgraph_sdk/errors.py.
template <class T> class api_call {
public:
  using reader = T (*)(const value& answer);

  explicit api_call(std::shared_ptr<const detail::api_request> request,
                    reader read = &detail::answer_as<T>)
    : request_{std::move(request)},
      read_{read} {}

  /// Blocks: until the answer, or a time-out of client_options.
  T get() const { return read_(detail::ask(request_)); }
  result<T> try_get() const {
    try {
      if constexpr (std::is_void_v<T>) {
        get();
        return {};
      } else {
        return get();
      }
    } catch (const error& failed) {
      return failed;
    }
  }
  /// The same in a coroutine body, which holds no thread meanwhile.
  coro<T> get(context& ctx) const { return await(request_, read_, ctx); }

private:
  static coro<T> await(std::shared_ptr<const detail::api_request> request, reader read,
                       context& ctx) {
    auto asked = detail::ask(std::move(request), ctx);
    auto answer = co_await asked;
    co_return read(answer);
  }

  std::shared_ptr<const detail::api_request> request_;
  reader read_;
};

} // namespace troupe
