// Chat models behind an API, and what is put around chat models.
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

/// Where a model is and how it is asked.
/// Units:  `temperature` and `max_tokens` as the provider's. Attempts are counted with the first;
///         the waits between them double from `retry_first` to `retry_max` and are shortened by up
///         to a quarter by chance, but a server that says how long to wait is obeyed up to
///         limits::model_retry_after, beyond which there is no further attempt.
struct chat_model_options {
  /// Requests go to {base_url}/v1/messages or {base_url}/chat/completions. Empty: what
  /// ANTHROPIC_BASE_URL or OPENAI_BASE_URL says, else the provider's own.
  std::string base_url = {};
  /// What carries the requests: http, https, socks5 or socks5h, with no name and password in it.
  /// Empty: what curl's variables of the environment say (https_proxy, all_proxy, no_proxy …).
  std::string proxy = {};
  /// The variable of the environment that has the key. Empty: ANTHROPIC_API_KEY or OPENAI_API_KEY.
  /// At another address than the provider's own it may be unset; then no key is sent.
  std::string api_key_variable = {};
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt; ///< Anthropic's default is 4096
  value settings = value::map(); ///< further members of the request, by the provider's names
  /// Further headers, e.g. {"anthropic-beta", "…"}.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Anthropic: the key as `Authorization: Bearer`, not as `x-api-key`.
  bool bearer_key = false;
  std::string api_version = "2023-06-01"; ///< Anthropic
  std::chrono::milliseconds connect_timeout = limits::http_connect_timeout;
  /// Of a streamed answer: to its first words, and between two pieces of it. An answer that nobody
  /// reads in parts comes whole when it is made: `timeout` alone bounds such a call.
  std::chrono::milliseconds first_token_timeout = limits::model_first_token_timeout;
  std::chrono::milliseconds idle_timeout = limits::model_idle_timeout;
  /// Of a call with all its attempts, streamed or not.
  std::chrono::milliseconds timeout = limits::model_timeout;
  unsigned attempts_max = limits::model_attempts_default;
  std::chrono::milliseconds retry_first = limits::model_retry_first;
  std::chrono::milliseconds retry_max = limits::model_retry_max;
  value profile = value::map(); ///< what chat_model::profile() says
};

/// A model by "provider:model"; as the form without options, with these. An answer is streamed
/// where somebody reads its parts. A call is tried again after 408, 409, 429, 5xx, a connection
/// that was not made or broke, a stream that begins with what cannot be read, and a provider that
/// is overloaded, unless a part was given to a reader. It ends with its node's attempt, and holds
/// no thread.
/// Shape:  known providers: anthropic (Messages API), openai (chat completions, also of vLLM,
///         Ollama, llama.cpp …), echo. request.settings count more than the options'. What an
///         endpoint other than OpenAI's own wants to hear again (Gemini's signatures, thoughts
///         before calls of tools, OpenRouter's reasoning_details) is kept in the message, and goes
///         to that endpoint alone (response_metadata.sent_back).
/// Errors: throws error{invalid_config}: an unknown provider, no model, an address that is not
///         http(s), a bound of 0, a key that is missing or has characters no key has (its variable
///         is named). Of a call: model_error.
/// Source: langchain/chat_models/base.py, init_chat_model.
chat_model_ptr init_chat_model(std::string_view name, chat_model_options options);

/// The failure of a model call: the provider refused it, or gave no answer. A node's body may catch
/// this class. The caller of a graph gets an `error`; model_facts() reads the same facts from it.
/// Shape:  `code()`: invalid_config for a refused key; invalid_value for a refused request;
///         overloaded for 429 and 529; node_timeout; else node_failed. `type()`: the class of the
///         reference: RateLimitError, AuthenticationError, ContextOverflowError … The message has
///         the provider's text, cut to limits::model_error_bytes_max, unless it repeats the key or
///         the messages.
/// Source: anthropic/_exceptions.py, openai/_exceptions.py.
class model_error : public error {
public:
  /// What is known of it. `status` 0: no response. `kind`: the provider's word for it
  /// ("rate_limit_error"), or ours: connection, timeout, too_large, broken_answer.
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
  /// How long the provider wants not to be asked.
  std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    return facts_.retry_after;
  }
  /// Whether it may go away by itself.
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

/// An answer that is none. `what` says in which way.
model_error broken_answer(std::string_view what);

/// So many requests a second, and `burst` at once after a rest, of all models it is given to.
/// Units:  `requests_per_second` above 0, `burst` at least 1.
/// Errors: throws error{invalid_config} for other numbers.
/// Source: langchain_core/rate_limiters.py, InMemoryRateLimiter; troupe: begins with a full bucket,
///         and in the order of arrival.
class rate_limiter {
public:
  using clock = std::chrono::steady_clock;
  explicit rate_limiter(double requests_per_second, double burst = 1.0);

  /// Takes a turn: how long who takes it at `now` has to wait. A turn that was taken is gone, also
  /// for who gives up waiting.
  /// Thread: any.
  clock::duration take_turn(clock::time_point now = clock::now());

private:
  double seconds_each_;
  double burst_;
  std::mutex mutex_;
  std::optional<clock::time_point> full_at_; // when the bucket is full again
};

/// `model`, whose calls wait for their turn.
/// Source: langchain_core/language_models/chat_models.py, rate_limiter.
chat_model_ptr with_rate_limit(chat_model_ptr model, std::shared_ptr<rate_limiter> limiter);

/// `model`; when it fails, the next of `others`, in order, each with the same request. Not once a
/// part was given to a reader.
/// Shape:  at most limits::model_fallbacks_max others.
/// Errors: of a call: what the last model threw. What ends a run (a drain) is no failure.
/// Source: langchain_core/runnables/fallbacks.py, with_fallbacks.
chat_model_ptr with_fallbacks(chat_model_ptr model, std::vector<chat_model_ptr> others);

} // namespace troupe
