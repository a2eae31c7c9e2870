// Grammars that constrain a local model's output (llama.cpp's GBNF, also read by vLLM), so that a
// small model makes readable tool calls with fitting arguments.
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
/// Shape:  a rule a line, the first one is `root`. Texts are on one line, with at most one space
///         after `,` and `:`, and without unnecessary escapes. Members: those of `required` first,
///         in its order, then the others in key order.
///         - Known keywords: type, enum, const, properties, required, additionalProperties, items,
///           prefixItems, minItems, maxItems, minLength, maxLength, minimum and its like (of
///           integers), anyOf, oneOf (as anyOf), allOf, $ref to a part of the same schema, also to
///           an enclosing one.
///         - Any other keyword (pattern, multipleOf, uniqueItems, not …) is left to a check of the
///           answer: check_schema, which tools do anyway.
///         - Narrower than the schema: an object with `properties` has no others unless
///           additionalProperties allows them. A schema without a type that has keywords of
///           members, items, lengths or size means an object, a list, a text or a number. Integers
///           have at most 18 digits.
/// Units:  at most limits::grammar_schemas_max schemas, limits::grammar_depth_max deep;
///         limits::grammar_bytes_max of grammar.
/// Errors: throws error{invalid_value} that names the place, for
///         - a limit that is exceeded
///         - a keyword with a value of the wrong kind, or a $ref without a target
///         - a schema that no finite JSON fits
/// Source: troupe; llama.cpp grammars/README.md.
std::string gbnf_of_schema(const value& json_schema);

/// The permitted answers besides calls.
/// Shape:  `tool_choice` as in model_request; `response_schema` null: any text that does not begin
///         with `[`.
/// Errors: see the functions.
/// Source: troupe.
struct tool_answer_form {
  value tool_choice = {};
  value response_schema = {};
  std::uint32_t calls_max = limits::grammar_calls_default;
};
/// A grammar of answers that call tools: [{"name": NAME, "arguments": {…}}, …]. Arguments fit the
/// tool's parameters. If the choice permits, the answer may be a text (or data) instead.
/// Shape:  `definitions` as in model_request. With "any" or a tool's name, only calls are
///         permitted; with "none", no calls.
/// Errors: as gbnf_of_schema; throws error{invalid_value} for
///         - a provider's tool, an unknown tool as choice, "any" without tools
///         - calls_max of 0 or above limits::grammar_repeat_max
///         - tools together with a response_schema that a list can fit, which would look like calls
/// Source: troupe.
std::string gbnf_of_tools(const value& definitions, const tool_answer_form& form = {});

/// The settings of with_tool_grammar.
/// Shape:  `member` is the place of the grammar in the server's request, with a dot for nesting:
///         "grammar" (llama.cpp), "structured_outputs.grammar" (vLLM), "guided_grammar" (vLLM
///         before 0.12).
/// Units:  `calls_max` of one answer; 1 when the settings have parallel_tool_calls: false.
/// Errors: see with_tool_grammar.
/// Source: troupe.
struct tool_grammar_options {
  std::string member = "grammar";
  std::uint32_t calls_max = limits::grammar_calls_default;
};
/// `model`, which reads its tools and their call form in the system message. A grammar in the
/// request's settings enforces the form, in place of `tools` and `response_schema`. Calls, results
/// and answers in the conversation are shown in the same form. Its answers have `tool_calls` with
/// ids, as those of other models; a truncated call is an invalid call. The rest of a request and an
/// answer is unchanged.
/// Order:  parts of a text are given as they arrive, calls when the answer is whole.
/// Errors: throws error{invalid_config}: no model, one with bound tools (bind them to the result
///         instead), or an empty name in `member`. A call fails as gbnf_of_tools, and with the
///         error of `model`.
/// Source: troupe.
chat_model_ptr with_tool_grammar(chat_model_ptr model, tool_grammar_options options = {});

} // namespace troupe
