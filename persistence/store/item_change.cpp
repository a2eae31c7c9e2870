// item_change: storing, refreshing and removing the items of a long-term store's file.
#include "persistence/store/item_change.hpp"

namespace troupe {

namespace {

error two_of_one_hash(std::string_view name) {
  return {errc::storage_failed, "put into the store: another name has the same hash: `"
                                  + std::string{name.substr(0, 100)} + "`"};
}

} // namespace

result<std::optional<std::uint64_t>> find_space(const lmdb_txn& txn, const store_namespace& space) {
  auto key = space_key(space);
  auto stored = txn.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<std::uint64_t>{};
  auto found = open_space(**stored, key);
  if (!found)
    return found.error();
  return found->space == space ? std::optional{found->number} : std::nullopt;
}

// ---- the transaction ----------------------------------------------------------------------------

file_sealing items_sealing(std::shared_ptr<const key_provider> keys,
                           std::size_t compress_bytes_min) {
  return {"store",
          items_meta_key(),
          {items_data_key(), "the encrypted store"},
          std::move(keys),
          compress_bytes_min};
}

result<void> item_change::load(const result<std::string_view>& payload) {
  auto meta = payload ? read_items_meta(*payload) : payload.error();
  if (!meta)
    return meta.error();
  meta_ = *meta;
  return {};
}

result<void> item_change::commit() {
  return commit_with([this](std::string& out) { append_items_meta(meta_, out); });
}

result<void> item_change::put_item(const store_key& key) {
  auto ok = seal(key, record_kind::item);
  return ok ? write_sealed(key) : ok;
}

// Vectors are the file's last area, and each number is higher than all before, so the record is
// appended.
result<void> item_change::put_vector(const store_key& key, std::string_view item,
                                     const store_vector& vector) {
  begin_record(record_);
  append_vector(item, vector, record_);
  auto ok = seal(key, record_kind::vector);
  return ok ? append_sealed(key) : ok;
}

// ---- storing ------------------------------------------------------------------------------------

result<std::uint64_t> item_change::space_number(const store_namespace& space) {
  auto key = space_key(space);
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (*stored) {
    auto found = open_space(**stored, key);
    if (!found)
      return found.error();
    if (found->space != space)
      return two_of_one_hash(space.front());
    return found->number;
  }
  auto number = ++meta_.last_number;
  begin_record(record_);
  append_space({number, space}, record_);
  if (auto ok = write(key, record_kind::space); !ok)
    return ok.error();
  return number;
}

result<item_head> item_change::open_head(std::string_view stored, std::string_view key) {
  auto payload = open(stored, key, record_kind::item);
  return payload ? read_item_head(*payload) : payload.error();
}

// The head of the item under this key; nullopt when it is missing or damaged.
result<std::optional<item_head>> item_change::old_head(std::string_view key,
                                                       const std::string& name) {
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<item_head>{};
  auto head = open_head(**stored, key);
  if (!head)
    return is_damage(head.error()) ? result<std::optional<item_head>>{std::nullopt} : head.error();
  if (head->item.key != name)
    return two_of_one_hash(name);
  return std::optional{std::move(*head)};
}

result<void> item_change::put(stored_item item, const prepared_put& what) {
  auto space = space_number(item.space);
  if (!space)
    return space.error();
  auto key = item_key(*space, item.key);
  record_opener::scope scope{opener_};
  auto old = old_head(key, item.key);
  if (!old)
    return old.error();
  if (*old) {
    if (!(*old)->item.is_over(item.updated))
      item.created = (*old)->item.created;
    if (auto ok = forget(**old); !ok)
      return ok;
  }
  item.number = ++meta_.last_number;
  begin_record(record_);
  append_item(item, !what.vectors.empty(), what.encoded, record_);
  if (auto ok = put_item(key); !ok)
    return ok;
  for (std::size_t i = 0; i < what.vectors.size(); ++i)
    if (auto ok = put_vector(vector_key(item.number, i), key, what.vectors[i]); !ok)
      return ok;
  return item.end == store_no_end ? result<void>{} : write_end(item, key);
}

result<void> item_change::write_end(const stored_item& item, std::string_view key) {
  begin_record(record_);
  append_item_end(key, record_);
  return write(item_end_key(item.end, item.number), record_kind::item_end);
}

result<void> item_change::refresh(const stored_item& item, std::int64_t now, std::int64_t end) {
  auto space = find_space(txn_, item.space);
  if (!space || !*space)
    return space ? result<void>{} : space.error();
  auto key = item_key(**space, item.key);
  record_opener::scope scope{opener_};
  auto old = old_head(key, item.key);
  if (!old)
    return old.error();
  if (!*old || (*old)->item.number != item.number || (*old)->item.is_over(now)
      || (*old)->item.end == end)
    return {};
  auto kept = (*old)->item;
  begin_record(record_); // before the old bytes are overwritten
  auto before = std::exchange(kept.end, end);
  append_item(kept, (*old)->has_vectors, (*old)->encoded, record_);
  if (auto ok = put_item(key); !ok)
    return ok;
  if (auto ok = erase(item_end_key(before, kept.number)); !ok)
    return ok;
  return write_end(kept, key);
}

// ---- removing -----------------------------------------------------------------------------------

// Removes the records that belong to an item, except the item's own.
result<void> item_change::forget(const item_head& head) {
  const auto& item = head.item;
  if (item.end != store_no_end)
    if (auto ok = erase(item_end_key(item.end, item.number)); !ok)
      return ok;
  if (!head.has_vectors)
    return {};
  gone_.push_back(item.number);
  has_changed_ = true;
  return txn_.erase_all(vectors_prefix(item.number));
}

result<void> item_change::remove(const store_namespace& space, const std::string& name) {
  auto number = find_space(txn_, space);
  if (!number || !*number)
    return number ? result<void>{} : number.error();
  auto key = item_key(**number, name);
  auto stored = txn_.get(key);
  if (!stored || !*stored)
    return stored ? result<void>{} : stored.error();
  record_opener::scope scope{opener_};
  auto old = old_head(key, name);
  if (!old)
    return old.error();
  if (*old)
    if (auto ok = forget(**old); !ok)
      return ok;
  if (auto ok = erase(key); !ok)
    return ok;
  return erase_space_if_empty(space, **number);
}

result<void> item_change::erase_space_if_empty(const store_namespace& space, std::uint64_t number) {
  {
    lmdb_cursor at{txn_};
    auto prefix = items_prefix(number);
    auto found = at.seek(prefix);
    if (!found)
      return found.error();
    if (*found && at.key().starts_with(prefix.view()))
      return {};
  }
  return erase(space_key(space));
}

// Removes an expired item. When the item was stored anew, is damaged or is gone, only the end
// record and the vectors of its number are removed.
result<void> item_change::forget_over(const item_end& end, std::string_view end_key) {
  auto stored = txn_.get(end_key);
  if (!stored)
    return stored.error();
  auto found = *stored ? open_item_end(**stored, end_key) : std::string_view{};
  auto key = found ? std::string{*found} : std::string{};
  if (auto ok = erase(end_key); !ok)
    return ok;
  if (auto ok = txn_.erase_all(vectors_prefix(end.number)); !ok)
    return ok;
  gone_.push_back(end.number);
  if (key.empty())
    return {};
  auto item = txn_.get(key);
  if (!item)
    return item.error();
  if (!*item)
    return {};
  record_opener::scope scope{opener_};
  auto head = open_head(**item, key);
  if (!head && !is_damage(head.error()))
    return head.error();
  if (!head || head->item.number != end.number || head->item.end != end.end)
    return {};
  if (auto ok = erase(key); !ok)
    return ok;
  return erase_space_if_empty(head->item.space, *space_of_item_key(key));
}

result<std::size_t> item_change::sweep(std::int64_t now, std::size_t count) {
  std::vector<std::pair<item_end, std::string>> over;
  {
    lmdb_cursor at{txn_};
    auto prefix = item_ends_prefix();
    auto more = at.seek(prefix);
    for (; more && *more && over.size() < count && at.key().starts_with(prefix.view());
         more = at.next()) {
      auto end = read_item_end_key(at.key());
      if (end && end->end > now)
        break;
      over.emplace_back(end.value_or(item_end{}), at.key());
    }
    if (!more)
      return more.error();
  }
  for (const auto& [end, key] : over)
    if (auto ok = forget_over(end, key); !ok)
      return ok.error();
  return over.size();
}

} // namespace troupe
