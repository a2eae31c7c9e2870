// message_translation: the messages of one namespace as events of the channel `messages`. Pure.
#pragma once

#include <troupe/run_stream.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// Translates the messages that the tasks of one graph send.
/// Shape:  an event is the `data` of the protocol's event: message-start, content-block-start,
///         content-block-delta, content-block-finish or message-finish. A block's `index` is its
///         place among the blocks of its message, in the order of their first pieces.
/// Order:  one message after the other, since blocks of two must not interleave. The pieces of a
///         second one are kept until the first is whole.
/// Source: langchain_core/language_models/_compat_bridge.py, chunks_to_events.
class message_translation {
public:
  using events = std::vector<value>;

  /// Takes the data of a part of mode `messages`: a message, or a piece of one, and its metadata.
  void take(const value& data, events& out);
  /// Ends the messages of this task, `name:id`.
  void end_of_task(std::string_view task, events& out);
  /// Ends all messages.
  void end(events& out);

private:
  struct open_message {
    std::string id;
    std::string task;
    value step;
    value start;                       // the first event
    std::vector<message_piece> blocks; // each with all that came of it
    value usage;
    bool is_whole = false;
  };

  open_message& message_of(const value& data, events& out);
  template <class Is> void end_those(const Is& is, events& out);
  void finish_first(events& out);
  static void begin(const open_message& what, events& out);
  static void add(open_message& to, const message_piece& piece, bool is_told, events& out);

  std::deque<open_message> open_; // the first one is told as it comes
};

} // namespace troupe::server
