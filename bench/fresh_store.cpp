// fresh_store: a new, empty store with a warm runtime.
#include "bench/fresh_store.hpp"

#include <troupe/keyring.hpp>

namespace troupe::bench {

namespace {

lmdb_saver_options options_of(medium where) {
  if (where == medium::uncompressed_file)
    return {.compress_bytes_min = SIZE_MAX};
  if (where == medium::encrypted_file)
    return {.keyring = keyring::from_text("bench " + std::string(64, '5')).value()};
  return {};
}

} // namespace

fresh_store::fresh_store(medium where) {
  if (where != medium::memory) {
    dir_.emplace();
    store_ = open_lmdb_saver(dir_->path() / "data", options_of(where)).value();
  } else {
    store_ = make_memory_saver();
  }
  machine_ = std::make_unique<runtime>(with_saver(store_));
  // Timing is for a running runtime, not for the first steps of its threads. This run stores
  // nothing.
  machine_->load(chain3({.checkpointer = troupe::checkpointing::none}))
    .invoke(zero(), new_run(durability::exit));
}

std::uintmax_t fresh_store::close() {
  machine_.reset();
  store_.reset();
  return store_bytes(dir_->path());
}

} // namespace troupe::bench
