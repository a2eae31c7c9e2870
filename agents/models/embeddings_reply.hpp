// embeddings_reply: requests to an embeddings endpoint, and its replies.
#pragma once

#include <troupe/agents/embeddings.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The JSON body of a request.
std::string embeddings_request(const embeddings_options& options,
                               std::span<const std::string> texts);

/// The vectors of a reply's JSON.
/// Order:  that of the texts, whatever that of the reply.
/// Errors: node_failed of the type EmbeddingsError for
///         - another number of vectors than `count`
///         - vectors of several lengths, or not of the options' dims
///         - a number that is not finite
result<std::vector<std::vector<float>>> read_embeddings(std::string_view reply, std::size_t count,
                                                        const embeddings_options& options);

/// The text of a refusal's JSON, in one printable line of at most 200 bytes; empty without one.
std::string refusal_text(std::string_view reply);

} // namespace troupe
