// script: answers of a scripted model, chosen by the conversation.
#include "examples/coder/script.hpp"

#include <algorithm>
#include <sstream>

namespace coder {

using troupe::value;

namespace {

// The turn since the last task: the number of the model's messages, and the results of tools.
struct turn {
  std::string task;
  std::size_t said = 0;
  std::vector<value> results;
};

turn turn_of(const value& messages) {
  turn out;
  for (const auto& m : messages.items()) {
    if (troupe::message_role(m) == "user")
      out = {troupe::message_text(m), 0, {}};
    out.said += troupe::message_role(m) == "assistant";
    if (troupe::message_role(m) == "tool")
      out.results.push_back(m);
  }
  return out;
}

std::string result_of(const turn& t, const char* tool) {
  for (const auto& m : t.results)
    if (troupe::message_member(m, "name") == value(tool))
      return troupe::message_text(m);
  return {};
}

value call(const value& messages, std::string says, const char* tool, value args) {
  return troupe::ai_message(std::move(says),
                            {{.name = tool,
                              .args = std::move(args),
                              .id = tool + ("-" + std::to_string(messages.size()))}});
}

constexpr const char* own_file = "/CODER.md";

std::vector<std::string> files_found(const turn& t) {
  std::istringstream lines{result_of(t, "glob")};
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);)
    out.push_back(line);
  std::ranges::sort(out);
  return out;
}

std::string list_of(const std::vector<std::string>& paths) {
  std::string out = "# Files\n\n";
  for (const auto& path : paths)
    out += "- " + path.substr(1) + "\n";
  return out;
}

value retitle(const value& messages, const char* from, const char* to) {
  return call(messages, "", "edit_file",
              {{"file_path", own_file}, {"old_string", from}, {"new_string", to}});
}

value list_files(const value& messages, const std::vector<std::string>& paths) {
  if (std::ranges::find(paths, own_file) != paths.end())
    return retitle(messages, "# What is here", "# Files");
  return call(messages, "I write a list of the files.", "write_file",
              {{"file_path", own_file}, {"content", list_of(paths)}});
}

value todos() {
  auto todo = [](const char* what) {
    return value::map({{"content", what}, {"status", "pending"}});
  };
  return value::map({{"todos", value::list({todo("look around"), todo("write CODER.md")})}});
}

value next_of_agent(const value& messages) {
  auto t = turn_of(messages);
  if (!t.results.empty() && troupe::message_text(t.results.back()).starts_with("The user said no"))
    return value("You said no, so I stop here.");
  switch (t.said) {
    case 0: return call(messages, "I look around first.", "write_todos", todos());
    case 1: return call(messages, "", "glob", {{"pattern", "**/*"}});
    case 2:
      return call(messages, "", "task", {{"task", "What is in " + files_found(t).front() + "?"}});
    case 3: return list_files(messages, files_found(t));
    case 4: return retitle(messages, "# Files", "# What is here");
    case 5: {
      auto at = t.task.find("run: ");
      auto command = at == std::string::npos ? "wc -l CODER.md" : t.task.substr(at + 5);
      return call(messages, "", "shell", {{"command", command}});
    }
    case 6:
      return call(messages, "", "memory",
                  {{"command", "create"},
                   {"path", "/memories/coder.md"},
                   {"file_text", "CODER.md lists the files.\n"}});
    default: {
      auto printed = result_of(t, "shell");
      return value("CODER.md is written: " + printed.substr(0, printed.find('\n')));
    }
  }
}

value next_of_explorer(const value& messages) {
  auto t = turn_of(messages);
  if (t.said > 0) {
    auto text = result_of(t, "read_file");
    return value(std::to_string(std::count(text.begin(), text.end(), '\n')) + " lines");
  }
  auto from = t.task.find("in ") + 3;
  return call(messages, "", "read_file",
              {{"file_path", t.task.substr(from, t.task.size() - from - 1)}});
}

troupe::chat_model_ptr scripted(value (*next)(const value&)) {
  return std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{troupe::scripted_model::function{next}},
    troupe::scripted_options{.stream = true, .repeat = true, .name = "script"});
}

} // namespace

troupe::chat_model_ptr scripted_agent() {
  return scripted(next_of_agent);
}

troupe::chat_model_ptr scripted_explorer() {
  return scripted(next_of_explorer);
}

} // namespace coder
