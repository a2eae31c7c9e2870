// embeddings_reply: writing requests and reading replies.
#include "agents/models/embeddings_reply.hpp"

#include <troupe/value.hpp>

#include <cmath>

namespace troupe {

namespace {

constexpr std::size_t refusal_bytes_max = 200;

error bad_reply(std::string_view what) {
  std::string text{"embed texts: the reply is malformed: "};
  return {errc::node_failed, text.append(what), "EmbeddingsError"};
}

result<std::vector<float>> read_embedding(const value& list) {
  if (!list.is_list() || list.empty() || list.size() > limits::store_vector_dims_max)
    return bad_reply("an `embedding` is not a list of 1 to "
                     + std::to_string(limits::store_vector_dims_max) + " numbers");
  std::vector<float> vector;
  vector.reserve(list.size());
  for (const auto& x : list.items()) {
    if (!x.is_number())
      return bad_reply("an `embedding` holds something that is not a number");
    vector.push_back(static_cast<float>(x.as_double()));
    if (!std::isfinite(vector.back()))
      return bad_reply("an `embedding` has a number that is not finite");
  }
  return vector;
}

} // namespace

std::string embeddings_request(const embeddings_options& options,
                               std::span<const std::string> texts) {
  std::vector<value> input(texts.begin(), texts.end());
  value body{{"encoding_format", "float"}, {"model", options.model}};
  body = body.with("input", value::list(std::move(input)));
  return to_json(options.dims ? body.with("dimensions", *options.dims) : body);
}

result<std::vector<std::vector<float>>> read_embeddings(std::string_view reply, std::size_t count,
                                                        const embeddings_options& options) {
  auto parsed = from_json(reply);
  if (!parsed)
    return bad_reply("not JSON");
  const auto& data = (*parsed)["data"];
  if (!data.is_list() || data.size() != count)
    return bad_reply("`data` is not a list of " + std::to_string(count) + " vectors");
  std::vector<std::vector<float>> vectors(count);
  for (const auto& item : data.items()) {
    const auto& index = item["index"];
    if (!index.is_int() || index.as_int() < 0
        || static_cast<std::uint64_t>(index.as_int()) >= count)
      return bad_reply("an `index` does not belong to a text");
    auto& place = vectors[static_cast<std::size_t>(index.as_int())];
    if (!place.empty())
      return bad_reply("two vectors have the same `index`");
    auto vector = read_embedding(item["embedding"]);
    if (!vector)
      return vector.error();
    place = std::move(*vector);
  }
  auto dims = options.dims.value_or(vectors.empty() ? 0 : vectors.front().size());
  for (const auto& vector : vectors)
    if (vector.size() != dims)
      return bad_reply("a vector has " + std::to_string(vector.size()) + " numbers, not "
                       + std::to_string(dims));
  return vectors;
}

std::string refusal_text(std::string_view reply) {
  auto parsed = from_json(reply);
  if (!parsed)
    return {};
  const auto& failure = (*parsed)["error"];
  const auto& said = failure.is_string() ? failure : failure["message"];
  if (!said.is_string())
    return {};
  std::string line{said.as_string().substr(0, refusal_bytes_max)};
  for (auto& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      c = ' ';
  return line;
}

} // namespace troupe
