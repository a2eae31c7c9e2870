// content_blocks: shared parts of the translators from providers' blocks to LangChain's standard
// ones. Pure.
#pragma once

#include <troupe/value.hpp>

#include <string_view>
#include <vector>

namespace troupe {

/// The form of a block that no translator knows. Its `index` stands beside it.
value non_standard_block(const value& block);

/// The members of a block under other names, with the rest in `extras`; `id` and `index` stay.
/// Owns:   a view of the block.
class renamed_block {
public:
  explicit renamed_block(const value& from) : from_{&from} {}

  renamed_block& as(std::string_view type);
  renamed_block& put(std::string_view name, value v);
  /// The member `from` under this name, if it exists.
  renamed_block& take(std::string_view from, std::string_view name);
  renamed_block& drop(std::string_view name);
  /// Adds a member to `extras`; null values are ignored.
  renamed_block& extra(std::string_view name, value v);
  value done();

private:
  const value* from_;
  std::vector<value::map_init> out_;
  value extras_ = value::map();
  std::vector<std::string_view> used_;
};

/// The standard form of a block of Google's API or of Bedrock's Converse API; null for any other
/// block. `said`: the block is from a model.
/// Source: langchain_core/messages/block_translators/google_genai.py, bedrock_converse.py.
value cloud_block(const value& block, bool said);

/// The source of a text of Bedrock's, as an annotation.
value converse_citation(const value& citation);

/// The sources of an answer of Google's, as annotations of its first text.
/// Source: google_genai.py, translate_grounding_metadata_to_citations.
value grounding_citations(const value& metadata);

} // namespace troupe
