// Records, as every stored datum has them: whole ones open, damaged ones never do.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include "persistence/cache/cache_format.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/store_format.hpp"

namespace troupe::fuzz_bytes {

namespace {

std::string sealed(std::string_view payload, std::string_view key, record_kind kind) {
  std::string record;
  begin_record(record);
  record.append(payload);
  seal_record(record, key, kind);
  return record;
}

void try_stored(std::string_view stored, std::string_view key, record_kind kind) {
  if (auto payload = open_record(stored, key, kind))
    require(sealed(*payload, key, kind) == stored, "a record that opens is as it was sealed");
  static_cast<void>(kind_of(stored));
  static_cast<void>(short_checksum(stored));
}

void try_damage(std::string record, std::string_view key, record_kind kind, choices& from) {
  auto at = from.number(2) % record.size();
  auto bits = from.byte() | 1;
  record[at] = static_cast<char>(record[at] ^ bits);
  auto damaged = open_record(record, key, kind);
  require(!damaged, "a changed byte is detected");
  require(damaged.error().code() == errc::checkpoint_corrupt, "a changed byte is damage");
}

void try_payloads(std::string_view payload, std::string_view key) {
  if (auto meta = read_meta(payload)) {
    std::string again;
    append_meta(*meta, again);
    auto read = read_meta(again);
    require(read && read->next_number == meta->next_number, "a meta record reads back");
  }
  if (auto meta = read_cache_meta(payload)) {
    std::string again;
    append_cache_meta(*meta, again);
    auto read = read_cache_meta(again);
    require(read && read->charged_bytes == meta->charged_bytes, "a cache's meta reads back");
  }
  if (auto entry = read_cache_entry(payload)) {
    std::string again;
    append_cache_entry(*entry, again);
    auto read = read_cache_entry(again);
    require(read && read->until == entry->until && read->encoded == entry->encoded,
            "a cache's entry reads back");
  }
  static_cast<void>(peek_cache_entry_number(payload));
  auto record = sealed(payload, key, record_kind::cache_index);
  if (auto age = open_cache_age(record, key)) {
    std::string again;
    append_cache_age(*age, again);
    auto whole = sealed(again, key, record_kind::cache_index);
    auto read = open_cache_age(whole, key);
    require(read && read->until == age->until && read->space == age->space,
            "a cache's index reads back");
    static_cast<void>(cached_space_is_under(age->space, {"a", "b"}));
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  choices from{bytes};
  auto kind = static_cast<record_kind>(from.byte() % 9);
  auto key = from.text(60);
  try_stored(from.rest(), key, kind);
  try_payloads(from.rest(), key);
  auto record = sealed(from.rest(), key, kind);
  auto payload = open_record(record, key, kind);
  require(payload && *payload == from.rest(), "a record gives its payload back");
  try_damage(std::move(record), key, kind, from);
}

std::vector<std::string> seeds() {
  std::string meta;
  append_meta({.next_number = 300}, meta);
  std::string entry;
  append_cache_entry({.number = 7, .until = cache_time{}, .place = "\1\1a", .encoded = "\1"},
                     entry);
  std::string age;
  append_cache_age(
    {.entry_key = cache_entry_key({{"a"}, "k"}), .until = {}, .charged_bytes = 9, .space = "\1\1a"},
    age);
  std::string head{"\6\3key", 5};
  return {head + sealed("payload", "key", record_kind::value), head + meta, head + entry,
          head + age, head};
}

} // namespace troupe::fuzz_bytes
