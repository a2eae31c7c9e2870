// vector_bytes: writing and reading a vector's bytes.
#include "persistence/store/vector_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe {

void append_vector_bytes(const store_vector& numbers, std::string& out) {
  for (auto x : numbers) {
    auto bits = std::bit_cast<std::uint32_t>(x);
    for (int shift = 0; shift < 32; shift += 8)
      out.push_back(static_cast<char>(bits >> shift));
  }
}

std::optional<store_vector> read_vector_bytes(std::string_view bytes) {
  if (bytes.size() % 4 != 0 || bytes.size() / 4 > limits::store_vector_dims_max)
    return std::nullopt;
  store_vector numbers;
  numbers.reserve(bytes.size() / 4);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < 4; ++b)
      bits |= std::uint32_t{static_cast<std::uint8_t>(bytes[i + b])} << (8 * b);
    numbers.push_back(std::bit_cast<float>(bits));
  }
  auto fits = [](float x) {
    return std::isfinite(x) && std::abs(x) <= limits::store_vector_number_max;
  };
  return std::ranges::all_of(numbers, fits) ? std::optional{std::move(numbers)} : std::nullopt;
}

} // namespace troupe
