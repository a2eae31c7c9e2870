// message_book: puts the messages of a run together from the parts of its stream.
#pragma once

#include <troupe/run_stream.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The pieces of a message or of a part of one: thoughts, then text, then calls.
std::vector<message_piece> pieces_of(const value& message);

/// The sum of two token counts, member by member; null counts as empty.
value sum_of_counts(const value& left, const value& right);

/// A message while it comes. Pure.
struct message_state {
  std::string id;
  std::string role;
  std::string node;
  std::vector<std::string> ns;
  std::string task_ns; // the namespace of the task that sends it

  std::deque<message_piece> pieces; // not read yet
  std::string text;                 // so far, as `reasoning`
  std::string reasoning;
  bool ended = false;
  std::optional<error> failure; // the run failed before the message was whole

  /// Adds a message, or a part of one. A message that is not a part ends it.
  void add(const value& message);
  bool over() const noexcept { return ended || failure; }
  /// Errors: throws `failure` when no piece is left.
  std::optional<message_piece> take_piece();
  /// Errors: throws `failure`.
  value whole() const;

private:
  struct call {
    std::string id;
    std::string name;
    std::string args;
  };
  void add_members(const value& members);
  void add_blocks(const value& blocks);
  value content() const;

  std::optional<value> as_sent_;      // a message that came in one piece
  value members_ = value::map();      // without content, calls and usage
  std::vector<value> blocks_;         // of content that comes in blocks
  std::map<std::size_t, call> calls_; // by index
  value usage_;
};

/// The messages of a run and the reader of its parts.
class message_book {
public:
  explicit message_book(part_reader reader) : parts{std::move(reader)} {}

  /// Takes what the reader gave: a part, the end, or an error.
  void take(result<std::optional<stream_part>> part);
  /// Awaits the next part and takes it.
  coro<void> take_one(context& ctx);
  bool over() const noexcept { return over_; }
  /// The next message that nobody has seen; null without one.
  /// Errors: throws the error of the run after the last message.
  std::shared_ptr<message_state> take_fresh();

  part_reader parts;
  std::deque<std::shared_ptr<message_state>> fresh; // begun, not seen

private:
  void take_message(const stream_part& part);
  void end_messages_of(std::string_view task_id);

  std::map<std::string, std::shared_ptr<message_state>> open_; // by the task's namespace and id
  bool over_ = false;
  std::optional<error> failure_;
};

} // namespace troupe
