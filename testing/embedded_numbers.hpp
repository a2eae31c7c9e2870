// embedded_numbers: an embed_function whose vectors are easy to see, and indexes with it.
#pragma once

#include "testing/store_subject.hpp"

namespace troupe::testing {

using vectors = std::vector<std::vector<float>>;

/// The vector of "1 0 2" is (1, 0, 2).
result<vectors> embed_numbers(const texts& all);
std::string text_of(const std::vector<float>& numbers);

/// Vectors of two numbers, of the member `text`.
store_index plane(vector_distance distance = vector_distance::cosine);

/// Opens a store with an index; without an embed_function with embed_numbers().
void use_index(store_subject& t, store_index index);

/// Puts an item with a text to embed.
void put_text(store_subject& t, const std::string& key, const std::string& text,
              const store_namespace& space = {"a"});

} // namespace troupe::testing
