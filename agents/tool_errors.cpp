// Which errors of tools become messages, and what these say.
#include "agents/json_text.hpp"

#include <troupe/tool_node.hpp>

#include <algorithm>

namespace troupe {
namespace {

// Whether a class of the reference's is another one, or derived from it.
bool is_a(std::string_view name, std::string_view wanted) {
  if (name == wanted || wanted == "Exception")
    return true;
  return name == "GraphRecursionError" && (wanted == "RecursionError" || wanted == "RuntimeError");
}

} // namespace

std::optional<std::string> tool_errors::content(const error& failure, const value& call) const {
  bool arguments = failure.type() == "ToolInvocationError";
  auto generic = [&failure] {
    return "Error: " + reference_name(failure) + '(' + quoted_text(failure.text())
           + ")\n Please fix your mistakes.";
  };
  auto arguments_text = [&] {
    return "Error invoking tool '" + text_in(call["name"]) + "' with kwargs "
           + spaced_json(call["args"]) + " with error:\n " + failure.text()
           + "\n Please fix the error and try again.";
  };
  switch (rule_) {
    case rule::standard: return arguments ? std::optional{arguments_text()} : std::nullopt;
    case rule::all: return text_ ? *text_ : arguments ? arguments_text() : generic();
    case rule::none: return std::nullopt;
    case rule::classes:
      if (std::ranges::any_of(classes_,
                              [name = reference_name(failure)](const std::string& wanted) {
                                return is_a(name, wanted);
                              }))
        return generic();
      return std::nullopt;
    case rule::function: return function_(failure);
  }
  return std::nullopt;
}

} // namespace troupe
