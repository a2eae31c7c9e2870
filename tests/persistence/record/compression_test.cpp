// Compressed records: when a payload is, that it comes back, and that no record makes us allocate
// more than the limit.
#include "persistence/crypt/sealed_record.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/keys.hpp"

#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <zstd.h>

#include <random>

namespace troupe {

namespace {

using test::make_put;
using test::require_error;

std::string sealed(std::string_view payload, std::size_t compress_bytes_min) {
  std::string record;
  begin_record(record);
  record.append(payload);
  record_sealer{compress_bytes_min}.seal(record, "key", record_kind::value, nullptr).value();
  return record;
}

std::string random_bytes(std::size_t size) {
  std::mt19937 random{5};
  std::string bytes(size, '\0');
  for (auto& b : bytes)
    b = static_cast<char>(random());
  return bytes;
}

// A record of these bytes that is marked as compressed.
std::string compressed_record(std::string_view frame,
                              std::uint8_t flags = record_flag::compressed) {
  std::string record;
  begin_record(record);
  record.append(frame);
  seal_record(record, "key", record_kind::value, flags);
  return record;
}

std::string record_of_frames(std::string_view frames) {
  return compressed_record(frames, record_flag::compressed | record_flag::several_frames);
}

const std::string skippable{"\x50\x2a\x4d\x18\1\0\0\0x", 9};

std::string frame_of(std::string_view text, bool with_size = true) {
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  frame.resize(ZSTD_compress2(context.get(), frame.data(), frame.size(), text.data(), text.size()));
  return frame;
}

result<std::string_view> open(record_opener& opener, std::string_view record) {
  return opener.open(record, "key", record_kind::value, nullptr);
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_compression)

BOOST_AUTO_TEST_CASE(a_payload_is_compressed_from_the_size_given_on) {
  const std::string text(600, 'x');
  BOOST_TEST(flags_of(sealed(text, 601)) == 0);
  BOOST_TEST(sealed(text, 601).size() == record_header_bytes + 600);
  auto record = sealed(text, 600);
  BOOST_TEST(flags_of(record) == record_flag::compressed);
  BOOST_TEST(record.size() < 60u);
  record_opener opener;
  BOOST_TEST(open(opener, record).value() == text);
  BOOST_TEST(flags_of(sealed(text, SIZE_MAX)) == 0);
  BOOST_TEST(flags_of(sealed("", 0)) == 0);
}

BOOST_AUTO_TEST_CASE(what_does_not_get_smaller_is_stored_as_it_is) {
  for (std::size_t size : {1u, 600u, 100'000u}) {
    auto bytes = random_bytes(size);
    auto record = sealed(bytes, 1);
    BOOST_TEST(flags_of(record) == 0);
    BOOST_TEST((record.substr(record_header_bytes) == bytes));
  }
}

BOOST_AUTO_TEST_CASE(texts_stay_until_their_scope_ends_and_a_plain_one_is_not_copied) {
  record_opener opener;
  auto plain = sealed("plain", SIZE_MAX);
  BOOST_TEST(static_cast<const void*>(open(opener, plain).value().data())
             == plain.data() + record_header_bytes);
  auto first = open(opener, sealed(std::string(600, 'a'), 1)).value();
  const void* reused = nullptr;
  for (int round = 0; round < 100; ++round) {
    record_opener::scope scope{opener};
    auto second = open(opener, sealed(std::string(700, 'b'), 1)).value();
    auto third = open(opener, sealed(std::string(800, 'c'), 1)).value();
    BOOST_TEST((second == std::string(700, 'b') && third == std::string(800, 'c')));
    BOOST_TEST((round == 0 || reused == second.data()));
    reused = second.data();
  }
  BOOST_TEST((first == std::string(600, 'a')));
}

BOOST_AUTO_TEST_CASE(what_is_larger_than_the_limit_is_stored_as_it_is_and_never_believed) {
  std::string text(limits::decompressed_bytes_max, 'x');
  record_opener opener;
  BOOST_TEST(flags_of(sealed(text, 1)) == record_flag::compressed);
  BOOST_TEST(open(opener, sealed(text, 1)).value().size() == text.size());
  text.push_back('x');
  BOOST_TEST(flags_of(sealed(text, 1)) == 0);
  auto bomb = compressed_record(frame_of(text)); // a few thousand bytes
  BOOST_TEST(bomb.size() < 10'000u);
  require_error(open(opener, bomb), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(frames_that_do_not_say_their_size_or_lie_about_it_are_refused) {
  const std::string text(5'000, 'x');
  const auto good = frame_of(text);
  record_opener opener;
  BOOST_TEST(open(opener, compressed_record(good)).value() == text);
  for (const auto& frame : {frame_of(text, false), std::string{}, std::string{"no frame"}, text,
                            good + good, good + "x", skippable})
    require_error(open(opener, compressed_record(frame)), errc::checkpoint_corrupt);
  for (std::size_t size = 0; size < good.size(); ++size)
    require_error(open(opener, compressed_record(good.substr(0, size))), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(several_frames_count_together_and_each_is_checked) {
  const std::string text(5'000, 'x');
  const auto good = frame_of(text);
  record_opener opener;
  BOOST_TEST(open(opener, record_of_frames(good)).value() == text);
  BOOST_TEST(open(opener, record_of_frames(good + frame_of("y") + good)).value()
             == text + "y" + text);
  for (const auto& frames : {std::string{}, good + frame_of(text, false), good + "x",
                             good + good.substr(1), good + skippable, skippable + good})
    require_error(open(opener, record_of_frames(frames)), errc::checkpoint_corrupt);
  const std::string half(limits::decompressed_bytes_max / 2 + 1, 'x');
  require_error(open(opener, record_of_frames(frame_of(half) + frame_of(half))),
                errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(frames_without_compression_are_refused) {
  std::string record;
  begin_record(record);
  record.append("text");
  seal_record(record, "key", record_kind::value, record_flag::several_frames);
  record_opener opener;
  require_error(open(opener, record), errc::checkpoint_corrupt);
}

BOOST_DATA_TEST_CASE(damaged_frames_are_refused_or_read_within_the_limit,
                     boost::unit_test::data::xrange(8), seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  std::string text;
  while (text.size() < 3'000)
    text += "item " + std::to_string(random() % 1000) + ", ";
  const auto good = frame_of(text);
  record_opener opener;
  for (int round = 0; round < 300; ++round) {
    record_opener::scope scope{opener};
    auto damaged = good;
    for (int i = 0; i < 2; ++i)
      damaged[random() % 40] = static_cast<char>(random());
    if (auto read = open(opener, compressed_record(damaged)); !read)
      require_error(read, errc::checkpoint_corrupt);
    else
      BOOST_TEST(read->size() <= limits::decompressed_bytes_max);
  }
}

BOOST_AUTO_TEST_CASE(a_store_holds_large_values_compressed_and_small_ones_not) {
  test::temporary_directory dir;
  auto text = std::string(limits::compress_bytes_min, 't');
  {
    auto store = open_lmdb_saver(dir.path()).value();
    store
      ->put({"t", "", ""}, make_put("c1", "", {{"large", text}, {"small", std::string(200, 's')}}))
      .value();
    auto tuple = store->get_tuple({"t", "", ""}).value();
    BOOST_TEST((tuple->checkpoint.channel_values[0].second == value(text)));
  }
  auto env = open_saver_file(dir.path() / "troupe.mdb", 1u << 30).value();
  auto txn = env->begin_read().value();
  auto flags = [&txn](std::uint64_t channel) {
    return flags_of(*txn.get(value_key(1, {1, 7}, channel)).value());
  };
  BOOST_TEST(flags(0) == record_flag::compressed);
  BOOST_TEST(flags(1) == 0);
}

// Written by another implementation (Python's ctypes over libzstd and libxxhash).
BOOST_AUTO_TEST_CASE(a_compressed_record_written_once_reads_forever) {
  constexpr std::string_view stored{
    "\x54\x01\x06\x02\x1a\x00\x00\x00\x42\xc1\x2d\xf1\x49\x1d\x7e\x87\x28\xb5\x2f\xfd\x20\xca\x8d"
    "\x00\x00\x50\xd9\xc8\x74\x72\x6f\x75\x70\x65\x21\x20\x01\x00\xbd\x51\x05\x09",
    42};
  std::string text = "\xd9\xc8";
  for (int i = 0; i < 25; ++i)
    text += "troupe! ";
  record_opener opener;
  BOOST_TEST(opener.open(stored, value_key(1, {5, 0}, 0), record_kind::value, nullptr).value()
             == text);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
