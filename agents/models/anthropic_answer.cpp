// anthropic_answer: answers of Anthropic's Messages API, whole and streamed.
#include "agents/messages/json_text.hpp"
#include "agents/models/answer_builder.hpp"
#include "agents/models/anthropic_wire.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace troupe {
namespace {

token_usage anthropic_usage(const value& given) {
  auto or_none = [](std::int64_t count) { return std::max<std::int64_t>(count, 0); };
  token_usage out;
  out.cache_read = count_in(given["cache_read_input_tokens"], -1);
  out.cache_creation = count_in(given["cache_creation_input_tokens"], -1);
  const auto written = or_none(out.cache_creation);
  const auto& timed = given["cache_creation"];
  auto for_5m = count_in(timed["ephemeral_5m_input_tokens"], -1);
  auto for_1h = count_in(timed["ephemeral_1h_input_tokens"], -1);
  if (or_none(for_5m) + or_none(for_1h) == written) { // differs when a stream reported further
                                                      // tokens since
    out.cache_creation_5m = for_5m;
    out.cache_creation_1h = for_1h;
    out.cache_creation = written > 0 ? 0 : out.cache_creation;
  }
  out.input = count_in(given["input_tokens"]) + or_none(out.cache_read) + written;
  out.output = count_in(given["output_tokens"]);
  out.reasoning = count_in(given["output_tokens_details"]["thinking_tokens"], -1);
  return out;
}

void describe(answer_builder& into, const value& message) {
  into.set_metadata("id", message["id"]);
  into.set_metadata("model_name", message["model"]);
  into.set_metadata("model_provider", "anthropic");
}

// Records how an answer ended, and data that a next request may need. `from` is a message, or the
// end event of a streamed one.
void describe_end(answer_builder& into, const value& from) {
  for (const auto* name : {"stop_reason", "stop_sequence", "stop_details", "container",
                           "context_management", "input_transformations"})
    into.set_metadata(name, from[name]);
}

value extras_of(const value& call) {
  auto out = value::map();
  for (const auto* name : kept_of_calls)
    if (!call[name].is_null())
      out = out.with(name, call[name]);
  return out;
}

// A block of a whole answer.
void add_whole_block(answer_builder& into, std::int64_t index, const value& block) {
  auto type = text_in(block["type"]);
  if (type == "text") {
    into.add_text(index, text_in(block["text"]));
    for (const auto& citation : block["citations"].items())
      into.append_to_block(index, "citations", citation);
  } else if (type == "thinking") {
    into.add_thinking(index, text_in(block["thinking"]));
    into.set_signature(index, text_in(block["signature"]));
  } else if (type == "tool_use") {
    into.begin_call(index, text_in(block["id"]), text_in(block["name"]), extras_of(block));
    into.add_arguments(index, spaced_json(block["input"]));
  } else if (block.is_map()) {
    into.add_block(index, block);
  }
}

class anthropic_stream final : public answer_reader {
public:
  explicit anthropic_stream(answer_form form) : builder_{std::move(form)} {}

  void take(const sse_event& event) override {
    if (event.type == "ping")
      return;
    auto read = from_json(event.data, json_form::plain);
    if (!read && event.type.empty()) // not an event of the provider
      return;
    if (!read)
      throw broken_answer("an event is not JSON");
    const auto& data = *read;
    auto type = text_in(data["type"]);
    if (type == "error")
      throw refused_by_event(data);
    if (!begun_ && is_known(type) && type != "message_start")
      throw broken_answer("an event before message_start");
    if (type == "message_start")
      begin(data["message"]);
    else if (type == "content_block_start")
      begin_block(index_of(data), data["content_block"]);
    else if (type == "content_block_delta")
      go_on(index_of(data), data["delta"]);
    else if (type == "content_block_stop")
      end_input(inputs_.find(index_of(data)));
    else if (type == "message_delta")
      end(data);
    else if (type == "message_stop")
      complete();
  }

  std::vector<value> take_parts() override { return builder_.take_parts(); }
  bool has_content() const override { return builder_.has_content(); }
  bool is_complete() const override { return complete_; }
  bool is_over() const override { return complete_; }
  value finish() override {
    builder_.set_usage(usage_value(anthropic_usage(usage_)));
    return builder_.finish();
  }

private:
  using input_texts = std::map<std::int64_t, std::string>;

  // Other event types may be added at any time; they are skipped.
  static bool is_known(std::string_view type) {
    return type.empty() || type.starts_with("message_") || type.starts_with("content_block_");
  }

  static std::int64_t index_of(const value& data) {
    const auto& index = data["index"];
    if (!index.is_int() || index.as_int() < 0)
      throw broken_answer("a block without an index");
    return index.as_int();
  }

  void begin(const value& message) {
    begun_ = true;
    describe(builder_, message);
    count(message["usage"]);
  }

  void begin_block(std::int64_t index, const value& block) {
    auto type = text_in(block["type"]);
    if (type == "tool_use") {
      builder_.begin_call(index, text_in(block["id"]), text_in(block["name"]), extras_of(block));
      calls_.insert(index);
      if (!block["input"].empty()) // otherwise it comes in pieces
        builder_.add_arguments(index, spaced_json(block["input"]));
    } else if (type == "text") {
      builder_.add_text(index, text_in(block["text"]));
    } else if (type == "thinking") {
      builder_.add_thinking(index, text_in(block["thinking"]));
    } else if (block.is_map()) {
      builder_.add_block(index, block);
    }
  }

  void go_on(std::int64_t index, const value& delta) {
    auto type = text_in(delta["type"]);
    if (type == "text_delta")
      builder_.add_text(index, text_in(delta["text"]));
    else if (type == "thinking_delta")
      builder_.add_thinking(index, text_in(delta["thinking"]));
    else if (type == "signature_delta")
      builder_.set_signature(index, text_in(delta["signature"]));
    else if (type == "citations_delta")
      builder_.append_to_block(index, "citations", delta["citation"]);
    else if (type == "input_json_delta" && calls_.contains(index))
      builder_.add_arguments(index, text_in(delta["partial_json"]));
    else if (type == "input_json_delta")
      inputs_[index] += text_in(delta["partial_json"]);
    else if (type == "compaction_delta")
      for (const auto* name : {"content", "encrypted_content"})
        if (!delta[name].is_null())
          builder_.set_in_block(index, name, delta[name]);
  }

  // Ends the input of a provider's own tool.
  void end_input(input_texts::iterator at) {
    if (at == inputs_.end())
      return;
    auto [index, text] = std::move(*at);
    inputs_.erase(at);
    if (text.empty())
      return;
    auto input = from_json(text, json_form::plain);
    if (!input || !input->is_map())
      throw broken_answer("the input of a block is not a JSON object");
    builder_.set_in_block(index, "input", *input);
  }

  void complete() {
    while (!inputs_.empty())
      end_input(inputs_.begin());
    complete_ = true;
  }

  void end(const value& data) {
    describe_end(builder_, data["delta"]);
    describe_end(builder_, data);
    count(data["usage"]);
  }

  // Counts are cumulative: the last ones count.
  void count(const value& usage) {
    for (const auto& e : usage.entries())
      if (!e.val.is_null())
        usage_ = usage_.with(e.key(), e.val);
  }

  answer_builder builder_;
  std::set<std::int64_t> calls_;
  input_texts inputs_; // of other blocks, as far as they have come
  value usage_ = value::map();
  bool begun_ = false;
  bool complete_ = false;
};

class anthropic_format final : public model_wire {
public:
  anthropic_format(std::string model, chat_model_options options)
    : model_{std::move(model)},
      options_{std::move(options)} {}

  std::string url() const override {
    return options_.base_url + (options_.base_url.ends_with("/v1") ? "/messages" : "/v1/messages");
  }
  http_headers headers(const std::string& key, const model_request& asked) const override {
    http_headers out{{"anthropic-version", options_.api_version}};
    if (!key.empty())
      out.emplace_back(options_.bearer_key ? "Authorization" : "x-api-key",
                       options_.bearer_key ? "Bearer " + key : key);
    for (const auto* more : {&options_.headers, &asked.headers})
      out.insert(out.end(), more->begin(), more->end());
    return with_betas(std::move(out), asked.tools);
  }
  value request(const model_request& asked, bool stream) const override {
    return anthropic_request(model_, options_, asked, stream);
  }
  value answer(const value& json, std::string message_id) const override {
    return anthropic_answer(json, std::move(message_id));
  }
  std::unique_ptr<answer_reader> reader(const model_request& asked,
                                        std::string message_id) const override {
    auto thinking = merged_settings(options_, asked)["thinking"];
    return anthropic_reader(std::move(message_id), !asked.tools.empty() || !thinking.is_null());
  }

private:
  std::string model_;
  chat_model_options options_;
};

} // namespace

value anthropic_answer(const value& json, std::string message_id) {
  if (json["type"] == value("error"))
    throw refused_by_event(json);
  if (!json["content"].is_list())
    throw broken_answer("it has no content");
  answer_builder out{{.id = std::move(message_id)}};
  std::int64_t index = 0;
  for (const auto& block : json["content"].items())
    add_whole_block(out, index++, block);
  describe(out, json);
  describe_end(out, json);
  out.set_usage(usage_value(anthropic_usage(json["usage"])));
  return out.finish();
}

std::unique_ptr<answer_reader> anthropic_reader(std::string message_id, bool as_blocks) {
  return std::make_unique<anthropic_stream>(
    answer_form{.id = std::move(message_id), .as_blocks = as_blocks, .gives_parts = true});
}

std::unique_ptr<model_wire> anthropic_wire(std::string model, chat_model_options options) {
  return std::make_unique<anthropic_format>(std::move(model), std::move(options));
}

} // namespace troupe
