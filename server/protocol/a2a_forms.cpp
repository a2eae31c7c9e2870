// a2a_forms: reading messages, and writing tasks.
#include "server/protocol/a2a_forms.hpp"

#include "server/protocol/a2a_versions.hpp"
#include "server/protocol/python_text.hpp"
#include "server/rules/checked_body.hpp"

#include <troupe/uuid.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {
namespace {

a2a_problem wrong_param(std::string why) {
  return {a2a_code::wrong_params, std::move(why)};
}

std::string text_at(const value& v, std::string_view name) {
  return v[name].is_string() ? std::string{v[name].as_string()} : std::string{};
}

// ---- parts ----------------------------------------------------------------------------------

value block_of_file(const value& file) {
  auto mime = text_at(file, "mimeType");
  auto kind = mime.substr(0, mime.find('/'));
  bool is_media = kind == "image" || kind == "audio" || kind == "video";
  auto block = value::map({{"type", is_media ? kind : "file"}});
  if (!mime.empty())
    block = block.with("mime_type", mime);
  if (auto name = text_at(file, "name"); !name.empty())
    block = block.with("extras", value::map({{"filename", name}}));
  if (file["bytes"].is_string() == file["uri"].is_string())
    throw wrong_param("a file part has neither bytes nor a uri, or both");
  return file["bytes"].is_string() ? block.with("base64", file["bytes"])
                                   : block.with("url", file["uri"]);
}

void read_part(const value& part, std::vector<value>& blocks, value& data) {
  auto kind = text_at(part, "kind");
  if (kind == "text" && part["text"].is_string()) {
    blocks.push_back(value::map({{"type", "text"}, {"text", part["text"]}}));
  } else if (kind == "file" && part["file"].is_map()) {
    blocks.push_back(block_of_file(part["file"]));
  } else if (kind == "data" && part["data"].is_map()) {
    for (const auto& e : part["data"].entries())
      data = data.with(e.key(), e.val);
  } else {
    throw a2a_problem{a2a_code::unknown_part, "a part is neither a text, a file nor data"};
  }
}

// Texts alone are one text.
value content_of_blocks(std::vector<value> blocks) {
  std::string text;
  for (const auto& one : blocks) {
    if (one["type"] != value("text"))
      return value::list(std::move(blocks));
    text.append(text.empty() ? "" : "\n").append(one["text"].as_string());
  }
  return blocks.empty() ? value{} : value(text);
}

value data_part(const value& data) {
  auto map = data.is_map() ? data : value::map({{"value", data}});
  return value::map({{"kind", "data"}, {"data", map}});
}

// A block as block_of_file made it; null for any other.
value file_part(const value& block) {
  auto file = value::map();
  if (block["base64"].is_string())
    file = file.with("bytes", block["base64"]);
  else if (block["url"].is_string())
    file = file.with("uri", block["url"]);
  else
    return {};
  if (block["mime_type"].is_string())
    file = file.with("mimeType", block["mime_type"]);
  const auto& extras = block["extras"];
  const auto& name = extras.is_map() ? extras["filename"] : block["filename"];
  if (name.is_string())
    file = file.with("name", name);
  return value::map({{"kind", "file"}, {"file", file}});
}

value parts_of_content(const value& content) {
  if (content.is_string())
    return content.empty() ? value::list() : text_parts(content.as_string());
  std::vector<value> out;
  for (const auto& block : content.items())
    if (block.is_string() || block["type"] == value("text"))
      out.push_back(text_parts(block.is_string() ? block.as_string() : text_at(block, "text"))[0]);
    else if (auto file = file_part(block); !file.is_null())
      out.push_back(std::move(file));
    else
      out.push_back(data_part(block));
  return value::list(std::move(out));
}

const char* role_of(const value& message) {
  auto type = text_at(message, "type");
  return type == "human" ? "user" : type == "ai" || type.starts_with("AI") ? "agent" : nullptr;
}

// The messages of a task: from the one that began it to the next one of a user.
std::pair<std::size_t, std::size_t> range_of_task(const value& messages,
                                                  const std::string& first_id) {
  std::size_t begin = 0;
  while (begin < messages.size() && messages[begin]["id"] != value(first_id))
    ++begin;
  auto end = std::min(begin + 1, messages.size());
  while (end < messages.size() && messages[end]["type"] != value("human"))
    ++end;
  return {begin, end};
}

value member_names(const value& properties) {
  std::vector<value> out;
  for (const auto& e : properties.entries())
    out.emplace_back(e.key());
  return value::list(std::move(out));
}

} // namespace

std::optional<a2a_task_id> a2a_task_id::of(std::string_view text) {
  auto at = text.find(':');
  if (at == text.npos || !read_uuid(text.substr(0, at)) || !read_uuid(text.substr(at + 1)))
    return std::nullopt;
  return a2a_task_id{std::string{text.substr(0, at)}, std::string{text.substr(at + 1)}};
}

// ---- messages of clients ----------------------------------------------------------------------

a2a_message read_a2a_message(const value& params, const std::string& new_message_id) {
  const auto& given = params["message"];
  if (!given.is_map() || !given["parts"].is_list() || given["parts"].empty())
    throw wrong_param("message: it is missing, or has no parts");
  if (!is_a2a_role(text_at(given, "role")))
    throw wrong_param("message.role: it is missing, or not a role");
  a2a_message out{.id = text_at(given, "messageId"), .thread_id = text_at(given, "contextId")};
  if (out.id.empty())
    out.id = new_message_id;
  if (!out.thread_id.empty() && !read_uuid(out.thread_id))
    throw wrong_param("message.contextId: must be a UUID");
  if (!out.thread_id.empty())
    out.thread_id = checked_id(out.thread_id, "thread"); // in lower case
  if (auto task = text_at(given, "taskId"); !task.empty()) {
    auto read = a2a_task_id::of(task);
    if (!read || (!out.thread_id.empty() && read->thread_id != out.thread_id))
      throw a2a_problem{a2a_code::unknown_task, "Task not found: " + task};
    out.thread_id = read->thread_id;
    out.task = std::move(read);
  }
  std::vector<value> parts;
  std::vector<value> blocks;
  for (const auto& one : given["parts"].items())
    read_part(parts.emplace_back(a2a_part_of(one)), blocks, out.data);
  out.sent = given.with("parts", value::list(std::move(parts)));
  out.content = content_of_blocks(std::move(blocks));
  return out;
}

value input_of_message(const a2a_message& message, const assistant_record& assistant,
                       const value& input_schema) {
  if (message.content.is_null())
    return message.data;
  const auto& properties = input_schema["properties"];
  if (!properties.contains("messages"))
    throw wrong_param("Assistant '" + assistant.assistant_id + "' (graph '" + assistant.graph_id
                      + "') does not support A2A conversational messages. Graph input schema must "
                        "include a 'messages' field to accept text or file parts. Available input "
                        "fields: "
                      + python_text(member_names(properties)));
  auto said = value::map({{"role", "user"}, {"content", message.content}, {"id", message.id}});
  return message.data.with("messages", value::list({said}));
}

value answer_of_message(const a2a_message& message) {
  return message.data.empty() ? message.content : message.data;
}

// ---- forms ------------------------------------------------------------------------------------

history_choice read_history_choice(const value& length, std::string_view scope) {
  history_choice out;
  if (scope == "task")
    out.scope = history_scope::task;
  else if (!scope.empty() && scope != "context")
    throw wrong_param(std::string{history_scope_header} + ": neither context nor task");
  if (length.is_null())
    return out;
  if (!length.is_int() || length.as_int() < 0)
    throw wrong_param("historyLength: not a number of messages");
  out.most = static_cast<std::size_t>(length.as_int());
  return out;
}

value history_form(const value& state, const a2a_task_id& task, const std::string& first_id,
                   const history_choice& choice) {
  const auto& messages = state["messages"];
  auto [begin, end] = choice.scope == history_scope::task
                        ? range_of_task(messages, first_id)
                        : std::pair<std::size_t, std::size_t>{0, messages.size()};
  std::vector<value> out;
  for (auto i = begin; i < end; ++i) {
    const auto* role = role_of(messages[i]);
    auto parts = parts_of_content(messages[i]["content"]);
    if (role && !parts.empty())
      out.push_back(value::map({{"kind", "message"},
                                {"role", role},
                                {"parts", parts},
                                {"messageId", text_at(messages[i], "id")},
                                {"taskId", task.text()},
                                {"contextId", task.thread_id}}));
  }
  if (out.size() > choice.most)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(choice.most));
  return value::list(std::move(out));
}

value text_parts(std::string_view text) {
  return value::list({value::map({{"kind", "text"}, {"text", text}})});
}

value agent_message(value parts, const std::string& new_id, const a2a_task_id& task,
                    bool with_context) {
  auto out = value::map({{"kind", "message"},
                         {"role", "agent"},
                         {"parts", std::move(parts)},
                         {"messageId", new_id},
                         {"taskId", task.text()}});
  return with_context ? out.with("contextId", task.thread_id) : out;
}

std::string_view task_state_of(run_status status, bool asks) noexcept {
  switch (status) {
    case run_status::pending: return "submitted";
    case run_status::running: return "working";
    case run_status::success: return asks ? "input-required" : "completed";
    case run_status::interrupted: return "canceled";
    case run_status::error:
    case run_status::timeout: break;
  }
  return "failed";
}

value status_form(std::string_view state, const std::string& time, value message) {
  auto out = value::map({{"state", state}, {"timestamp", time}});
  return message.is_null() ? out : out.with("message", std::move(message));
}

value parts_of_questions(const value& questions) {
  auto asked = questions.size() == 1 ? value(questions[0]["value"]) : questions;
  return asked.is_string() ? text_parts(asked.as_string()) : value::list({data_part(asked)});
}

value artifact_form(const value& output, const std::string& new_id,
                    const std::string& assistant_id) {
  value parts;
  for (const auto& message : output["messages"].items())
    if (const auto* role = role_of(message); role && role == std::string_view{"agent"})
      parts = parts_of_content(message["content"]);
  if (parts.empty())
    parts = value::list({data_part(output)});
  return value::map({{"artifactId", new_id},
                     {"name", "Assistant Response"},
                     {"description", "Response from assistant " + assistant_id},
                     {"parts", std::move(parts)}});
}

value a2a_task_form(const a2a_task_id& task, value status, value history) {
  return value::map({{"kind", "task"},
                     {"id", task.text()},
                     {"contextId", task.thread_id},
                     {"status", std::move(status)},
                     {"history", std::move(history)}});
}

value status_update(const a2a_task_id& task, value status, bool is_final) {
  return value::map({{"kind", "status-update"},
                     {"taskId", task.text()},
                     {"contextId", task.thread_id},
                     {"status", std::move(status)},
                     {"final", is_final}});
}

value artifact_update(const a2a_task_id& task, value artifact) {
  return value::map({{"kind", "artifact-update"},
                     {"taskId", task.text()},
                     {"contextId", task.thread_id},
                     {"artifact", std::move(artifact)},
                     {"append", false},
                     {"lastChunk", true}});
}

value agent_card(const assistant_record& assistant, const value& input_schema,
                 const std::string& url) {
  const auto media = value::list({"application/json", "text/plain"});
  auto about = assistant.description;
  if (!about.is_string() || about.empty())
    about = assistant.name + " assistant";
  bool talks = input_schema["properties"].contains("messages");
  auto required = input_schema["required"].is_list() ? input_schema["required"]
                  : talks                            ? value::list({"messages"})
                                                     : value::list();
  auto scope = value::map(
    {{"uri", "https://langchain.com/a2a/extensions/history-scope/v1"},
     {"description", "Chooses whether a history has the messages of the context or of the task"},
     {"required", false},
     {"params", value::map({{"header", history_scope_header},
                            {"values", value::list({"context", "task"})},
                            {"default", "context"},
                            {"methods", value::list({"SendMessage", "GetTask", "ListTasks"})}})}});
  auto skill = value::map(
    {{"id", assistant.assistant_id + "-main"},
     {"name", assistant.name + " Capabilities"},
     {"description", about},
     {"tags", value::list({"assistant", "langgraph"})},
     {"examples", value::list()},
     {"inputModes", media},
     {"outputModes", media},
     {"metadata", value::map({{"inputSchema",
                               value::map({{"required", required},
                                           {"properties", member_names(input_schema["properties"])},
                                           {"supportsA2A", talks}})}})}});
  auto interface = [&url](const char* version) {
    return value::map({{"url", url}, {"protocolBinding", "JSONRPC"}, {"protocolVersion", version}});
  };
  return value::map({{"name", assistant.name},
                     {"description", about},
                     {"url", url},
                     {"supportedInterfaces", value::list({interface("1.0"), interface("0.3")})},
                     {"capabilities", value::map({{"streaming", true},
                                                  {"pushNotifications", false},
                                                  {"stateTransitionHistory", false},
                                                  {"extensions", value::list({scope})}})},
                     {"defaultInputModes", media},
                     {"defaultOutputModes", media},
                     {"skills", value::list({skill})},
                     {"version", TROUPE_VERSION}});
}

} // namespace troupe::server
