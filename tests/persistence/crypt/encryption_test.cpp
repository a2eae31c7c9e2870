// Encryption at rest: nothing shows, nothing can be changed or moved, keys rotate and can be lost.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/thread_keys.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/keys.hpp"

#include <troupe/data_dir.hpp>

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/crypt/test_keys.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::keys;
using test::make_put;
using test::marker;
using test::require_error;
using test::ring;

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string{digits.substr(i, 2)}, nullptr, 16)));
  return bytes;
}

secret_key key_of(std::string_view bytes) {
  secret_key key;
  std::copy(bytes.begin(), bytes.end(), key.data());
  return key;
}

// A number, and as many small values as do not fit into a checkpoint's record.
named<value> numbered_values(unsigned n) {
  return {{"n", n},
          {"text", std::string{marker}},
          {"x", std::string(60, 'x')},
          {"y", std::string(60, 'y')}};
}

checkpoint_put nth_put(unsigned n) {
  return make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1), numbered_values(n),
                  value{{"step", n}}, {n + 1, 7});
}

value number_of(saver& from, const std::string& thread_id) {
  auto tuple = from.get_tuple({thread_id, "", ""}).value();
  return tuple ? tuple->checkpoint.channel_values.at(0).second : value("absent");
}

struct encryption_fixture {
  test::temporary_directory dir;
  std::filesystem::path file = dir.path() / "troupe.mdb";

  std::shared_ptr<saver> open(ring with, std::size_t compress_bytes_min = SIZE_MAX) {
    return open_lmdb_saver(dir.path(),
                           {.keyring = std::move(with), .compress_bytes_min = compress_bytes_min})
      .value();
  }
  std::string bytes() const {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  // While no saver has the file open.
  template <class Fn> void change(Fn fn) {
    auto env = open_saver_file(file, 1u << 30).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_encryption, encryption_fixture)

// ---- the cipher and the format ------------------------------------------------------------------

// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16; in NIST's CAVS, too.
BOOST_AUTO_TEST_CASE(aes_256_gcm_gives_the_known_answer) {
  auto cipher =
    aes_gcm::with(
      key_of(from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")))
      .value();
  auto text = from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                       "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
  auto context = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  gcm_context parts{std::string_view{context}.substr(0, 7), std::string_view{context}.substr(7)};
  auto nonce = from_hex("cafebabefacedbaddecaf888");
  auto answer = nonce
                + from_hex("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                           "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                           "76fc6ece0f4e1768cddf8853bb2d551b");
  for (int round = 0; round < 2; ++round) { // one cipher goes both ways, again and again
    std::string out;
    cipher.encrypt(text, parts, nonce, out).value();
    BOOST_TEST((out == answer));
    BOOST_TEST(cipher.decrypt(answer, parts, out));
    BOOST_TEST((out == text));
  }
}

BOOST_AUTO_TEST_CASE(equal_texts_are_never_encrypted_equally) {
  auto cipher = aes_gcm::with(random_key().value()).value();
  std::string first;
  std::string second;
  cipher.encrypt("text", {}, first).value();
  cipher.encrypt("text", {}, second).value();
  BOOST_TEST(first.substr(0, gcm_nonce_bytes) != second.substr(0, gcm_nonce_bytes));
  BOOST_TEST(first.substr(gcm_nonce_bytes) != second.substr(gcm_nonce_bytes));
}

// Written by another implementation (Python's cryptography, libxxhash and libzstd).
BOOST_AUTO_TEST_CASE(encrypted_records_written_once_read_forever) {
  std::string counted;
  for (char c = 0; c < 64; ++c)
    counted.push_back(c);
  auto cipher = aes_gcm::with(key_of(counted.substr(0, 32))).value();
  auto key = value_key(1, {5, 0}, 0);
  record_opener opener;
  auto stored = from_hex("540106012200000019114e1188d7ac94a0a1a2a3a4a5a6a7a8a9aaab4370194129a41a83"
                         "4f9ea38a038d07e3814c3f387c40");
  BOOST_TEST(opener.open(stored, key, record_kind::value, &cipher).value() == "\xa5hello");
  stored = from_hex("5401060336000000816f03c3be23c339a0a1a2a3a4a5a6a7a8a9aaabcead53d065018fbf62355e"
                    "1b7308afab00c9783093b7ff3d99077a55976a2605d28723583466557f26ce");
  BOOST_TEST(opener.open(stored, key, record_kind::value, &cipher).value().size() == 202u);

  open(nullptr);
  change([](lmdb_txn& txn) {
    txn
      .put(data_key_key(1), from_hex("540110003f0000009d41e83dd9d16ce2026b31a0a1a2a3a4a5a6a7a8a9aaa"
                                     "b7e3da637c0d286ada921a7b12a5078a9816ed31428a13035178bd1e2cf7b"
                                     "b1e79f4fdbd7166214ce045d804239cddb20"))
      .value();
  });
  auto env = open_saver_file(file, 1u << 30).value();
  auto txn = env->begin_read().value();
  auto ring =
    keyring::from_text("k1 202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f")
      .value();
  auto found = find_thread_cipher(txn, 1, ring.get()).value();
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(opener.open(stored, key, record_kind::value, &*found).value().size() == 202u);
}

BOOST_AUTO_TEST_CASE(every_byte_of_an_encrypted_record_counts_even_with_a_good_checksum) {
  auto cipher = aes_gcm::with(random_key().value()).value();
  std::string record;
  begin_record(record);
  record += "a payload";
  record_sealer{SIZE_MAX}.seal(record, "key", record_kind::value, &cipher).value();
  record_opener opener;
  BOOST_TEST(opener.open(record, "key", record_kind::value, &cipher).value() == "a payload");
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    auto changed = record;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    require_error(opener.open(changed, "key", record_kind::value, &cipher),
                  errc::checkpoint_corrupt);
    if (bit / 8 < record_header_bytes)
      continue;
    seal_record(changed, "key", record_kind::value, record_flag::encrypted); // as a forger would
    require_error(opener.open(changed, "key", record_kind::value, &cipher),
                  errc::checkpoint_corrupt);
  }
  for (std::size_t size = record_header_bytes; size < record.size(); ++size) {
    auto cut = record.substr(0, size);
    seal_record(cut, "key", record_kind::value, record_flag::encrypted);
    require_error(opener.open(cut, "key", record_kind::value, &cipher), errc::checkpoint_corrupt);
  }
  auto flagged = record; // the header is authenticated as well
  seal_record(flagged, "key", record_kind::value, record_flag::encrypted | record_flag::compressed);
  require_error(opener.open(flagged, "key", record_kind::value, &cipher), errc::checkpoint_corrupt);
  seal_record(flagged, "key", record_kind::patch, record_flag::encrypted);
  require_error(opener.open(flagged, "key", record_kind::patch, &cipher), errc::checkpoint_corrupt);
}

// ---- stores -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nothing_that_was_stored_shows_in_the_file) {
  auto compressed = std::string{marker};
  while (compressed.size() < 2 * limits::compress_bytes_min)
    compressed += marker;
  auto fill = [&](saver& to) {
    auto put = make_put("c1", "",
                        {{"MARKER-in-the-clear-channel", std::string{marker}},
                         {"list", value::list({std::string{marker}, compressed})}},
                        value{{"note", std::string{marker}}});
    to.put({"t", "", ""}, put).value();
    to.put({"t", "child", ""}, put).value();
    to.put_writes({"t", "", "c1"}, {"task", std::string{marker}, {{"a", std::string{marker}}}})
      .value();
    auto grown = put.checkpoint.channel_values[1].second.append("more");
    to.put({"t", "", ""}, make_put("c2", "c1", {{"list", grown}}, {}, {2, 7})).value();
  };
  fill(*open(nullptr));
  BOOST_TEST(bytes().find(marker) != std::string::npos);
  std::filesystem::remove(file);
  for (std::size_t compress : {SIZE_MAX, limits::compress_bytes_min}) {
    auto store = open(keys("k1"), compress);
    fill(*store);
    auto tuple = store->get_tuple({"t", "", "c1"}).value();
    BOOST_TEST((tuple->checkpoint.channel_values[1].second[1] == value(compressed)));
    BOOST_TEST(tuple->pending_writes.at(0).task_path == marker);
    store.reset();
    BOOST_TEST(bytes().find(marker) == std::string::npos);
    BOOST_TEST(bytes().find(std::string(32, '1')) == std::string::npos); // nor does a key
    BOOST_TEST(bytes().find(std::string(32, '\x11')) == std::string::npos);
    std::filesystem::remove(file);
  }
}

BOOST_AUTO_TEST_CASE(a_byte_flipped_anywhere_in_an_encrypted_value_is_reported) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  const auto key = small_values_key(1, {1, 7});
  std::string good;
  change([&](lmdb_txn& txn) { good = *txn.get(key).value(); });
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    change([&](lmdb_txn& txn) { txn.put(key, bad).value(); });
    require_error(open(keys("k1"))->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
  }
}

BOOST_AUTO_TEST_CASE(records_that_change_places_are_reported) {
  {
    auto store = open(keys("k1"));
    store->put({"t", "", ""}, make_put("c1", "", numbered_values(1), {}, {1, 7})).value();
    store->put({"t", "", ""}, make_put("c2", "c1", numbered_values(2), {}, {2, 7})).value();
    store->put({"u", "", ""}, make_put("c1", "", numbered_values(3), {}, {1, 7})).value();
  }
  // To another version of the same thread, and to another thread: with good checksums.
  for (auto to : {small_values_key(1, {2, 7}), small_values_key(2, {1, 7})}) {
    std::string there;
    change([&](lmdb_txn& txn) {
      there = *txn.get(to).value();
      std::string moved{*txn.get(small_values_key(1, {1, 7})).value()};
      seal_record(moved, to, record_kind::small_values, record_flag::encrypted);
      txn.put(to, moved).value();
    });
    auto thread = to.view() == small_values_key(2, {1, 7}).view() ? "u" : "t";
    require_error(open(keys("k1"))->get_tuple({thread, "", ""}), errc::checkpoint_corrupt);
    change([&](lmdb_txn& txn) { txn.put(to, there).value(); });
  }
  BOOST_TEST(number_of(*open(keys("k1")), "t") == value(2));
  change([&](lmdb_txn& txn) { // and so are data keys
    std::string moved{*txn.get(data_key_key(1)).value()};
    seal_record(moved, data_key_key(2), record_kind::key);
    txn.put(data_key_key(2), moved).value();
  });
  require_error(open(keys("k1"))->get_tuple({"u", "", ""}), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(without_the_key_a_thread_is_neither_read_nor_written_but_can_be_deleted) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  for (const auto& with : {ring{}, keys("k2"), keys("k1!"), keys("k2 k1!")}) {
    auto store = open(with);
    auto read = store->get_tuple({"t", "", ""});
    require_error(read, errc::key_missing);
    BOOST_TEST(read.error().message().find("`k1`") != std::string::npos, read.error().message());
    require_error(store->list({}), errc::key_missing);
    require_error(store->threads(), errc::key_missing);
    require_error(store->get_delta_channel_history({"t", "", ""}, {"n"}), errc::key_missing);
    require_error(store->put({"t", "", ""}, nth_put(1)), errc::key_missing);
    require_error(store->put_writes({"t", "", checkpoint_id(0)}, {"task", "", {{"n", 1}}}),
                  errc::key_missing);
    store->put({"other", "", ""}, nth_put(2)).value(); // the store continues
    BOOST_TEST(number_of(*store, "other") == value(2));
    store->delete_thread("other").value();
  }
  auto wrong = open(keys("k1!"))->get_tuple({"t", "", ""}).error().message();
  auto none = open(keys("k2"))->get_tuple({"t", "", ""}).error().message();
  BOOST_TEST(wrong != none);
  BOOST_TEST(number_of(*open(keys("k1")), "t") == value(0));
  open(nullptr)->delete_thread("t").value();
  BOOST_TEST(open(nullptr)->list({}).value().empty());
}

BOOST_AUTO_TEST_CASE(plain_and_encrypted_records_of_one_thread_are_read_side_by_side) {
  open(nullptr)->put({"t", "", ""}, nth_put(0)).value();
  open(nullptr)->put({"plain", "", ""}, nth_put(0)).value();
  {
    auto store = open(keys("k1"));
    BOOST_TEST(number_of(*store, "t") == value(0));
    auto put = nth_put(1);
    put.checkpoint.channel_values[1].second = "SECRET";
    store->put({"t", "", ""}, put).value();
    store->put({"new", "", ""}, put).value();
    auto all = store->list({.thread_id = "t"}).value();
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST((all[0].checkpoint.channel_values[1].second == value("SECRET")));
    BOOST_TEST((all[1].checkpoint.channel_values[1].second == value(std::string{marker})));
  }
  BOOST_TEST(bytes().find("SECRET") == std::string::npos);
  BOOST_TEST(bytes().find(marker) != std::string::npos);
  auto store = open(nullptr);
  BOOST_TEST(number_of(*store, "plain") == value(0));
  BOOST_TEST(
    (store->get_tuple({"t", "", checkpoint_id(0)}).value()->checkpoint.channel_values[0].second
     == value(0))); // what was plain stays plain
  require_error(store->get_tuple({"t", "", ""}), errc::key_missing);
  require_error(store->put({"t", "", ""}, nth_put(2)), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_open_is_not_opened_again_with_other_keys) {
  auto store = open(keys("k1"));
  BOOST_TEST(open(keys("k1")) == store);
  BOOST_TEST(open(nullptr) == store);
  require_error(open_lmdb_saver(dir.path(), {.keyring = keys("k1 k2")}), errc::invalid_config);
  store.reset();
  store = open(nullptr);
  require_error(open_lmdb_saver(dir.path(), {.keyring = keys("k1")}), errc::invalid_config);
  require_error(rotate_store_keys(dir.path(), keys("k1")), errc::invalid_config);
}

// ---- keys ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(after_a_rotation_the_old_key_can_be_dropped_and_no_data_was_touched) {
  constexpr unsigned threads = 600; // more than one transaction of them
  {
    open(nullptr)->put({"plain", "", ""}, nth_put(9)).value();
    auto store = open(keys("k1"));
    for (unsigned n = 0; n < threads; ++n)
      test::submit(*store, {{"t" + std::to_string(n), "", ""}, {}, nth_put(n)}, save_ack::accepted)
        .get()
        .value();
  }
  std::string before;
  change([&](lmdb_txn& txn) { before = *txn.get(small_values_key(2, {1, 7})).value(); });
  auto report = rotate_store_keys(dir.path(), keys("k1 k2")).value();
  BOOST_TEST((report == rotation_report{threads, threads}));
  BOOST_TEST((rotate_store_keys(dir.path(), keys("k1 k2")).value() == rotation_report{threads, 0}));
  change([&](lmdb_txn& txn) {
    BOOST_TEST((*txn.get(small_values_key(2, {1, 7})).value() == before));
  });
  auto store = open(keys("k2"));
  for (unsigned n = 0; n < threads; n += 50)
    BOOST_TEST(number_of(*store, "t" + std::to_string(n)) == value(n));
  BOOST_TEST(number_of(*store, "plain") == value(9));
  store.reset();
  require_error(open(keys("k1"))->get_tuple({"t0", "", ""}), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(a_rotation_goes_on_beside_a_saver_that_writes) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  auto store = open(keys("k1 k2"));
  store->put({"t", "", ""}, nth_put(1)).value();
  BOOST_TEST((rotate_store_keys(dir.path(), keys("k1 k2")).value() == rotation_report{1, 1}));
  store->put({"t", "", ""}, nth_put(2)).value();
  store.reset();
  BOOST_TEST(open(keys("k2"))->list({.thread_id = "t"}).value().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_rotation_that_lacks_a_key_says_which) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  auto refused = rotate_store_keys(dir.path(), keys("k2"));
  require_error(refused, errc::key_missing);
  BOOST_TEST(refused.error().message().find("`k1`") != std::string::npos);
  require_error(rotate_store_keys(dir.path(), nullptr), errc::invalid_config);
  BOOST_TEST(number_of(*open(keys("k1")), "t") == value(0));
}

BOOST_AUTO_TEST_CASE(a_deleted_thread_takes_its_key_along_and_a_new_one_gets_another) {
  auto key_record = [this](std::uint64_t thread) {
    std::string record;
    change([&](lmdb_txn& txn) { record = txn.get(data_key_key(thread)).value().value_or(""); });
    return record;
  };
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  BOOST_TEST(!key_record(1).empty());
  open(keys("k1"))->delete_thread("t").value();
  BOOST_TEST(key_record(1).empty());
  open(keys("k1"))->put({"t", "", ""}, nth_put(1)).value();
  BOOST_TEST(!key_record(2).empty());
}

BOOST_AUTO_TEST_CASE(without_its_key_record_what_a_thread_left_is_unreadable) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  change([](lmdb_txn& txn) { txn.erase(data_key_key(1)).value(); });
  auto store = open(keys("k1"));
  require_error(store->get_tuple({"t", "", ""}), errc::key_missing);
  require_error(store->put({"t", "", ""}, nth_put(1)), errc::key_missing);
  store.reset();
  change([](lmdb_txn& txn) { BOOST_TEST(!txn.get(data_key_key(1)).value().has_value()); });
}

BOOST_AUTO_TEST_CASE(a_key_record_that_fits_no_key_is_damage) {
  open(keys("k1"))->put({"t", "", ""}, nth_put(0)).value();
  for (const auto& id : {std::string(limits::store_key_id_bytes_max + 1, 'a'), std::string{"a\nb"}})
    for (std::size_t size : {wrapped_key_bytes, wrapped_key_bytes + 1, std::size_t{0}}) {
      change([&](lmdb_txn& txn) {
        std::string record;
        begin_record(record);
        append_sized(record, id);
        record.append(size, 'x');
        seal_record(record, data_key_key(1), record_kind::key);
        txn.put(data_key_key(1), record).value();
      });
      require_error(open(keys("k1"))->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
    }
}

BOOST_AUTO_TEST_CASE(a_check_reads_encrypted_threads_with_the_key_and_checksums_without) {
  {
    auto store = open(keys("k1"), 1);
    for (unsigned n = 0; n < 3; ++n)
      store->put({"t", "", ""}, nth_put(n)).value();
    store->put({"u", "child", ""}, nth_put(0)).value();
  }
  open(nullptr)->put({"plain", "", ""}, nth_put(0)).value();
  auto report = check_data(dir.path(), {}, keys("k1")).value();
  BOOST_TEST((report.damaged == 0 && report.locked_threads == 0 && report.checkpoints == 5));
  for (const auto& with : {ring{}, keys("k2")}) {
    report = check_data(dir.path(), {}, with).value();
    BOOST_TEST((report.damaged == 0 && report.locked_threads == 2));
  }
  change([](lmdb_txn& txn) { // a good checksum, and not what was encrypted
    auto key = small_values_key(1, {1, 7});
    std::string forged{*txn.get(key).value()};
    forged.back() = static_cast<char>(forged.back() ^ 1);
    seal_record(forged, key, record_kind::small_values, flags_of(forged));
    txn.put(key, forged).value();
  });
  BOOST_TEST(check_data(dir.path(), {}, keys("k1")).value().damaged == 1u);
  BOOST_TEST(check_data(dir.path()).value().damaged == 0u);
  change([](lmdb_txn& txn) {
    auto key = small_values_key(1, {1, 7});
    std::string damaged{*txn.get(key).value()};
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    txn.put(key, damaged).value();
  });
  BOOST_TEST(check_data(dir.path()).value().damaged == 1u);
}

BOOST_AUTO_TEST_CASE(a_copied_thread_has_a_key_of_its_own_and_a_plain_one_becomes_encrypted) {
  open(nullptr)->put({"plain", "", ""}, nth_put(0)).value();
  {
    auto store = open(keys("k1"));
    store->put({"t", "", ""}, nth_put(1)).value();
    store->copy_thread("t", "t2").value();
    store->copy_thread("plain", "p2").value();
    store->delete_thread("t").value();
    BOOST_TEST(number_of(*store, "t2") == value(1));
    BOOST_TEST(number_of(*store, "p2") == value(0));
  }
  auto store = open(nullptr);
  require_error(store->get_tuple({"t2", "", ""}), errc::key_missing);
  require_error(store->get_tuple({"p2", "", ""}), errc::key_missing);
  require_error(store->copy_thread("t2", "t3"), errc::key_missing);
  require_error(store->prune({"t2"}), errc::key_missing);
  require_error(store->threads(), errc::key_missing);
  BOOST_TEST(!store->get_tuple({"t3", "", ""}).value().has_value());
}

// ---- processes ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(two_processes_write_one_encrypted_thread_in_turns) {
  constexpr unsigned rounds = 10;
  int to_child[2];
  int to_parent[2];
  BOOST_REQUIRE((pipe(to_child) == 0 && pipe(to_parent) == 0));
  auto step = [](saver& store, unsigned n) {
    store.put({"t", "", ""}, nth_put(n)).value();
    return number_of(store, "t") == value(n);
  };
  auto child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto store = open(keys("k0 k1"));
    auto good = true;
    char c;
    for (unsigned n = 1; good && n < rounds; n += 2)
      good = read(to_child[0], &c, 1) == 1 && step(*store, n) && write(to_parent[1], "x", 1) == 1;
    _exit(good ? 0 : 1);
  }
  auto store = open(keys("k1 k0"));
  char c;
  for (unsigned n = 0; n < rounds; n += 2) {
    BOOST_TEST(step(*store, n));
    BOOST_REQUIRE((write(to_child[1], "x", 1) == 1 && read(to_parent[0], &c, 1) == 1));
  }
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  BOOST_TEST(store->list({.thread_id = "t"}).value().size() == rounds);
  for (int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]})
    close(fd);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
