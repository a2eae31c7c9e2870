// model_providers: chat models of HTTP APIs, and wrappers of chat models.
//
//     auto model = troupe::init_chat_model("anthropic:claude-sonnet-4-5", {.max_tokens = 2000});
//     auto local = troupe::init_chat_model("openai:llama3.2",
//                                          {.base_url = "http://127.0.0.1:11434/v1"});
#pragma once

#include <troupe/agents/chat_model.hpp>
#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// The address of a model, and how it is asked.
/// Units:  `temperature` and `max_tokens` as the provider's. `attempts_max` includes the first
///         attempt. Waits between attempts double from `retry_first` to `retry_max`, each shortened
///         at random by up to a quarter. A wait requested by the server replaces them; beyond
///         limits::model_retry_after the last attempt has failed.
/// Errors: see init_chat_model.
/// Source: langchain/chat_models/base.py, init_chat_model.
struct chat_model_options {
  /// Requests go to {base_url}/v1/messages or {base_url}/chat/completions. Empty: the value of
  /// ANTHROPIC_BASE_URL or OPENAI_BASE_URL, else the provider's own address.
  std::string base_url = {};
  /// The proxy: http, https, socks5 or socks5h, without user name and password. Empty: curl's
  /// environment variables (https_proxy, all_proxy, no_proxy …).
  std::string proxy = {};
  /// The environment variable with the key. Empty: ANTHROPIC_API_KEY or OPENAI_API_KEY. The
  /// variable may be unset for an address other than the provider's own; then no key is sent.
  std::string api_key_variable = {};
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt; ///< Anthropic's default is 4096
  value settings = value::map(); ///< further members of the request, by the provider's names
  /// Further headers, e.g. {"anthropic-beta", "…"}.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Anthropic: sends the key as `Authorization: Bearer`, not as `x-api-key`.
  bool bearer_key = false;
  std::string api_version = "2023-06-01"; ///< Anthropic
  /// OpenAI: asks the Responses API ({base_url}/responses) in place of chat completions.
  bool use_responses_api = false;
  /// Responses API: the provider is sent only the messages after its last answer, and the id of
  /// that answer as previous_response_id. The provider must have stored the answer (`store`).
  bool use_previous_response_id = false;
  std::chrono::milliseconds connect_timeout = limits::http_connect_timeout;
  /// For a streamed answer: the time to its first words, and between two pieces of it. Without a
  /// reader of parts, the answer comes whole, and only `timeout` bounds the call.
  std::chrono::milliseconds first_token_timeout = limits::model_first_token_timeout;
  std::chrono::milliseconds idle_timeout = limits::model_idle_timeout;
  /// For a call with all its attempts, streamed or not.
  std::chrono::milliseconds timeout = limits::model_timeout;
  unsigned attempts_max = limits::model_attempts_default;
  std::chrono::milliseconds retry_first = limits::model_retry_first;
  std::chrono::milliseconds retry_max = limits::model_retry_max;
  value profile = value::map(); ///< the result of chat_model::profile()
};

/// A model by "provider:model"; as the form without options, with these. An answer is streamed when
/// there is a reader of its parts. The call ends with its node's attempt, and holds no thread.
/// Unless a part was given to a reader, the call is tried again after
///  - 408, 409, 429 and 5xx, and an overloaded provider
///  - a connection that failed or broke
///  - a stream whose beginning is unreadable
///
/// Some endpoints need data of an answer back: Gemini's signatures, thoughts before tool calls,
/// OpenRouter's reasoning_details. The message keeps such data of endpoints other than OpenAI's
/// own, and it is sent to that endpoint alone (response_metadata.sent_back).
/// An answer of the Responses API has the provider's items as blocks of its content. Items are text
/// with annotations, reasoning, function_call, and calls of the provider's own tools
/// (web_search_call …). These blocks are sent back with the message.
/// Shape:  known providers: anthropic (Messages API), openai (chat completions, also of vLLM,
///         Ollama, llama.cpp …; or the Responses API), echo. request.settings override the options.
/// Errors: throws error{invalid_config} for
///         - an unknown provider, or a name without a model
///         - an address that is not http(s), or a bound of 0
///         - the Responses API of another provider than openai
///         - a missing or malformed key; the message names its variable
///         A call throws model_error.
/// Source: langchain/chat_models/base.py, init_chat_model; langchain_openai/chat_models/base.py,
///         use_responses_api, use_previous_response_id.
chat_model_ptr init_chat_model(std::string_view name, chat_model_options options);

/// The failure of a model call: the provider refused it, or gave no usable answer. A node's body
/// may catch this class. The caller of a graph gets an `error`; model_facts() reads the same facts
/// from it.
/// Shape:  `code()`:
///         - invalid_config for a refused key
///         - invalid_value for a refused request
///         - overloaded for 429 and 529
///         - node_timeout; else node_failed
///         `type()` is the class of the reference: RateLimitError, AuthenticationError,
///         ContextOverflowError … The message has the provider's text, cut to
///         limits::model_error_bytes_max, unless it repeats the key or the messages.
/// Errors: none.
/// Source: anthropic/_exceptions.py, openai/_exceptions.py.
class model_error : public error {
public:
  /// The known facts. `status` 0: no response. `kind`: the provider's word ("rate_limit_error"), or
  /// one of ours: connection, timeout, too_large, broken_answer.
  struct facts {
    int status = 0;
    std::string kind = {};
    std::string request_id = {};
    std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
    bool may_try_again = false;
  };

  model_error(errc code, std::string message, std::string type, facts known);

  int status() const noexcept { return facts_.status; }
  const std::string& kind() const noexcept { return facts_.kind; }
  const std::string& request_id() const noexcept { return facts_.request_id; }
  /// How long the provider asks to wait.
  std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    return facts_.retry_after;
  }
  /// Whether the same call may succeed later.
  bool may_try_again() const noexcept { return facts_.may_try_again; }
  const facts& known() const noexcept { return facts_; }

private:
  facts facts_;
};

/// The facts of a model's failure, from the error that ended a run: invoke throws it, try_invoke
/// and streams return it. The model may have been called in another process.
/// Shape:  nothing for any other error. The facts stand in `details()` as {status, kind,
///         request_id, retry_after_ms (absent when the provider named no time), may_try_again}.
/// Units:  `retry_after_ms` in milliseconds.
/// Errors: none.
/// Source: troupe.
std::optional<model_error::facts> model_facts(const error& failure);

/// The error for an unusable answer; `what` describes the fault.
/// Errors: none.
/// Source: troupe.
model_error broken_answer(std::string_view what);

/// Bounds requests a second over all models that share it; after a rest, `burst` requests may go at
/// once.
/// Units:  `requests_per_second` above 0, `burst` at least 1.
/// Errors: throws error{invalid_config} for other numbers.
/// Source: langchain_core/rate_limiters.py, InMemoryRateLimiter; troupe: begins with a full bucket,
///         and in the order of arrival.
class rate_limiter {
public:
  using clock = std::chrono::steady_clock;
  explicit rate_limiter(double requests_per_second, double burst = 1.0);

  /// Takes a turn at `now`; returns how long the caller has to wait. The turn is used up even if
  /// the caller gives up waiting.
  /// Thread: any.
  clock::duration take_turn(clock::time_point now = clock::now());

private:
  double seconds_each_;
  double burst_;
  std::mutex mutex_;
  std::optional<clock::time_point> full_at_; // when the bucket is full again
};

/// `model`, whose calls wait for their turn at `limiter`.
/// Errors: throws error{invalid_config} without a model or a limiter. A call fails as one of
///         `model`.
/// Source: langchain_core/language_models/chat_models.py, rate_limiter.
chat_model_ptr with_rate_limit(chat_model_ptr model, std::shared_ptr<rate_limiter> limiter);

/// `model`; when it fails, the next of `others` gets the same request, in order. After
/// a reader got a part, the failure is final.
/// Shape:  at most limits::model_fallbacks_max others.
/// Errors: throws error{invalid_config} for a missing model or too many others. A call fails with
///         the error of the last model. The end of a run (a drain) is not a failure.
/// Source: langchain_core/runnables/fallbacks.py, RunnableWithFallbacks.
chat_model_ptr with_fallbacks(chat_model_ptr model, std::vector<chat_model_ptr> others);

} // namespace troupe
