// What changes a long-term store's file, inside one write transaction.
//
// Invariants, but for what damage does:
//  - A namespace has a record while it has an item.
//  - An item has an end record of its number and end if it ends, and its vectors under its number.
// A damaged item can be put anew and removed; what it leaves behind is found by nobody.
#pragma once

#include "persistence/item_format.hpp"
#include "persistence/lmdb_env.hpp"

namespace troupe {

/// One change of the file. Nothing is changed without commit().
/// Thread: one at a time.
class item_change final : public store_change {
public:
  /// Begins a transaction and makes an empty file a store.
  /// Errors: also checkpoint_corrupt for another program's file, format_too_new.
  static result<item_change> begin(lmdb_env& env);

  result<void> put(stored_item item, const prepared_put& what) override;
  result<void> remove(const store_namespace& space, const std::string& key) override;
  result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) override;
  result<std::size_t> sweep(std::int64_t now, std::size_t count) override;
  /// Makes commit() write, also if nothing was changed.
  void touch() noexcept { has_changed_ = true; }
  /// Nothing is written where nothing was changed.
  result<void> commit() override;

private:
  explicit item_change(lmdb_txn txn) : txn_{std::move(txn)} {}

  result<void> load_meta();
  result<void> write(const store_key& key, record_kind kind);
  result<void> erase(std::string_view key);
  result<std::uint64_t> space_number(const store_namespace& space);
  result<void> write_end(const stored_item& item, std::string_view key);
  result<std::optional<item_head>> old_head(std::string_view key, const std::string& name);
  result<void> forget(const item_head& head);
  result<void> forget_over(const item_end& end, std::string_view key);
  result<void> erase_space_if_empty(const store_namespace& space, std::uint64_t number);

  lmdb_txn txn_;
  items_meta meta_;
  bool has_changed_ = false;
  std::string record_;
};

/// The number of a namespace. Nothing where there is no such namespace.
/// Errors: storage codes.
result<std::optional<std::uint64_t>> find_space(const lmdb_txn& txn, const store_namespace& space);

} // namespace troupe
