// wire: messages as bytes. A frame is a msgpack array of messages, so that all that waits for a
// peer leaves together. A message is the array [kind, fields…], with its fields in the order of
// wire_fields.hpp.
//
//   integer, duration, errc         a msgpack integer
//   std::string                     str
//   bytes                           bin
//   error, or none                  [code, message, type, text], or nil
//   graph_offer                     [name, hash, build, version]
//
// A kind is the index of the message in the variant. Kinds are append only, and the fields of a
// message are fixed. Any other change needs another protocol_version.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <functional>
#include <span>

namespace troupe::cluster {

/// The order in which frames leave: control before bulk. Frames of different lanes have no other
/// order. Messages that keep a link alive must not wait for a large value.
enum class lane : std::uint8_t { control = 0, bulk = 1 };

/// The lane of a message. Messages that refer to each other have the same lane. Examples are a run
/// and its tasks, an order and its stop, or an outcome and the saves before it.
lane lane_of(const message& m) noexcept;

/// Encodes messages as a frame, in their order.
/// Shape:  texts for people (reasons, texts of errors) are cut at limits::cluster_text_bytes_max.
/// Errors: invalid_value when a field or the frame (limits::cluster_frame_bytes_max) is too large.
///         The error names the message and the field.
result<bytes> encode_frame(std::span<const message> messages);
result<bytes> encode_frame(const message& m);

/// Gives every message of a frame to `sink`, in order. Uses at most a small multiple of the frame's
/// size as memory.
/// Errors: - protocol_mismatch for bytes that are not a frame of this protocol: an unknown kind, a
///           missing, additional or wrong field, an early end
///         - invalid_value for a field past its limit
///         The error names the message and the field. The messages before it were given to `sink`.
result<void> decode_frame(std::span<const std::uint8_t> frame,
                          const std::function<void(message&&)>& sink);

} // namespace troupe::cluster
