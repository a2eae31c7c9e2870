// answer_builder: an answer out of a provider's pieces, and the parts of it for readers. The parts'
// join_chunks() equals the answer, as far as its calls are JSON.
#pragma once

#include <troupe/agents/messages.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The form of an answer.
struct answer_form {
  std::string id; ///< of the message
  /// The content is always a list of blocks; if false, only when it is more than one text.
  bool as_blocks = false;
  bool gives_parts = false;
};

/// Pieces may come in any order; blocks and calls are identified by the provider's index.
/// Errors: throws model_error of the kind "broken_answer" for more than limits::model_blocks_max of
///         them.
class answer_builder {
public:
  explicit answer_builder(answer_form form) : form_{std::move(form)} {}

  void add_text(std::int64_t index, std::string_view piece);
  void add_thinking(std::int64_t index, std::string_view piece);
  /// Begins a block of reasoning, and adds text to a part of its summary.
  void begin_summary(std::int64_t index);
  void add_summary(std::int64_t index, std::int64_t part, std::string_view piece);
  void set_signature(std::int64_t index, std::string_view signature);
  /// Adds a block that comes as a whole.
  void add_block(std::int64_t index, value block);
  /// Sets a member of a block that comes after its beginning, as a whole.
  void set_in_block(std::int64_t index, std::string_view name, value v);
  /// Appends an item besides text (a citation) to the block's list `name`.
  void append_to_block(std::int64_t index, std::string_view name, value item);
  /// Adds text of models that write thoughts in a field of their own (`additional_kwargs`).
  void add_extra_text(const std::string& name, std::string_view piece);

  /// Sets a value that is not text, besides the content; it comes as a whole, in the last part.
  void set_extra(const std::string& name, value v);

  /// `extras`: data that a provider sends with a call, and requires in later requests.
  void begin_call(std::int64_t index, std::string_view id, std::string_view name,
                  value extras = value::map());
  void add_arguments(std::int64_t index, std::string_view piece);

  void set_usage(value usage) { usage_ = std::move(usage); }
  void set_metadata(const std::string& name, value v);

  /// Whether the answer has any content.
  bool has_content() const noexcept { return has_content_; }
  /// The parts since the last call; none unless the form asks for them.
  std::vector<value> take_parts() { return std::exchange(parts_, {}); }
  /// The whole message; afterwards, take_parts() has its last part.
  value finish();

private:
  struct block {
    value known = value::map(); // its type, and members that came as a whole
    std::string text_name;      // "text" or "thinking"
    std::string text;
    std::map<std::int64_t, std::string> summary = {}; // of reasoning, by part
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
  value whole_block(const block& at, std::int64_t index) const;
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

/// A call as in a message. It goes to `tool_calls` when `arguments` are a JSON object (raw line
/// breaks in strings are accepted; an empty text means {}). Otherwise it goes to
/// `invalid_tool_calls`, with the reason.
struct read_call {
  bool valid;
  value call;
};
read_call call_of(std::string_view id, std::string_view name, std::string_view arguments);

/// A message's `usage`. Units: tokens; -1: not given. `input` includes the tokens read from and
/// written to a cache. `cache_creation` does not include tokens written for a known time.
struct token_usage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t total = -1; ///< -1: the sum
  std::int64_t cache_read = -1;
  std::int64_t cache_creation = -1;
  std::int64_t cache_creation_5m = -1;
  std::int64_t cache_creation_1h = -1;
  std::int64_t reasoning = -1;
  std::int64_t audio_input = -1;
  std::int64_t audio_output = -1;
};
value usage_value(const token_usage& usage);

/// A count from a provider's JSON: 0 or more; `otherwise` for any other value.
std::int64_t count_in(const value& v, std::int64_t otherwise = 0);

} // namespace troupe
