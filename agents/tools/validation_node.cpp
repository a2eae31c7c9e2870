// validation_node: checking tool calls without running them.
#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/tool_node.hpp>

#include <algorithm>

namespace troupe {
namespace {

value last_answer(const state_view& input, const std::string& messages_key, bool& is_list) {
  auto whole = input.by_field() ? value{} : input.to_value();
  is_list = whole.is_list();
  const auto& messages = is_list ? whole : input[messages_key];
  if (!messages.is_list() || messages.empty())
    throw value_error("No message found in input");
  const auto& last = messages[messages.size() - 1];
  if (message_role(last) != "assistant")
    throw value_error("Last message is not an AIMessage");
  return last;
}

value refused_arguments(const value& message) {
  return value::extension(value_kind::message,
                          message.payload().with("additional_kwargs",
                                                 value::map({{"is_error", true}})));
}

} // namespace

validation_node::validation_node(std::vector<tool> tools, validation_options options)
  : tools_{std::move(tools)},
    options_{std::move(options)} {
  for (auto t = tools_.begin(); t != tools_.end(); ++t)
    if (std::ranges::count(tools_, t->name(), &tool::name) > 1)
      throw error{errc::invalid_graph,
                  "make a validation node: two tools have the same name: " + t->name()};
}

node_output validation_node::operator()(const state_view& input) const {
  bool is_list = false;
  auto answer = last_answer(input, options_.messages_key, is_list);
  std::vector<value> out;
  for (const auto& call : message_tool_calls(answer).items()) {
    auto name = text_in(call["name"]);
    auto known = std::ranges::find(tools_, name, &tool::name);
    if (known == tools_.end() || !known->runs_here())
      throw node_error{"KeyError", name};
    auto said = [&](const std::string& text) {
      return tool_message(text, text_in(call["id"]), name);
    };
    if (auto args = known->check(call["args"]))
      out.push_back(said(to_json(*args)));
    else
      out.push_back(refused_arguments(
        said(options_.format_error
               ? options_.format_error(args.error(), call)
               : args.error().text() + "\n\nRespond after fixing all validation errors.")));
  }
  auto messages = value::list(std::move(out));
  node_output update;
  update.parts.emplace_back(is_list ? state_update{messages}
                                    : state_update{}.set(options_.messages_key, messages));
  return update;
}

} // namespace troupe
