// bodies: members in, maps out.
#include "client/bodies.hpp"

#include <utility>
#include <variant>

namespace troupe {

json_body& json_body::add(const char* name, const std::string& text) {
  return text.empty() ? *this : add(name, value(text));
}

json_body& json_body::add(const char* name, const value& given) {
  if (!given.is_null())
    members_.emplace_back(name, given);
  return *this;
}

json_body& json_body::add(const char* name, const std::vector<std::string>& texts) {
  return texts.empty() ? *this : add(name, texts_value(texts));
}

json_body& json_body::add(const char* name, std::size_t number) {
  return add(name, value(static_cast<std::int64_t>(number)));
}

json_body& json_body::add_flag(const char* name, bool flag) {
  return flag ? add(name, value(true)) : *this;
}

json_body& json_body::add_number(const char* name, const std::optional<double>& number) {
  return number ? add(name, value(*number)) : *this;
}

json_body& json_body::add_page(const remote_page& page) {
  return add("limit", page.limit)
    .add("offset", page.offset)
    .add("sort_by", page.sort_by)
    .add("sort_order", page.sort_order)
    .add("select", page.select);
}

value texts_value(const std::vector<std::string>& texts) {
  return value::list({texts.begin(), texts.end()});
}

namespace {

value destination_body(const destination& to) {
  if (const auto* node = std::get_if<std::string>(&to))
    return value(*node);
  const auto& sent = std::get<send>(to);
  return value::map({{"node", sent.node}, {"input", sent.arg}});
}

void add_destination_of(destinations& to, const value& given) {
  if (given.is_string())
    to.add(given.as<std::string>());
  else if (given["node"].is_string())
    to.add(send{given["node"].as<std::string>(), given[given.contains("arg") ? "arg" : "input"]});
}

// {"*"} means all nodes, which the API writes as a text.
void add_breakpoints(json_body& body, const char* name, const std::vector<std::string>& nodes) {
  if (nodes == std::vector<std::string>{"*"})
    body.add(name, std::string{"*"});
  else
    body.add(name, nodes);
}

void add_run(json_body& body, const remote_run_request& request) {
  body.add("assistant_id", request.assistant_id)
    .add("input", request.input)
    .add("command", request.command ? command_body(*request.command) : value{})
    .add("config", request.config)
    .add("context", request.context)
    .add("metadata", request.metadata)
    .add("checkpoint", request.checkpoint)
    .add("stream_mode", request.stream_mode)
    .add_flag("stream_subgraphs", request.stream_subgraphs)
    .add_flag("stream_resumable", request.stream_resumable)
    .add("multitask_strategy", request.multitask_strategy)
    .add("if_not_exists", request.if_not_exists)
    .add("on_disconnect", request.on_disconnect)
    .add("on_completion", request.on_completion)
    .add("durability", request.durability)
    .add("webhook", request.webhook)
    .add_number("after_seconds", request.after_seconds);
  add_breakpoints(body, "interrupt_before", request.interrupt_before);
  add_breakpoints(body, "interrupt_after", request.interrupt_after);
}

} // namespace

value command_body(const command& given) {
  json_body body;
  if (given.update) {
    std::vector<value> pairs;
    for (const auto& [channel, v] : given.update->entries())
      pairs.push_back(value::list({channel, v}));
    body.add("update", value::list(std::move(pairs)));
  }
  if (given.resume)
    body.add("resume", *given.resume);
  if (!given.goto_.empty()) {
    std::vector<value> all;
    for (const auto& to : given.goto_.list())
      all.push_back(destination_body(to));
    body.add("goto", value::list(std::move(all)));
  }
  return body.take();
}

command command_of_event(const value& given) {
  command out;
  const auto& update = given["update"];
  if (update.is_map()) {
    out.update = state_update{update};
  } else if (update.is_list()) {
    state_update pairs;
    for (const auto& pair : update.items())
      if (pair[0].is_string())
        pairs.set(pair[0].as<std::string>(), pair[1]);
    out.update = std::move(pairs);
  }
  const auto& to = given["goto"];
  if (to.is_list())
    for (const auto& one : to.items())
      add_destination_of(out.goto_, one);
  else
    add_destination_of(out.goto_, to);
  if (given["graph"].is_string())
    out.graph = given["graph"].as<std::string>();
  return out;
}

value assistant_body(const remote_assistant_fields& fields) {
  return json_body{}
    .add("graph_id", fields.graph_id)
    .add("assistant_id", fields.assistant_id)
    .add("config", fields.config)
    .add("context", fields.context)
    .add("metadata", fields.metadata)
    .add("name", fields.name)
    .add("description", fields.description)
    .add("if_exists", fields.if_exists)
    .take();
}

value assistant_search_body(const remote_assistant_search& which, bool with_page) {
  json_body body;
  body.add("graph_id", which.graph_id).add("name", which.name).add("metadata", which.metadata);
  return with_page ? body.add_page(which.page).take() : body.take();
}

value thread_body(const remote_thread_fields& fields) {
  auto metadata = fields.metadata;
  if (!fields.graph_id.empty())
    metadata =
      (metadata.is_map() ? metadata : value::map()).with("graph_id", value(fields.graph_id));
  json_body body;
  body.add("thread_id", fields.thread_id)
    .add("metadata", metadata)
    .add("if_exists", fields.if_exists)
    .add("supersteps", fields.supersteps);
  if (fields.ttl_minutes)
    body.add("ttl", value::map({{"ttl", *fields.ttl_minutes}, {"strategy", "delete"}}));
  return body.take();
}

value thread_search_body(const remote_thread_search& which, bool with_page) {
  json_body body;
  body.add("metadata", which.metadata).add("values", which.values).add("status", which.status);
  if (!with_page)
    return body.take();
  return body.add("ids", which.ids).add("extract", which.extract).add_page(which.page).take();
}

value run_body_of(const remote_run_request& request) {
  json_body body;
  add_run(body, request);
  return body.take();
}

value cron_body(const remote_cron_fields& fields) {
  json_body body;
  body.add("schedule", fields.schedule)
    .add("timezone", fields.timezone)
    .add("end_time", fields.end_time)
    .add("on_run_completed", fields.on_run_completed);
  if (fields.enabled)
    body.add("enabled", value(*fields.enabled));
  add_run(body, fields.run);
  return body.take();
}

value cron_search_body(const remote_cron_search& which, bool with_page) {
  json_body body;
  body.add("assistant_id", which.assistant_id)
    .add("thread_id", which.thread_id)
    .add("metadata", which.metadata);
  return with_page ? body.add_page(which.page).take() : body.take();
}

} // namespace troupe
