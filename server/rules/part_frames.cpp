// part_frames: names and data of events.
#include "server/rules/part_frames.hpp"

#include "graph/plain_json.hpp"
#include "server/rules/run_request.hpp"
#include "server/rules/state_forms.hpp"
#include "server/rules/wire_form.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::server {

namespace {

std::string ns_suffix(const std::vector<std::string>& ns) {
  std::string out;
  for (const auto& one : ns)
    out.append("|").append(one);
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

// A transform may have made something else of it.
bool is_message_part(const stream_part& part) {
  return part.mode == stream_mode::messages && part.data.size() == 2 && part.data[1].is_map();
}

value data_of(const stream_part& part) {
  auto out = wire_form(part.data);
  if (part.mode == stream_mode::checkpoints)
    return with_maps(out);
  if (part.mode == stream_mode::debug)
    return with_places(out);
  if (!is_message_part(part))
    return out;
  return value::list({value(out[0]), message_metadata(part.data[1])});
}

part_frames::frame frame_of(const value& event) {
  return {"events", to_plain_json(event)};
}

} // namespace

part_frames::part_frames(const std::vector<std::string>& wire_modes, bool shows_nested)
  : as_tuples_{std::ranges::find(wire_modes, "messages-tuple") != wire_modes.end()},
    shows_nested_{shows_nested},
    traces_{has_events(wire_modes)},
    modes_{shown_modes(wire_modes)} {}

part_frames::frames part_frames::began(traced_run run, std::function<std::string()> new_id) {
  if (!traces_)
    return {};
  tracing_.emplace(std::move(run), std::move(new_id));
  return {frame_of(tracing_->began())};
}

part_frames::frames part_frames::ended(const value& output) const {
  return tracing_ ? frames{frame_of(tracing_->ended(output))} : frames{};
}

bool part_frames::is_asked(const stream_part& part) const {
  return std::ranges::find(modes_, part.mode) != modes_.end() && (shows_nested_ || part.ns.empty());
}

part_frames::frames part_frames::frames_of(const stream_part& part) {
  frames out;
  if (tracing_)
    for (const auto& event : tracing_->part(part))
      out.push_back(frame_of(event));
  if (!is_asked(part))
    return out;
  auto ns = ns_suffix(part.ns);
  if (is_message_part(part) && !as_tuples_)
    std::ranges::move(grown_message(part, ns), std::back_inserter(out));
  else
    out.emplace_back(std::string{to_string(part.mode)} + ns, to_plain_json(data_of(part)));
  return out;
}

part_frames::frames part_frames::grown_message(const stream_part& part, const std::string& ns) {
  frames out;
  const auto& message = part.data[0];
  const auto& given = message.is(value_kind::message)          ? message.payload()["id"]
                      : message.is(value_kind::remove_message) ? message.payload()
                                                               : message["id"];
  auto id = given.is_string() ? std::string{given.as_string()} : std::string{};
  auto [at, is_new] = grown_.try_emplace(id);
  if (is_new)
    out.emplace_back("messages/metadata" + ns,
                     to_plain_json(value::map(
                       {{id, value::map({{"metadata", message_metadata(part.data[1])}})}})));
  at->second.add(message);
  out.emplace_back((is_piece(message) ? "messages/partial" : "messages/complete") + ns,
                   to_plain_json(value::list({at->second.form()})));
  return out;
}

value failure_form(const error& why) {
  return value::map({{"error", reference_name(why)}, {"message", why.text()}});
}

} // namespace troupe::server
