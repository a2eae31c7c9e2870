// rpc_answer: the answer to a message of JSON-RPC, which may take its time.
#pragma once

#include "server/edge/events.hpp"
#include "server/edge/router.hpp"

#include <troupe/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe::server {

/// Whether the client takes JSON, and whether it takes events.
struct accepted_media {
  bool json = false;
  bool events = false;
};
/// Shape:  `accept` is the header; an empty one accepts everything, as `*/*` does.
accepted_media media_accepted(std::string_view accept);

/// An answer that is awaited: one JSON text, or one event for a client that takes events alone. The
/// head leaves at once; heartbeats follow until finish().
/// Thread: any.
class rpc_answer {
public:
  rpc_answer(const api_call& call, const http_responder& to);
  /// Shape:  `json` is a whole message, one line.
  void finish(const std::string& json) const;

private:
  std::optional<json_writer> json_;
  std::optional<event_writer> events_;
};

/// An answer that is there already.
void answer_rpc(const api_call& call, const http_responder& to, std::string json);

/// {jsonrpc, id, result}, and {jsonrpc, id, error: {code, message}}.
value rpc_result(const value& id, value result);
value rpc_error(const value& id, std::int64_t code, std::string_view message);

} // namespace troupe::server
