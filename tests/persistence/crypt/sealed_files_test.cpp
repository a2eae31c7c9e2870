// The long-term store's file and the cache's, encrypted: nothing shows, nothing can be changed or
// moved, keys rotate and can be lost.
#include "persistence/cache/cache_format.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/store/item_change.hpp"

#include <troupe/data_dir.hpp>
#include <troupe/node_cache.hpp>
#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/crypt/test_keys.hpp"

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::keys;
using test::marker;
using test::require_error;
using test::ring;
using texts = std::vector<std::string>;

constexpr float number_in_vectors = 1234.5678f;

struct sealed_files_fixture {
  test::temporary_directory dir;
  std::chrono::system_clock::time_point now{};

  store_options options() {
    auto embed = [](const texts& all) -> result<std::vector<std::vector<float>>> {
      std::vector<std::vector<float>> out;
      for (const auto& text : all)
        out.push_back({static_cast<float>(text.size()), number_in_vectors});
      return out;
    };
    return {.index = store_index{.dims = 2, .embed = embed, .distance = vector_distance::l2},
            .now = [this] { return now; }};
  }
  std::shared_ptr<store> open(ring with, std::size_t compress_bytes_min = SIZE_MAX) {
    return open_lmdb_store(dir.path(), {.store = options(),
                                        .keyring = std::move(with),
                                        .compress_bytes_min = compress_bytes_min})
      .value();
  }
  std::shared_ptr<node_cache> open_cache(ring with) {
    return open_lmdb_cache(dir.path(), {.keyring = std::move(with)}).value();
  }
  std::string bytes(const char* file) const {
    std::ifstream in{dir.path() / file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  // While nobody has the file open.
  template <class Fn> void change(const char* file, Fn fn) {
    auto env = lmdb_env::open(dir.path() / file, limits::store_map_bytes_default).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
  std::string stored(const char* file, std::string_view key) {
    std::string found;
    change(file, [&](lmdb_txn& txn) { found = txn.get(key).value().value_or(""); });
    return found;
  }
  store_key key_of(const std::string& name) {
    std::uint64_t space = 0;
    change("store.mdb", [&](lmdb_txn& txn) { space = find_space(txn, {"a"}).value().value(); });
    return item_key(space, name);
  }
};

void put(store& to, const std::string& key, std::string_view text = marker) {
  to.put({"a"}, key, value{{"text", std::string{text}}}).value();
}

value text_of(store& in, const std::string& key) {
  auto item = in.get({"a"}, key).value();
  return item ? item->value.at("text") : value("absent");
}

texts found_keys(store& in, const std::string& query) {
  texts found;
  for (const auto& item : in.search({.query = query}).value())
    found.push_back(item.key);
  return found;
}

// As a forger would: with a good checksum.
std::string forged(std::string record, std::string_view key, record_kind kind) {
  record.back() = static_cast<char>(record.back() ^ 1);
  seal_record(record, key, kind, flags_of(record));
  return record;
}

const cache_key place{{"graph", "node"}, "MARKER-in-the-clear-key"};
constexpr node_cache::clock::time_point today{};

value cached(node_cache& in) {
  return in.get(place, today).value().value_or("absent");
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_sealed_files, sealed_files_fixture)

// ---- what shows ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nothing_but_namespaces_and_keys_shows_in_the_stores_file) {
  std::string in_vectors;
  auto bits = std::bit_cast<std::uint32_t>(number_in_vectors);
  for (int shift = 0; shift < 32; shift += 8)
    in_vectors.push_back(static_cast<char>(bits >> shift));
  {
    auto items = open(keys("k1"));
    items
      ->put({.space = {"a", "namespace-in-the-clear"},
             .key = "key-in-the-clear",
             .value = value{{"text", std::string{marker}}},
             .ttl = 10s})
      .value();
    put(*items, "2");
  }
  auto sealed = bytes("store.mdb");
  BOOST_TEST(sealed.find(marker) == std::string::npos);
  BOOST_TEST(sealed.find(in_vectors) == std::string::npos);
  BOOST_TEST(sealed.find("namespace-in-the-clear") != std::string::npos);
  BOOST_TEST(sealed.find("key-in-the-clear") != std::string::npos);
  std::filesystem::remove(dir.path() / "store.mdb");
  put(*open(nullptr), "2");
  BOOST_TEST(bytes("store.mdb").find(marker) != std::string::npos);
  BOOST_TEST(bytes("store.mdb").find(in_vectors) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(neither_values_nor_keys_show_in_the_caches_file) {
  open_cache(keys("k1"))->set(place, std::string{marker}, {}).value();
  BOOST_TEST(bytes("cache.mdb").find(marker) == std::string::npos);
  BOOST_TEST(cached(*open_cache(keys("k1"))) == value(std::string{marker}));
  std::filesystem::remove(dir.path() / "cache.mdb");
  open_cache(nullptr)->set(place, std::string{marker}, {}).value();
  BOOST_TEST(bytes("cache.mdb").find(marker) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(large_items_are_compressed_with_and_without_keys_and_vectors_are_not) {
  const std::string large(10'000, 'x');
  for (const auto& with : {ring{}, keys("k1")}) {
    std::filesystem::remove(dir.path() / "store.mdb");
    put(*open(with, 512), "1", large);
    auto key = key_of("1");
    auto record = stored("store.mdb", key);
    BOOST_TEST(record.size() < 1000u);
    auto flags = with ? record_flag::compressed | record_flag::encrypted : record_flag::compressed;
    BOOST_TEST(flags_of(record) == flags);
    BOOST_TEST(text_of(*open(with), "1") == value(large));
  }
}

// ---- plain and sealed ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(plain_and_sealed_items_lie_side_by_side) {
  {
    auto items = open(nullptr);
    put(*items, "plain");
    put(*items, "both");
  }
  {
    auto items = open(keys("k1"));
    put(*items, "sealed", "S");
    put(*items, "both", "SECRET");
    BOOST_TEST((found_keys(*items, "S") == texts{"sealed", "both", "plain"}));
  }
  auto is_sealed = [this](const std::string& name) {
    return is_encrypted(stored("store.mdb", key_of(name)));
  };
  BOOST_TEST((is_sealed("sealed") && is_sealed("both") && !is_sealed("plain")));
  auto items = open(nullptr);
  BOOST_TEST(text_of(*items, "plain") == value(std::string{marker}));
  auto refused = items->get({"a"}, "sealed");
  require_error(refused, errc::key_missing);
  BOOST_TEST(refused.error().message().find("`k1`") != std::string::npos);
  BOOST_TEST(refused.error().message().find("TROUPE_STORE_KEY_FILE") != std::string::npos);
  require_error(items->search({}), errc::key_missing);
  require_error(items->search({.query = "S"}), errc::key_missing);
  require_error(items->put({"a"}, "sealed", value::map()), errc::key_missing);
  require_error(items->put({"b"}, "new", value::map()), errc::key_missing);
  require_error(items->remove({"a"}, "sealed"), errc::key_missing);
  require_error(items->list_namespaces({}), errc::key_missing); // the end of one is not known
  items->remove({"a"}, "plain").value();
}

BOOST_AUTO_TEST_CASE(a_key_that_is_another_one_is_as_good_as_none) {
  put(*open(keys("k1")), "1");
  for (const auto& with : {keys("k1!"), keys("k2")}) {
    auto items = open(with);
    require_error(items->get({"a"}, "1"), errc::key_missing);
    require_error(items->put({"a"}, "1", value::map()), errc::key_missing);
  }
  BOOST_TEST(text_of(*open(keys("k1 k2")), "1") == value(std::string{marker}));
}

BOOST_AUTO_TEST_CASE(items_that_are_over_are_swept_with_the_key_alone) {
  open(keys("k1"))
    ->put({.space = {"a"}, .key = "1", .value = value{{"text", "t"}}, .ttl = 10s})
    .value();
  now += 10s;
  require_error(open(nullptr)->sweep(), errc::key_missing);
  BOOST_TEST(open(keys("k1"))->sweep().value() == 1u);
  change("store.mdb", [](lmdb_txn& txn) { BOOST_TEST(txn.entries() == 2u); }); // meta, data key
}

BOOST_AUTO_TEST_CASE(a_read_that_refreshes_keeps_an_item_sealed) {
  auto items = open(keys("k1"));
  items->put({.space = {"a"}, .key = "1", .value = value{{"text", "t"}}, .ttl = 10s}).value();
  now += 6s;
  BOOST_TEST(items->get({"a"}, "1", true).value().has_value());
  now += 6s;
  BOOST_TEST((found_keys(*items, "t") == texts{"1"}));
  items.reset();
  BOOST_TEST(is_encrypted(stored("store.mdb", key_of("1"))));
}

BOOST_AUTO_TEST_CASE(a_store_of_format_1_is_read_and_becomes_the_present_one) {
  put(*open(nullptr), "1");
  change("store.mdb", [](lmdb_txn& txn) {
    auto key = items_meta_key();
    std::string record;
    begin_record(record);
    record.append("\x01\x02", 2);
    seal_record(record, key, record_kind::meta);
    txn.put(key, record).value();
  });
  auto items = open(keys("k1"));
  BOOST_TEST(text_of(*items, "1") == value(std::string{marker}));
  put(*items, "2");
  items.reset();
  auto meta = stored("store.mdb", items_meta_key());
  BOOST_TEST(static_cast<std::uint64_t>(meta[record_header_bytes]) == item_format);
}

BOOST_AUTO_TEST_CASE(what_is_open_is_not_opened_again_with_other_keys) {
  auto items = open(keys("k1"));
  auto cache = open_cache(keys("k1"));
  open(keys("k1"));
  open(nullptr);
  BOOST_TEST(open_cache(nullptr) == cache);
  require_error(open_lmdb_store(dir.path(), {.keyring = keys("k1 k2")}), errc::invalid_config);
  require_error(open_lmdb_cache(dir.path(), {.keyring = keys("k2")}), errc::invalid_config);
  items.reset();
  cache.reset();
  items = open(nullptr);
  cache = open_cache(nullptr);
  require_error(open_lmdb_store(dir.path(), {.keyring = keys("k1")}), errc::invalid_config);
  require_error(open_lmdb_cache(dir.path(), {.keyring = keys("k1")}), errc::invalid_config);
  require_error(rotate_store_keys(dir.path(), keys("k1")), errc::invalid_config);
}

// ---- changed records ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_sealed_item_that_was_changed_or_moved_is_damage) {
  {
    auto items = open(keys("k1"));
    put(*items, "1");
    put(*items, "2");
    put(*items, "3");
  }
  auto one = key_of("1");
  auto two = key_of("2");
  change("store.mdb", [&](lmdb_txn& txn) {
    std::string moved{*txn.get(one).value()};
    txn.put(one, forged(moved, one, record_kind::item)).value();
    seal_record(moved, two, record_kind::item, flags_of(moved));
    txn.put(two, moved).value();
  });
  auto items = open(keys("k1"));
  require_error(items->get({"a"}, "1"), errc::checkpoint_corrupt);
  require_error(items->get({"a"}, "2"), errc::checkpoint_corrupt);
  BOOST_TEST(text_of(*items, "3") == value(std::string{marker}));
  put(*items, "1");
  items->remove({"a"}, "2").value();
  BOOST_TEST((found_keys(*items, "text") == texts{"1", "3"}));
}

BOOST_AUTO_TEST_CASE(a_sealed_vector_that_was_changed_is_as_good_as_none) {
  {
    auto items = open(keys("k1"));
    put(*items, "1");
    put(*items, "2");
  }
  change("store.mdb", [](lmdb_txn& txn) {
    std::string key;
    std::string record;
    {
      lmdb_cursor at{txn};
      BOOST_REQUIRE(at.seek(vectors_prefix()).value());
      key = at.key();
      record = at.data();
    }
    BOOST_TEST(is_encrypted(record));
    txn.put(key, forged(record, key, record_kind::vector)).value();
  });
  auto found = open(keys("k1"))->search({.query = "text"}).value();
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST((found[0].key == "2" && found[0].score.has_value() && !found[1].score.has_value()));
}

BOOST_AUTO_TEST_CASE(a_damaged_data_key_keeps_the_store_as_it_is_and_the_cache_starts_over) {
  put(*open(keys("k1")), "1");
  open_cache(keys("k1"))->set(place, 1, {}).value();
  for (const auto& [file, key] :
       {std::pair{"store.mdb", items_data_key()}, std::pair{"cache.mdb", cache_data_key()}}) {
    auto whole = stored(file, key);
    BOOST_REQUIRE(!whole.empty());
    whole.back() = static_cast<char>(whole.back() ^ 1);
    change(file, [&](lmdb_txn& txn) { txn.put(key, whole).value(); });
  }
  auto items = open(keys("k1"));
  require_error(items->get({"a"}, "1"), errc::checkpoint_corrupt);
  require_error(items->put({"a"}, "1", value::map()), errc::checkpoint_corrupt);
  auto cache = open_cache(keys("k1"));
  BOOST_TEST(cached(*cache) == value("absent"));
  cache->set(place, 2, {}).value();
  BOOST_TEST(cached(*cache) == value(2));
}

// ---- the cache's key ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_cache_whose_key_is_lost_can_be_cleared) {
  open_cache(keys("k1"))->set(place, 1, {}).value();
  auto cache = open_cache(nullptr);
  auto refused = cache->get(place, today);
  require_error(refused, errc::key_missing);
  BOOST_TEST(refused.error().message().find("`k1`") != std::string::npos);
  require_error(cache->set(place, 2, {}), errc::key_missing);
  cache->clear({"nobody"}).value();
  require_error(cache->get(place, today), errc::key_missing);
  cache->clear({"graph"}).value(); // leaves the data key
  BOOST_TEST(cached(*cache) == value("absent"));
  require_error(cache->set(place, 2, {}), errc::key_missing);
  cache->clear({}).value();
  cache->set(place, 2, {}).value();
  BOOST_TEST(cached(*cache) == value(2));
}

BOOST_AUTO_TEST_CASE(plain_and_sealed_values_lie_side_by_side_in_a_cache) {
  const cache_key other{{"graph", "node"}, "other"};
  open_cache(nullptr)->set(place, 1, {}).value();
  {
    auto cache = open_cache(keys("k1"));
    cache->set(other, 2, {}).value();
    BOOST_TEST(cached(*cache) == value(1));
  }
  auto cache = open_cache(nullptr);
  BOOST_TEST(cached(*cache) == value(1));
  require_error(cache->get(other, today), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(a_sealed_value_that_was_changed_is_a_miss_and_removed) {
  open_cache(keys("k1"))->set(place, 1, {}).value();
  auto key = cache_entry_key(place);
  change("cache.mdb", [&](lmdb_txn& txn) {
    txn.put(key, forged(std::string{*txn.get(key).value()}, key, record_kind::cache_entry)).value();
  });
  BOOST_TEST(cached(*open_cache(keys("k1"))) == value("absent"));
  BOOST_TEST(stored("cache.mdb", key).empty());
}

// ---- rotation and copies ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(after_a_rotation_the_old_key_of_the_files_can_be_dropped) {
  put(*open(keys("k1")), "1");
  open_cache(keys("k1"))->set(place, 1, {}).value();
  auto record = stored("store.mdb", key_of("1"));
  auto missing = rotate_store_keys(dir.path(), keys("k2"));
  require_error(missing, errc::key_missing);
  BOOST_TEST(missing.error().message().find("`k1`") != std::string::npos);
  auto files = [](std::size_t rewrapped) {
    return rotation_report{.threads = 0, .rewrapped = rewrapped, .files = 2};
  };
  BOOST_TEST((rotate_store_keys(dir.path(), keys("k1 k2")).value() == files(2)));
  BOOST_TEST((rotate_store_keys(dir.path(), keys("k1 k2")).value() == files(0)));
  BOOST_TEST((stored("store.mdb", key_of("1")) == record));
  BOOST_TEST(text_of(*open(keys("k2")), "1") == value(std::string{marker}));
  BOOST_TEST(cached(*open_cache(keys("k2"))) == value(1));
  require_error(open(keys("k1"))->get({"a"}, "1"), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(a_rotation_counts_threads_and_files_and_leaves_plain_ones_alone) {
  require_error(rotate_store_keys(dir.path(), keys("k1")), errc::storage_failed);
  put(*open(nullptr), "1");
  {
    auto saver = open_lmdb_saver(dir.path(), {.keyring = keys("k1")}).value();
    saver->put({"t", "", ""}, test::make_put("c", "", {{"n", 1}})).value();
  }
  BOOST_TEST((rotate_store_keys(dir.path(), keys("k1 k2")).value()
              == rotation_report{.threads = 1, .rewrapped = 1, .files = 0}));
  BOOST_TEST(stored("store.mdb", items_data_key()).empty());
}

BOOST_AUTO_TEST_CASE(a_rotation_goes_on_beside_a_store_that_is_open) {
  put(*open(keys("k1")), "1");
  auto items = open(keys("k1 k2"));
  BOOST_TEST(rotate_store_keys(dir.path(), keys("k1 k2")).value().rewrapped == 1u);
  put(*items, "2");
  items.reset();
  items = open(keys("k2"));
  BOOST_TEST((found_keys(*items, "text") == texts{"1", "2"}));
}

BOOST_AUTO_TEST_CASE(a_sealed_store_is_checked_and_copied_without_its_key) {
  open_lmdb_saver(dir.path()).value();
  put(*open(keys("k1")), "1");
  BOOST_TEST(check_data(dir.path()).value().damaged == 0u);
  test::temporary_directory to;
  copy_data(dir.path(), to.path() / "copy", true).value();
  auto copy = open_lmdb_store(to.path() / "copy", {.keyring = keys("k1")}).value();
  BOOST_TEST(text_of(*copy, "1") == value(std::string{marker}));
  auto key = key_of("1");
  change("store.mdb", [&](lmdb_txn& txn) {
    std::string damaged{*txn.get(key).value()};
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    txn.put(key, damaged).value();
  });
  BOOST_TEST(check_data(dir.path()).value().damaged == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
