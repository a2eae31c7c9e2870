// Middleware for long conversations: the part of them that the model sees.
#include <troupe/agents/middleware.hpp>

#include "agents/agent_model.hpp"
#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"

#include <algorithm>
#include <ranges>

namespace troupe {
namespace {

constexpr std::string_view placeholder = "{messages}";

constexpr std::string_view default_prompt =
  "You extract what matters from a conversation that is about to be replaced by your extract, "
  "because it has grown too long. Nothing but your extract will be left of it.\n\n"
  "Answer with these four sections, \"None\" where there is nothing to say:\n"
  "## Session intent\nWhat the user wants.\n"
  "## Summary\nWhat was found and decided, with reasons and what was rejected.\n"
  "## Artifacts\nFiles and other things that were made or changed, with their paths.\n"
  "## Next steps\nWhat is left to do.\n\n"
  "Answer with the extract only.\n\n<messages>\n{messages}\n</messages>";

// ---- summarization --------------------------------------------------------------------------

struct summarizer {
  chat_model_ptr model;
  summary_options options; // fractions are converted to tokens
};

std::int64_t count(const summarizer& by, const value& messages, bool scaled) {
  if (by.options.token_counter)
    return by.options.token_counter(messages);
  token_estimate how{.use_usage_metadata_scaling = scaled};
  if (provider_of(*by.model) == "anthropic")
    how.chars_per_token = 3.3; // the reference's ratio for these models
  return count_tokens_approximately(messages, how);
}

// The tokens that the same model counted for its last call; 0 when another model answered.
std::int64_t tokens_of_last_answer(const chat_model& model, const value& messages) {
  auto provider = value(provider_of(model));
  for (const auto& m : messages.items() | std::views::reverse)
    if (message_role(m) == "assistant") {
      auto total = message_member(m, "usage")["total_tokens"];
      bool same = message_member(m, "response_metadata")["model_provider"] == provider;
      return same && total.is_int() ? total.as_int() : 0;
    }
  return 0;
}

bool is_long(const summarizer& by, const value& messages) {
  const auto& o = by.options;
  bool many = o.trigger_messages > 0 && messages.size() >= o.trigger_messages;
  auto large = [&] {
    return o.trigger_tokens > 0
           && (tokens_of_last_answer(*by.model, messages) >= o.trigger_tokens
               || count(by, messages, true) >= o.trigger_tokens);
  };
  bool both = o.all_triggers && o.trigger_messages > 0 && o.trigger_tokens > 0;
  return both ? many && large() : many || large();
}

// The first message of the longest end of the conversation that fits into the budget.
std::size_t first_within(const summarizer& by, const value& messages) {
  auto items = messages.items();
  auto fits = [&](std::size_t first) {
    auto rest = items.subspan(first);
    return count(by, value::list({rest.begin(), rest.end()}), false) <= by.options.keep_tokens;
  };
  std::size_t low = 0, high = items.empty() ? 0 : items.size() - 1;
  while (low < high)
    if (auto middle = low + (high - low) / 2; fits(middle))
      high = middle;
    else
      low = middle + 1;
  return low;
}

bool calls_for(const value& message, const value& answer) {
  auto calls = message_tool_calls(message).items();
  return std::ranges::any_of(calls, [&answer](const value& call) {
    return call["id"] == message_member(answer, "tool_call_id");
  });
}

// The beginning of the part that is kept: calls stay together with their answers.
std::size_t cut_of(const summarizer& by, const value& messages) {
  const auto& options = by.options;
  auto kept = std::min(options.keep_messages, messages.size());
  auto cut = options.keep_tokens > 0 ? first_within(by, messages) : messages.size() - kept;
  if (cut == messages.size() || message_role(messages[cut]) != "tool")
    return cut;
  for (auto at = cut; at-- > 0;)
    if (calls_for(messages[at], messages[cut]))
      return at;
  while (cut < messages.size() && message_role(messages[cut]) == "tool")
    ++cut; // answers without calls are summed up with the rest
  return cut;
}

// The part of the conversation to sum up, as text; empty when no message is in it.
std::string history_of(const summary_options& options, const value& older) {
  auto trimmed = trim_messages(older, {.max_tokens = options.tokens_to_summarize,
                                       .allow_partial = true,
                                       .start_on = {"user"},
                                       .include_system = true});
  return trimmed.empty() ? std::string{} : get_buffer_string(trimmed, buffer_format::xml);
}

value prompt_of(const summary_options& options, const std::string& history) {
  auto prompt = options.prompt.empty() ? std::string{default_prompt} : options.prompt;
  if (auto at = prompt.find(placeholder); at != std::string::npos)
    prompt.replace(at, placeholder.size(), history);
  return value::list({human_message(prompt)});
}

// The beginning of the character at `at`.
std::size_t character_at(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    --at;
  return at;
}

// The history without its middle. The kept part is half of it, or 2/5 of the model's window if that
// is less. A quarter of the kept part is from the beginning, the rest from the end.
std::string without_middle(const std::string& history, const chat_model& model) {
  constexpr std::size_t bytes_a_token = 3;
  auto kept = history.size() / 2;
  if (auto window = model.profile()["max_input_tokens"]; window.is_int() && window.as_int() > 0)
    kept = std::min(kept, static_cast<std::size_t>(window.as_int()) * 2 / 5 * bytes_a_token);
  auto head = character_at(history, kept / 4);
  auto tail = character_at(history, history.size() - (kept - kept / 4));
  return history.substr(0, head) + "\n[... middle of conversation omitted ...]\n"
         + history.substr(tail);
}

// Asks once more with a shorter history when the first one was too long.
coro<value> summary_of(const summarizer& by, std::string history, context& ctx) {
  for (bool shortened = false;; shortened = true) {
    try {
      model_request request{prompt_of(by.options, history)};
      auto asked = by.model->invoke(std::move(request), ctx); // its parts are not for readers of
                                                              // messages
      auto answer = co_await asked;
      co_return answer;
    } catch (const std::exception& why) {
      if (shortened || failure_of(why).type() != "ContextOverflowError")
        throw;
    }
    history = without_middle(history, *by.model);
  }
}

value summary_message(const std::string& summary) {
  auto message = human_message("Here is a summary of the conversation to date:\n\n" + summary);
  return value::extension(value_kind::message,
                          message.payload().with("additional_kwargs",
                                                 value::map({{"lc_source", "summarization"}})));
}

coro<value> summarize(std::shared_ptr<const summarizer> by, value messages, context& ctx) {
  if (!is_long(*by, messages))
    co_return value{};
  auto cut = cut_of(*by, messages);
  if (cut == 0)
    co_return value{};
  auto items = messages.items();
  auto older = value::list({items.begin(), items.begin() + static_cast<std::ptrdiff_t>(cut)});
  std::string summary = "Previous conversation was too long to summarize.";
  if (auto history = history_of(by->options, older); !history.empty()) {
    auto asked = summary_of(*by, std::move(history), ctx);
    auto answer = co_await asked;
    summary = message_text(answer);
  }
  std::vector<value> kept{remove_message(REMOVE_ALL_MESSAGES), summary_message(summary)};
  kept.insert(kept.end(), items.begin() + static_cast<std::ptrdiff_t>(cut), items.end());
  co_return value::map({{"messages", value::list(std::move(kept))}});
}

error bad_bound(const std::string& why) {
  return {errc::invalid_config, "summarize conversations: " + why};
}

// The smaller one of both bounds, in tokens.
void set_tokens(const chat_model& model, double fraction, std::int64_t& tokens) {
  if (tokens < 0)
    throw bad_bound("a bound of tokens must not be negative");
  if (fraction == 0)
    return;
  if (!(fraction > 0 && fraction <= 1))
    throw bad_bound("a fraction must be between 0 and 1");
  auto most = model.profile()["max_input_tokens"];
  if (!most.is_int() || most.as_int() < 1)
    throw bad_bound("a fraction needs the model's bound of tokens: the profile of model `"
                    + model.name() + "` has no max_input_tokens");
  auto part = std::max<std::int64_t>(
    1, static_cast<std::int64_t>(static_cast<double>(most.as_int()) * fraction));
  tokens = tokens == 0 ? part : std::min(tokens, part);
}

// ---- clearing -------------------------------------------------------------------------------

value with_note(const value& message, const value& note) {
  const auto& metadata = message_member(message, "response_metadata");
  return value::extension(
    value_kind::message,
    message.payload().with(
      "response_metadata",
      (metadata.is_map() ? metadata : value::map()).with("context_editing", note)));
}

value cleared(const value& message, const clear_options& options) {
  auto noted = with_note(message, value::map({{"cleared", true}, {"strategy", "clear_tool_uses"}}));
  return value::extension(value_kind::message,
                          noted.payload().with("content", options.placeholder).without("artifact"));
}

// The ids of calls whose arguments were cleared, as a message notes them, with this one added; in
// order.
value cleared_inputs(const value& note, const value& call_id) {
  const auto& before = note["cleared_tool_inputs"];
  std::vector<value> ids(before.items().begin(), before.items().end());
  if (std::ranges::find(ids, call_id) == ids.end())
    ids.push_back(call_id);
  std::ranges::sort(ids, {}, [](const value& id) { return text_in(id); });
  return value::list(std::move(ids));
}

// The message without the arguments of this call, and with a note of that.
value without_arguments(const value& message, const value& call_id) {
  std::vector<value> calls;
  for (const auto& call : message_tool_calls(message).items())
    calls.push_back(call["id"] == call_id ? call.with("args", value::map()) : call);
  std::vector<value> blocks;
  const auto& content = message_member(message, "content");
  for (const auto& block : content.items())
    blocks.push_back(block["type"] == value("tool_use") && block["id"] == call_id
                       ? block.with("input", value::map())
                       : block);
  auto payload = message.payload().with("tool_calls", value::list(std::move(calls)));
  if (content.is_list())
    payload = payload.with("content", value::list(std::move(blocks)));
  auto note = message_member(message, "response_metadata")["context_editing"];
  note = (note.is_map() ? note : value::map())
           .with("cleared_tool_inputs", cleared_inputs(note, call_id));
  return with_note(value::extension(value_kind::message, std::move(payload)), note);
}

// The places of results that may be cleared, the oldest first: all but the last few.
std::vector<std::size_t> older_results(const std::vector<value>& messages, std::size_t keep) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (message_role(messages[i]) == "tool")
      out.push_back(i);
  out.resize(out.size() - std::min(keep, out.size()));
  return out;
}

// The call that a result answers, in the last answer before it; null without one.
value call_of(const value& answer, const value& result) {
  for (const auto& call : message_tool_calls(answer).items())
    if (call["id"] == message_member(result, "tool_call_id"))
      return call;
  return {};
}

bool may_go(const value& result, const value& call, const clear_options& options) {
  if (call.is_null())
    return false;
  const auto& named = message_member(result, "name");
  return !names(options.exclude_tools, text_in(named).empty() ? call["name"] : named);
}

value with_cleared_results(const value& messages, const clear_options& options) {
  std::vector<value> out(messages.items().begin(), messages.items().end());
  auto tokens = [](const value& m) { return count_tokens_approximately(value::list({m})); };
  std::int64_t saved = 0;
  for (auto i : older_results(out, options.keep)) {
    if (options.clear_at_least > 0 && saved >= options.clear_at_least)
      break;
    auto answer = std::find_if(out.rend() - static_cast<std::ptrdiff_t>(i), out.rend(),
                               [](const value& m) { return message_role(m) == "assistant"; });
    auto call = answer == out.rend() ? value{} : call_of(*answer, out[i]);
    if (!may_go(out[i], call, options))
      continue;
    saved += tokens(out[i]);
    out[i] = cleared(out[i], options);
    saved -= tokens(out[i]);
    if (options.clear_tool_inputs) {
      saved += tokens(*answer);
      *answer = without_arguments(*answer, call["id"]);
      saved -= tokens(*answer);
    }
  }
  return value::list(std::move(out));
}

} // namespace

middleware summarization(chat_model_ptr model, summary_options options) {
  set_tokens(*model, options.trigger_fraction, options.trigger_tokens);
  set_tokens(*model, options.keep_fraction, options.keep_tokens);
  if (options.trigger_messages == 0 && options.trigger_tokens == 0)
    throw bad_bound("set trigger_messages, trigger_tokens or trigger_fraction");
  auto by = std::make_shared<const summarizer>(summarizer{std::move(model), std::move(options)});
  middleware out;
  out.name = "summarization";
  out.before_model = [by](const state_view& state, context& ctx) {
    return summarize(by, state["messages"], ctx);
  };
  return out;
}

middleware context_editing(clear_options options) {
  middleware out;
  out.name = "context_editing";
  out.wrap_model_call = [options = std::move(options)](model_call call, model_executor run) {
    if (count_tokens_approximately(call.request.messages) > options.trigger_tokens)
      call.request.messages = with_cleared_results(call.request.messages, options);
    return run(std::move(call));
  };
  return out;
}

} // namespace troupe
