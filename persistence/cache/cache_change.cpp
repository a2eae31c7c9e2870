// cache_change: setting, removing and counting the entries of a cache.
#include "persistence/cache/cache_change.hpp"

#include "persistence/cache/cache_rules.hpp"

#include <algorithm>

namespace troupe {

namespace {

error does_not_fit(std::string_view what) {
  std::string text{"read a cache's index: malformed: "};
  return {errc::checkpoint_corrupt, text.append(what)};
}

} // namespace

// ---- the transaction ----------------------------------------------------------------------------

file_sealing cache_sealing(std::shared_ptr<const key_provider> keys,
                           std::size_t compress_bytes_min) {
  return {"cache",
          cache_meta_key(),
          {cache_data_key(), "the encrypted cache"},
          std::move(keys),
          compress_bytes_min};
}

result<void> cache_change::load(const result<std::string_view>& payload) {
  auto meta = payload ? read_cache_meta(*payload) : payload.error();
  if (!meta)
    return meta.error().code() == errc::format_too_new ? meta.error() : start_over();
  meta_ = *meta;
  return {};
}

result<void> cache_change::commit() {
  return commit_with([this](std::string& out) { append_cache_meta(meta_, out); });
}

// A damaged data key can't open any entry any more.
result<void> cache_change::seal_entry(const cache_entry& entry, const store_key& key) {
  auto try_to = [&] {
    begin_record(record_);
    append_cache_entry(entry, record_);
    return seal(key, record_kind::cache_entry);
  };
  auto sealed = try_to();
  if (sealed || !is_damage(sealed.error()))
    return sealed;
  if (auto ok = erase_all(); !ok)
    return ok;
  return try_to();
}

result<cache_entry> cache_change::open_entry(std::string_view stored, std::string_view key) {
  auto payload = open(stored, key, record_kind::cache_entry);
  return payload ? read_cache_entry(*payload) : payload.error();
}

// ---- storing ------------------------------------------------------------------------------------

result<void> cache_change::set(const cache_key& place, std::string_view encoded,
                               const std::optional<cache_time>& until, cache_time now,
                               std::uint64_t charged_bytes_max) {
  auto key = cache_entry_key(place);
  if (auto ok = forget_replaced(key); !ok)
    return ok;
  auto charge = charge_of(place, encoded);
  if (auto ok = shrink(charged_bytes_max - std::min(charge, charged_bytes_max), now); !ok)
    return ok;

  auto number = meta_.next_number++;
  auto place_bytes = cache_place(place.space, place.key);
  if (auto ok = seal_entry({number, until, place_bytes, encoded}, key); !ok)
    return ok;
  if (auto ok = write_sealed(key); !ok)
    return ok;
  auto space_bytes = cache_place(place.space);
  begin_record(record_);
  append_cache_age({key, until, charge, space_bytes}, record_);
  if (auto ok = write(cache_age_key(number), record_kind::cache_index); !ok)
    return ok;
  meta_.charged_bytes += charge;
  if (!until)
    return {};
  begin_record(record_);
  return write(cache_end_key(*until, number), record_kind::cache_index);
}

std::uint64_t cache_change::charge_of(const cache_key& place, std::string_view encoded) {
  constexpr std::size_t numbers = 48; // at most: what stands in front, in either record
  auto space_size = cache_place(place.space).size();
  auto head = record_header_bytes + numbers + space_size;
  return cache_charge(head + gcm_overhead_bytes + place.key.size() + encoded.size(), head);
}

// ---- forgetting ---------------------------------------------------------------------------------

result<void> cache_change::start_over() {
  has_changed_ = true;
  for (const auto& prefix : {cache_entries_prefix(), cache_ages_prefix(), cache_ends_prefix()})
    if (auto ok = txn_.erase_all(prefix); !ok)
      return ok;
  meta_.charged_bytes = 0;
  return {};
}

result<void> cache_change::erase_all() {
  auto ok = start_over();
  return ok ? erase_data_key() : ok;
}

// When LMDB itself fails, starting over fails too; then the first failure is returned.
result<void> cache_change::start_over_after(const troupe::error& failure) {
  if (!is_damage(failure))
    return failure;
  auto ok = start_over();
  return ok || ok.error().code() == errc::storage_full ? ok : failure;
}

result<void> cache_change::shrink(std::uint64_t charged_bytes_max, cache_time now) {
  while (meta_.charged_bytes > charged_bytes_max) {
    auto more = forget_first(now);
    if (!more)
      return start_over_after(more.error());
    if (!*more)
      meta_.charged_bytes = 0; // nothing is left: damage removed the entries that were charged
  }
  return {};
}

// Removes the entry that expired first, or else the oldest. Result: whether there was one.
result<bool> cache_change::forget_first(cache_time now) {
  auto end = first_end();
  if (!end)
    return end.error();
  std::optional<std::uint64_t> number;
  if (*end && has_run_out((*end)->end, now)) {
    number = (*end)->number;
    if (auto ok = erase(cache_end_key((*end)->end, *number)); !ok)
      return ok.error();
  } else {
    auto oldest = first_age();
    if (!oldest)
      return oldest.error();
    number = *oldest;
  }
  if (!number)
    return false;
  auto forgotten = forget(*number);
  return forgotten ? result<bool>{true} : forgotten.error();
}

result<std::optional<cache_end>> cache_change::first_end() {
  lmdb_cursor at{txn_};
  auto prefix = cache_ends_prefix();
  auto found = at.seek(prefix);
  if (!found)
    return found.error();
  if (!*found || !at.key().starts_with(prefix.view()))
    return std::optional<cache_end>{};
  auto end = read_cache_end_key(at.key());
  return end ? result<std::optional<cache_end>>{end} : does_not_fit("end");
}

result<std::optional<std::uint64_t>> cache_change::first_age() {
  lmdb_cursor at{txn_};
  auto prefix = cache_ages_prefix();
  auto found = at.seek(prefix);
  if (!found)
    return found.error();
  if (!*found || !at.key().starts_with(prefix.view()))
    return std::optional<std::uint64_t>{};
  auto number = read_cache_age_key(at.key());
  return number ? result<std::optional<std::uint64_t>>{number} : does_not_fit("age");
}

result<void> cache_change::forget(std::uint64_t number) {
  auto key = cache_age_key(number);
  auto stored = txn_.get(key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return {};
  auto age = open_cache_age(**stored, key);
  if (!age)
    return age.error();
  meta_.charged_bytes -= std::min(meta_.charged_bytes, age->charged_bytes);
  auto until = age->until;
  if (auto ok = forget_entry(std::string{age->entry_key}, number); !ok)
    return ok;
  if (until)
    if (auto ok = erase(cache_end_key(*until, number)); !ok)
      return ok;
  return erase(key);
}

// An entry of another number was set after this one was damaged: it stays, if it is intact.
result<void> cache_change::forget_entry(const std::string& entry_key, std::uint64_t number) {
  auto stored = txn_.get(entry_key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return {};
  record_opener::scope scope{opener_};
  auto entry = open_entry(**stored, entry_key);
  return entry && entry->number != number ? result<void>{} : erase(entry_key);
}

// The other records of a damaged entry are removed when its age comes.
result<void> cache_change::forget_replaced(const store_key& entry_key) {
  auto stored = txn_.get(entry_key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return {};
  record_opener::scope scope{opener_};
  auto entry = open_entry(**stored, entry_key);
  auto number = entry ? entry->number : peek_cache_entry_number(**stored);
  auto age_key = cache_age_key(number);
  auto age_stored = txn_.get(age_key);
  if (!age_stored)
    return age_stored.error();
  if (!*age_stored)
    return {};
  auto age = open_cache_age(**age_stored, age_key);
  return age && age->entry_key == entry_key.view() ? forget(number) : result<void>{};
}

result<void> cache_change::clear(const std::vector<std::string>& space) {
  if (space.empty())
    return erase_all();
  std::vector<std::uint64_t> numbers;
  auto scanned = scan(txn_, cache_ages_prefix(), [&](auto key, auto data) -> result<void> {
    auto age = open_cache_age(data, key);
    auto number = read_cache_age_key(key);
    if (!age || !number)
      return age ? does_not_fit("age") : age.error();
    if (cached_space_is_under(age->space, space))
      numbers.push_back(*number);
    return {};
  });
  if (!scanned)
    return start_over_after(scanned.error());
  for (auto number : numbers)
    if (auto ok = forget(number); !ok)
      return start_over_after(ok.error());
  return {};
}

result<void> cache_change::forget_damaged(const store_key& entry_key) {
  auto stored = txn_.get(entry_key);
  if (!stored)
    return stored.error();
  if (!*stored)
    return {};
  record_opener::scope scope{opener_};
  auto entry = open_entry(**stored, entry_key);
  return entry && from_msgpack(entry->encoded) ? result<void>{} : erase(entry_key);
}

} // namespace troupe
