// lmdb_document_writer: transactions of the documents' file, and room for removals.
#include "server/documents/lmdb_document_writer.hpp"

#include <troupe/limits.hpp>

#include <algorithm>

namespace troupe::server {

result<void> lmdb_document_writer::prepare() {
  if (auto begun = begin(); !begun)
    return begun;
  auto updated = change_->update_indexes();
  if (!updated) {
    abort();
    return updated;
  }
  return commit();
}

result<void> lmdb_document_writer::begin() {
  if (reopen_first_ || !env_.is_open()) {
    if (auto ok = env_.reopen(); !ok)
      return ok;
    is_extended_ = false;
  }
  reopen_first_ = false;
  has_removed_ = false;
  if (auto ok = extend_map(wants_reserve_); !ok)
    return ok;
  auto begun = file_change::begin<lmdb_document_change>(env_, sealing_);
  if (!begun)
    return begun.error();
  change_.emplace(std::move(*begun));
  return {};
}

write_outcome lmdb_document_writer::make(const std::vector<encoded_change>& changes,
                                         std::optional<troupe::error>& refused) {
  refused.reset();
  if (auto ok = change_->check(changes); !ok) {
    refused = ok.error();
    return {};
  }
  write_outcome outcome;
  for (const auto& change : changes) {
    if (change.is_condition)
      continue;
    outcome.answer = change_->make(change);
    if (!outcome.answer)
      break;
    outcome.bytes += change.encoded ? change.encoded->size() : 0;
  }
  outcome.transaction_stands = outcome.answer.has_value();
  auto only_removes = std::ranges::none_of(changes,
                                           [](const auto& one) { return one.encoded.has_value(); });
  has_removed_ = has_removed_ || (only_removes && outcome.answer);
  if (!outcome.answer && outcome.answer.error().code() == errc::storage_full && only_removes)
    wants_reserve_ = true;
  return outcome;
}

// Freed pages can be used two transactions later, so a second one follows a removal in the reserve.
result<void> lmdb_document_writer::commit() {
  reopen_first_ = true; // set first: a failed commit may lack memory for an error
  auto committed = change_->commit();
  change_.reset();
  if (!committed)
    return committed;
  accepted_.clear(); // reads of the file show them
  reopen_first_ = false;
  if (!is_extended_ || !has_removed_)
    return {};
  wants_reserve_ = false;
  static_cast<void>(touch()); // the removal is durable in any case
  return {};
}

result<void> lmdb_document_writer::touch() {
  auto begun = file_change::begin<lmdb_document_change>(env_, sealing_);
  if (!begun)
    return begun.error();
  begun->touch();
  auto touched = begun->commit();
  reopen_first_ = !touched;
  return touched;
}

result<void> lmdb_document_writer::extend_map(bool extended) {
  if (extended == is_extended_)
    return {};
  is_extended_ = false; // the state when the resize fails
  env_.clear_dead_readers();
  auto resized = env_.resize(env_.map_size_bytes() + (extended ? limits::store_reserve_bytes : 0));
  is_extended_ = extended && resized;
  return resized;
}

} // namespace troupe::server
