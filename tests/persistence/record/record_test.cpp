#include "graph/task_id.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/store_format.hpp"
#include "persistence/record/timestamp_text.hpp"

#include "tests/fixtures/checkpoint_payload.hpp"
#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <array>
#include <random>
#include <thread>

namespace troupe {

namespace {

using test::require_error;

std::string sealed(std::string_view payload, std::string_view key,
                   record_kind kind = record_kind::value) {
  std::string record;
  begin_record(record);
  record.append(payload);
  seal_record(record, key, kind);
  return record;
}

checkpoint sample_checkpoint() {
  checkpoint cp;
  cp.ts = "2026-11-21T20:21:07.123456+00:00";
  cp.channel_versions = {{"__start__", {2, 0xfedcba9876543210}},
                         {"branch:to:a", {5, 0xfedcba9876543210}},
                         {"branch:to:b", {4, 0xfedcba9876543210}},
                         {"count", {5, 0xfedcba9876543210}},
                         {"log", {1, 9}}};
  cp.versions_seen = {{"__input__", {}},
                      {"__start__", {{"__start__", {1, 9}}}},
                      {"a", {{"branch:to:a", {4, 0xfedcba9876543210}}}}};
  cp.updated_channels = {{"branch:to:a", "count"}};
  return cp;
}

std::string sample_metadata() {
  return to_msgpack(value{{"parents", value::map()}, {"source", "loop"}, {"step", 4}}).value();
}

constexpr std::string_view parent = "1ef4f797-8335-6428-8001-8a1503f9b875";

std::vector<stored_write> merged(std::vector<stored_write> there,
                                 const std::vector<stored_write>& more) {
  merge_writes(there, more);
  return there;
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_record)

BOOST_AUTO_TEST_CASE(a_record_gives_its_payload_back) {
  for (std::size_t size : {0u, 1u, 16u, 240u, 241u, 100'000u}) {
    std::string payload(size, 'x');
    auto record = sealed(payload, "key");
    BOOST_TEST(record.size() == size + record_header_bytes);
    BOOST_TEST((open_record(record, "key", record_kind::value).value() == payload));
  }
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_of_a_record_is_detected) {
  for (std::string_view payload : {"", "x", "a payload of a few more bytes than a header has"}) {
    const auto record = sealed(payload, "key");
    for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
      auto damaged = record;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      require_error(open_record(damaged, "key", record_kind::value), errc::checkpoint_corrupt);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_truncation_and_extension_of_a_record_is_detected) {
  const auto record = sealed("some payload", "key");
  for (std::size_t size = 0; size < record.size(); ++size)
    require_error(open_record(std::string_view{record}.substr(0, size), "key", record_kind::value),
                  errc::checkpoint_corrupt);
  require_error(open_record(record + '\0', "key", record_kind::value), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_record_under_another_key_or_of_another_kind_is_detected) {
  const auto record = sealed("payload", "key");
  require_error(open_record(record, "kez", record_kind::value), errc::checkpoint_corrupt);
  require_error(open_record(record, "key", record_kind::writes), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_store_of_a_newer_format_is_told_from_a_damaged_one) {
  std::string payload;
  append_meta({.format = store_format + 1, .next_number = 5}, payload);
  require_error(read_meta(payload + "with more in it"), errc::format_too_new);
  payload.clear();
  append_meta({.next_number = 5}, payload);
  BOOST_TEST(read_meta(payload).value().next_number == 5u);
  require_error(read_meta(payload + "x"), errc::checkpoint_corrupt);
  require_error(read_meta(std::string(1, '\0')), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_small_checkpoint_takes_under_two_hundred_bytes) {
  name_table names;
  std::string record;
  begin_record(record);
  test::append_checkpoint(sample_checkpoint(), parent, sample_metadata(), names, record);
  BOOST_TEST(record.size() < 200u);
  BOOST_TEST_MESSAGE("bytes: " << record.size());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_reads_back) {
  name_table names;
  std::string payload;
  test::append_checkpoint(sample_checkpoint(), parent, sample_metadata(), names, payload);
  std::string batch;
  names.append_new(batch);
  std::vector<std::string_view> views;
  read_names(batch, views).value();

  auto stored = read_checkpoint(payload, views).value();
  BOOST_TEST((stored.checkpoint == sample_checkpoint()));
  BOOST_TEST(stored.parent_id == parent);
  BOOST_TEST(stored.metadata == sample_metadata());
  BOOST_TEST(stored.channels.size() == 5u);
}

// Bytes with a good checksum are not trusted either: no crash, no large allocation.
BOOST_DATA_TEST_CASE(damaged_payloads_are_refused_or_read, boost::unit_test::data::xrange(20),
                     seed) {
  name_table names;
  std::string payload;
  test::append_checkpoint(sample_checkpoint(), parent, sample_metadata(), names, payload);
  std::string batch;
  names.append_new(batch);
  std::vector<std::string_view> views;
  read_names(batch, views).value();
  for (std::size_t size = 0; size < payload.size(); ++size)
    require_error(read_checkpoint(payload.substr(0, size), views), errc::checkpoint_corrupt);

  std::mt19937 random{static_cast<unsigned>(seed)};
  for (int round = 0; round < 200; ++round) {
    auto damaged = payload;
    for (int i = 0; i < 3; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (auto r = read_checkpoint(damaged, views); !r)
      require_error(r, errc::checkpoint_corrupt);
    if (auto r = read_writes(damaged, views); !r)
      require_error(r, errc::checkpoint_corrupt);
    std::vector<std::string_view> ignored;
    if (auto r = read_names(damaged, ignored); !r)
      require_error(r, errc::checkpoint_corrupt);
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_refused) {
  for (std::string bytes :
       {std::string(10, '\xff'), std::string(9, '\xff') + '\x02', std::string(3, '\x80')}) {
    byte_reader in{bytes};
    in.varint();
    BOOST_TEST(!in.ok());
  }
  for (std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    std::string bytes;
    append_signed(bytes, n);
    byte_reader in{bytes};
    BOOST_TEST(in.signed_varint() == n);
    BOOST_TEST(in.finished());
  }
}

// A long number is read otherwise where more bytes follow it.
BOOST_AUTO_TEST_CASE(numbers_of_every_length_are_read_whatever_follows) {
  for (const std::string after : {"", "12345678"})
    for (int bits = 0; bits < 64; ++bits)
      for (std::uint64_t n : {std::uint64_t{1} << bits, (std::uint64_t{1} << bits) - 1}) {
        std::string bytes;
        append_varint(bytes, n);
        const auto whole = bytes + after;
        byte_reader in{whole};
        BOOST_TEST(in.varint() == n);
        BOOST_TEST(in.rest() == after);
        byte_reader cut{std::string_view{bytes}.substr(0, bytes.size() - 1)};
        cut.varint();
        BOOST_TEST(!cut.ok());
      }
}

BOOST_AUTO_TEST_CASE(three_numbers_are_read_as_if_one_by_one) {
  const std::uint64_t sizes[] = {0, 1, 127, 128, 16'383, 16'384, UINT64_MAX};
  for (const std::string after : {"", "x", "12345678"})
    for (auto first : sizes)
      for (auto second : sizes)
        for (auto third : sizes) {
          std::string bytes;
          for (auto n : {first, second, third})
            append_varint(bytes, n);
          const auto whole = bytes + after;
          byte_reader in{whole};
          BOOST_TEST((in.three_varints() == std::array{first, second, third}));
          BOOST_TEST((in.ok() && in.rest() == after));
          byte_reader cut{std::string_view{bytes}.substr(0, bytes.size() - 1)};
          cut.three_varints();
          BOOST_TEST(!cut.ok());
        }
}

BOOST_AUTO_TEST_CASE(writes_merge_by_slot) {
  const std::vector<stored_write> there{{-3, 1, "p", "old"}, {0, 2, "p", "a"}, {2, 2, "p", "c"}};
  auto now =
    merged(there, {{0, 2, "q", "other"}, {1, 3, "q", "b"}, {-3, 1, "q", "new"}, {-4, 4, "q", "r"}});
  BOOST_REQUIRE(now.size() == 5u);
  BOOST_TEST((now[0].slot == -4 && now[0].value == "r"));
  BOOST_TEST((now[1].slot == -3 && now[1].value == "new" && now[1].task_path == "q"));
  BOOST_TEST((now[2].slot == 0 && now[2].value == "a" && now[2].task_path == "p"));
  BOOST_TEST((now[3].slot == 1 && now[3].value == "b"));
  BOOST_TEST((now[4].slot == 2 && now[4].value == "c"));

  std::string payload;
  append_writes(now, nullptr, payload);
  const std::vector<std::string_view> names(5, "a channel");
  auto back = read_writes(payload, names).value();
  BOOST_REQUIRE(back.size() == now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    BOOST_TEST((back[i].slot == now[i].slot && back[i].channel == now[i].channel
                && back[i].task_path == now[i].task_path && back[i].value == now[i].value));
}

// A node has one, its tasks many: others, with numbers in them, would fill the table without end.
BOOST_AUTO_TEST_CASE(the_path_of_a_node_is_a_name_and_other_paths_are_not) {
  name_table names;
  names.number("a channel");
  auto sizes = std::vector<std::size_t>{};
  for (auto path : {task_path_str(pull_path("a node")), task_path_str(push_path(7)), std::string{}})
    for (auto* table : {&names, static_cast<name_table*>(nullptr)}) {
      std::string payload;
      append_writes(std::vector<stored_write>{{0, 0, path, "\x01"}, {1, 0, path, "\x02"}}, table,
                    payload);
      auto back = read_writes(payload, names.all()).value();
      BOOST_REQUIRE(back.size() == 2u);
      BOOST_TEST((back[0].task_path == path && back[1].task_path == path));
      BOOST_TEST((back[0].value == "\x01" && back[1].value == "\x02" && back[1].slot == 1));
      sizes.push_back(payload.size());
    }
  BOOST_TEST(names.all().size() == 2u);
  BOOST_TEST(sizes[0] < sizes[1]);
  BOOST_TEST(sizes[2] == sizes[3]);
  std::string payload;
  append_writes(std::vector<stored_write>{{0, 0, names.all()[1], "\x01"}}, &names, payload);
  require_error(read_writes(payload, std::vector<std::string_view>{"a channel"}),
                errc::checkpoint_corrupt);
  require_error(read_writes(payload, {}), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_writes_record_without_a_write_is_damage) {
  const std::vector<std::string_view> names{"a channel"};
  std::string payload;
  append_writes({}, nullptr, payload);
  require_error(read_writes(payload, names), errc::checkpoint_corrupt);
  require_error(read_writes(std::string_view{"\x01\x01p\x00", 4}, names), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(name_batches_load_in_order_only) {
  name_table writer;
  std::string first;
  std::string second;
  BOOST_TEST(writer.number("a") == 0u);
  BOOST_TEST(writer.number("b") == 1u);
  writer.append_new(first);
  writer.new_are_stored();
  BOOST_TEST(!writer.has_new());
  BOOST_TEST(writer.number("a") == 0u);
  BOOST_TEST(writer.number("") == 2u);
  writer.append_new(second);

  name_table loaded;
  require_error(name_table{}.load(second), errc::checkpoint_corrupt);
  loaded.load(first).value();
  loaded.load(second).value();
  BOOST_TEST(loaded.number("") == 2u);
  BOOST_TEST(loaded.number("c") == 3u);
  require_error(loaded.load(first), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(names_keep_their_numbers_however_many_there_are) {
  std::vector<std::string> all{"", "a", "b", "ab", "abc", "abcd"};
  for (int i = 0; i < 1000; ++i)
    all.push_back("a name with " + std::to_string(i) + " in it");
  name_table names;
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < all.size(); ++i)
      BOOST_REQUIRE(names.number(all[i]) == i);
  for (auto i = all.size(); i-- > 0;)
    BOOST_REQUIRE(names.number(all[i]) == i);
}

// A thread that has not read or written a time yet knows no second.
BOOST_AUTO_TEST_CASE(a_text_of_zero_bytes_is_no_timestamp) {
  std::optional<std::int64_t> read;
  std::thread{[&read] { read = timestamp_micros(std::string(20, '\0') + "123456+00:00"); }}.join();
  BOOST_TEST(!read.has_value());
}

BOOST_AUTO_TEST_CASE(timestamps_are_numbers_only_when_they_read_back_exactly) {
  for (std::string_view text :
       {"1970-01-01T00:00:00.000000+00:00", "2026-11-21T20:21:07.123456+00:00",
        "2024-02-29T23:59:59.999999+00:00", "0000-01-01T00:00:00.000000+00:00",
        "9999-12-31T23:59:59.999999+00:00", "1969-12-31T23:59:59.999999+00:00"}) {
    auto micros = timestamp_micros(text);
    BOOST_REQUIRE(micros.has_value());
    BOOST_TEST(timestamp_text(*micros) == text);
  }
  for (std::string_view text :
       {"", "2026-11-21T20:21:07+00:00", "2026-11-21T20:21:07.123456+02:00",
        "2023-02-29T00:00:00.000000+00:00", "2026-13-01T00:00:00.000000+00:00",
        "2026-11-21T24:00:00.000000+00:00", "2026-11-21T23:59:60.000000+00:00",
        "2026-11-21 20:21:07.123456+00:00", "202x-11-21T20:21:07.123456+00:00"})
    BOOST_TEST(!timestamp_micros(text).has_value());
  BOOST_TEST((timestamp_micros("0000-01-01T00:00:00.000000+00:00") == timestamp_micros_min));
  BOOST_TEST((timestamp_micros("9999-12-31T23:59:59.999999+00:00") == timestamp_micros_max));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
