// memory_tool: from a call to a command of its backend.
#include <troupe/agents/memory_tool.hpp>

#include "agents/messages/failure.hpp"

namespace troupe {
namespace {

value text_type(const char* description) {
  return value::map({{"type", "string"}, {"description", description}});
}

value parameters() {
  auto commands = value::list({"view", "create", "str_replace", "insert", "delete", "rename"});
  auto range = value::map({{"type", "array"},
                           {"items", value::map({{"type", "integer"}})},
                           {"minItems", 2},
                           {"maxItems", 2},
                           {"description", "First and last line; -1: to the end"}});
  return value::map(
    {{"type", "object"},
     {"properties",
      value::map(
        {{"command", value::map({{"type", "string"}, {"enum", commands}})},
         {"path", text_type("Absolute, below /memories")},
         {"view_range", range},
         {"file_text", text_type("For create: the text of the file")},
         {"old_str", text_type("For str_replace: the text to replace; it must occur once")},
         {"new_str", text_type("For str_replace: the new text")},
         {"insert_line",
          value::map(
            {{"type", "integer"}, {"description", "For insert: after this line; 0: at the top"}})},
         {"insert_text", text_type("For insert")},
         {"old_path", text_type("For rename")},
         {"new_path", text_type("For rename")}})},
     {"required", value::list({"command"})}});
}

std::string text(const value& args, const char* name) {
  if (!args[name].is_string())
    throw node_error{"ToolError", std::string{"Field required: "} + name};
  return args[name].as<std::string>();
}

std::int64_t number(const value& args, const char* name) {
  if (!args[name].is_int())
    throw node_error{"ToolError", std::string{"Field required: "} + name};
  return args[name].as_int();
}

std::string carry_out(memory_backend& memory, const value& args) {
  auto command = text(args, "command");
  if (command == "view") {
    std::optional<memory_backend::line_range> lines;
    if (const auto& range = args["view_range"]; range.size() == 2)
      lines.emplace(range[0].as<std::int64_t>(), range[1].as<std::int64_t>());
    return memory.view(text(args, "path"), lines);
  }
  if (command == "create")
    return memory.create(text(args, "path"), text(args, "file_text"));
  if (command == "str_replace")
    return memory.str_replace(text(args, "path"), text(args, "old_str"), text(args, "new_str"));
  if (command == "insert")
    return memory.insert(text(args, "path"), number(args, "insert_line"),
                         text(args, "insert_text"));
  if (command == "delete")
    return memory.remove(text(args, "path"));
  if (command == "rename")
    return memory.rename(text(args, "old_path"), text(args, "new_path"));
  throw node_error{"ToolError", "Unknown command: " + command};
}

} // namespace

tool memory_tool(std::shared_ptr<memory_backend> backend) {
  tool_body body;
  body.plain = [backend = std::move(backend)](const value& args, tool_runtime&) -> tool_output {
    return carry_out(*backend, args);
  };
  tool_options options;
  options.on_error = [](const error& e) -> std::optional<std::string> {
    if (e.type() == "ToolError")
      return e.text();
    return std::nullopt;
  };
  options.extras = value::map({{"type", "memory_20250818"}});
  return {"memory", "Keeps files in /memories that outlive this conversation.", parameters(),
          std::move(body), std::move(options)};
}

} // namespace troupe
