// gbnf: grammars of schemas, and of answers that call tools.
#include "agents/grammar/gbnf_schema.hpp"
#include "agents/grammar/tool_text.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/models/model_wire.hpp"

#include <troupe/agents/grammar.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

error no_grammar(const std::string& why) {
  return {errc::invalid_value, "make a grammar of tools: " + why};
}

// tool_text.cpp recognises calls by their first character, too.
constexpr std::string_view text_without_calls = R"([^\[] [^\x00]*)";

gbnf::way call_of_tool(gbnf::rules& into, const value& definition) {
  auto tool = read_definition(definition);
  auto name = gbnf::json_literal(tool.name);
  if (!tool.is_function || !tool.name.is_string() || !name)
    throw no_grammar("not a function: " + to_json(definition));
  auto at = tool.name.as<std::string>() + "#";
  auto arguments = gbnf::rules_of_schema(into, tool.parameters, at, true).root;
  auto text = R"("{\"name\":" " "? )" + *name + R"( "," " "? "\"arguments\":" " "? )"
              + arguments.text + R"( "}")";
  return {std::move(text), std::move(arguments.needs)};
}

gbnf::way calls_of_tools(gbnf::rules& into, const value& definitions, const wanted_calls& wanted,
                         std::uint32_t calls_max) {
  if (calls_max < 1 || calls_max > limits::grammar_repeat_max)
    throw no_grammar("calls_max must be from 1 to " + std::to_string(limits::grammar_repeat_max));
  auto call = into.add("");
  for (const auto& definition : definitions.items())
    if (!wanted.only || read_definition(definition).name == value(*wanted.only))
      into.allow(call, call_of_tool(into, definition));
  if (!into.has_way(call))
    throw no_grammar(wanted.only ? "unknown tool `" + *wanted.only + '`'
                                 : "the list of tools is empty");
  auto more = into.add("");
  into.allow(more, {R"("," " "? )" + gbnf::rules::name(call), {call}});
  return {R"("[" )" + gbnf::rules::name(call) + ' '
            + gbnf::repeated(gbnf::rules::name(more), {0, std::int64_t{calls_max} - 1}) + R"( "]")",
          {call},
          {more}};
}

} // namespace

std::string gbnf_of_schema(const value& json_schema) {
  gbnf::rules all;
  auto root = gbnf::rules_of_schema(all, json_schema, "#").root;
  return all.text(root);
}

std::string gbnf_of_tools(const value& definitions, const tool_answer_form& form) {
  gbnf::rules all;
  auto wanted = wanted_calls_of(form.tool_choice);
  gbnf::way root;
  if (wanted.must || (wanted.may && !definitions.empty()))
    root = calls_of_tools(all, definitions, wanted, form.calls_max);
  if (wanted.must)
    return all.text(root);
  bool calls = !root.text.empty();
  if (form.response_schema.is_null()) {
    root.text += (calls ? " | " : "") + std::string{text_without_calls};
    return all.text(root);
  }
  auto data = gbnf::rules_of_schema(all, form.response_schema, "#");
  if (calls && data.may_be_list)
    throw no_grammar("the response_schema must not allow a list, which would look like calls");
  root.text += (calls ? " | " : "") + data.root.text;
  root.may_need.insert(root.may_need.end(), data.root.needs.begin(), data.root.needs.end());
  return all.text(root);
}

} // namespace troupe
