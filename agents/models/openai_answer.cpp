// openai_answer: answers of OpenAI's chat completions, and of servers that are roughly compatible.
#include "agents/messages/json_text.hpp"
#include "agents/models/answer_builder.hpp"
#include "agents/models/openai_echo.hpp"
#include "agents/models/openai_wire.hpp"

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// The members in which servers send a model's thoughts.
constexpr std::array<const char*, 2> spoken_thoughts{"reasoning_content", "reasoning"};

token_usage counted(const value& given) {
  token_usage out;
  out.input = count_in(given["prompt_tokens"]);
  out.output = count_in(given["completion_tokens"]);
  out.total = count_in(given["total_tokens"], -1);
  out.cache_read = count_in(given["prompt_tokens_details"]["cached_tokens"], -1);
  out.audio_input = count_in(given["prompt_tokens_details"]["audio_tokens"], -1);
  out.reasoning = count_in(given["completion_tokens_details"]["reasoning_tokens"], -1);
  out.audio_output = count_in(given["completion_tokens_details"]["audio_tokens"], -1);
  return out;
}

void describe_answer(answer_builder& into, const value& json) {
  into.set_metadata("id", json["id"]);
  into.set_metadata("model_name", json["model"]);
  into.set_metadata("system_fingerprint", json["system_fingerprint"]);
  into.set_metadata("service_tier", json["service_tier"]);
  into.set_metadata("model_provider", "openai");
}

// Adds texts, and Mistral's thoughts, which are lists of texts.
void add_said_block(answer_builder& into, const value& block) {
  if (block["type"] == value("text"))
    into.add_text(0, text_in(block["text"]));
  if (block["type"] == value("thinking"))
    for (const auto& thought : block["thinking"].items())
      if (auto text = text_in(thought["text"]); !text.empty())
        into.add_extra_text("reasoning_content", text);
}

// The first of the requested answers: with n > 1, a stream mixes the events of all. Null when it is
// missing.
const value& first_choice(const value& json) {
  static const value none;
  for (const auto& choice : json["choices"].items())
    if (count_in(choice["index"]) == 0)
      return choice;
  return none;
}

// Adds everything but the calls of a message, or of a piece of one.
void add_said(answer_builder& into, const value& said) {
  for (const auto* name : spoken_thoughts)
    if (auto text = text_in(said[name]); !text.empty()) {
      into.add_extra_text("reasoning_content", text);
      break;
    }
  if (auto text = text_in(said["refusal"]); !text.empty())
    into.add_extra_text("refusal", text);
  if (auto text = text_in(said["content"]); !text.empty())
    into.add_text(0, text);
  for (const auto& block : said["content"].items())
    add_said_block(into, block);
}

// The probabilities of words: lists that come in pieces.
class likelihoods {
public:
  void add(const value& given) {
    for (auto& [name, list] : lists_)
      list.insert(list.end(), given[name].items().begin(), given[name].items().end());
  }
  /// Null when none came.
  value whole() const {
    auto out = value::map();
    for (const auto& [name, list] : lists_)
      if (!list.empty())
        out = out.with(name, value::list(list));
    return out.empty() ? value{} : out;
  }

private:
  std::array<std::pair<const char*, std::vector<value>>, 2> lists_{
    {{"content", {}}, {"refusal", {}}}};
};

// Arguments are a text; some servers send the object itself.
std::string arguments_in(const value& function) {
  const auto& arguments = function["arguments"];
  return arguments.is_map() ? spaced_json(arguments) : text_in(arguments);
}

// Finds the call of a piece: by its index. Without one, an id or name begins a new call.
class call_finder {
public:
  /// The call's number, and whether the call is new.
  std::pair<std::int64_t, bool> find(const value& piece) {
    const auto& index = piece["index"];
    auto id = text_in(piece["id"]);
    bool named = !id.empty() || !text_in(piece["function"]["name"]).empty();
    if (index.is_int()) {
      auto [it, is_new] = by_index_.try_emplace(index.as_int(), count_);
      if (!is_new && !id.empty() && !ids_[it->second].empty() && ids_[it->second] != id) {
        it->second = count_; // another call under the same index
        is_new = true;
      }
      return note(it->second, is_new, id);
    }
    for (const auto& [number, known] : ids_)
      if (!id.empty() && known == id)
        return note(number, false, id);
    if (named || count_ == 0)
      return note(count_, true, id);
    return note(count_ - 1, false, id);
  }

private:
  std::pair<std::int64_t, bool> note(std::int64_t number, bool is_new, const std::string& id) {
    if (is_new)
      ++count_;
    if (!id.empty())
      ids_[number] = id;
    return {number, is_new};
  }

  std::map<std::int64_t, std::int64_t> by_index_;
  std::map<std::int64_t, std::string> ids_;
  std::int64_t count_ = 0;
};

class openai_stream final : public answer_reader {
public:
  openai_stream(answer_form form, std::string endpoint)
    : builder_{std::move(form)},
      echo_{std::move(endpoint)} {}

  void take(const sse_event& event) override {
    if (event.data == "[DONE]") {
      done_ = true;
      return;
    }
    auto read = from_json(event.data, json_form::plain);
    if (!read || !read->is_map())
      throw broken_answer("an event is not a JSON object");
    const auto& data = *read;
    if (!data["error"].is_null() || event.type == "error")
      throw refused_by_event(data);
    if (!std::exchange(begun_, true))
      describe_answer(builder_, data);
    for (const auto* given : {&data["x_groq"]["usage"], &data["usage"]})
      if (given->is_map())
        usage_ = *given; // the last one counts: some servers send cumulative numbers
    go_on(first_choice(data));
  }

  std::vector<value> take_parts() override { return builder_.take_parts(); }
  bool has_content() const override { return builder_.has_content(); }
  bool is_complete() const override { return done_ || finished_; }
  bool is_over() const override { return done_; }
  value finish() override {
    if (!usage_.is_null())
      builder_.set_usage(usage_value(counted(usage_)));
    builder_.set_metadata("logprobs", likely_.whole());
    echo_.keep_in(builder_);
    return builder_.finish();
  }

private:
  void go_on(const value& choice) {
    const auto& delta = choice["delta"];
    likely_.add(choice["logprobs"]);
    add_said(builder_, delta);
    echo_.hear(delta);
    for (const auto& piece : delta["tool_calls"].items())
      add_call(piece);
    if (!choice["finish_reason"].is_null()) {
      builder_.set_metadata("finish_reason", choice["finish_reason"]);
      finished_ = true;
    }
  }

  void add_call(const value& piece) {
    const auto& function = piece["function"];
    auto [number, is_new] = calls_.find(piece);
    if (is_new)
      builder_.begin_call(number, text_in(piece["id"]), text_in(function["name"]),
                          call_extras(piece));
    if (auto arguments = arguments_in(function); !arguments.empty())
      builder_.add_arguments(number, arguments);
  }

  answer_builder builder_;
  openai_echo echo_;
  call_finder calls_;
  likelihoods likely_;
  value usage_;
  bool begun_ = false;
  bool finished_ = false;
  bool done_ = false;
};

class openai_format final : public model_wire {
public:
  openai_format(std::string model, chat_model_options options, bool own_address)
    : model_{std::move(model)},
      options_{std::move(options)},
      own_address_{own_address} {}

  std::string url() const override { return options_.base_url + "/chat/completions"; }
  http_headers headers(const std::string& key, const model_request& asked) const override {
    return openai_headers(key, options_, asked);
  }
  value request(const model_request& asked, bool stream) const override {
    return openai_request(model_, options_, asked, stream, own_address_);
  }
  value answer(const value& json, std::string message_id) const override {
    return openai_answer(json, std::move(message_id), endpoint());
  }
  std::unique_ptr<answer_reader> reader(const model_request&,
                                        std::string message_id) const override {
    return openai_reader(std::move(message_id), endpoint());
  }

private:
  // OpenAI's own endpoint requires no data to be sent back.
  std::string endpoint() const { return own_address_ ? "" : endpoint_of(options_.base_url); }

  std::string model_;
  chat_model_options options_;
  bool own_address_;
};

} // namespace

value openai_answer(const value& json, std::string message_id, std::string endpoint) {
  if (!json["error"].is_null())
    throw refused_by_event(json);
  const auto& choice = first_choice(json);
  const auto& said = choice["message"];
  if (!said.is_map())
    throw broken_answer("it has no choices");
  answer_builder out{{.id = std::move(message_id)}};
  add_said(out, said);
  std::int64_t number = 0;
  for (const auto& call : said["tool_calls"].items()) {
    out.begin_call(number, text_in(call["id"]), text_in(call["function"]["name"]),
                   call_extras(call));
    out.add_arguments(number++, arguments_in(call["function"]));
  }
  describe_answer(out, json);
  out.set_metadata("finish_reason", choice["finish_reason"]);
  out.set_metadata("logprobs", choice["logprobs"]);
  if (json["usage"].is_map())
    out.set_usage(usage_value(counted(json["usage"])));
  openai_echo echo{std::move(endpoint)};
  echo.hear(said);
  echo.keep_in(out);
  return out.finish();
}

std::unique_ptr<answer_reader> openai_reader(std::string message_id, std::string endpoint) {
  return std::make_unique<openai_stream>(
    answer_form{.id = std::move(message_id), .gives_parts = true}, std::move(endpoint));
}

std::unique_ptr<model_wire> openai_wire(std::string model, chat_model_options options,
                                        bool own_address) {
  return std::make_unique<openai_format>(std::move(model), std::move(options), own_address);
}

} // namespace troupe
