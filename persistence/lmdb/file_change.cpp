// file_change: changes of a file with one data key.
#include "persistence/lmdb/file_change.hpp"

namespace troupe {

file_change::file_change(lmdb_txn txn, file_sealing& sealing)
  : txn_{std::move(txn)},
    sealing_{&sealing},
    cipher_{sealing.data_key, sealing.keys.get()} {}

result<std::optional<std::string_view>> file_change::find_meta_record() {
  auto stored = find_meta(txn_, sealing_->meta, sealing_->name);
  has_changed_ = stored && !*stored;
  return stored;
}

result<std::optional<bool>> file_change::rewrap_key() {
  if (!sealing_->keys)
    return std::optional<bool>{};
  auto current = sealing_->keys->wrapping_id();
  if (!current)
    return current.error();
  auto rewrapped = rewrap_data_key(txn_, sealing_->data_key, *sealing_->keys, *current);
  has_changed_ = has_changed_ || (rewrapped && rewrapped->value_or(false));
  return rewrapped;
}

result<void> file_change::write(const store_key& key, record_kind kind) {
  has_changed_ = true;
  seal_record(record_, key, kind);
  return txn_.put(key, record_);
}

result<void> file_change::seal(const store_key& key, record_kind kind) {
  auto cipher = cipher_.find_or_make(txn_);
  if (!cipher)
    return cipher.error();
  auto& sealer = kind == record_kind::vector ? sealing_->vector_sealer : sealing_->sealer;
  return sealer.seal(record_, key, kind, *cipher);
}

result<void> file_change::write_sealed(const store_key& key) {
  has_changed_ = true;
  return txn_.put(key, record_);
}

result<void> file_change::append_sealed(const store_key& key) {
  has_changed_ = true;
  return txn_.append(key, record_);
}

result<void> file_change::erase(std::string_view key) {
  has_changed_ = true;
  return txn_.erase(key);
}

result<void> file_change::erase_data_key() {
  cipher_ = data_cipher{sealing_->data_key, sealing_->keys.get()};
  return erase(sealing_->data_key.key);
}

} // namespace troupe
