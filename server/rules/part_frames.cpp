// part_frames: names and data of events.
#include "server/rules/part_frames.hpp"

#include "graph/plain_json.hpp"
#include "server/rules/state_forms.hpp"
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

checkpoint_ref place_of(const value& config) {
  auto text = [&at = config["configurable"]](const char* name) {
    return at[name].is_string() ? std::string{at[name].as_string()} : std::string{};
  };
  return {text("thread_id"), text("checkpoint_ns"), text("checkpoint_id")};
}

// A config of a nested graph's checkpoint names those around it, too.
value with_map(const value& config, const value& metadata) {
  const auto& at = config["configurable"];
  if (!at.is_map() || at["checkpoint_ns"] == value(""))
    return config;
  auto map = checkpoint_form(place_of(config), metadata)["checkpoint_map"];
  return config.with("configurable", at.with("checkpoint_map", map));
}

// The data of a checkpoint part.
value with_maps(const value& data) {
  const auto& metadata = data["metadata"];
  return data.with("config", with_map(data["config"], metadata))
    .with("parent_config", with_map(data["parent_config"], metadata));
}

// The debug form of a task names the checkpoints of its nested graph as states do.
value with_place_of_nested(const value& task) {
  const auto& nested = task["state"]["configurable"];
  return nested.is_map() ? task.without("state").with("checkpoint", nested) : task;
}

// A checkpoint in debug mode also names itself and its parent as states do.
value with_places(const value& data) {
  if (data["type"] != value("checkpoint"))
    return data;
  auto payload = with_maps(data["payload"]);
  auto place = [&](const value& config) {
    return config.is_map() ? checkpoint_form(place_of(config), payload["metadata"]) : value{};
  };
  std::vector<value> tasks;
  for (const auto& task : payload["tasks"].items())
    tasks.push_back(with_place_of_nested(task));
  return data.with("payload", payload.with("checkpoint", place(payload["config"]))
                                .with("parent_checkpoint", place(payload["parent_config"]))
                                .with("tasks", value::list(std::move(tasks))));
}

// A message's metadata name the namespace twice, as the reference's do.
value message_metadata(const value& metadata) {
  auto out = wire_form(metadata);
  return out.with("checkpoint_ns", out["langgraph_checkpoint_ns"]);
}

value data_of(const stream_part& part) {
  auto out = wire_form(part.data);
  if (part.mode == stream_mode::checkpoints)
    return with_maps(out);
  if (part.mode == stream_mode::debug)
    return with_places(out);
  if (part.mode != stream_mode::messages || out.size() != 2)
    return out;
  return value::list({value(out[0]), message_metadata(part.data[1])});
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
    out.emplace_back("messages/metadata" + ns,
                     to_plain_json(value::map(
                       {{id, value::map({{"metadata", message_metadata(part.data[1])}})}})));
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
