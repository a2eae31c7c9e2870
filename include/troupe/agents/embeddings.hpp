// Embeddings over HTTP: an endpoint as a store's embed_function.
#pragma once

#include <troupe/error.hpp>
#include <troupe/limits.hpp>
#include <troupe/store.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// An endpoint that embeds texts, with OpenAI's API, which many servers implement.
/// Units:  `batch_max` texts of one request, at most limits::embedding_batch_max. `timeout` bounds
///         an attempt, from the name look-up to the last byte.
/// Errors: see make_embeddings.
/// Source: troupe; OpenAI API, "Create embeddings".
struct embeddings_options {
  std::string base_url = "https://api.openai.com/v1"; ///< requests go to {base_url}/embeddings
  std::string model;                                  ///< e.g. "text-embedding-3-small"
  std::optional<std::size_t> dims = std::nullopt;  ///< requested and enforced; unset: the model's
  std::string api_key_variable = "OPENAI_API_KEY"; ///< in the environment; empty: no key is sent
  std::size_t batch_max = limits::embedding_batch_max;
  std::chrono::milliseconds timeout = limits::embedding_timeout_default;
  unsigned attempts_max = limits::embedding_attempts_default;
  std::chrono::milliseconds retry_first = limits::embedding_retry_first;
  std::chrono::milliseconds retry_max = limits::embedding_retry_max;
};

/// A function that embeds texts at an endpoint. The key is read from the environment now, and
/// appears in no message. Redirects are not followed.
/// Shape:  the reply's vectors are checked: one for each text, of one length, finite numbers.
/// Blocks: the function, up to attempts_max times (timeout + retry_max) for each batch_max texts.
/// Errors: here invalid_config: no model, an address that is not http(s), a bound of 0, a key that
///         is missing or can't be a header. The function gives
///         - invalid_value for a text that is too long or empty, or that the endpoint refuses (4xx)
///         - invalid_config for a refused key (401, 403)
///         - overloaded after repeated 429
///         - node_timeout
///         - node_failed for any other failure and for a malformed reply (`type()` EmbeddingsError)
/// Source: troupe; OpenAI API, "Create embeddings".
result<embed_function> make_embeddings(embeddings_options options);

/// As make_embeddings, for a model by "provider:model", as "openai:text-embedding-3-small".
/// Shape:  the known provider is openai. The model of `options` is replaced. A `base_url` that is
///         not set is that of the variable OPENAI_BASE_URL. At another address than OpenAI's the
///         key may be missing.
/// Errors: as make_embeddings; invalid_config also for an unknown provider, or without a model.
/// Source: langchain/embeddings/base.py, init_embeddings.
result<embed_function> init_embeddings(std::string_view name, embeddings_options options = {});

} // namespace troupe
