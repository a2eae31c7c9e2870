// item_change: changes a long-term store's file, inside one write transaction.
//
// Invariants, unless the file is damaged:
//  - A namespace has a record while it has an item.
//  - An item has its vectors under its number and, if it ends, an end record of its number and end.
// A damaged item can be stored anew and removed; its other records are then not found any more.
#pragma once

#include "persistence/lmdb/file_change.hpp"
#include "persistence/store/item_format.hpp"

namespace troupe {

/// How the records of a store's file are sealed.
file_sealing items_sealing(std::shared_ptr<const key_provider> keys,
                           std::size_t compress_bytes_min);

/// One change of the file.
/// Thread: one at a time.
class item_change final : public store_change, public file_change {
public:
  result<void> put(stored_item item, const prepared_put& what) override;
  result<void> remove(const store_namespace& space, const std::string& key) override;
  result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) override;
  result<std::size_t> sweep(std::int64_t now, std::size_t count) override;
  /// Nothing is written when nothing was changed.
  result<void> commit() override;

private:
  friend class file_change;
  using file_change::file_change;

  result<void> load(const result<std::string_view>& payload);
  result<void> put_item(const store_key& key);
  result<void> put_vector(const store_key& key, std::string_view item, const store_vector& vector);
  result<std::uint64_t> space_number(const store_namespace& space);
  result<void> write_end(const stored_item& item, std::string_view key);
  result<item_head> open_head(std::string_view stored, std::string_view key);
  result<std::optional<item_head>> old_head(std::string_view key, const std::string& name);
  result<void> forget(const item_head& head);
  result<void> forget_over(const item_end& end, std::string_view end_key);
  result<void> erase_space_if_empty(const store_namespace& space, std::uint64_t number);

  items_meta meta_;
};

/// The number of a namespace; nullopt when the namespace does not exist.
/// Errors: storage codes.
result<std::optional<std::uint64_t>> find_space(const lmdb_txn& txn, const store_namespace& space);

} // namespace troupe
