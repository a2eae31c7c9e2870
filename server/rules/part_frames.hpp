// part_frames: the events that clients of a run get for the parts of its stream. Pure.
#pragma once

#include "server/rules/growing_message.hpp"
#include "server/rules/run_tracing.hpp"

#include <troupe/runtime.hpp>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::server {

/// Turns the parts of one run into events, in order.
/// Shape:  an event is a name, "MODE" or "MODE|NS|…", and its data as one line of JSON. In mode
///         messages, "messages-tuple" on the wire gives `messages` events [message, metadata];
///         "messages" gives messages/metadata once a message, and messages/partial with the message
///         so far. When both were asked for, only the first. In mode events, which is made of parts
///         of other modes, an event is `events` of run_tracing.
class part_frames {
public:
  /// Shape:  `shows_nested`: also the parts of nested graphs; in mode events they are always shown.
  part_frames(const std::vector<std::string>& wire_modes, bool shows_nested);

  using frame = std::pair<std::string, std::string>;
  using frames = std::vector<frame>;

  bool traces() const noexcept { return traces_; } ///< mode events was asked for
  /// The first frames. Without mode events, none.
  frames began(traced_run run, std::function<std::string()> new_id);
  frames frames_of(const stream_part& part);
  /// The frames of a run that ended well. Shape: `output`: without questions.
  frames ended(const value& output) const;

private:
  bool is_asked(const stream_part& part) const;
  frames grown_message(const stream_part& part, const std::string& ns);

  bool as_tuples_ = false;
  bool shows_nested_ = false;
  bool traces_ = false;
  std::vector<stream_mode> modes_; // asked for by their own names
  std::optional<run_tracing> tracing_;
  std::unordered_map<std::string, growing_message> grown_; // by message id
};

/// {error, message} of a failed run.
value failure_form(const error& why);

} // namespace troupe::server
