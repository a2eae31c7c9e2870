// Large texts of a request: compressed once, found wherever a record holds them, and never where
// something else stands.
#include "persistence/crypt/sealed_record.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/compression.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/large_texts.hpp"

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/crypt/test_keys.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <random>
#include <span>

namespace troupe {

namespace {

using test::make_put;

// Text that differs by seed, and gets smaller.
std::string words(std::size_t size, unsigned seed) {
  std::mt19937 random{seed};
  std::string text;
  while (text.size() < size)
    text += "word" + std::to_string(random() % 100) + " ";
  text.resize(size);
  return text;
}

std::vector<task_writes> write_of(value v) {
  return {{"task", "path", {{"messages", std::move(v)}}}};
}

struct packed {
  std::size_t frames;
  std::string bytes;
};

packed pack(large_texts& texts, std::string_view payload) {
  std::string out = "before";
  auto frames = texts.compress(payload, compressed_bytes_max(payload.size()), out);
  BOOST_TEST(out.starts_with("before"));
  return {frames, out.substr(6)};
}

std::string unpacked(const packed& p) {
  std::string text;
  BOOST_TEST(decompress(p.bytes, p.frames == 1 ? frame_count::one : frame_count::several,
                        limits::decompressed_bytes_max, text));
  return text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_large_texts)

BOOST_AUTO_TEST_CASE(a_text_has_the_same_frame_in_each_payload) {
  auto text = words(20'000, 1);
  auto writes = write_of(value::list({value::map({{"content", value(text)}})}));
  large_texts texts;
  texts.find_in(writes);
  auto first = pack(texts, "head " + text + " tail");
  auto second = pack(texts, "another head " + text);
  BOOST_TEST(first.frames == 3u);
  BOOST_TEST(second.frames == 2u);
  BOOST_TEST((unpacked(first) == "head " + text + " tail"));
  BOOST_TEST((unpacked(second) == "another head " + text));
  auto alone = pack(texts, text);
  BOOST_TEST(alone.frames == 1u);
  BOOST_TEST((first.bytes.find(alone.bytes) != std::string::npos));
  BOOST_TEST(second.bytes.ends_with(alone.bytes));
}

BOOST_AUTO_TEST_CASE(a_payload_without_the_texts_is_one_frame) {
  auto text = words(20'000, 1);
  auto almost = text;
  almost.back() = '!';
  large_texts texts;
  auto writes = write_of(value(text));
  texts.find_in(writes);
  for (const auto& payload : {words(30'000, 2), almost, text.substr(1), text.substr(0, 19'999),
                              std::string(30'000, 'w'), std::string{"x"}}) {
    auto packed = pack(texts, payload);
    BOOST_TEST(packed.frames == 1u);
    BOOST_TEST((unpacked(packed) == payload));
  }
  auto after_almost = pack(texts, almost + text); // the first candidate is another text
  BOOST_TEST(after_almost.frames == 2u);
  BOOST_TEST((unpacked(after_almost) == almost + text));
  texts.clear();
  BOOST_TEST(pack(texts, text + "x").frames == 1u);
}

BOOST_AUTO_TEST_CASE(several_texts_are_found_in_any_order_and_overlapping_ones_once) {
  auto a = words(9'000, 1);
  auto b = words(10'000, 2);
  auto within_b = b.substr(500, 9'000);
  large_texts texts;
  auto writes = write_of(value::list({value(a), value(b), value(within_b), value(a)}));
  texts.find_in(writes);
  for (const auto& payload : {a + b, b + "," + a, "x" + a + "y" + b + "z", b + b, within_b + a}) {
    auto packed = pack(texts, payload);
    BOOST_TEST(packed.frames > 1u);
    BOOST_TEST((unpacked(packed) == payload));
  }
}

BOOST_AUTO_TEST_CASE(a_payload_of_which_the_texts_are_a_small_part_is_one_frame) {
  auto text = words(4'000, 1);
  large_texts texts;
  auto writes = write_of(value(text));
  texts.find_in(writes);
  auto most = (text.size() + 1) * large_texts::payload_per_text_max - 1;
  BOOST_TEST(pack(texts, words(most - text.size(), 2) + text).frames == 2u);
  BOOST_TEST(pack(texts, words(most + 1 - text.size(), 2) + text).frames == 1u);
}

BOOST_AUTO_TEST_CASE(only_large_texts_count_and_at_most_so_many) {
  large_texts texts;
  auto small = write_of(value(words(large_texts::bytes_min - 1, 1)));
  texts.find_in(small);
  BOOST_TEST(pack(texts, words(large_texts::bytes_min - 1, 1) + "x").frames == 1u);
  std::vector<value> many;
  std::string payload;
  for (unsigned i = 0; i < large_texts::texts_max + 4; ++i) {
    many.emplace_back(words(large_texts::bytes_min, i));
    payload += words(large_texts::bytes_min, i);
  }
  auto writes = write_of(value::list(std::move(many)));
  texts.find_in(writes);
  auto packed = pack(texts, payload);
  BOOST_TEST(packed.frames == large_texts::texts_max + 1);
  BOOST_TEST((unpacked(packed) == payload));
}

BOOST_AUTO_TEST_CASE(bytes_count_as_texts_and_values_beyond_the_limit_are_not_looked_at) {
  auto text = words(9'000, 1);
  std::vector<value> items(large_texts::values_max, value(1));
  items.emplace_back(text);
  large_texts texts;
  auto late = write_of(value::list(std::move(items)));
  texts.find_in(late);
  BOOST_TEST(pack(texts, text + "x").frames == 1u);
  auto early = write_of(value::bytes(std::as_bytes(std::span{text})));
  texts.find_in(early);
  BOOST_TEST(pack(texts, text + "x").frames == 2u);
}

BOOST_AUTO_TEST_CASE(an_uncompressed_frame_is_one_that_zstd_reads) {
  for (std::size_t size = 1; size <= uncompressed_text_bytes_max; ++size) {
    auto text = words(size, static_cast<unsigned>(size));
    std::string frame;
    append_uncompressed(text, frame);
    BOOST_TEST(frame.size() == size + uncompressed_overhead_bytes);
    std::string read;
    BOOST_REQUIRE(decompress(frame, frame_count::one, size, read));
    BOOST_TEST(read == text);
  }
}

BOOST_AUTO_TEST_CASE(frames_beyond_the_bound_leave_the_output_as_it_was) {
  auto text = words(20'000, 1);
  auto payload = "head" + text + words(500, 2);
  large_texts texts;
  auto writes = write_of(value(text));
  texts.find_in(writes);
  auto whole = pack(texts, payload);
  for (std::size_t bound = 0; bound < whole.bytes.size(); bound += 7) {
    std::string out = "before";
    BOOST_TEST(texts.compress(payload, bound, out) == 0u);
    BOOST_TEST(out == "before");
  }
  std::string out;
  BOOST_TEST(texts.compress(payload, whole.bytes.size() + 64, out) == 3u); // zstd wants some room
}

BOOST_AUTO_TEST_CASE(a_stored_write_and_its_message_share_a_frame) {
  test::temporary_directory dir;
  auto text = words(30'000, 1);
  auto message = value::list({value::map({{"content", value(text)}})});
  {
    auto store = open_lmdb_saver(dir.path()).value();
    save_request request;
    request.ref = {"t", "", "c0"};
    request.writes = write_of(message);
    request.put = make_put("c1", "c0", {{"messages", message}});
    test::submit(*store, request, save_ack::durable).get().value();
    auto tuple = store->get_tuple({"t", "", ""}).value();
    BOOST_TEST((tuple->checkpoint.channel_values[0].second == message));
  }
  auto env = open_saver_file(dir.path() / "troupe.mdb", 1u << 30).value();
  auto txn = env->begin_read().value();
  auto value_record = *txn.get(value_key(1, {1, 7}, 0)).value();
  auto writes_record = *txn.get(writes_key(1, "c0", "task")).value();
  for (auto record : {value_record, writes_record})
    BOOST_TEST(flags_of(record) == (record_flag::compressed | record_flag::several_frames));
  std::string frame;
  BOOST_TEST(compress(text, compressed_bytes_max(text.size()), frame));
  BOOST_TEST((value_record.find(frame) != std::string_view::npos));
  BOOST_TEST((writes_record.find(frame) != std::string_view::npos));
}

BOOST_AUTO_TEST_CASE(a_shared_text_is_encrypted_in_both_records_and_read_back) {
  test::temporary_directory dir;
  auto text = words(30'000, 1) + std::string{test::marker};
  auto message = value::list({value::map({{"content", value(text)}})});
  auto open = [&dir] { return open_lmdb_saver(dir.path(), {.keyring = test::keys("k1")}).value(); };
  {
    save_request request;
    request.ref = {"t", "", "c0"};
    request.writes = write_of(message);
    request.put = make_put("c1", "c0", {{"messages", message}});
    test::submit(*open(), request, save_ack::durable).get().value();
  }
  auto store = open(); // nothing of the values is in memory
  auto tuple = store->get_tuple({"t", "", "c1"}).value();
  BOOST_TEST((tuple->checkpoint.channel_values[0].second == message));
  store.reset();
  std::ifstream file{dir.path() / "troupe.mdb", std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  BOOST_TEST((bytes.find(test::marker) == std::string::npos));
  std::string frame;
  BOOST_TEST(compress(text, compressed_bytes_max(text.size()), frame));
  BOOST_TEST((bytes.find(frame.substr(0, 64)) == std::string::npos));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
