// responses_answer: answers of OpenAI's Responses API, whole and streamed.
#include "agents/messages/json_text.hpp"
#include "agents/models/answer_builder.hpp"
#include "agents/models/openai_wire.hpp"
#include "agents/models/responses_wire.hpp"

#include <map>
#include <set>
#include <utility>

namespace troupe {
namespace {

// ---- what both forms share ----------------------------------------------------------------------

token_usage responses_usage(const value& given) {
  token_usage out;
  out.input = count_in(given["input_tokens"]);
  out.output = count_in(given["output_tokens"]);
  out.total = count_in(given["total_tokens"], -1);
  out.cache_read = count_in(given["input_tokens_details"]["cached_tokens"], -1);
  out.reasoning = count_in(given["output_tokens_details"]["reasoning_tokens"], -1);
  return out;
}

// The word of chat completions for the end of an answer, which agents read.
const char* finish_reason(const value& response, bool has_calls) {
  auto why = text_in(response["incomplete_details"]["reason"]);
  if (why == "max_output_tokens")
    return "length";
  if (why == "content_filter")
    return "content_filter";
  return has_calls ? "tool_calls" : "stop";
}

void describe_response(answer_builder& into, const value& response, bool has_calls) {
  for (const auto* name : {"id", "created_at", "status", "incomplete_details", "metadata",
                           "service_tier", "conversation"})
    into.set_metadata(name, response[name]);
  into.set_metadata("model_name", response["model"]);
  into.set_metadata("model_provider", "openai");
  into.set_metadata("finish_reason", finish_reason(response, has_calls));
  if (response["usage"].is_map())
    into.set_usage(usage_value(responses_usage(response["usage"])));
}

// The error of a response, in the form of a refusal's body.
model_error reported(const value& error) {
  const auto& kind = error["type"].is_string() && error["type"] != value("error") ? error["type"]
                                                                                  : error["code"];
  return refused_by_event(value::map(
    {{"error",
      value::map({{"type", kind}, {"code", error["code"]}, {"message", error["message"]}})}}));
}

std::string_view kind_of(const value& item) {
  return item["type"].is_string() ? item["type"].as_string() : std::string_view{};
}

// The output items of an answer, as blocks and calls. Blocks are numbered in order of their
// beginnings.
class output_items {
public:
  explicit output_items(answer_form form) : builder{std::move(form)} {}

  std::int64_t place(std::int64_t output, std::int64_t part = 0) {
    auto next = static_cast<std::int64_t>(places_.size());
    return places_.try_emplace({output, part}, next).first->second;
  }

  void say(std::int64_t output, std::int64_t part, std::string_view piece) {
    if (piece.empty()) // announced, without content
      return;
    said_[{output, part}] += piece.size();
    builder.add_text(place(output, part), piece);
  }
  void refuse(std::int64_t output, std::int64_t part, std::string_view piece) {
    said_[{output, part}] += piece.size();
    builder.add_extra_text("refusal", piece);
  }
  void reason(std::int64_t output, std::int64_t part, std::string_view piece) {
    said_[{output, part}] += piece.size();
    builder.add_summary(place(output), part, piece);
  }
  void call(std::int64_t output, const value& item) {
    if (calls_.insert(output).second)
      builder.begin_call(output, text_in(item["call_id"]), text_in(item["name"]));
  }
  void argue(std::int64_t output, std::string_view piece) {
    if (!calls_.contains(output))
      throw broken_answer("it has arguments of an unknown call");
    said_[{output, 0}] += piece.size();
    builder.add_arguments(output, piece);
  }
  bool has_calls() const { return !calls_.empty(); }

  /// Adds what a finished item has beyond the pieces that came before.
  void finish(std::int64_t output, const value& item) {
    auto kind = kind_of(item);
    if (kind == "message")
      finish_message(output, item);
    else if (kind == "reasoning")
      finish_reasoning(output, item);
    else if (kind == "function_call")
      finish_call(output, item);
    else if (!kind.empty())
      builder.add_block(place(output), item);
  }

  answer_builder builder;

private:
  bool is_said(std::int64_t output, std::int64_t part) const {
    return said_.contains({output, part});
  }

  void finish_message(std::int64_t output, const value& item) {
    std::int64_t part = 0;
    for (const auto& content : item["content"].items()) {
      finish_part(output, part, content, item);
      ++part;
    }
  }

  void finish_part(std::int64_t output, std::int64_t part, const value& content,
                   const value& item) {
    if (kind_of(content) == "refusal" && !is_said(output, part))
      refuse(output, part, text_in(content["refusal"]));
    if (kind_of(content) != "output_text")
      return;
    if (!is_said(output, part))
      say(output, part, text_in(content["text"]));
    if (text_in(content["text"]).empty())
      return;
    if (item["id"].is_string())
      builder.set_in_block(place(output, part), "id", item["id"]);
    if (content["annotations"].is_list() && !content["annotations"].empty())
      builder.set_in_block(place(output, part), "annotations", content["annotations"]);
  }

  void finish_reasoning(std::int64_t output, const value& item) {
    std::int64_t part = 0;
    builder.begin_summary(place(output));
    for (const auto& summary : item["summary"].items()) {
      if (!is_said(output, part))
        reason(output, part, text_in(summary["text"]));
      ++part;
    }
    for (const auto* name : {"id", "encrypted_content", "content", "status"})
      if (!item[name].is_null())
        builder.set_in_block(place(output), name, item[name]);
  }

  void finish_call(std::int64_t output, const value& item) {
    call(output, item);
    if (!is_said(output, 0))
      argue(output, text_in(item["arguments"]));
    builder.add_block(place(output), item);
  }

  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> places_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> said_; // bytes that came in pieces
  std::set<std::int64_t> calls_;
};

// ---- streams ------------------------------------------------------------------------------------

class responses_stream final : public answer_reader {
public:
  explicit responses_stream(answer_form form) : items_{std::move(form)} {}

  void take(const sse_event& event) override {
    if (event.data == "[DONE]")
      return;
    auto read = from_json(event.data, json_form::plain);
    if (!read || !read->is_map())
      throw broken_answer("an event is not a JSON object");
    take_event(*read);
  }

  std::vector<value> take_parts() override { return items_.builder.take_parts(); }
  bool has_content() const override { return items_.builder.has_content(); }
  bool is_complete() const override { return complete_; }
  bool is_over() const override { return complete_; }
  value finish() override { return items_.builder.finish(); }

private:
  void take_event(const value& data) {
    auto kind = kind_of(data);
    auto output = count_in(data["output_index"]);
    auto part = count_in(data["content_index"]);
    auto piece = text_in(data["delta"]);
    if (kind == "response.output_text.delta")
      items_.say(output, part, piece);
    else if (kind == "response.refusal.delta")
      items_.refuse(output, part, piece);
    else if (kind == "response.reasoning_summary_text.delta")
      items_.reason(output, count_in(data["summary_index"]), piece);
    else if (kind == "response.function_call_arguments.delta")
      items_.argue(output, piece);
    else if (kind == "response.output_item.added" && kind_of(data["item"]) == "function_call")
      items_.call(output, data["item"]);
    else if (kind == "response.output_item.done")
      items_.finish(output, data["item"]);
    else if (kind == "response.completed" || kind == "response.incomplete")
      end(data["response"]);
    else if (kind == "response.failed")
      throw reported(data["response"]["error"]);
    else if (kind == "error" || !data["error"].is_null())
      throw reported(data["error"].is_map() ? data["error"] : data);
  }

  void end(const value& response) {
    describe_response(items_.builder, response, items_.has_calls());
    complete_ = true;
  }

  output_items items_;
  bool complete_ = false;
};

class responses_format final : public model_wire {
public:
  responses_format(std::string model, chat_model_options options)
    : model_{std::move(model)},
      options_{std::move(options)} {}

  std::string url() const override { return options_.base_url + "/responses"; }
  http_headers headers(const std::string& key, const model_request& asked) const override {
    return openai_headers(key, options_, asked);
  }
  value request(const model_request& asked, bool stream) const override {
    return responses_request(model_, options_, asked, stream);
  }
  value answer(const value& json, std::string message_id) const override {
    return responses_answer(json, std::move(message_id));
  }
  std::unique_ptr<answer_reader> reader(const model_request&,
                                        std::string message_id) const override {
    return responses_reader(std::move(message_id));
  }

private:
  std::string model_;
  chat_model_options options_;
};

} // namespace

value responses_answer(const value& json, std::string message_id) {
  if (!json["error"].is_null())
    throw reported(json["error"]);
  if (!json["output"].is_list())
    throw broken_answer("it has no output");
  output_items items{{.id = std::move(message_id), .as_blocks = true}};
  std::int64_t number = 0;
  for (const auto& item : json["output"].items())
    items.finish(number++, item);
  describe_response(items.builder, json, items.has_calls());
  return items.builder.finish();
}

std::unique_ptr<answer_reader> responses_reader(std::string message_id) {
  return std::make_unique<responses_stream>(
    answer_form{.id = std::move(message_id), .as_blocks = true, .gives_parts = true});
}

std::unique_ptr<model_wire> responses_wire(std::string model, chat_model_options options) {
  return std::make_unique<responses_format>(std::move(model), std::move(options));
}

} // namespace troupe
