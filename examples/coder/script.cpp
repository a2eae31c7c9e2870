// See script.hpp.
#include "examples/coder/script.hpp"

#include <algorithm>

namespace coder {

using troupe::value;

namespace {

// The turn of the last question: what the model said in it, and what its tools gave.
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

std::string list_of(const std::string& paths) {
  std::string out = "# Files\n\n";
  for (std::size_t at = 0; at < paths.size();) {
    auto end = std::min(paths.find('\n', at), paths.size());
    auto path = paths.substr(at, end - at);
    if (path != "CODER.md" && !path.empty())
      out += "- " + path + "\n";
    at = end + 1;
  }
  return out;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
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
    case 1: return call(messages, "", "glob", {{"pattern", "*"}});
    case 2:
      return call(messages, "", "task",
                  {{"task", "What is in " + first_line(result_of(t, "glob")) + "?"}});
    case 3:
      return call(messages, "I write a list of the files.", "write",
                  {{"path", "CODER.md"}, {"text", list_of(result_of(t, "glob"))}});
    case 4:
      return call(messages, "", "edit",
                  {{"path", "CODER.md"}, {"old", "# Files"}, {"new", "# What is here"}});
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
    default: return value("CODER.md is written: " + first_line(result_of(t, "shell")));
  }
}

value next_of_explorer(const value& messages) {
  auto t = turn_of(messages);
  if (t.said > 0) {
    auto text = result_of(t, "read");
    return value(std::to_string(std::count(text.begin(), text.end(), '\n')) + " lines");
  }
  auto from = t.task.find("in ") + 3;
  return call(messages, "", "read", {{"path", t.task.substr(from, t.task.size() - from - 1)}});
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
