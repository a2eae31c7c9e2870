// tool_errors: which errors of tools become messages, and the texts of these.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/tool_node.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

using class_pair = std::pair<std::string_view, std::string_view>;

// Classes and their base classes: those of Python and the reference, and of C++.
constexpr class_pair bases[] = {
  {"BlockingIOError", "OSError"},
  {"BrokenPipeError", "ConnectionError"},
  {"ChildProcessError", "OSError"},
  {"ConnectionAbortedError", "ConnectionError"},
  {"ConnectionError", "OSError"},
  {"ConnectionRefusedError", "ConnectionError"},
  {"ConnectionResetError", "ConnectionError"},
  {"FileExistsError", "OSError"},
  {"FileNotFoundError", "OSError"},
  {"FloatingPointError", "ArithmeticError"},
  {"GraphRecursionError", "RecursionError"},
  {"IndentationError", "SyntaxError"},
  {"IndexError", "LookupError"},
  {"InterruptedError", "OSError"},
  {"IsADirectoryError", "OSError"},
  {"JSONDecodeError", "ValueError"},
  {"KeyError", "LookupError"},
  {"ModuleNotFoundError", "ImportError"},
  {"MultipleStructuredOutputsError", "StructuredOutputError"},
  {"NotADirectoryError", "OSError"},
  {"NotImplementedError", "RuntimeError"},
  {"OverflowError", "ArithmeticError"},
  {"PermissionError", "OSError"},
  {"ProcessLookupError", "OSError"},
  {"RecursionError", "RuntimeError"},
  {"StructuredOutputValidationError", "StructuredOutputError"},
  {"TimeoutError", "OSError"},
  {"ToolInvocationError", "ToolException"},
  {"UnboundLocalError", "NameError"},
  {"UnicodeDecodeError", "UnicodeError"},
  {"UnicodeEncodeError", "UnicodeError"},
  {"UnicodeError", "ValueError"},
  {"UnicodeTranslateError", "UnicodeError"},
  {"ValidationError", "ValueError"},
  {"ZeroDivisionError", "ArithmeticError"},
  {"std::domain_error", "std::logic_error"},
  {"std::invalid_argument", "std::logic_error"},
  {"std::length_error", "std::logic_error"},
  {"std::out_of_range", "std::logic_error"},
  {"std::overflow_error", "std::runtime_error"},
  {"std::range_error", "std::runtime_error"},
  {"std::system_error", "std::runtime_error"},
  {"std::underflow_error", "std::runtime_error"},
};

// The class that another name stands for.
std::string_view own_name(std::string_view name) {
  return name == "IOError" || name == "EnvironmentError" ? std::string_view{"OSError"} : name;
}

// Whether a class is `wanted` or derived from it.
bool is_a(std::string_view name, std::string_view wanted) {
  if (wanted == "Exception" || wanted == "BaseException" || wanted == "std::exception")
    return true;
  name = own_name(name);
  wanted = own_name(wanted);
  while (name != wanted) {
    const auto* base = std::ranges::find(bases, name, &class_pair::first);
    if (base == std::end(bases))
      return false;
    name = base->second;
  }
  return true;
}

} // namespace

std::optional<std::string> tool_errors::content_or(const error& failure,
                                                   std::string otherwise) const {
  switch (rule_) {
    case rule::standard:
      if (failure.type() == "ToolInvocationError")
        return otherwise;
      return std::nullopt;
    case rule::all:
      if (text_)
        return text_;
      return otherwise;
    case rule::none: return std::nullopt;
    case rule::classes:
      if (std::ranges::any_of(classes_,
                              [name = reference_name(failure)](const std::string& wanted) {
                                return is_a(name, wanted);
                              }))
        return otherwise;
      return std::nullopt;
    case rule::function: return function_(failure);
  }
  return std::nullopt;
}

std::optional<std::string> tool_errors::content(const error& failure, const value& call) const {
  bool arguments = failure.type() == "ToolInvocationError";
  auto arguments_text = [&] {
    return "Error invoking tool '" + text_in(call["name"]) + "' with kwargs "
           + spaced_json(call["args"]) + " with error:\n " + failure.text()
           + "\n Please fix the error and try again.";
  };
  auto shown = [&] {
    return arguments ? arguments_text()
                     : "Error: " + reference_name(failure) + '(' + quoted_text(failure.text())
                         + ")\n Please fix your mistakes.";
  };
  if (rule_ == rule::standard)
    return arguments ? std::optional{arguments_text()} : std::nullopt;
  return content_or(failure, shown());
}

} // namespace troupe
