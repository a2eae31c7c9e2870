// mcp_tools: reading definitions and results.
#include "agents/mcp/mcp_tools.hpp"

#include "agents/mcp/mcp_protocol.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

std::string name_for_models(std::string name) {
  constexpr std::size_t name_max = 64; // providers accept no longer names
  for (char& c : name) {
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                || c == '_' || c == '-';
    if (!fits)
      c = '_';
  }
  name.resize(std::min(name.size(), name_max));
  return name;
}

// A block of data that comes as base64 or stands at an address.
value media_block(const char* where, const value& what, const value& mime_type) {
  auto mime = text_in(mime_type);
  bool image = mime.starts_with("image/");
  auto block = value::map({{"type", image ? "image" : "file"}, {where, text_in(what)}});
  return mime.empty() ? block : block.with("mime_type", mime);
}

value resource_block(const value& resource, std::string_view doing) {
  if (resource["text"].is_string())
    return text_block(resource["text"].as_string());
  if (resource["blob"].is_string())
    return media_block("base64", resource["blob"], resource["mimeType"]);
  throw mcp_failure(doing, "a resource with neither text nor blob");
}

// Checks structured content against the schema that the server declared.
void check_structured(const mcp_definition& called, const value& content) {
  if (called.output_schema.is_null())
    return;
  if (!content.is_map())
    throw mcp_failure("tools/call", "Tool " + called.name
                                      + " has an output schema but did not return structured "
                                        "content");
  auto wrong = check_schema(called.output_schema, content);
  if (!wrong.empty())
    throw mcp_failure("tools/call", "Invalid structured content returned by tool " + called.name
                                      + ": " + wrong.front().path + ": " + wrong.front().message);
}

} // namespace

value mcp_block(const value& content, std::string_view doing) {
  auto type = text_in(content["type"]);
  if (type == "text")
    return text_block(text_in(content["text"]));
  if (type == "image")
    return image_block(text_in(content["data"]), text_in(content["mimeType"]));
  if (type == "resource_link")
    return media_block("url", content["uri"], content["mimeType"]);
  if (type == "resource")
    return resource_block(content["resource"], doing);
  throw mcp_failure(doing,
                    "content of a type that tool messages cannot hold: " + quoted_text(type));
}

value mcp_messages(const value& result) {
  constexpr const char* doing = "prompts/get";
  if (!result["messages"].is_list())
    throw mcp_failure(doing, "its answer has no list of messages");
  std::vector<value> out;
  for (const auto& m : result["messages"].items()) {
    if (out.size() >= limits::mcp_entries_max)
      throw mcp_failure(doing,
                        "more than " + std::to_string(limits::mcp_entries_max) + " messages");
    auto role = text_in(m["role"]);
    if (role != "user" && role != "assistant")
      throw mcp_failure(doing, "a message of an unknown role: " + quoted_text(role));
    const auto& content = m["content"];
    auto shown = content["type"] == value("text") ? value(text_in(content["text"]))
                                                  : value::list({mcp_block(content, doing)});
    out.push_back(role == "user" ? human_message(std::move(shown)) : ai_message(std::move(shown)));
  }
  return value::list(std::move(out));
}

result<void> add_mcp_entries(const value& page, const char* method, const char* member,
                             std::vector<value>& out) {
  if (!page[member].is_list())
    return mcp_failure(method, "its answer has no list `" + std::string{member} + '`');
  for (const auto& entry : page[member].items()) {
    if (out.size() >= limits::mcp_entries_max)
      return error{errc::invalid_value, "list an MCP server's " + std::string{member}
                                          + ": more than "
                                          + std::to_string(limits::mcp_entries_max)};
    if (!entry.is_map())
      return mcp_failure(method, "an entry that is not an object");
    out.push_back(entry);
  }
  return {};
}

mcp_progress mcp_progress_of(const value& params) {
  auto number = [&params](const char* name) -> std::optional<double> {
    const auto& v = params[name];
    return v.is_number() ? std::optional{v.as<double>()} : std::nullopt;
  };
  auto text = text_in(params["message"]);
  text.resize(std::min(text.size(), limits::mcp_log_bytes_max));
  return {.progress = number("progress").value_or(0),
          .total = number("total"),
          .message = std::move(text)};
}

result<void> add_mcp_page(const value& page, const std::string& prefix,
                          std::vector<mcp_definition>& out) {
  if (!page["tools"].is_list())
    return mcp_failure("tools/list", "its answer has no list of tools");
  for (const auto& t : page["tools"].items()) {
    if (out.size() >= limits::mcp_tools_max)
      return error{errc::invalid_value, "list an MCP server's tools: more than "
                                          + std::to_string(limits::mcp_tools_max)};
    if (t["execution"]["taskSupport"] == value("required"))
      continue; // it only runs as a task of the server, so plain calls would be refused
    auto name = text_in(t["name"]);
    if (name.empty())
      return mcp_failure("tools/list", "a tool without a name");
    auto shown = name_for_models(prefix + name);
    if (std::ranges::any_of(out, [&](const mcp_definition& d) { return d.tool == shown; }))
      return error{errc::invalid_value,
                   "list an MCP server's tools: two tools have the same name: " + shown};
    auto schema = t["inputSchema"].is_map() ? t["inputSchema"] : value::map({{"type", "object"}});
    out.push_back({std::move(name), std::move(shown), text_in(t["description"]), std::move(schema),
                   t["outputSchema"].is_map() ? t["outputSchema"] : value{}});
  }
  return {};
}

tool_output mcp_output(const mcp_definition& called, const value& result, const value& call) {
  std::vector<value> blocks;
  for (const auto& content : result["content"].items())
    blocks.push_back(mcp_block(content, "tools/call"));
  if (result["isError"] == value(true)) {
    if (blocks.empty())
      blocks.push_back(text_block("MCP tool returned an error with empty content."));
    return tool_output{tool_message(value::list(std::move(blocks)), text_in(call["id"]),
                                    text_in(call["name"]), "error")};
  }
  const auto& structured = result["structuredContent"];
  check_structured(called, structured);
  auto content = value::list(std::move(blocks));
  if (!structured.is_map())
    return tool_output{std::move(content)};
  return tool_output::with_artifact(std::move(content),
                                    value::map({{"structured_content", structured}}));
}

} // namespace troupe
