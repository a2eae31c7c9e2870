// part_frames: the events that clients of a run get for the parts of its stream. Pure.
#pragma once

#include <troupe/runtime.hpp>

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::server {

/// Turns the parts of one run into events, in order.
/// Shape:  an event is a name, "MODE" or "MODE|NS|…", and its data as one line of JSON. In mode
///         messages, "messages-tuple" on the wire gives `messages` events [message, metadata];
///         "messages" gives messages/metadata once a message, and messages/partial with the message
///         so far. When both were asked for, only the first.
class part_frames {
public:
  explicit part_frames(const std::vector<std::string>& wire_modes);

  using frame = std::pair<std::string, std::string>;
  std::vector<frame> frames_of(const stream_part& part);

private:
  std::vector<frame> grown_message(const stream_part& part, const std::string& ns);

  bool as_tuples_ = false;
  std::unordered_map<std::string, value> grown_; // by message id
};

/// {error, message} of a failed run.
value failure_form(const error& why);

} // namespace troupe::server
