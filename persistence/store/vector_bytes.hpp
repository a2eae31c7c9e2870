// vector_bytes: a vector as bytes: IEEE 754 singles of four bytes, lowest first.
#pragma once

#include "persistence/store/store_batch.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

void append_vector_bytes(const store_vector& numbers, std::string& out);
/// nullopt for bytes that are not a vector, or that have more or greater numbers than are stored.
std::optional<store_vector> read_vector_bytes(std::string_view bytes);

} // namespace troupe
