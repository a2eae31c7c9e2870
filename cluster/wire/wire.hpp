// Messages as bytes. A frame is a msgpack array of messages, so that what was queued for a peer
// leaves in one go; a message is the array [kind, fields…], its fields in the order of
// messages.hpp.
//
//   integer, duration in ms, errc   a msgpack integer
//   std::string                     str
//   bytes                           bin
//   error, or none                  [code, what, type, text], or nil
//   graph_offer                     [name, hash]
//
// Kinds are numbers by the order of the variant: append only, as the fields of a message are fixed.
// What changes otherwise is another protocol_version.
#pragma once

#include "cluster/wire/messages.hpp"

#include <functional>
#include <span>

namespace troupe::cluster {

/// The order in which a frame leaves: control goes before bulk, and the two are in no order with
/// each other. What keeps a link alive must not wait behind a large value.
enum class lane : std::uint8_t { control = 0, bulk = 1 };

/// The lane of a message. Messages that refer to each other (a run and its tasks, an order and its
/// stop, an outcome and what was saved before it) are on the same one.
lane lane_of(const message& m) noexcept;

/// A frame of these messages, in their order.
/// Shape:  texts for people (reasons, what errors say) are cut at limits::cluster_text_bytes_max.
/// Errors: invalid_value when a field is past its limit, or the frame past
///         limits::cluster_frame_bytes_max: it names the message and the field.
result<bytes> encode_frame(std::span<const message> messages);
result<bytes> encode_frame(const message& m);

/// Gives every message of a frame to `sink`, in order. Never takes more memory than a small
/// multiple of the frame.
/// Errors: protocol_mismatch for what is no frame of this protocol (an unknown kind, a field that
///         is missing, too much or of another type, an end too early); invalid_value for a field
///         past its limit. It names the message and the field. Those before it were given.
result<void> decode_frame(std::span<const std::uint8_t> frame,
                          const std::function<void(message&&)>& sink);

} // namespace troupe::cluster
