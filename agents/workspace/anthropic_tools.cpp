// anthropic_tools: the tools whose definitions Anthropic's models know: a text editor and a shell.
#include <troupe/agents/anthropic.hpp>

#include "agents/messages/json_text.hpp"
#include "agents/workspace/folder_search.hpp"

#include <troupe/agents/confined_folder.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {
namespace {

[[noreturn]] void refuse_edit(std::string why) {
  throw node_error{"ToolError", std::move(why)};
}

tool_options known_as(const char* type) {
  tool_options out;
  out.on_error = [](const error& e) -> std::optional<std::string> {
    if (e.type() == "ToolError")
      return "Error: " + e.text();
    return std::nullopt;
  };
  out.extras = value::map({{"type", type}});
  return out;
}

value described(const char* type, const char* description) {
  return value::map({{"type", type}, {"description", description}});
}

// ---- the text editor ----------------------------------------------------------------------------

value editor_parameters() {
  auto commands = value::list({"view", "create", "str_replace", "insert"});
  auto range = value::map({{"type", "array"},
                           {"items", value::map({{"type", "integer"}})},
                           {"minItems", 2},
                           {"maxItems", 2},
                           {"description", "For view: first and last line; -1: to the end"}});
  return value::map(
    {{"type", "object"},
     {"properties",
      value::map({{"command", value::map({{"type", "string"}, {"enum", commands}})},
                  {"path", described("string", "The file, or the folder to list")},
                  {"view_range", range},
                  {"file_text", described("string", "For create: the text of the file")},
                  {"old_str", described("string", "For str_replace: a text that occurs once")},
                  {"new_str", described("string", "For str_replace and insert: the new text")},
                  {"insert_text", described("string", "For insert: the new text")},
                  {"insert_line", described("integer", "For insert: after this line")}})},
     {"required", value::list({"command", "path"})}});
}

// The files that a text editor works on. Thread: several calls at once.
class edited_folder {
public:
  edited_folder(const std::filesystem::path& folder, text_editor_options options)
    : files_{folder, {.hidden = std::move(options.hidden)}},
      prefixes_{std::move(options.allowed_prefixes)},
      bytes_max_{options.file_bytes_max} {}

  std::string carry_out(const value& args) {
    auto command = text_in(args["command"]);
    auto path = text_in(args["path"]);
    require_allowed(path);
    std::lock_guard guard{mutex_}; // held from reading a file to replacing it
    if (command == "view")
      return view(path, args["view_range"]);
    if (command == "create") {
      files_.write(path, given(args, "file_text"));
      return "File created: " + path;
    }
    if (command == "str_replace")
      return replace(path, given(args, "old_str"), text_in(args["new_str"]));
    return insert(path, args);
  }

private:
  void require_allowed(const std::string& path) const {
    if (prefixes_.empty())
      return;
    std::string known;
    for (const auto& prefix : prefixes_) {
      if (path.starts_with(prefix))
        return;
      known += (known.empty() ? "'" : ", '") + prefix + '\'';
    }
    refuse_edit("Path must start with one of [" + known + "]: " + path);
  }

  static std::string given(const value& args, const char* name) {
    if (!args[name].is_string())
      refuse_edit(std::string{"Field required: "} + name);
    return args[name].as<std::string>();
  }

  std::string read(const std::string& path) const {
    auto what = files_.look(path);
    if (what.what == confined_folder::kind::none)
      refuse_edit("File not found: " + path);
    if (what.size_bytes > bytes_max_)
      refuse_edit("File too large: " + path + " has more than " + std::to_string(bytes_max_)
                  + " bytes");
    return files_.read(path);
  }

  std::string view(const std::string& path, const value& range) const {
    if (files_.look(path).what == confined_folder::kind::folder)
      return view_folder(path);
    auto text = read(path);
    auto lines = whole_lines(text);
    auto last = static_cast<std::int64_t>(lines.size());
    std::int64_t first = 1;
    if (range.size() == 2) {
      first = std::max<std::int64_t>(1, range[0].as<std::int64_t>());
      if (auto end = range[1].as<std::int64_t>(); end != -1)
        last = std::min(last, end);
    }
    std::string out;
    for (auto i = first; i <= last; ++i)
      out += (out.empty() ? "" : "\n") + std::to_string(i) + '|'
             + readable_text(lines[static_cast<std::size_t>(i - 1)]);
    return out;
  }

  std::string view_folder(const std::string& path) const {
    std::string out;
    for (const auto& name : files_.list(path)) {
      auto inner = path.empty() || path.ends_with('/') ? path + name : path + '/' + name;
      bool folder = files_.look(inner).what == confined_folder::kind::folder;
      out += (out.empty() ? "" : "\n") + readable_text(inner) + (folder ? "/" : "");
    }
    return out.empty() ? "No files found" : out;
  }

  std::string replace(const std::string& path, const std::string& old_text,
                      const std::string& new_text) const {
    auto text = read(path);
    auto at = old_text.empty() ? text.npos : text.find(old_text);
    if (at == text.npos)
      refuse_edit("String not found in file: " + old_text);
    if (text.find(old_text, at + 1) != text.npos)
      refuse_edit("String occurs more than once in file: " + old_text);
    text.replace(at, old_text.size(), new_text);
    files_.write(path, text);
    return "String replaced in " + path;
  }

  std::string insert(const std::string& path, const value& args) const {
    auto added = args["insert_text"].is_string() ? text_in(args["insert_text"])
                                                 : given(args, "new_str");
    if (!args["insert_line"].is_int())
      refuse_edit("Field required: insert_line");
    auto text = read(path);
    auto lines = whole_lines(text);
    auto line = args["insert_line"].as_int();
    if (line < 0 || line > static_cast<std::int64_t>(lines.size()))
      refuse_edit("insert_line must be 0 to " + std::to_string(lines.size()) + ": "
                  + std::to_string(line));
    std::size_t at = 0;
    for (std::int64_t i = 0; i < line; ++i)
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (at > 0 && text[at - 1] != '\n')
      text.insert(at++, 1, '\n'); // the last line had no end
    if (!added.ends_with('\n'))
      added += '\n';
    text.insert(at, added);
    files_.write(path, text);
    return "Text inserted in " + path;
  }

  confined_folder files_;
  std::vector<std::string> prefixes_;
  std::size_t bytes_max_;
  std::mutex mutex_;
};

// ---- the shell ----------------------------------------------------------------------------------

value bash_parameters() {
  return value::map(
    {{"type", "object"},
     {"properties",
      value::map({{"command", described("string", "The command to run")},
                  {"restart", described("boolean", "Whether to begin with a new shell")}})},
     {"required", value::list()}});
}

middleware with_tool(const char* name, tool t) {
  middleware out;
  out.name = name;
  out.tools = {std::move(t)};
  return out;
}

} // namespace

tool text_editor_tool(const std::filesystem::path& folder, text_editor_options options) {
  auto files = std::make_shared<edited_folder>(folder, std::move(options));
  tool_body body;
  body.plain = [files](const value& args, tool_runtime&) -> tool_output {
    return files->carry_out(args);
  };
  return {"str_replace_based_edit_tool", "Shows and edits text files.", editor_parameters(),
          std::move(body), known_as("text_editor_20250728")};
}

middleware text_editor(const std::filesystem::path& folder, text_editor_options options) {
  return with_tool("text_editor", text_editor_tool(folder, std::move(options)));
}

tool bash_tool(const std::filesystem::path& folder, shell_options options) {
  options.name = "bash";
  auto shell = shell_tool(folder, std::move(options));
  tool_body body;
  body.plain = [shell](const value& args, tool_runtime& runtime) -> tool_output {
    if (args["restart"] == value(true))
      return "Bash session restarted.";
    if (!args["command"].is_string())
      refuse_edit("Field required: command");
    return shell.body().plain(args, runtime);
  };
  return {"bash", shell.description(), bash_parameters(), std::move(body),
          known_as("bash_20250124")};
}

middleware bash(const std::filesystem::path& folder, shell_options options) {
  return with_tool("bash", bash_tool(folder, std::move(options)));
}

} // namespace troupe
