// responses_blocks: items of OpenAI's Responses API as LangChain's standard blocks. Pure.
#pragma once

#include <troupe/value.hpp>

#include <vector>

namespace troupe {

/// Adds the standard blocks of an item: a reasoning block for each part of a summary, a tool_call,
/// a server_tool_call and its server_tool_result, an image. Result: false, and nothing is added,
/// for any other block. Source: langchain_core/messages/block_translators/openai.py,
/// _convert_to_v1_from_responses.
bool add_responses_blocks(std::vector<value>& to, const value& block);

/// The annotations of a text with OpenAI's citations as standard ones; others stay.
/// Source: openai.py, _convert_annotation_to_v1.
value standard_annotations(const value& annotations);

} // namespace troupe
