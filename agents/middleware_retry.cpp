// Trying again, and asking somebody else.
#include <troupe/chat_models.hpp>
#include <troupe/middleware.hpp>

#include "agents/failure.hpp"
#include "agents/json_text.hpp"

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

// What went wrong, as an error and as it was thrown.
struct failed_attempt {
  error what;
  std::exception_ptr thrown;
  std::uint32_t attempt = 1;
  bool stays = false; // a model's provider said that it does not go away by itself

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

// An answer in a failed model's place says so.
value marked_answer(const std::string& text, const error& failure) {
  auto answer = ai_message(text);
  auto metadata = value::map(
    {{"error", value::map({{"type", reference_name(failure)}, {"message", failure.text()}})}});
  return value::extension(value_kind::message,
                          answer.payload().with("response_metadata", metadata));
}

using options_ptr = std::shared_ptr<const retry_options>;

coro<model_response> retry_model(options_ptr options, model_call call, model_executor run) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::optional<failed_attempt> failed;
    try {
      auto asked = run(call);
      auto response = co_await asked;
      co_return response;
    } catch (const std::exception&) {
      failed = caught(attempt);
    }
    if (failed->may_try_again(*options)) {
      auto pause = call.ctx().sleep_for(delay_after(*options, attempt));
      co_await pause;
      continue;
    }
    if (!failed->is_known(*options) || !options->give_up)
      std::rethrow_exception(failed->thrown);
    co_return model_response{marked_answer(options->give_up(failed->what, attempt), failed->what)};
  }
}

std::string tool_text(const std::string& tool, const error& failure, std::uint32_t attempts) {
  return "Tool '" + tool + "' failed after " + std::to_string(attempts)
         + (attempts == 1 ? " attempt with " : " attempts with ") + reference_name(failure) + ": "
         + failure.text() + ". Please try again.";
}

coro<tool_output> retry_tool(options_ptr options, tool_call_request request, tool_executor run) {
  auto name = text_in(request.call()["name"]);
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::optional<failed_attempt> failed;
    try {
      auto called = run(request);
      auto out = co_await called;
      co_return out;
    } catch (const std::exception&) {
      failed = caught(attempt);
    }
    if (failed->may_try_again(*options)) {
      auto pause = request.runtime().sleep_for(delay_after(*options, attempt));
      co_await pause;
      continue;
    }
    if (!failed->is_known(*options))
      std::rethrow_exception(failed->thrown);
    auto text = options->give_up ? options->give_up(failed->what, attempt)
                                 : tool_text(name, failed->what, attempt);
    co_return tool_output{tool_message(text, text_in(request.call()["id"]), name, "error")};
  }
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
    call.model = (*models)[next];
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
    auto name = text_in(request.call()["name"]);
    if (!tools.empty() && std::ranges::find(tools, name) == tools.end())
      return run(std::move(request));
    return retry_tool(shared, std::move(request), std::move(run));
  };
  return out;
}

} // namespace troupe
