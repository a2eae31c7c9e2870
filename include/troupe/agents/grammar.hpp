// Grammars that constrain what a local model may say (llama.cpp's GBNF, which vLLM reads too), so
// that a small one calls tools in a form that can be read, with arguments that fit.
//
//     auto local = troupe::init_chat_model("openai:gemma",
//                                          {.base_url = "http://127.0.0.1:8080/v1"});
//     auto model = troupe::with_tool_grammar(local); // for any agent
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/limits.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// A grammar of the JSON texts that fit a JSON Schema.
/// Shape:  a line a rule, the first one is `root`. Texts are on one line, with at most one space
///         behind `,` and `:`, and nothing that could be written plainly is escaped. Members: those
///         of `required` first, in its order, then the others in key order. Known keywords: type,
///         enum, const, properties, required, additionalProperties, items, prefixItems, minItems,
///         maxItems, minLength, maxLength, minimum and its like (of integers), anyOf, oneOf (as
///         anyOf), allOf, $ref to a part of the same schema, also to one that it is in. Any other
///         one (pattern, multipleOf, uniqueItems, not …) is left to the check of what was said:
///         check_schema, which tools do anyway. Narrower than the schema: an object with
///         `properties` has no others unless additionalProperties says so; a schema without a type
///         that speaks of members, items, lengths or size means an object, a list, a text or a
///         number; integers have at most 18 digits.
/// Units:  at most limits::grammar_schemas_max schemas, limits::grammar_depth_max deep;
///         limits::grammar_bytes_max of grammar.
/// Errors: throws error{invalid_value} that names the place: more than that, a keyword that is not
///         of its kind, a $ref that leads nowhere, a schema that no JSON fits, or only endless one.
/// Source: troupe; llama.cpp grammars/README.md.
std::string gbnf_of_schema(const value& json_schema);

/// What an answer may be besides calls.
/// Shape:  `tool_choice` as in model_request; `response_schema` null: any text that does not begin
///         with `[`.
struct tool_answer_form {
  value tool_choice = {};
  value response_schema = {};
  std::uint32_t calls_max = limits::grammar_calls_default;
};
/// A grammar of answers that call tools: [{"name": NAME, "arguments": {…}}, …], with arguments that
/// fit the tool's parameters, or, where the choice leaves it open, that are a text (or data).
/// Shape:  `definitions` as in model_request. "any" or a tool's name: only calls; "none": none.
/// Errors: as gbnf_of_schema; throws error{invalid_value} for a provider's own tool, a choice that
///         is no tool, "any" without tools, calls_max of 0 or above limits::grammar_repeat_max, and
///         beside tools for a response_schema that lists fit, which would look like calls.
/// Source: troupe.
std::string gbnf_of_tools(const value& definitions, const tool_answer_form& form = {});

/// Shape:  `member` is where the server looks for a grammar in a request, a dot leads inside:
///         "grammar" (llama.cpp), "structured_outputs.grammar" (vLLM), "guided_grammar" (vLLM
///         before 0.12).
/// Units:  `calls_max` of one answer; 1 where the settings say parallel_tool_calls: false.
struct tool_grammar_options {
  std::string member = "grammar";
  std::uint32_t calls_max = limits::grammar_calls_default;
};
/// `model`, which is told in the system message which tools there are and how to call them, and
/// held to it by a grammar in the request's settings, in place of `tools` and `response_schema`.
/// Calls, results and answers in the conversation are shown to it in the same form; what it answers
/// has `tool_calls` with ids as other models' answers, and what was cut off is an invalid call.
/// Everything else of a request and an answer stays.
/// Order:  parts of a text are given as they come, calls when the answer is whole.
/// Errors: throws error{invalid_config}: no model, one that has tools bound to it (bind them to the
///         result), or an empty name in `member`. Of a call: as gbnf_of_tools, and what `model`
///         throws.
/// Source: troupe.
chat_model_ptr with_tool_grammar(chat_model_ptr model, tool_grammar_options options = {});

} // namespace troupe
