// The run stream: a run that any number of readers read, in loops, coroutines or callbacks, and its
// projections: messages, values, the result. Not part of troupe.hpp.
//
//     auto run = app.stream_events({{"messages", words}}, config);
//     for (auto messages = run.messages(); auto message = messages.next();)
//       while (auto piece = message->next())
//         std::cout << piece->text;
//     std::cout << run.output()["messages"].size() << "\n";
#pragma once

#include <troupe/context.hpp>
#include <troupe/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class stream_front;   // coordinator/stream_front.hpp
class open_reader;    // coordinator/stream_front.hpp
class message_book;   // coordinator/message_book.hpp
struct message_state; // coordinator/message_book.hpp

/// One reader of a run, with a queue and a position of its own. The first read of any reader starts
/// the run, which then advances by itself. While a reader lags by queue_parts_max parts, the run is
/// held between two messages of its actors, so that memory is bounded. Time-outs of the run count
/// meanwhile, and take effect when it advances. Parts that a body streams follow
/// stream_options::when_full:
///  - wait: they hold the run, too. A body of lane::blocking waits; any other body runs to its end
///    first.
///  - drop_oldest, drop_newest: streamed parts are dropped, and do not hold the run.
///  - fail: the reader gets `overloaded` after its waiting parts. The run stops, as after a drain,
///    at the end of a step at which no other reader is left.
/// When the run_stream and all its readers are gone, the run stops at the end of its step.
/// Thread: one at a time.
/// Errors: next() throws, and try_next() returns, the error of the run after the last part.
/// Source: langgraph/stream/run_stream.py, GraphRunStream.
class part_reader {
public:
  explicit part_reader(std::shared_ptr<open_reader> reader) noexcept;
  part_reader(part_reader&&) noexcept;
  part_reader& operator=(part_reader&&) noexcept;
  ~part_reader();

  /// The next part, or nothing at the end.
  /// Blocks: the calling thread, until a part is there. A coroutine body uses next(ctx).
  std::optional<stream_part> next();
  result<std::optional<stream_part>> try_next();
  /// The same in a coroutine body: `co_await parts.next(ctx)`, which holds no thread.
  /// Errors: invalid_graph in a body that is not a coroutine.
  coro<std::optional<stream_part>> next(context& ctx);

  /// Whether next() would not block. False before the run started.
  bool ready() const;
  /// Calls `then` once, when next() would not block; at once, on this thread, when it would not
  /// already. Starts the run. A later call replaces a `then` that was not called yet.
  /// Thread: of `then`: any thread of the run. `then` is short and does not throw.
  void when_ready(std::function<void()> then);

  /// Hands the reader over: calls `each` with every part in order, then `end` once with the result
  /// of the run. Starts the run.
  /// Thread: a thread of the runtime's actor system, without a lock, one call at a time. Both are
  ///         short, as a body of lane::standard. The runtime's destructor waits for `end`.
  /// Errors: after an exception of `each`, no more parts are read, and `end` gets that error. An
  ///         exception that is not a troupe::error counts as node_failed. An exception of `end` is
  ///         logged. `end` gets runtime_stopped, on this thread, when the runtime is gone.
  void on_part(std::function<void(stream_part&)> each,
               std::function<void(const result<run_result>&)> end = {}) &&;

private:
  std::shared_ptr<open_reader> reader_;
};

/// A piece of a message.
/// Errors: none.
/// Source: langchain_core/language_models/chat_model_stream.py, ChatModelStream.
struct message_piece {
  enum class piece_kind : std::uint8_t { text, reasoning, tool_call };
  piece_kind kind = piece_kind::text;
  std::string text;      ///< of a tool call: JSON of its arguments, or a part of it
  std::size_t index = 0; ///< of a tool call: which of the message's calls
  std::string id = {};   ///< of a tool call: in its first piece
  std::string name = {}; ///< of a tool call: in its first piece
};

/// A message of a run, while it comes. It may be read after its run_messages is gone.
/// Errors: see the members.
/// Source: langchain_core/language_models/chat_model_stream.py, ChatModelStream.
class message_stream {
public:
  message_stream(std::shared_ptr<message_book> book, std::shared_ptr<message_state> state);

  /// The next piece, or nothing at the end of the message. Pieces of other messages are kept for
  /// their readers.
  /// Blocks: until a piece is there.
  /// Errors: throws the error of a run that failed before the message was whole.
  std::optional<message_piece> next();
  coro<std::optional<message_piece>> next(context& ctx);

  /// The message when it is whole; reads up to its end.
  /// Shape:  as a message in a state: content, with `tool_calls` a list of {name, args, id, type}.
  ///         Calls whose arguments are not a JSON object are in `invalid_tool_calls`. `usage` sums
  ///         the counts of the pieces. Text and thoughts of a message that came in blocks are a
  ///         list of blocks.
  /// Errors: as next().
  value whole();
  coro<value> whole(context& ctx);
  /// The joined text, reasoning and token counts; each reads up to the end of the message.
  /// Shape:  of usage: a map of counts, or null.
  std::string text();
  std::string reasoning();
  value tool_calls();
  value usage();

  const std::string& id() const noexcept;
  const std::string& role() const noexcept;
  const std::string& node() const noexcept; ///< that sent it
  const std::vector<std::string>& ns() const noexcept;

private:
  std::shared_ptr<message_book> book_;
  std::shared_ptr<message_state> state_;
};

/// The messages of a run, in the order of their first pieces.
/// Thread: one at a time, its messages included.
/// Errors: see the members.
/// Source: langgraph/stream/transformers.py, MessagesTransformer.
class run_messages {
public:
  explicit run_messages(part_reader parts);

  /// The next message as soon as it begins, or nothing at the end.
  /// Errors: as part_reader::next().
  std::optional<message_stream> next();
  coro<std::optional<message_stream>> next(context& ctx);

private:
  std::shared_ptr<message_book> book_;
};

/// The state of a run's own graph after each step that changed it.
/// Errors: see the members.
/// Source: langgraph/stream/transformers.py, ValuesTransformer.
class run_values {
public:
  explicit run_values(part_reader parts) : parts_{std::move(parts)} {}
  /// The next state, or nothing at the end.
  /// Shape:  the data of a part of mode values.
  /// Errors: as part_reader::next().
  std::optional<value> next();
  coro<std::optional<value>> next(context& ctx);

private:
  part_reader parts_;
};

/// A run that its readers start. Cheap to copy; safe from any thread.
/// Order:  readers that exist before the first read get all parts of their modes. A later one gets
///         the parts from then on.
/// Errors: see the members.
/// Source: langgraph/stream/run_stream.py, GraphRunStream; stream_channel.py, StreamChannel.tee.
class run_stream {
public:
  explicit run_stream(std::shared_ptr<stream_front> front) : front_{std::move(front)} {}

  /// Another reader of this run.
  /// Errors: throws error{invalid_config} for `transforms`, which belong to the run, and, once the
  ///         run has started, for a mode that no reader asked for before.
  part_reader read(const stream_options& options = {}) const;
  /// Errors: as read().
  run_messages messages(std::size_t queue_parts_max = limits::stream_queue_parts_max) const;
  run_values values(std::size_t queue_parts_max = limits::stream_queue_parts_max) const;

  /// Starts the run without a read. No effect when it has started.
  void start() const;
  /// The result of the run: starts it, and waits for its end. Readers have to be read meanwhile, or
  /// to drop parts.
  /// Errors: as basic_app::try_invoke; `overloaded` when the run stopped for a reader that lagged.
  result<run_result> get() const;
  /// The same in a coroutine body.
  /// Errors: throws them.
  coro<run_result> get(context& ctx) const;
  /// Parts of the result: its output, whether the run paused, and its questions.
  /// Errors: throw those of get().
  value output() const;
  bool interrupted() const;
  std::vector<interrupt> interrupts() const;
  /// Calls `then` once with the result, as run_handle::when_done. Does not start the run.
  void when_done(std::function<void(const result<run_result>&)> then) const;

  /// The control of this run. For an end at once: `control().cancel()`.
  run_control control() const;

private:
  std::shared_ptr<stream_front> front_;
};

/// A part as one server-sent event, for a response of type text/event-stream.
/// Shape:  "event: MODE\ndata: JSON\nid: SEQ\n\n"; the event of a subgraph's part is MODE|NS|…. The
///         data is one line, with these forms:
///         - a message: a map with its class in `type` (human, ai, system, tool, AIMessageChunk)
///         - a question: {value, id}
///         - an error: {error, message}
///         - a removal: {type: "remove", id}
///         Other kinds that JSON lacks print as in to_json.
/// Errors: as to_json.
/// Source: langgraph-api's stream of runs; WHATWG HTML, 9.2 "Server-sent events".
std::string to_sse(const stream_part& part);
/// The last event of a run that failed: "event: error", with the data {error, message}. `error` is
/// the class of the error, else the name of its code.
/// Errors: none.
/// Source: langgraph-api's stream of runs.
std::string to_sse(const error& why);
/// A comment that keeps an idle connection open; it adds no event.
/// Errors: none.
/// Source: WHATWG HTML, 9.2 "Server-sent events".
inline constexpr const char* sse_heartbeat = ": heartbeat\n";

} // namespace troupe
