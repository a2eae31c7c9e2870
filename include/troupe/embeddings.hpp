// Texts as vectors: what embeds them, and an endpoint that does.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Gives a vector for each text.
/// Shape:  as many vectors as texts, all of one length, of finite numbers.
/// Order:  that of the texts.
/// Blocks: as it likes. May be called on any thread, on several at once.
/// Errors: any; who called for the vectors gets them as they are. What it throws becomes
///         node_failed.
/// Source: langgraph/store/base/embed.py, EmbeddingsFunc.
using embed_function =
  std::function<result<std::vector<std::vector<float>>>(const std::vector<std::string>& texts)>;

/// Where texts are embedded over HTTP, as OpenAI's API does and many servers do.
/// Units:  `batch_max` texts of one request, at most limits::embedding_batch_max. `timeout` is that
///         of an attempt, from the name look-up to the last byte.
struct embeddings_options {
  std::string base_url = "https://api.openai.com/v1"; ///< requests go to {base_url}/embeddings
  std::string model;                                  ///< e.g. "text-embedding-3-small"
  std::optional<std::size_t> dims = std::nullopt;  ///< asked for and insisted on; else the model's
  std::string api_key_variable = "OPENAI_API_KEY"; ///< of the environment; empty: no key is sent
  std::size_t batch_max = limits::embedding_batch_max;
  std::chrono::milliseconds timeout = limits::embedding_timeout_default;
  unsigned attempts_max = limits::embedding_attempts_default;
  std::chrono::milliseconds retry_first = limits::embedding_retry_first;
  std::chrono::milliseconds retry_max = limits::embedding_retry_max;
};

/// A function that embeds texts at an endpoint. The key is read from the environment now, and is in
/// no message. Redirects are not followed.
/// Shape:  the reply's vectors are checked: one for each text, of one length, finite numbers.
/// Blocks: the function, up to attempts_max times (timeout + retry_max) for each batch_max texts.
/// Errors: here invalid_config: no model, an address that is not http(s), a bound that is 0, a key
///         that is missing or no header. Of the function: invalid_value for a text that is too long
///         or empty, or what the endpoint refuses (4xx); invalid_config for a refused key (401,
///         403); overloaded when it kept answering 429; node_timeout; node_failed for any other
///         failure and for a reply that is not as it must be (`type()` EmbeddingsError).
/// Source: troupe; OpenAI API, "Create embeddings".
result<embed_function> make_embeddings(embeddings_options options);

} // namespace troupe
