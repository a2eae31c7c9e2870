// A server on 127.0.0.1 that answers as models' providers do, by a script: with one thread, for
// many connections at once. Slow steps wait at a gate that the test opens; nothing waits for a
// clock.
//
//     fake_provider provider;
//     provider.then(fails(429, "slow down", {{"Retry-After", "0"}}));
//     provider.then(says({.text = "Hello"}));
//     ask(provider.url() + "/v1/messages");
//     BOOST_TEST(provider.requests()[1].body["model"] == value("m"));
#pragma once

#include "tests/provider/model_wire.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::test {

/// Where answers wait until a test lets them go. A handle: copies are the same gate.
class gate {
public:
  gate();
  /// Lets those that wait pass, and all that come later.
  void open();
  /// Lets `n` pass: of those that wait, else the next ones.
  void let_pass(std::size_t n = 1);
  /// Blocks until `n` wait here.
  void wait_for(std::size_t n = 1) const;

  /// Calls `pass`, perhaps at once, perhaps on the thread that opens the gate.
  void enter(std::function<void()> pass);

private:
  struct state;
  std::shared_ptr<state> state_;
};

using header = std::pair<std::string, std::string>;

/// A request as it came.
struct seen_request {
  std::string method = {};
  std::string target = {};
  std::vector<header> headers = {}; ///< names as they were written
  std::string text = {};            ///< the body
  value body = {};                  ///< the body as JSON; null for other bodies
  std::size_t connection = 0;       ///< from 0, in order of arrival

  /// The first header of this name in any case; empty if it is missing.
  std::string header_of(std::string_view name) const;
};

// The steps of the server for an answer, one after the other.

struct send_bytes {
  std::string bytes;
};
/// Sends the same again and again, until the peer is gone.
struct send_again {
  std::string bytes;
  std::size_t times = std::numeric_limits<std::size_t>::max();
};
struct wait_at {
  gate at;
};
/// For programs; tests use gates.
struct wait_time {
  std::chrono::milliseconds time;
};
/// Closes the connection, with a reset or in an orderly way.
struct hang_up {
  bool reset = false;
};
using server_step = std::variant<send_bytes, send_again, wait_at, wait_time, hang_up>;

/// The bytes of an answer, head included. The connection stays open unless they say otherwise.
using raw_reply = std::vector<server_step>;
/// Makes the answer to a request; called on the server's thread.
using responder = std::function<raw_reply(const seen_request&)>;

/// A response whose framing is made here.
struct http_reply {
  int status = 200;
  std::vector<header> headers = {};
  raw_reply body = {}; ///< in `chunked` form each send_bytes is a chunk
  bool chunked = false;
};
raw_reply to_raw(http_reply reply);

/// How an answer is delivered.
struct delivery {
  std::optional<bool> stream = {}; ///< unset: as the request asks for
  std::vector<header> headers = {};
  std::size_t chunk_bytes = 0; ///< of a streamed body, at most so many at a time; 0: an event each
  std::optional<gate> before_head = {};      ///< waits there with the whole answer
  std::optional<gate> before_event = {};     ///< waits there before each event, or those from
  std::size_t gated_from = 0;                ///< this one, counted from 0
  std::optional<std::size_t> cut_after = {}; ///< hangs up after so many bytes of the body
  bool reset = false;                        ///< a cut is a reset
  bool close = false;                        ///< hangs up after the answer without notice
  std::chrono::milliseconds first_event{0}; ///< for programs: waits so long before the first event,
  std::chrono::milliseconds each_event{0};  ///< and before each other one
};

/// The answer of a model, in the format that the request's target asks for.
responder says(model_answer answer, delivery how = {});
/// A refusal, with the provider's form of an error.
responder fails(int status, std::string message = "no", std::vector<header> headers = {});
/// As `answers`, but a conversation that the provider would not take is refused with status 400.
responder strictly(responder answers);
/// A body as it is.
responder replies(http_reply reply);
/// Bytes as they are, head and all.
responder raw(raw_reply steps);
/// An answer that begins and never ends: the same word again and again.
responder never_ends(model_answer answer = {.text = "on "});

class fake_provider {
public:
  /// Listens on a port of 127.0.0.1; 0: one that is free. Lifts this process's limit of open files.
  explicit fake_provider(std::uint16_t port = 0);
  /// Closes all connections.
  ~fake_provider();
  fake_provider(const fake_provider&) = delete;
  fake_provider& operator=(const fake_provider&) = delete;

  std::uint16_t port() const noexcept;
  /// "http://127.0.0.1:PORT"
  std::string url() const;

  /// Sets the answer to the next request that has none yet, in order of arrival.
  void then(responder answer);
  /// Sets the answer when none of those is left; by default, status 500.
  void always(responder answer);
  /// Whether requests are kept for requests(); by default they are. Not for the next ones.
  void remember(bool is_on);

  std::vector<seen_request> requests() const;
  /// Blocks until `n` requests have come, or connections were closed by the peer.
  void wait_for_requests(std::size_t n) const;
  void wait_for_closed(std::size_t n) const;
  std::size_t connections() const;

private:
  struct server;
  std::shared_ptr<server> server_;
};

} // namespace troupe::test
