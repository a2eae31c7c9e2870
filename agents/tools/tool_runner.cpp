// tool_runner: a model and its tools, turn by turn.
#include <troupe/agents/tool_runner.hpp>

#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr const char* default_summary_prompt =
  "You have been working on the task described above but have not yet completed it. Write a "
  "continuation summary that will allow you (or another instance of you) to resume work "
  "efficiently in a fresh context, where the conversation is replaced by it. Be concise but "
  "complete, and include:\n"
  "1. Task Overview: the request, criteria of success, constraints\n"
  "2. Current State: what was done, which files were made or changed, what came out\n"
  "3. Important Discoveries: constraints, decisions and why, errors, what did not work\n"
  "4. Next Steps: what is left, what blocks it, in which order\n"
  "5. Context to Preserve: preferences, details of the domain, promises made\n"
  "Wrap your summary in <summary></summary> tags.";

std::int64_t tokens_in(const value& v) {
  return v.is_int() ? v.as_int() : 0;
}

enum class next_turn : std::uint8_t { none, asked_again, with_tools };

// The turn that follows an answer. The model's stop reason counts: a call in an answer that was cut
// off, refused or filtered is not run.
next_turn next_after(const value& answer) {
  const auto& metadata = message_member(answer, "response_metadata");
  auto calls = message_tool_calls(answer).empty() ? next_turn::none : next_turn::with_tools;
  if (const auto& reason = metadata["stop_reason"]; reason.is_string()) // Anthropic's member
    return reason == value("pause_turn") ? next_turn::asked_again
           : reason == value("tool_use") ? calls
                                         : next_turn::none;
  const auto& reason =
    metadata["finish_reason"]; // OpenAI's member; "stop" also after a call that was forced
  bool cut = reason == value("length") || reason == value("content_filter");
  return cut ? next_turn::none : calls;
}

bool asks_for_tools(const value& answer) {
  return next_after(answer) == next_turn::with_tools;
}

bool is_call(const value& block) {
  return block["type"] == value("tool_use") || block["type"] == value("tool_call")
         || block["type"] == value("function_call");
}

// The message without its calls; nullopt when nothing else is in it.
std::optional<value> without_calls(const value& message) {
  auto members = message.payload().without("tool_calls").without("invalid_tool_calls");
  auto content = message_member(message, "content");
  if (content.is_list()) {
    std::vector<value> kept;
    std::ranges::remove_copy_if(content.items(), std::back_inserter(kept), is_call);
    content = value::list(std::move(kept));
  }
  if (content.empty())
    return std::nullopt;
  return value::extension(value_kind::message, members.with("content", content));
}

tool_node node_of(const tool_runner_params& params, const tool_runner_options& options) {
  if (!params.model)
    throw error{errc::invalid_config, "run tools: the model is missing"};
  return tool_node{params.tools, {.handle_tool_errors = options.handle_tool_errors}};
}

// A conversation whose last answer has no open calls.
value without_open_calls(const value& messages) {
  if (unanswered_calls(messages).empty())
    return messages;
  std::vector<value> out(messages.items().begin(), messages.items().end());
  for (auto at = out.rbegin(); at != out.rend(); ++at)
    if (message_role(*at) == "assistant") {
      if (auto kept = without_calls(*at))
        *at = *kept;
      else
        out.erase(std::next(at).base());
      break;
    }
  return value::list(std::move(out));
}

} // namespace

std::int64_t context_tokens(const value& answer) {
  const auto& usage = message_member(answer, "usage");
  std::int64_t out = 0;
  for (const auto* name :
       {"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"})
    out += tokens_in(usage[name]);
  return out;
}

coro<value> compacted(chat_model& model, value messages, std::string summary_prompt, context& ctx,
                      value settings) {
  auto shown = without_open_calls(messages);
  model_request request{shown.append(human_message(summary_prompt))};
  request.settings = std::move(settings);
  request.headers = {{"X-Stainless-Helper", "compaction"}};
  auto asked = model.invoke(std::move(request), ctx);
  auto answer = co_await asked;
  auto text = message_text(answer);
  if (text.empty())
    throw value_error("Compaction response content is not of type 'text'");
  co_return value::list({human_message(value::list({text_block(text)}))});
}

tool_runner::tool_runner(chat_model_ptr model, std::vector<tool> tools, value messages,
                         tool_runner_options options)
  : params_{.model = std::move(model),
            .tools = std::move(tools),
            .messages = std::move(messages),
            .settings = std::exchange(options.settings, value::map())},
    options_{std::move(options)},
    node_{node_of(params_, options_)} {}

void tool_runner::set_messages_params(tool_runner_params params) {
  auto node = node_of(params, options_);
  node_ = std::move(node);
  params_ = std::move(params);
}

void tool_runner::set_messages_params(
  const std::function<tool_runner_params(tool_runner_params)>& change) {
  set_messages_params(change(params_));
}

void tool_runner::add_tools(const std::vector<tool>& tools) {
  auto changed = params_;
  changed.tools.insert(changed.tools.end(), tools.begin(), tools.end());
  set_messages_params(std::move(changed));
}

void tool_runner::remove_tools(const std::vector<std::string>& names) {
  auto changed = params_;
  for (const auto& name : names)
    if (std::erase_if(changed.tools, [&name](const tool& t) { return t.name() == name; }) == 0)
      throw error{errc::missing_key, "remove tools of a runner: unknown tool `" + name + '`'};
  set_messages_params(std::move(changed));
}

void tool_runner::append_messages(const std::vector<value>& messages) {
  params_.messages = params_.messages.append_all(messages);
  modified_ = true;
  response_.reset();
}

coro<value> tool_runner::tool_response(context& ctx) {
  if (response_)
    co_return *response_;
  if (answer_.is_null() || !asks_for_tools(answer_))
    co_return value::list();
  state_view state{value::map({{"messages", value::list({answer_})}})};
  auto running = node_(state, ctx);
  auto out = co_await running;
  std::vector<value> results;
  for (const auto& part : out.parts)
    if (const auto* update = std::get_if<state_update>(&part))
      for (const auto& [channel, v] : update->entries())
        results.insert(results.end(), v.items().begin(), v.items().end());
  response_ = value::list(std::move(results));
  co_return *response_;
}

bool tool_runner::is_too_long() const {
  const auto& control = options_.compaction;
  return control.enabled && context_tokens(answer_) >= control.context_token_threshold;
}

// Adds the turn to the conversation. Result: whether another turn follows.
coro<bool> tool_runner::finish_turn(context& ctx) {
  auto next = next_after(answer_);
  if (next == next_turn::with_tools && is_too_long()) {
    const auto& control = options_.compaction;
    auto model = control.model ? control.model : params_.model;
    auto whole = modified_ ? params_.messages : params_.messages.append(answer_);
    auto prompt = control.summary_prompt.empty() ? std::string{default_summary_prompt}
                                                 : control.summary_prompt;
    auto settings = value::map();
    if (const auto& most = params_.settings["max_tokens"]; !most.is_null())
      settings = settings.with("max_tokens", most);
    auto compacting = compacted(*model, whole, prompt, ctx, settings);
    params_.messages = co_await compacting;
    co_return true;
  }
  auto results = value::list();
  if (next == next_turn::with_tools) {
    auto running = tool_response(ctx);
    results = co_await running;
  }
  if (!modified_)
    params_.messages = params_.messages.append(answer_).append_all(results.items());
  co_return next != next_turn::none;
}

coro<std::optional<value>> tool_runner::next(context& ctx, part_reader on_part) {
  bool full = options_.max_iterations > 0 && iterations_ >= options_.max_iterations;
  if (!answer_.is_null() && !full) {
    auto finishing = finish_turn(ctx);
    bool goes_on = co_await finishing;
    answer_ = value{};
    ended_ = !goes_on; // a further call returns the same
  }
  if (ended_ || full)
    co_return std::optional<value>{};
  model_request request{params_.messages};
  request.tools = tool_definitions(params_.tools);
  request.tool_choice = params_.tool_choice;
  request.settings = params_.settings;
  bool in_parts = false;
  if (on_part)
    request.on_part = [&on_part, &in_parts](const value& part) {
      in_parts = true;
      on_part(part);
    };
  auto model = params_.model; // a reader of parts may set another one
  auto asked = ask_model(*model, std::move(request), ctx);
  answer_ = co_await asked;
  if (on_part && !in_parts)
    on_part(answer_);
  ++iterations_;
  modified_ = false;
  response_.reset();
  co_return std::optional<value>{answer_};
}

coro<value> tool_runner::until_done(context& ctx, part_reader on_part) {
  value last;
  while (true) {
    auto turn = next(ctx, on_part);
    auto answer = co_await turn;
    if (!answer)
      break;
    last = *answer;
  }
  if (last.is_null())
    throw error{errc::invalid_value, "run tools until done: the model was not asked"};
  co_return last;
}

} // namespace troupe
