// Vectors out of texts of numbers.
#include "testing/embedded_numbers.hpp"

#include <sstream>

namespace troupe::testing {

result<vectors> embed_numbers(const texts& all) {
  vectors out;
  for (const auto& text : all) {
    std::istringstream in{text};
    out.emplace_back();
    for (float x = 0; in >> x;)
      out.back().push_back(x);
  }
  return out;
}

std::string text_of(const std::vector<float>& numbers) {
  std::ostringstream out;
  for (auto x : numbers)
    out << x << ' ';
  return out.str();
}

store_index plane(vector_distance distance) {
  return {.dims = 2, .embed = {}, .fields = {"text"}, .distance = distance};
}

void use_index(store_subject& t, store_index index) {
  if (!index.embed)
    index.embed = embed_numbers;
  t.use({.index = std::move(index)});
}

void put_text(store_subject& t, const std::string& key, const std::string& text,
              const store_namespace& space) {
  t.put(space, key, value{{"text", text}, {"key", key}});
}

} // namespace troupe::testing
