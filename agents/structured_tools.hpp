// Schemas of a last answer that a model is shown as tools.
#pragma once

#include <troupe/agents/agent.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// What the tools of a response_format are, and what calls for them came to.
class structured_tools {
public:
  /// Errors: throws error{invalid_graph} for members of `oneOf` with the same title.
  explicit structured_tools(const response_format& format);

  bool knows(std::string_view name) const;
  /// As tool::definition(), one for each schema.
  const std::vector<value>& definitions() const noexcept { return definitions_; }

  /// Shape:  `data` null: no call fitted. `messages` answer each call for one of these tools.
  struct reading {
    value data = {};
    std::vector<value> messages = {};
  };
  /// What this answer to the conversation `before` says; nothing for one without such a call.
  /// Errors: throws node_error of class StructuredOutputValidationError when the last of
  ///         response_format::attempts_max answers fits no better; of class
  ///         MultipleStructuredOutputsError when that one has several such calls.
  reading read(const value& before, const value& answer) const;

private:
  std::size_t failures_in(const value& conversation) const;
  std::vector<value> calls_of(const value& answer) const;

  std::vector<std::pair<std::string, value>> schemas_;
  std::vector<value> definitions_;
  std::string tool_message_;
  std::size_t attempts_max_;
};

} // namespace troupe
