// store_batch: checking the operations of a batch, and embedding its texts.
#include "persistence/store/store_batch.hpp"

#include "persistence/record/timestamp_text.hpp"
#include "persistence/store/store_filter.hpp"
#include "persistence/store/store_namespace.hpp"
#include "persistence/store/store_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace troupe {

namespace {

using path_list = std::vector<std::vector<std::string>>;

error refused(std::string_view what, std::string_view key, std::string type = {}) {
  std::string text{"put into the store: "};
  text.append(what).append(": key `").append(key.substr(0, 100)).append("`");
  return {errc::invalid_value, std::move(text), std::move(type)};
}

error bad_option(std::string_view what) {
  std::string text{"open the store: "};
  return {errc::invalid_config, text.append(what)};
}

error bad_vectors(std::string_view what) {
  std::string text{"embed texts: "};
  return {errc::node_failed, text.append(what), "EmbeddingsError"};
}

result<path_list> parse_paths(const std::vector<std::string>& paths) {
  if (paths.size() > limits::store_index_fields_max)
    return troupe::error{errc::invalid_value, "index the store: more than "
                                                + std::to_string(limits::store_index_fields_max)
                                                + " paths"};
  path_list out;
  for (const auto& path : paths) {
    auto parsed = text_path(path);
    if (!parsed)
      return parsed.error();
    out.push_back(std::move(*parsed));
  }
  return out;
}

// ---- checks -------------------------------------------------------------------------------------

result<void> check_put(const store_put& op) {
  if (op.value.is_null())
    return {}; // a place where nothing can be stored has nothing to remove
  if (auto ok = check_store_namespace(op.space); !ok)
    return ok;
  if (!op.value.is_map())
    return refused(
      "the value must be a map, not of kind " + std::string{to_string(op.value.kind())}, op.key);
  if (op.key.size() > limits::store_key_bytes_max)
    return refused(
      "the key is longer than " + std::to_string(limits::store_key_bytes_max) + " bytes", op.key);
  if (op.ttl && *op.ttl <= store_ttl::zero())
    return refused("the time to live must be above 0", op.key, "ValueError");
  return {};
}

result<void> check_op(const store_op& op) {
  if (const auto* put = std::get_if<store_put>(&op))
    return check_put(*put);
  if (const auto* query = std::get_if<store_query>(&op))
    return check_filter(query->filter);
  return {};
}

result<void> check_vectors(const std::vector<store_vector>& vectors, std::size_t count,
                           std::size_t dims) {
  if (vectors.size() != count)
    return bad_vectors(std::to_string(vectors.size()) + " vectors for " + std::to_string(count)
                       + " texts");
  for (const auto& vector : vectors) {
    if (vector.size() != dims)
      return bad_vectors("a vector of " + std::to_string(vector.size()) + " numbers, where dims is "
                         + std::to_string(dims));
    if (std::ranges::any_of(vector, [](float x) {
          return !std::isfinite(x) || std::abs(x) > limits::store_vector_number_max;
        }))
      return bad_vectors("a vector with a number that is not finite, or too large");
  }
  return {};
}

// ---- embedding ----------------------------------------------------------------------------------

// The texts to embed, each once, with the places of their vectors.
class text_book {
public:
  void add(std::string text, store_vector* to) {
    auto [at, is_new] = numbers_.try_emplace(std::move(text), numbers_.size());
    if (is_new)
      texts_.push_back(&at->first);
    places_.emplace_back(at->second, to);
  }

  result<void> embed(const store_index& index) {
    std::vector<store_vector> vectors;
    for (std::size_t at = 0; at < texts_.size(); at += limits::embedding_batch_max) {
      auto some = embed_some(index, at);
      if (!some)
        return some.error();
      std::ranges::move(*some, std::back_inserter(vectors));
    }
    for (auto [number, to] : places_)
      *to = vectors[number];
    return {};
  }

private:
  result<std::vector<store_vector>> embed_some(const store_index& index, std::size_t from) const {
    auto count = std::min(limits::embedding_batch_max, texts_.size() - from);
    std::vector<std::string> texts;
    for (const auto* text : std::span{texts_}.subspan(from, count))
      texts.push_back(*text);
    auto vectors = call(index.embed, texts);
    if (!vectors)
      return vectors;
    auto ok = check_vectors(*vectors, count, index.dims);
    return ok ? std::move(vectors) : ok.error();
  }

  // A user's function may throw anything.
  static result<std::vector<store_vector>> call(const embed_function& embed,
                                                const std::vector<std::string>& texts) {
    try {
      return embed(texts);
    } catch (const troupe::error& err) {
      return err;
    } catch (const std::exception& thrown) {
      return bad_vectors(thrown.what());
    } catch (...) {
      return bad_vectors("the function threw something that is not a std::exception");
    }
  }

  std::map<std::string, std::size_t> numbers_;
  std::vector<const std::string*> texts_;
  std::vector<std::pair<std::size_t, store_vector*>> places_;
};

result<std::vector<std::string>> texts_of(const store_put& put, const path_list& fields) {
  path_list own;
  if (put.index) {
    auto parsed = parse_paths(*put.index);
    if (!parsed)
      return parsed.error();
    own = std::move(*parsed);
  }
  std::vector<std::string> texts;
  for (const auto& path : put.index ? own : fields)
    std::ranges::move(texts_at(put.value, path), std::back_inserter(texts));
  std::erase_if(texts, [](const std::string& text) { return text.empty(); });
  std::ranges::sort(texts); // the closest vector counts, so one of two equal texts is enough
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (texts.size() > limits::store_item_texts_max)
    return refused("more than " + std::to_string(limits::store_item_texts_max)
                     + " texts to embed for one item",
                   put.key);
  return texts;
}

result<void> embed_batch(const std::vector<store_op>& ops, const store_index& index,
                         prepared_batch& batch) {
  auto fields = parse_paths(index.fields);
  if (!fields)
    return fields.error();
  text_book book;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (const auto* query = std::get_if<store_query>(&ops[i]); query && !query->query.empty())
      book.add(query->query, &batch.queries[i]);
  for (auto& put : batch.puts) {
    if (put.op->value.is_null())
      continue;
    auto texts = texts_of(*put.op, *fields);
    if (!texts)
      return texts.error();
    put.vectors.resize(texts->size());
    for (std::size_t i = 0; i < texts->size(); ++i)
      book.add(std::move((*texts)[i]), &put.vectors[i]);
  }
  return book.embed(index);
}

// ---- puts ---------------------------------------------------------------------------------------

std::vector<prepared_put> last_puts(const std::vector<store_op>& ops) {
  using place = std::pair<const store_namespace&, const std::string&>;
  std::map<place, std::size_t> known;
  std::vector<prepared_put> puts;
  for (const auto& op : ops)
    if (const auto* put = std::get_if<store_put>(&op)) {
      auto [at, is_new] = known.try_emplace(place{put->space, put->key}, puts.size());
      if (is_new)
        puts.emplace_back();
      puts[at->second].op = put;
    }
  return puts;
}

result<void> encode_put(prepared_put& put, const store_options& options) {
  if (put.op->value.is_null())
    return {};
  if (auto ok = encode_msgpack(put.op->value, put.encoded); !ok)
    return refused(ok.error().message(), put.op->key);
  put.ttl = put.op->ttl.value_or(options.ttl.default_ttl);
  if (put.ttl != store_forever)
    put.ttl = std::min(put.ttl, limits::store_ttl_max);
  return {};
}

} // namespace

// ---- options ------------------------------------------------------------------------------------

result<void> check_store_options(const store_options& options) {
  if (!options.now)
    return bad_option("the clock is missing");
  if (options.ttl.default_ttl <= store_ttl::zero())
    return bad_option("the default time to live must be above 0");
  if (options.ttl.sweep_interval < store_ttl::zero())
    return bad_option("the time between sweeps must not be negative");
  if (!options.index)
    return {};
  if (!options.index->embed)
    return bad_option("the index has no embedding function");
  if (auto dims = options.index->dims; dims == 0 || dims > limits::store_vector_dims_max)
    return bad_option("the index's dims must be from 1 to "
                      + std::to_string(limits::store_vector_dims_max) + ", not "
                      + std::to_string(dims));
  auto fields = parse_paths(options.index->fields);
  return fields ? result<void>{} : bad_option(fields.error().message());
}

result<prepared_batch> prepare_batch(const std::vector<store_op>& ops,
                                     const store_options& options) {
  if (ops.size() > limits::store_batch_ops_max)
    return troupe::error{errc::invalid_value, "use the store: more than "
                                                + std::to_string(limits::store_batch_ops_max)
                                                + " operations in one batch"};
  for (const auto& op : ops)
    if (auto ok = check_op(op); !ok)
      return ok.error();
  prepared_batch batch{last_puts(ops), std::vector<store_vector>(ops.size())};
  for (auto& put : batch.puts)
    if (auto ok = encode_put(put, options); !ok)
      return ok.error();
  if (options.index)
    if (auto ok = embed_batch(ops, *options.index, batch); !ok)
      return ok.error();
  return batch;
}

// ---- times --------------------------------------------------------------------------------------

std::int64_t store_now_micros(const store_options& options) {
  using std::chrono::microseconds;
  auto micros = std::chrono::floor<microseconds>(options.now().time_since_epoch()).count();
  return std::clamp<std::int64_t>(micros, timestamp_micros_min, timestamp_micros_max);
}

std::int64_t store_end_micros(std::int64_t now_micros, store_ttl ttl) {
  return ttl == store_forever ? store_no_end : now_micros + std::chrono::microseconds{ttl}.count();
}

} // namespace troupe
