// Middleware for failures: retrying, and falling back on other models.
#include <troupe/agents/middleware.hpp>
#include <troupe/agents/model_providers.hpp>

#include "agents/agent_model.hpp"
#include "agents/messages/failure.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"
#include "agents/tools/tool_results.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <random>

namespace troupe {
namespace {

std::chrono::nanoseconds delay_after(const retry_options& options, std::uint32_t attempt) {
  auto first = std::chrono::duration<double>(options.delay).count();
  auto seconds = std::min(first * std::pow(options.factor, attempt - 1),
                          std::chrono::duration<double>(options.delay_max).count());
  if (options.jitter) {
    thread_local std::minstd_rand random{std::random_device{}()};
    seconds *= std::uniform_real_distribution<double>{0.75, 1.25}(random);
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
    std::chrono::duration<double>(seconds));
}

// A failure, as an error and as it was thrown.
struct failed_attempt {
  error what;
  std::exception_ptr thrown;
  std::uint32_t attempt = 1;
  bool stays = false; // a model's provider reported that a retry does not help

  bool may_try_again(const retry_options& options) const {
    return attempt <= options.retries_max && is_known(options);
  }
  bool is_known(const retry_options& options) const {
    return !ends_the_run(what) && (options.retry_on ? options.retry_on(what) : !stays);
  }
};

std::optional<failed_attempt> caught(std::uint32_t attempt) {
  auto thrown = std::current_exception();
  try {
    throw;
  } catch (const std::exception& e) {
    const auto* refused = dynamic_cast<const model_error*>(&e);
    return failed_attempt{failure_of(e), thrown, attempt, refused && !refused->may_try_again()};
  }
}

// An answer in place of a failed model's, marked as such.
value marked_answer(const std::string& text, const error& failure) {
  auto answer = ai_message(text);
  auto metadata = value::map(
    {{"error", value::map({{"type", reference_name(failure)}, {"message", failure.text()}})}});
  return value::extension(value_kind::message,
                          answer.payload().with("response_metadata", metadata));
}

using options_ptr = std::shared_ptr<const retry_options>;

detail::suspension pause(const model_call& call, std::chrono::nanoseconds delay) {
  return call.ctx().sleep_for(delay);
}
detail::suspension pause(const tool_call_request& request, std::chrono::nanoseconds delay) {
  return request.runtime().sleep_for(delay);
}

// `stand_in` returns the value to use after the last failure; with nullopt the error is thrown.
template <class Out, class Request>
coro<Out> retry(options_ptr options, Request request, std::function<coro<Out>(Request)> run,
                std::function<std::optional<Out>(const failed_attempt&)> stand_in) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::optional<failed_attempt> failed;
    try {
      auto asked = run(request);
      auto out = co_await asked;
      co_return out;
    } catch (const std::exception&) {
      failed = caught(attempt);
    }
    if (failed->may_try_again(*options)) {
      auto wait = pause(request, delay_after(*options, attempt));
      co_await wait;
      continue;
    }
    auto instead = failed->is_known(*options) ? stand_in(*failed) : std::nullopt;
    if (!instead)
      std::rethrow_exception(failed->thrown);
    co_return std::move(*instead);
  }
}

coro<model_response> retry_model(options_ptr options, model_call call, model_executor run) {
  auto stand_in = [options](const failed_attempt& failed) -> std::optional<model_response> {
    if (!options->give_up)
      return std::nullopt;
    return model_response{
      marked_answer(options->give_up(failed.what, failed.attempt), failed.what)};
  };
  return retry<model_response, model_call>(std::move(options), std::move(call), std::move(run),
                                           std::move(stand_in));
}

std::string tool_text(const std::string& tool, const error& failure, std::uint32_t attempts) {
  return "Tool '" + tool + "' failed after " + std::to_string(attempts)
         + (attempts == 1 ? " attempt with " : " attempts with ") + reference_name(failure) + ": "
         + failure.text() + ". Please try again.";
}

coro<tool_output> retry_tool(options_ptr options, tool_call_request request, tool_executor run) {
  auto stand_in =
    [options, call = request.call()](const failed_attempt& failed) -> std::optional<tool_output> {
    auto name = text_in(call["name"]);
    return tool_output{failed_tool_message(options->give_up
                                             ? options->give_up(failed.what, failed.attempt)
                                             : tool_text(name, failed.what, failed.attempt),
                                           call)};
  };
  return retry<tool_output, tool_call_request>(std::move(options), std::move(request),
                                               std::move(run), std::move(stand_in));
}

// ---- messages to the model ------------------------------------------------------------------

coro<tool_output> tell_failure(std::shared_ptr<const tool_error_text> content,
                               tool_call_request request, tool_executor run) {
  std::optional<failed_attempt> failed;
  try {
    auto called = run(request);
    auto out = co_await called;
    co_return out;
  } catch (const std::exception&) {
    failed = caught(1);
  }
  auto text = ends_the_run(failed->what) ? std::nullopt : (*content)(failed->what, request.call());
  if (!text)
    std::rethrow_exception(failed->thrown);
  co_return tool_output{failed_tool_message(std::move(*text), request.call())};
}

bool is_for(const std::vector<std::string>& tools, const value& call) {
  return tools.empty() || names(tools, call["name"]);
}

// ---- another model --------------------------------------------------------------------------

value without_cache_marks(const value& v) {
  if (v.is(value_kind::message))
    return value::extension(value_kind::message, without_cache_marks(v.payload()));
  if (v.is_list()) {
    std::vector<value> out;
    for (const auto& item : v.items())
      out.push_back(without_cache_marks(item));
    return value::list(std::move(out));
  }
  if (!v.is_map())
    return v;
  auto out = v.without("cache_control");
  const auto& content = out["content"];
  return content.is_list() ? out.with("content", without_cache_marks(content)) : out;
}

// A provider's cache settings would be refused by another provider.
void forget_cache_settings(model_call& call) {
  auto& request = call.request;
  for (const auto* name : {"cache_control", "prompt_cache_key"})
    request.settings = request.settings.without(name);
  request.messages = without_cache_marks(request.messages);
  request.tools = without_cache_marks(request.tools);
  call.system_message = without_cache_marks(call.system_message);
}

using models_ptr = std::shared_ptr<const std::vector<chat_model_ptr>>;

coro<model_response> fall_back(models_ptr models, model_call call, model_executor run) {
  for (std::size_t next = 0;; ++next) {
    std::optional<failed_attempt> failed;
    try {
      auto asked = run(call);
      auto response = co_await asked;
      co_return response;
    } catch (const std::exception&) {
      failed = caught(1);
    }
    if (next == models->size() || ends_the_run(failed->what))
      std::rethrow_exception(failed->thrown);
    const auto& other = (*models)[next];
    if (provider_of(*other) != provider_of(*call.model))
      forget_cache_settings(call);
    call.model = other;
  }
}

} // namespace

middleware model_fallback(std::vector<chat_model_ptr> models) {
  middleware out;
  out.name = "model_fallback";
  out.wrap_model_call = [all = std::make_shared<const std::vector<chat_model_ptr>>(
                           std::move(models))](model_call call, model_executor run) {
    return fall_back(all, std::move(call), std::move(run));
  };
  return out;
}

middleware model_retry(retry_options options) {
  middleware out;
  out.name = "model_retry";
  out.wrap_model_call = [shared = std::make_shared<const retry_options>(std::move(options))](
                          model_call call, model_executor run) {
    return retry_model(shared, std::move(call), std::move(run));
  };
  return out;
}

middleware tool_retry(retry_options options, std::vector<std::string> tools) {
  middleware out;
  out.name = "tool_retry";
  out.wrap_tool_call = [shared = std::make_shared<const retry_options>(std::move(options)),
                        tools = std::move(tools)](tool_call_request request, tool_executor run) {
    if (!is_for(tools, request.call()))
      return run(std::move(request));
    return retry_tool(shared, std::move(request), std::move(run));
  };
  return out;
}

middleware tool_error_messages(tool_error_text content, std::vector<std::string> tools) {
  if (!content)
    throw error{
      errc::invalid_config,
      "report failures of tools to the model: the function that makes the text is missing"};
  middleware out;
  out.name = "tool_error_messages";
  out.wrap_tool_call = [shared = std::make_shared<const tool_error_text>(std::move(content)),
                        tools = std::move(tools)](tool_call_request request, tool_executor run) {
    if (!is_for(tools, request.call()))
      return run(std::move(request));
    return tell_failure(shared, std::move(request), std::move(run));
  };
  return out;
}

} // namespace troupe
