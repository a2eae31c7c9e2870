// What a person types as an answer to a question of a run.
#pragma once

#include <troupe/runtime.hpp>

#include <optional>
#include <string>
#include <string_view>

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

/// A decision about a call, or nothing when it says none.
/// Shape:  `request` is {name, args …}. `edit` with an object: these arguments in place of others.
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
  return decision("edit").with("edited_action",
                               value::map({{"name", request["name"]}, {"args", *json}}));
}

/// Any other answer: JSON where it is some, else the text; nothing for null, which is no answer.
inline std::optional<value> plain_answer_of(std::string_view line) {
  auto json = from_json(line);
  if (!json)
    return value(line);
  return json->is_null() ? std::nullopt : std::optional{*json};
}

} // namespace troupe::cli
