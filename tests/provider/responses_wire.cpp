// Answers of OpenAI's Responses API: whole ones, and events.
#include "tests/provider/responses_wire.hpp"

namespace troupe::test {

namespace {

using response_entries = std::vector<value::map_init>;

value response_usage(const model_usage& u) {
  return value::map({{"input_tokens", u.input},
                     {"output_tokens", u.output},
                     {"total_tokens", u.input + u.output},
                     {"input_tokens_details", value::map({{"cached_tokens", u.cache_read}})},
                     {"output_tokens_details", value::map({{"reasoning_tokens", 0}})}});
}

value reasoning_item(const model_answer& a, bool done) {
  auto summary = done ? value::list({value::map({{"type", "summary_text"}, {"text", a.thinking}})})
                      : value::list();
  return value::map({{"type", "reasoning"}, {"id", "rs_1"}, {"summary", summary}});
}

value message_item(const model_answer& a, bool done) {
  auto content = done ? value::list({value::map(
                   {{"type", "output_text"}, {"text", a.text}, {"annotations", value::list()}})})
                      : value::list();
  return value::map({{"type", "message"},
                     {"id", "item_1"},
                     {"role", "assistant"},
                     {"status", done ? "completed" : "in_progress"},
                     {"content", content}});
}

value call_item(const model_call& c, bool done) {
  return value::map({{"type", "function_call"},
                     {"id", "fc_" + c.id},
                     {"call_id", c.id},
                     {"name", c.name},
                     {"arguments", done ? c.arguments : ""},
                     {"status", done ? "completed" : "in_progress"}});
}

std::vector<value> items_of(const model_answer& a) {
  std::vector<value> out;
  if (!a.thinking.empty())
    out.push_back(reasoning_item(a, true));
  if (!a.text.empty())
    out.push_back(message_item(a, true));
  for (const auto& c : a.calls)
    out.push_back(call_item(c, true));
  return out;
}

// `stop` is the reason of an incomplete answer.
value response_of(const model_answer& a, bool done) {
  return value::map(
    {{"id", "resp_" + a.id},
     {"object", "response"},
     {"created_at", 1'700'000'000},
     {"model", a.model},
     {"error", value{}},
     {"status", !done            ? "in_progress"
                : a.stop.empty() ? "completed"
                                 : "incomplete"},
     {"incomplete_details", a.stop.empty() ? value{} : value::map({{"reason", a.stop}})},
     {"output", done ? value::list(items_of(a)) : value::list()},
     {"usage", done ? response_usage(a.usage) : value{}}});
}

class response_events {
public:
  void add(const std::string& type, response_entries data) {
    data.emplace_back("type", type);
    data.emplace_back("sequence_number", static_cast<std::int64_t>(out_.size()));
    out_.push_back("event: " + type + "\ndata: " + to_json(value::map(std::move(data))) + "\n\n");
  }
  void begin(value item) {
    add("response.output_item.added", {{"output_index", index_}, {"item", std::move(item)}});
  }
  void piece(const char* type, const std::string& delta) {
    add(type,
        {{"output_index", index_}, {"content_index", 0}, {"summary_index", 0}, {"delta", delta}});
  }
  void end(value item) {
    add("response.output_item.done", {{"output_index", index_}, {"item", std::move(item)}});
    ++index_;
  }
  std::vector<std::string> take() { return std::move(out_); }

private:
  std::vector<std::string> out_;
  std::int64_t index_ = 0;
};

} // namespace

std::string responses_whole(const model_answer& a) {
  return to_json(response_of(a, true));
}

std::vector<std::string> responses_streamed(const model_answer& a, std::size_t piece_bytes) {
  response_events out;
  out.add("response.created", {{"response", response_of(a, false)}});
  if (!a.thinking.empty()) {
    out.begin(reasoning_item(a, false));
    for (const auto& word : words_of(a.thinking))
      out.piece("response.reasoning_summary_text.delta", word);
    out.end(reasoning_item(a, true));
  }
  if (!a.text.empty()) {
    out.begin(message_item(a, false));
    for (const auto& word : words_of(a.text))
      out.piece("response.output_text.delta", word);
    out.end(message_item(a, true));
  }
  for (const auto& c : a.calls) {
    out.begin(call_item(c, false));
    for (const auto& piece : pieces_of(c.arguments, piece_bytes))
      out.piece("response.function_call_arguments.delta", piece);
    out.end(call_item(c, true));
  }
  out.add(a.stop.empty() ? "response.completed" : "response.incomplete",
          {{"response", response_of(a, true)}});
  return out.take();
}

} // namespace troupe::test
