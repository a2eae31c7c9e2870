// Embeddings over HTTP: an endpoint as the function that a store asks for the vectors of texts.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>
#include <troupe/store.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

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
