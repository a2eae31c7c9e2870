// An answer out of the pieces in which a provider sends it, and the parts that readers are given of
// it: join_chunks() of the parts is the answer, as far as its calls are JSON.
#pragma once

#include <troupe/agents/messages.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// How an answer is put together.
struct answer_form {
  std::string id; ///< of the message
  /// Its content is a list of blocks in any case, else only when it is more than one text.
  bool as_blocks = false;
  bool gives_parts = false;
};

/// Pieces come in any order; blocks and calls are known by the provider's index for them.
/// Errors: throws model_error of the kind "broken_answer" when there are more than
///         limits::model_blocks_max of them.
class answer_builder {
public:
  explicit answer_builder(answer_form form) : form_{std::move(form)} {}

  void add_text(std::int64_t index, std::string_view piece);
  void add_thinking(std::int64_t index, std::string_view piece);
  void set_signature(std::int64_t index, std::string_view signature);
  /// A block that comes as a whole.
  void add_block(std::int64_t index, value block);
  /// A member of a block that comes behind its beginning, as a whole.
  void set_in_block(std::int64_t index, std::string_view name, value v);
  /// What a block gets besides text (citations): appended to its list `name`.
  void append_to_block(std::int64_t index, std::string_view name, value item);
  /// Text of models that think aloud in a field of its own (`additional_kwargs`).
  void add_extra_text(const std::string& name, std::string_view piece);

  /// What is no text, beside it; as a whole, in the last part.
  void set_extra(const std::string& name, value v);

  /// `extras`: what a provider says of a call besides, and wants to hear again.
  void begin_call(std::int64_t index, std::string_view id, std::string_view name,
                  value extras = value::map());
  void add_arguments(std::int64_t index, std::string_view piece);

  void set_usage(value usage) { usage_ = std::move(usage); }
  void set_metadata(const std::string& name, value v);

  /// Whether anything was said.
  bool has_content() const noexcept { return has_content_; }
  /// The parts since the last call; none unless the form asks for them.
  std::vector<value> take_parts() { return std::exchange(parts_, {}); }
  /// The whole message; its last part is among the parts then.
  value finish();

private:
  struct block {
    value known = value::map(); // type and what came as a whole
    std::string text_name;      // "text" or "thinking"
    std::string text;
  };
  struct call {
    std::string id;
    std::string name;
    std::string arguments;
    value extras;
  };

  block& block_at(std::int64_t index, std::string_view type);
  void give_block(std::int64_t index, value piece);
  void give(std::vector<value::map_init> members);
  value content() const;

  answer_form form_;
  std::map<std::int64_t, block> blocks_;
  std::map<std::int64_t, call> calls_;
  std::map<std::string, std::string> extra_;
  value whole_extra_ = value::map();
  value usage_;
  value metadata_ = value::map();
  std::vector<value> parts_;
  bool has_content_ = false;
};

/// A call as a message has it: in `tool_calls` when `arguments` are an object of JSON (raw line
/// breaks in texts are let pass; nothing stands for {}), else in `invalid_tool_calls`, which says
/// why.
struct read_call {
  bool valid;
  value call;
};
read_call call_of(std::string_view id, std::string_view name, std::string_view arguments);

/// A message's `usage`. Units: tokens; -1: not said. `input` has what was read from and written to
/// a cache; what was written for a known time is not in `cache_creation`.
struct token_usage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t total = -1; ///< else the sum
  std::int64_t cache_read = -1;
  std::int64_t cache_creation = -1;
  std::int64_t cache_creation_5m = -1;
  std::int64_t cache_creation_1h = -1;
  std::int64_t reasoning = -1;
  std::int64_t audio_input = -1;
  std::int64_t audio_output = -1;
};
value usage_value(const token_usage& usage);

/// A count out of a provider's JSON: 0 or more; anything else is `otherwise`.
std::int64_t count_in(const value& v, std::int64_t otherwise = 0);

} // namespace troupe
