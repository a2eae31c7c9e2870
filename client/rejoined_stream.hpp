// rejoined_stream: the events of a run, over any number of connections.
//
// Invariants:
//  - the first request is sent once. All later ones are GETs of the place that the server named.
//  - events are given in the server's order, and none is given twice.
//  - after an error, and after the end, no request is sent.
#pragma once

#include "client/addresses.hpp"
#include "client/api_place.hpp"
#include "client/rejoining.hpp"
#include "http/client.hpp"
#include "http/sse.hpp"

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// The first request of a stream.
/// Shape:  `rejoin_at`: the target at which the stream is joined again; empty: the one that the
///         server's answer names.
class stream_opening {
public:
  std::string method = "GET";
  std::string target;
  value body = {};
  std::string last_event_id = {};
  std::string rejoin_at = {};
  bool is_resumable = false; ///< the run keeps its events
};

class rejoined_stream {
public:
  rejoined_stream(std::shared_ptr<const api_place> place, stream_opening opening);

  /// The next event, or nothing at the end. Without a context, it never suspends.
  /// Errors: throws those of run_events.
  coro<std::optional<run_event>> next(context* ctx);

  /// Whether the server has answered the first request.
  bool has_begun() const noexcept { return has_begun_; }
  const run_place& place_of() const noexcept { return run_; }
  const std::string& last_event_id() const noexcept { return last_id_; }
  bool may_lack_events() const noexcept { return may_lack_; }

private:
  coro<std::optional<error>> advance(context* ctx);
  coro<std::optional<error>> open(context* ctx);
  coro<std::optional<error>> closed(context* ctx);
  coro<std::string> whole_body(context* ctx);
  coro<void> wait_before_next(context* ctx, error lost);
  http_request next_request() const;
  void take(const sse_event& event);

  std::shared_ptr<const api_place> place_;
  stream_opening opening_;
  std::optional<http_call> call_; // null between two connections
  sse_decoder decoder_;
  std::deque<run_event> waiting_;
  seen_events seen_;
  lost_connections lost_;
  std::string url_; // where the stream is joined again; empty: nowhere
  run_place run_;
  std::string last_id_;
  std::exception_ptr failure_; // given after the events before it
  bool has_begun_ = false;
  bool run_ended_ = false; // an event reported the end
  bool is_over_ = false;
  bool may_lack_ = false;
};

} // namespace troupe
