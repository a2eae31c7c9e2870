// The run events: the stream of a run on an Agent Server, which survives lost connections.
#pragma once

#include <troupe/context.hpp>
#include <troupe/coro.hpp>
#include <troupe/error.hpp>
#include <troupe/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class rejoined_stream; // client/rejoined_stream.hpp

/// One event of a stream.
/// Shape:  `event` is the mode, then `|` and a namespace for each graph further in:
///         "updates|child:1ef4…". `id` is empty unless the run is resumable.
/// Errors: none.
/// Source: langgraph_sdk/schema.py, StreamPart.
struct run_event {
  std::string event;
  value data;
  std::string id;

  std::string mode() const { return event.substr(0, event.find('|')); }
  std::vector<std::string> ns() const;
};

/// The events of a run, in order, each once. The first next() sends the request.
///
/// When the connection is lost, the stream joins the run again after its last event, at most
/// client_options::reconnects_max times without an event between. A request that creates a run is
/// never sent twice: when it fails before the server's answer, the stream ends with that error.
/// A stream that ends before its run is joined again, too.
/// Thread: one at a time.
/// Errors: next() throws those of api_call. node_failed of type StreamError: an event that is not
///         JSON or is too large. After an error, the stream is at its end. An event "error" is not
///         an error of the stream.
/// Source: langgraph_sdk/_sync/http.py, SyncHttpClient.stream.
class run_events {
public:
  explicit run_events(std::shared_ptr<rejoined_stream> stream) noexcept;
  run_events(run_events&&) noexcept;
  run_events& operator=(run_events&&) noexcept;
  /// Ends the connection, not the run.
  ~run_events();

  /// The next event, or nothing at the end.
  /// Blocks: until an event is there.
  std::optional<run_event> next();
  result<std::optional<run_event>> try_next();
  /// The same in a coroutine body.
  coro<std::optional<run_event>> next(context& ctx);

  /// The ids of the run and its thread; empty until the server has answered.
  const std::string& run_id() const noexcept;
  const std::string& thread_id() const noexcept;
  /// For join_stream(), after this program ended.
  const std::string& last_event_id() const noexcept;
  /// Whether the connection was lost while the events had no ids: events may be missing then.
  /// False for a run with remote_run_request::stream_resumable.
  bool may_lack_events() const noexcept;

private:
  std::shared_ptr<rejoined_stream> stream_;
};

} // namespace troupe
