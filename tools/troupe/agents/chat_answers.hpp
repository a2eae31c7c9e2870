// Answers that a person types to questions of a run.
#pragma once

#include <troupe/runtime.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::cli {

/// Whether a question is about tool calls that wait for approval (human_in_the_loop).
inline bool asks_for_review(const value& question) {
  const auto& requests = question["action_requests"];
  return requests.is_list() && !requests.empty();
}

/// Likewise about one call alone: the answer is a decision.
inline bool asks_about_call(const value& question) {
  return question["type"] == value("tool_approval");
}

inline constexpr const char* review_help =
  "yes, no [WHY], edit {\"ARGUMENT\": …}, or respond TEXT in the tool's place";

/// The line that leaves a question open: the next line is a message then.
inline constexpr std::string_view leave_word = "/leave";

/// The decisions that a question allows about its call number `i`: of approve, edit, reject,
/// respond; all of them where it does not say.
inline std::vector<std::string> allowed_decisions(const interrupt& question, std::size_t i) {
  std::vector<std::string> out;
  auto add = [&out](const value& type) {
    if (type.is_string())
      out.push_back(type.as<std::string>());
  };
  for (const auto& type : question.value["review_configs"][i]["allowed_decisions"].items())
    add(type);
  for (const auto& shape : question.response_schema["oneOf"].items())
    add(shape["properties"]["type"]["const"]);
  return out.empty() ? std::vector<std::string>{"approve", "edit", "reject", "respond"} : out;
}

inline bool allows(const std::vector<std::string>& allowed, const value& type) {
  return type.is_string() && std::ranges::find(allowed, type.as_string()) != allowed.end();
}

/// How these decisions are typed.
inline std::string help_of(const std::vector<std::string>& allowed) {
  constexpr std::pair<const char*, const char*> all[] = {{"approve", "yes"},
                                                         {"reject", "no [WHY]"},
                                                         {"edit", "edit {\"ARGUMENT\": …}"},
                                                         {"respond",
                                                          "respond TEXT in the tool's place"}};
  std::string out;
  for (const auto& [type, typed] : all)
    if (allows(allowed, type))
      out += (out.empty() ? "" : ", ") + std::string{typed};
  return out + "; or " + std::string{leave_word};
}

/// A decision about a call, or nothing when the line is not one.
/// Shape:  `request` is {name, args …}. `edit` with an object: these arguments in place of others,
///         likewise an object alone, unless it is an answer as the API has it: a decision is taken
///         as it is, and {"decisions": […]} is not a decision about one call.
inline std::optional<value> decision_of(const value& request, std::string_view line) {
  auto word = line.substr(0, line.find(' '));
  auto rest = word.size() < line.size() ? line.substr(word.size() + 1) : std::string_view{};
  auto decision = [](const char* type) { return value::map({{"type", type}}); };
  if (word == "y" || word == "yes" || word == "approve")
    return decision("approve");
  if (word == "n" || word == "no" || word == "reject")
    return rest.empty() ? decision("reject") : decision("reject").with("message", rest);
  if (word == "respond" && !rest.empty())
    return decision("respond").with("message", rest);
  auto json = from_json(word == "edit" ? rest : line);
  if (!json || !json->is_map())
    return std::nullopt;
  if (word != "edit" && (*json)["decisions"].is_list())
    return std::nullopt;
  if (word != "edit" && allows({"approve", "edit", "reject", "respond"}, (*json)["type"]))
    return *json;
  return decision("edit").with("edited_action",
                               value::map({{"name", request["name"]}, {"args", *json}}));
}

/// All decisions in one line, as the API has them; nothing for any other line.
inline std::optional<value> all_decisions_of(std::string_view line) {
  auto json = from_json(line);
  return json && (*json)["decisions"].is_list() ? std::optional{*json} : std::nullopt;
}

/// Any other answer: JSON where it is valid, else the text; nothing for null, which is not an
/// answer.
inline std::optional<value> plain_answer_of(std::string_view line) {
  auto json = from_json(line);
  if (!json)
    return value(line);
  return json->is_null() ? std::nullopt : std::optional{*json};
}

} // namespace troupe::cli
