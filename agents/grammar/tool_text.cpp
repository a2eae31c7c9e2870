// tool_text: writing and reading calls as text. The form of a call is that of the grammar
// (gbnf.cpp).
#include "agents/grammar/tool_text.hpp"

#include "agents/messages/json_text.hpp"
#include "agents/models/answer_builder.hpp"
#include "agents/models/model_wire.hpp"

#include <troupe/agents/messages.hpp>

#include <algorithm>
#include <unordered_map>

namespace troupe {
namespace {

constexpr std::string_view arguments_name = R"("arguments":)";

// ---- telling --------------------------------------------------------------------------------

std::string told_call(const value& name, std::string_view arguments) {
  return R"({"name": )" + to_json(name) + ", " + std::string{arguments_name} + ' '
         + std::string{arguments};
}

// The calls as the model wrote them: a call that was cut off has no end.
std::string told_calls(const value& message) {
  std::string out{'['};
  for (const auto& call : message_tool_calls(message).items())
    out += (out.size() > 1 ? ", " : "") + told_call(call["name"], spaced_json(call["args"])) + '}';
  const auto& invalid = message_member(message, "invalid_tool_calls");
  for (const auto& call : invalid.items())
    out += (out.size() > 1 ? ", " : "") + told_call(call["name"], text_in(call["args"]));
  return invalid.empty() ? out + ']' : out;
}

bool has_calls(const value& message) {
  return !message_tool_calls(message).empty()
         || !message_member(message, "invalid_tool_calls").empty();
}

value told_answer(const value& message) {
  auto text = message_text(message);
  auto members = message.payload().without("tool_calls").without("invalid_tool_calls");
  return value::extension(value_kind::message,
                          members.with("content",
                                       text + (text.empty() ? "" : "\n") + told_calls(message)));
}

using call_names = std::unordered_map<std::string, value>; // by id

void note_names(const value& message, call_names& names) {
  for (const auto* member : {"tool_calls", "invalid_tool_calls"})
    for (const auto& call : message_member(message, member).items())
      names[text_in(call["id"])] = call["name"];
}

std::string told_result(const value& message, const call_names& names) {
  auto name = message_member(message, "name");
  if (auto called = names.find(text_in(message_member(message, "tool_call_id")));
      called != names.end())
    name = called->second;
  bool failed = message_member(message, "status") == value("error");
  return R"({"name": )" + to_json(name) + (failed ? R"(, "error": )" : R"(, "result": )")
         + to_json(value(message_text(message))) + '}';
}

value with_more_text(const value& message, const std::string& more) {
  const auto& content = message_member(message, "content");
  auto longer = content.is_list() ? content.append(text_block(more))
                                  : value(message_text(message) + "\n\n" + more);
  return value::extension(value_kind::message, message.payload().with("content", longer));
}

// ---- reading --------------------------------------------------------------------------------

// The elements of a list as far as it reaches; the last one may be cut off.
std::vector<std::string_view> elements_of(std::string_view list) {
  std::vector<std::string_view> out;
  std::size_t begin = 1;
  std::size_t depth = 1;
  bool in_text = false;
  auto end_element = [&](std::size_t end) {
    auto element = list.substr(begin, end - begin);
    if (element.find_first_not_of(" \t\r\n") != element.npos)
      out.push_back(element);
    begin = end + 1;
  };
  for (std::size_t i = 1; i < list.size(); ++i) {
    char c = list[i];
    if (in_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        end_element(i);
        return out;
      }
    } else if (c == ',' && depth == 1) {
      end_element(i);
    }
  }
  if (begin < list.size())
    end_element(list.size());
  return out;
}

std::optional<read_call> call_in(std::string_view element, const std::string& id) {
  auto read = read_arguments(element);
  bool whole = read && read->is_map();
  auto seen = whole ? *read : parse_partial_json(element).value_or(value{});
  if (!seen["name"].is_string())
    return std::nullopt;
  auto name = seen["name"].as<std::string>();
  if (whole)
    return call_of(id, name, spaced_json(seen["arguments"]));
  auto at = element.find(arguments_name);
  auto arguments = at == element.npos ? "" : element.substr(at + arguments_name.size());
  arguments.remove_prefix(std::min(arguments.size(), arguments.find_first_not_of(' ')));
  return call_of(id, name, arguments.empty() ? "{" : arguments);
}

bool says_more_than_text(const value& part) {
  return std::ranges::any_of(part.payload().entries(), [](const auto& e) {
    return e.key() != "role" && e.key() != "content" && e.key() != "id" && e.key() != "chunk"
           && !e.val.is_null();
  });
}

value without_text(const value& content) {
  if (!content.is_list())
    return "";
  std::vector<value> out;
  for (const auto& block : content.items())
    if (block.is_map() && block["type"] != value("text"))
      out.push_back(block);
  return value::list(std::move(out));
}

value bare(const value& message) {
  const auto& members = message.payload();
  return value::extension(value_kind::message,
                          members.with("content", without_text(members["content"])));
}

value part_of_call(const value& message, const value& call, std::int64_t index) {
  auto arguments = call["args"].is_string() ? call["args"] : value(spaced_json(call["args"]));
  auto chunk = value::map({{"type", "tool_call_chunk"},
                           {"name", call["name"]},
                           {"args", arguments},
                           {"id", call["id"]},
                           {"index", index}});
  return value::extension(value_kind::message,
                          value::map({{"role", "assistant"},
                                      {"content", without_text(message_member(message, "content"))},
                                      {"id", message_member(message, "id")},
                                      {"chunk", true},
                                      {"tool_call_chunks", value::list({chunk})}}));
}

} // namespace

wanted_calls wanted_calls_of(const value& tool_choice) {
  const auto& function = tool_choice["function"];
  const auto& named = function.is_map() ? function["name"] : tool_choice["name"];
  if (named.is_string())
    return {.must = true, .only = named.as<std::string>()};
  auto word = text_in(tool_choice.is_map() ? tool_choice["type"] : tool_choice);
  if (tool_choice.is_null() || word == "auto")
    return {};
  if (word == "none")
    return {.may = false};
  if (word == "any" || word == "required" || tool_choice == value(true))
    return {.must = true};
  if (!tool_choice.is_string() || word.empty())
    throw error{errc::invalid_value, "choose tools: unknown choice: " + to_json(tool_choice)};
  return {.must = true, .only = word};
}

std::string told_tools(const value& definitions, const wanted_calls& wanted,
                       const value& response_schema) {
  auto data = response_schema.is_null() ? "" : spaced_json(response_schema);
  if (definitions.empty() || !wanted.may)
    return data.empty() ? "" : "Answer with JSON that fits this JSON Schema: " + data;
  std::string out = "You can call these tools, each of which is described by a line of JSON:\n";
  for (const auto& definition : definitions.items()) {
    auto tool = read_definition(definition);
    out += R"({"name": )" + to_json(tool.name) + R"(, "description": )"
           + to_json(value(text_in(tool.description))) + R"(, "parameters": )"
           + spaced_json(tool.parameters) + "}\n";
  }
  out += "To call tools, answer with a JSON list of calls and nothing else:\n"
         R"([{"name": "TOOL", "arguments": {"PARAMETER": "VALUE"}}])"
         "\nThen you are given their results.";
  if (wanted.only)
    return out + " Call the tool " + to_json(value(*wanted.only)) + " now.";
  if (wanted.must)
    return out + " Call at least one tool now.";
  return out
         + (data.empty()
              ? " When you need no tool, answer with text."
              : " When you need no tool, answer with JSON that fits this JSON Schema: " + data);
}

value told_messages(const value& messages, const std::string& how) {
  std::vector<value> out;
  call_names names;
  std::string results;
  auto tell_results = [&] {
    if (!results.empty())
      out.push_back(human_message("Results of the calls:\n[" + results + ']'));
    results.clear();
  };
  for (const auto& message : messages.items()) {
    if (message_role(message) == "tool") {
      results += (results.empty() ? "" : ", ") + told_result(message, names);
      continue;
    }
    tell_results();
    note_names(message, names);
    out.push_back(has_calls(message) ? told_answer(message) : message);
  }
  tell_results();
  if (how.empty())
    return value::list(std::move(out));
  auto system = std::ranges::find_if(out,
                                     [](const value& m) { return message_role(m) == "system"; });
  if (system == out.end())
    out.insert(out.begin(), system_message(how));
  else
    *system = with_more_text(*system, how);
  return value::list(std::move(out));
}

bool begins_calls(std::string_view text) {
  return text.starts_with('[');
}

std::optional<value> answer_with_calls(const value& answer) {
  auto text = message_text(answer);
  if (!begins_calls(text) || has_calls(answer))
    return std::nullopt;
  auto whole = with_message_id(answer);
  auto id = text_in(message_member(whole, "id"));
  std::vector<value> good;
  std::vector<value> bad;
  for (auto element : elements_of(text)) {
    auto read = call_in(element, id + '-' + std::to_string(good.size() + bad.size()));
    if (!read)
      continue;
    (read->valid ? good : bad).push_back(std::move(read->call));
  }
  if (good.empty() && bad.empty())
    return std::nullopt;
  auto members = bare(whole).payload();
  if (!good.empty())
    members = members.with("tool_calls", value::list(std::move(good)));
  if (!bad.empty())
    members = members.with("invalid_tool_calls", value::list(std::move(bad)));
  return value::extension(value_kind::message, std::move(members));
}

std::vector<value> parts_with_calls(const std::vector<value>& came, const value& answer) {
  std::vector<value> out;
  std::vector<value> last;
  for (const auto& part : came)
    if (says_more_than_text(part))
      (message_member(part, "chunk_position").is_null() ? out : last).push_back(bare(part));
  std::int64_t index = 0;
  for (const auto* member : {"tool_calls", "invalid_tool_calls"})
    for (const auto& call : message_member(answer, member).items())
      out.push_back(part_of_call(answer, call, index++));
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

} // namespace troupe
