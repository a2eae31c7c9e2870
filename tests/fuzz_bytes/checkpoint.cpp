// The payloads of checkpoint, writes, small values and names records: what reads writes itself and
// reads back.
#include "tests/fixtures/checkpoint_payload.hpp"
#include "tests/fuzz_bytes/target.hpp"

#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/small_values.hpp"

#include <algorithm>

namespace troupe::fuzz_bytes {

namespace {

constexpr std::string_view known_names[] = {"__start__", "branch:to:a",      "count", "log", "a",
                                            "b",         "~__pregel_pull, a"};

name_table table_of_names() {
  name_table table;
  for (auto name : known_names)
    table.number(name);
  table.new_are_stored();
  return table;
}

bool equal(const small_value& a, const small_value& b) {
  return a.channel == b.channel && a.bytes == b.bytes;
}

bool equal(const stored_write& a, const stored_write& b) {
  return a.slot == b.slot && a.channel == b.channel && a.task_path == b.task_path
         && a.value == b.value;
}

constexpr auto same = [](const auto& a, const auto& b) { return equal(a, b); };

void try_checkpoint(std::string_view payload) {
  auto read = read_checkpoint(payload, known_names);
  if (!read) {
    require(read.error().code() == errc::checkpoint_corrupt, "what does not fit is damage");
    return;
  }
  require(read->channels.size() == read->checkpoint.channel_versions.size(),
          "each version has its channel's number");
  auto names = table_of_names();
  std::string again;
  test::append_checkpoint(read->checkpoint, read->parent_id, read->metadata, names, again);
  require(!names.has_new(), "a checkpoint names only what the table has");
  auto second = read_checkpoint(again, known_names);
  require(second && second->checkpoint == read->checkpoint && second->parent_id == read->parent_id
            && second->metadata == read->metadata && second->channels == read->channels,
          "a checkpoint reads back");
  std::vector<small_value> values;
  if (!read_small_values(read->small_values, values))
    return;
  append_small_values(values, again);
  auto with_values = read_checkpoint(again, known_names);
  std::vector<small_value> values_again;
  require(with_values && read_small_values(with_values->small_values, values_again)
            && values_again == values,
          "the values of a checkpoint read back");
}

void try_writes(std::string_view payload) {
  auto read = read_writes(payload, known_names);
  if (!read)
    return;
  auto names = table_of_names();
  for (auto* table : {static_cast<name_table*>(nullptr), &names}) {
    std::string again;
    append_writes(*read, table, again);
    auto second = read_writes(again, names.all());
    require(second && std::ranges::equal(*second, *read, same), "writes read back");
  }
  std::vector<stored_write> merged;
  merge_writes(merged, *read);
  auto once = merged.size();
  merge_writes(merged, *read);
  require(merged.size() == once, "writes that are stored twice are there once");
}

void try_small_values(std::string_view payload) {
  std::vector<small_value> read, second, gone;
  if (!read_small_values(payload, read))
    return;
  std::string again;
  append_small_values(read, again);
  require(read_small_values(again, second) && std::ranges::equal(second, read, same),
          "small values read back");
  auto changed = read;
  change_small_values(changed, read);
  require(std::ranges::equal(changed, read, same), "the same change changes nothing");
  for (const auto& small : read)
    gone.push_back({small.channel, {}});
  change_small_values(changed, gone);
  require(changed.empty(), "small values go");
}

void try_names(std::string_view payload) {
  std::vector<std::string_view> names;
  auto read = read_names(payload, names);
  name_table table;
  auto loaded = table.load(payload);
  require(read.has_value() == loaded.has_value(), "writer and reader agree about names");
}

} // namespace

void try_bytes(std::string_view bytes) {
  try_checkpoint(bytes);
  try_writes(bytes);
  try_small_values(bytes);
  try_names(bytes);
}

std::vector<std::string> seeds() {
  auto names = table_of_names();
  checkpoint cp;
  cp.ts = "2026-11-21T20:21:07.123456+00:00";
  cp.channel_versions = {{"__start__", {2, 77}}, {"branch:to:a", {5, 77}}, {"count", {5, 9}}};
  cp.versions_seen = {{"a", {{"branch:to:a", {4, 77}}}}};
  cp.updated_channels = {{"branch:to:a", "count"}};
  std::string small;
  test::append_checkpoint(cp, "1ef4f797-8335-6428-8001-8a1503f9b875",
                          "\x81\xa1"
                          "a\x01",
                          names, small);
  cp = {};
  cp.ts = "yesterday";
  std::string odd;
  test::append_checkpoint(cp, "no uuid", "\x80", names, odd);
  std::vector<stored_write> some{{-3, 2, "~a", "\xc0"}, {0, 1, "~a", "\x01"}, {1, 3, "", "\xa1x"}};
  std::string writes;
  append_writes(some, nullptr, writes);
  std::string named;
  append_writes(std::vector<stored_write>{{0, 2, known_names[6], "\x01"}}, &names, named);
  std::string small_ones;
  append_small_values(std::vector<small_value>{{2, "\x01"}, {3, "\xa1x"}}, small_ones);
  auto with_values = small + small_ones;
  name_table fresh;
  fresh.number("one");
  fresh.number("two");
  std::string batch;
  fresh.append_new(batch);
  return {small, odd, with_values, writes, named, small_ones, batch};
}

} // namespace troupe::fuzz_bytes
