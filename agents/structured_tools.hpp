// structured_tools: the schemas of a final answer, shown to a model as tools.
#pragma once

#include <troupe/agents/agent.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The tools of a response_format, and reading the calls for them.
class structured_tools {
public:
  /// Errors: throws error{invalid_graph} for members of `oneOf` with the same title.
  explicit structured_tools(const response_format& format);

  bool knows(std::string_view name) const;
  /// The definitions of the tools, one for each schema, as tool::definition().
  const std::vector<value>& definitions() const noexcept { return definitions_; }

  /// Shape:  `data` null: no call fits. `messages` answer each call for one of these tools.
  struct reading {
    value data = {};
    std::vector<value> messages = {};
  };
  /// The reading of this answer to the conversation `before`; empty for an answer without such a
  /// call.
  /// Errors: throws node_error of class StructuredOutputValidationError for data that does not fit,
  ///         and of class MultipleStructuredOutputsError for several such calls. Both are thrown
  ///         for the last of response_format::attempts_max answers, and for a failure that
  ///         response_format::handle_errors does not handle.
  reading read(const value& before, const value& answer) const;

private:
  std::size_t failures_in(const value& conversation) const;
  std::vector<value> calls_of(const value& answer) const;

  std::vector<std::pair<std::string, value>> schemas_;
  std::vector<value> definitions_;
  std::string tool_message_;
  std::size_t attempts_max_;
  tool_errors handle_errors_;
};

} // namespace troupe
