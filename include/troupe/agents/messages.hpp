// Chat messages: constructors and readers, their JSON forms, joining of streamed parts, and
// operations on whole conversations before a model sees them.
//
// A message is a value of the kind `message`, whose payload is a map with
//  - role: user, assistant, system, tool
//  - content: text or a list of blocks
//  - other members: id, name, tool_calls, invalid_tool_calls, tool_call_id, status, artifact,
//    usage, response_metadata, additional_kwargs
//  - in a part of an answer also chunk (true), tool_call_chunks, chunk_position
#pragma once

#include <troupe/channel.hpp>
#include <troupe/message.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The id whose removal removes all messages before it.
/// Errors: none.
/// Source: langgraph/graph/message.py.
inline constexpr const char* REMOVE_ALL_MESSAGES = "__remove_all__";

/// A tool call of a model.
/// Shape:  `args` is a map; `id` may be empty.
/// Errors: none.
/// Source: langchain_core/messages/tool.py, ToolCall.
struct tool_call {
  std::string name;
  value args = value::map();
  std::string id = {};
  friend bool operator==(const tool_call&, const tool_call&) = default;
};
template <> struct value_traits<tool_call> {
  static value to(const tool_call& call);
  /// Errors: throws error{invalid_value} when `v` is not a map with a name.
  static tool_call from(const value& v);
};

// ---- making ---------------------------------------------------------------------------------

/// Message values.
/// Shape:  `content` is text or a list of blocks; an empty `id` means no id.
/// Errors: none.
/// Source: langchain_core/messages.
value human_message(value content, std::string_view id = {});
value system_message(value content, std::string_view id = {});
value ai_message(value content, const std::vector<tool_call>& calls = {}, std::string_view id = {});
/// The answer to a tool call.
/// Shape:  `status` is "success" or "error".
/// Errors: none.
/// Source: langchain_core/messages.
value tool_message(value content, std::string_view tool_call_id, std::string_view name = {},
                   std::string_view status = "success");
/// A removal of the message with this id.
/// Errors: none.
/// Source: langchain_core/messages.
value remove_message(std::string_view id);

/// Blocks of content, as Anthropic's and LangChain's messages have them.
/// Errors: none.
/// Source: the reference's behaviour (tests/conformance).
value text_block(std::string_view text);
value image_url_block(std::string_view url);
value image_block(std::string_view base64, std::string_view mime_type);
value thinking_block(std::string_view thinking, std::string_view signature = {});
value tool_use_block(const tool_call& call);
value tool_result_block(std::string_view tool_use_id, value content, bool is_error = false);

// ---- reading --------------------------------------------------------------------------------

/// Whether the value is a message (kind message).
/// Errors: none.
/// Source: troupe.
bool is_message(const value& v) noexcept;
/// The role, or a member, of a message. Empty, or null, for a value that is not a message.
/// Errors: none.
/// Source: troupe.
std::string_view message_role(const value& message) noexcept;
const value& message_member(const value& message, std::string_view name) noexcept;
/// The text of a message: its content, or the joined text of its text blocks.
/// Errors: none.
/// Source: langchain_core/messages/base.py, BaseMessage.text.
std::string message_text(const value& message);
/// The calls of an assistant message, a list of {name, args, id}; empty for any other value.
/// `extras` of a call holds what its provider needs back.
/// Errors: none.
/// Source: troupe.
const value& message_tool_calls(const value& message) noexcept;

// ---- JSON -----------------------------------------------------------------------------------

/// LangChain's JSON of a message or removal: one flat map, whose `type` names the class.
/// Shape:  every key of its class is there; unset ones are null or empty.
/// Errors: throws error{invalid_value} for a value that is not a message.
/// Source: langchain_core/messages, model_dump.
value message_to_json(const value& message);

/// The message of a JSON form: LangChain's flat form, its {type, data} envelope, or its constructor
/// form ({lc, type, id, kwargs}). Any form that coerce_message reads is read, too.
/// Shape:  `usage_metadata` and `invalid_tool_calls` are restored. An assistant message that has
///         only OpenAI's calls in additional_kwargs gets them as tool_calls, broken ones as
///         invalid_tool_calls.
/// Errors: throws error{invalid_update} of class ValueError, as coerce_message.
/// Source: langchain_core/messages/utils.py, messages_from_dict; load/load.py.
value message_from_json(const value& json);

/// A message's content as LangChain's standard blocks, whichever provider wrote it: a view.
/// Shape:  a list of blocks: text, reasoning, image, audio, video, file, text-plain, tool_call,
///         server_tool_call, server_tool_result …
///         - Blocks of OpenAI, Anthropic, Google, Bedrock and LangChain's older forms are
///           translated; their further members are in `extras`. Any other block is {type:
///           non_standard, value}.
///         - An assistant message begins with its thoughts (additional_kwargs.reasoning_content)
///           and ends with the calls that no block contains. Calls are those of the message, even
///           if a block differs. A part of an answer has pieces of calls.
///         - With response_metadata.output_version "v1": the content unchanged.
/// Errors: none.
/// Source: langchain_core/messages/base.py, content_blocks; block_translators.
///         troupe: calls of Anthropic's answers are there too.
value content_blocks(const value& message);

/// A conversation in OpenAI's chat form, a list of maps {role, content …}.
/// Shape:  text blocks alone become one text, joined by line breaks; tool_use blocks become
///         tool_calls, tool_result blocks messages of their own.
/// Errors: throws error{invalid_value} for an element that is not a message.
/// Source: langchain_core/messages/utils.py, convert_to_openai_messages.
value messages_to_openai(const value& messages);

/// add_messages, with content converted to OpenAI's form: images become image_url, calls and
/// results in blocks become tool calls and tool messages. Ids and metadata stay (the reference
/// loses them).
/// Errors: as add_messages.
/// Source: langgraph/graph/message.py, add_messages(format="langchain-openai").
channel_spec add_messages_as_openai();

// ---- parts of an answer ---------------------------------------------------------------------

/// Two parts of one answer as one part.
/// Shape:  texts are joined. List elements and tool call parts with one `index` (and no two ids)
///         are merged. Usage is summed, and a provider's id replaces a run's.
/// Errors: throws error{invalid_value}, of class TypeError, for metadata of different types.
/// Source: langchain_core/messages/ai.py, add_ai_message_chunks.
value add_chunks(const value& left, const value& right);

/// The whole message of these parts. Tool calls are read from their text only here. A text that
/// is not a JSON object, also a truncated one, becomes an invalid tool call.
/// Shape:  at least one part.
/// Cost:   linear in the text, when the parts are text.
/// Errors: as add_chunks; throws error{invalid_value} without a part.
/// Source: langchain_core/messages/ai.py, AIMessageChunk; troupe: acts on whole messages only.
value join_chunks(std::span<const value> chunks);

/// The readable part of JSON text that may end anywhere; nullopt when the text is not JSON.
/// Units:  time grows with the length, and with the part that is dropped at the end.
/// Errors: none.
/// Source: langchain_core/utils/json.py, parse_partial_json.
std::optional<value> parse_partial_json(std::string_view text);

// ---- conversations --------------------------------------------------------------------------

/// The parameters of count_tokens_approximately.
/// Units:  in characters (of Unicode) a token, and tokens a message.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, count_tokens_approximately.
struct token_estimate {
  double chars_per_token = 4.0;
  double extra_tokens_per_message = 3.0;
  bool count_name = true;
  value tools = {}; ///< a list of {name, description, parameters}, counted once
  bool use_usage_metadata_scaling = false; ///< up to 1.25 times, by the last answer's usage
};
/// An estimate of the number of tokens of these messages.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, count_tokens_approximately.
std::int64_t count_tokens_approximately(const value& messages, const token_estimate& how = {});

/// The end of a conversation that is kept.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, trim_messages.
enum class trim_strategy : std::uint8_t { last, first };

/// The parameters of trim_messages.
/// Units:  `max_tokens` as `token_counter` counts.
/// Shape:  `start_on`, `end_on`: roles (also LangChain's names: human, ai …); empty: any.
///         `text_splitter`: nullptr splits into lines.
/// Errors: see trim_messages.
/// Source: langchain_core/messages/utils.py, trim_messages.
struct trim_options {
  std::int64_t max_tokens = 0;
  std::function<std::int64_t(const value& messages)> token_counter = {}; ///< unset: the estimate
  trim_strategy strategy = trim_strategy::last;
  bool allow_partial = false;
  std::vector<std::string> end_on = {};
  std::vector<std::string> start_on = {};
  bool include_system = false;
  /// Whether a tool message stays only after the message that called the tool; otherwise it is
  /// dropped. troupe's own.
  bool keep_pairs = false;
  std::function<std::vector<std::string>(const std::string&)> text_splitter = {};
};
/// As much of a conversation as fits, from its end or its beginning.
/// Errors: throws error{invalid_value}, of class ValueError, for start_on or include_system with
///         `first`.
/// Source: langchain_core/messages/utils.py, trim_messages.
value trim_messages(const value& messages, const trim_options& options);

/// The parameters of filter_messages.
/// Shape:  types are roles, as in trim_options. Excluded messages are dropped. Any other
///         message stays when one of the `include_` lists names it, or when all these lists are
///         empty.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, filter_messages.
struct message_filter {
  std::vector<std::string> include_names = {};
  std::vector<std::string> exclude_names = {};
  std::vector<std::string> include_types = {};
  std::vector<std::string> exclude_types = {};
  std::vector<std::string> include_ids = {};
  std::vector<std::string> exclude_ids = {};
  bool exclude_tool_calls = false; ///< drops calls and the answers to them
  std::vector<std::string> exclude_tool_call_ids = {};
};
/// Errors: none.
/// Source: langchain_core/messages/utils.py, filter_messages.
value filter_messages(const value& messages, const message_filter& filter);

/// Joins consecutive messages of one role; tool messages stay separate.
/// Errors: as add_chunks.
/// Source: langchain_core/messages/utils.py, merge_message_runs.
value merge_message_runs(const value& messages, std::string_view separator = "\n");

/// The conversation with an answer for each unanswered call, placed after the existing answers of
/// the same message. The answer is a tool message of status "error" that reports the call as
/// cancelled. A turn that is given up or fails leaves such calls, and providers refuse them.
/// Shape:  the same messages when no call is open; added messages have no ids.
/// Errors: none.
/// Source: deepagents/middleware/patch_tool_calls.py; troupe: one text, status "error".
value patched_tool_calls(const value& messages);

/// The form of get_buffer_string: a line a message, "Human: …", or XML.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, get_buffer_string(format).
enum class buffer_format : std::uint8_t { prefix, xml };
/// A conversation as text for a model.
/// Errors: none.
/// Source: langchain_core/messages/utils.py, get_buffer_string.
std::string get_buffer_string(const value& messages, buffer_format format = buffer_format::prefix);

} // namespace troupe
