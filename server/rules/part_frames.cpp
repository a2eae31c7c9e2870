// part_frames: names and data of events.
#include "server/rules/part_frames.hpp"

#include "graph/plain_json.hpp"
#include "server/rules/wire_form.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

std::string ns_suffix(const std::vector<std::string>& ns) {
  std::string out;
  for (const auto& one : ns)
    out.append("|").append(one);
  return out;
}

// Two pieces of a message as one: texts are joined, lists appended, counts taken from the later.
value joined(const value& so_far, const value& piece) {
  if (so_far.is_null())
    return piece;
  auto out = so_far;
  for (const auto& e : piece.entries()) {
    auto name = e.key();
    const auto& had = so_far[name];
    if (name == "content" && had.is_string() && e.val.is_string())
      out = out.with(name, std::string{had.as_string()}.append(e.val.as_string()));
    else if (name == "content" && had.is_list() && e.val.is_list())
      out = out.with(name, had.append_all(e.val.items()));
    else if (!(name == "content" && e.val.is_string() && e.val.as_string().empty()))
      out = out.with(name, e.val);
  }
  return out;
}

// A checkpoint in debug mode also names itself and its parent as states do.
value with_places(const value& data) {
  if (data["type"] != value("checkpoint"))
    return data;
  auto place = [](const value& config) {
    const auto& at = config["configurable"];
    if (!at.is_map())
      return value();
    return value::map({{"checkpoint_id", at["checkpoint_id"]},
                       {"thread_id", at["thread_id"]},
                       {"checkpoint_ns", at["checkpoint_ns"]}});
  };
  const auto& payload = data["payload"];
  return data.with("payload", payload.with("checkpoint", place(payload["config"]))
                                .with("parent_checkpoint", place(payload["parent_config"])));
}

// The data of a part; a message's metadata name the namespace twice, as the reference's do.
value data_of(const stream_part& part) {
  auto out = wire_form(part.data);
  if (part.mode == stream_mode::debug)
    return with_places(out);
  if (part.mode != stream_mode::messages || out.size() != 2)
    return out;
  const auto& ns = out[1]["langgraph_checkpoint_ns"];
  return value::list({value(out[0]), out[1].with("checkpoint_ns", ns)});
}

} // namespace

part_frames::part_frames(const std::vector<std::string>& wire_modes)
  : as_tuples_{std::ranges::find(wire_modes, "messages-tuple") != wire_modes.end()} {}

std::vector<part_frames::frame> part_frames::frames_of(const stream_part& part) {
  auto ns = ns_suffix(part.ns);
  if (part.mode == stream_mode::messages && !as_tuples_)
    return grown_message(part, ns);
  std::vector<frame> out;
  out.emplace_back(std::string{to_string(part.mode)} + ns, to_plain_json(data_of(part)));
  return out;
}

std::vector<part_frames::frame> part_frames::grown_message(const stream_part& part,
                                                           const std::string& ns) {
  std::vector<frame> out;
  auto message = wire_form(part.data[0]);
  auto id = message["id"].is_string() ? std::string{message["id"].as_string()} : std::string{};
  auto [at, is_new] = grown_.try_emplace(id);
  if (is_new)
    out.emplace_back(
      "messages/metadata" + ns,
      to_plain_json(value::map({{id, value::map({{"metadata", wire_form(part.data[1])}})}})));
  if (message["type"] == value("AIMessageChunk")) // as the reference shows what has grown
    message = message.with("type", "ai");
  auto is_piece = part.data[0].is(value_kind::message)
                  && part.data[0].payload()["chunk"] == value(true);
  at->second = is_piece ? joined(at->second, message) : message;
  out.emplace_back((is_piece ? "messages/partial" : "messages/complete") + ns,
                   to_plain_json(value::list({at->second})));
  return out;
}

value failure_form(const error& why) {
  return value::map({{"error", reference_name(why)}, {"message", why.text()}});
}

} // namespace troupe::server
