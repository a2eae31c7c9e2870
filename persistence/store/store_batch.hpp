// store_batch: the work of every store on a batch before it touches its data. It checks the batch,
// sets aside puts that a later put replaces, and has the texts embedded.
#pragma once

#include <troupe/store.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

using store_vector = std::vector<float>;

/// A put that counts: the last one to its place.
struct prepared_put {
  const store_put* op = nullptr; // a null value: a removal
  std::string encoded;           // msgpack of the value
  std::vector<store_vector> vectors;
  store_ttl ttl = store_forever; // at most limits::store_ttl_max, or store_forever
};

/// A checked batch. Points into the operations that it was made of.
/// Order:  `puts` in the order in which their places came first. `queries` as the operations: the
///         vector of a search by meaning, empty for all others.
struct prepared_batch {
  std::vector<prepared_put> puts;
  std::vector<store_vector> queries;
};

/// Errors: invalid_config, which names the wrong option.
result<void> check_store_options(const store_options& options);

/// Prepares a batch.
/// Blocks: on the embed_function.
/// Errors: as store::batch, without storage codes.
result<prepared_batch> prepare_batch(const std::vector<store_op>& ops,
                                     const store_options& options);

/// Whether a read restarts a time to live.
inline bool refreshes_ttl(const std::optional<bool>& asked, const store_options& options) {
  return asked.value_or(options.ttl.refresh_on_read);
}

/// Microseconds since 1970, as timestamp_text takes them.
std::int64_t store_now_micros(const store_options& options);

/// The end of an item with this time to live, from `now_micros` on; the highest number: never.
inline constexpr std::int64_t store_no_end = INT64_MAX;
std::int64_t store_end_micros(std::int64_t now_micros, store_ttl ttl);

} // namespace troupe
