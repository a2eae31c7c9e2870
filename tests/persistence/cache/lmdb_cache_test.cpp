// The LMDB cache: its file, damage to it, the bounds of values, other processes.
#include "tests/persistence/cache/cache_fixture.hpp"

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <thread>

namespace troupe::cache_test {

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb_cache, lmdb_fixture)

// ---- files --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_set_is_there_after_reopening) {
  set(*open(), numbered(1), 1);
  set(*open(), numbered(2), 2, start + 5s);
  auto cache = open();
  BOOST_TEST(get(*cache, numbered(1)) == value(1));
  BOOST_TEST(get(*cache, numbered(2), start + 4s) == value(2));
  BOOST_TEST(!is_there(*cache, numbered(2), start + 5s));
}

BOOST_AUTO_TEST_CASE(the_files_are_private_and_beside_those_of_a_saver) {
  auto cache = open();
  auto saver = open_lmdb_saver(dir).value();
  set(*cache, numbered(1), 1);
  saver->put({"t", "", ""}, test::make_put("c", "", {{"n", 2}})).value();
  BOOST_TEST(get(*cache, numbered(1)) == value(1));
  struct stat info {};
  BOOST_REQUIRE(stat(dir.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0700u);
  BOOST_REQUIRE(stat(file.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0600u);
}

BOOST_AUTO_TEST_CASE(opening_a_directory_twice_gives_the_same_cache) {
  auto first = open();
  std::filesystem::create_directory_symlink(dir, temporary.path() / "link");
  BOOST_TEST(open_lmdb_cache(temporary.path() / "link").value() == first);
  BOOST_TEST(open_lmdb_cache(dir / ".." / "data" / "").value() == first);
}

BOOST_AUTO_TEST_CASE(a_directory_is_opened_anew_only_when_it_is_closed) {
  for (int round = 0; round < 20; ++round) {
    auto first = open();
    std::jthread closer{[first = std::move(first)]() mutable { first.reset(); }};
    set(*open(), numbered(round), round);
    BOOST_TEST(get(*open(), numbered(round)) == value(round));
  }
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_used_is_refused_by_name) {
  std::ofstream{temporary.path() / "a-file"} << "x";
  for (const auto& path : {temporary.path() / "missing" / "data", temporary.path() / "a-file",
                           temporary.path() / "a-file" / "data"}) {
    auto refused = open_lmdb_cache(path);
    require_error(refused, errc::storage_failed);
    BOOST_TEST(refused.error().message().find(path.string()) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_file_of_something_else_is_refused_and_left_alone) {
  std::filesystem::create_directory(dir);
  for (std::size_t size : {1u, 100u, 4096u, 100'000u}) {
    const std::string text(size, 'x');
    std::ofstream{file, std::ios::binary | std::ios::trunc} << text;
    auto refused = open_lmdb_cache(dir);
    require_error(refused, errc::checkpoint_corrupt);
    BOOST_TEST(refused.error().message().find(file.string()) != std::string::npos);
    BOOST_TEST((file_bytes(file) == text));
  }
}

BOOST_AUTO_TEST_CASE(a_savers_file_in_the_place_of_the_cache_is_refused) {
  open_lmdb_saver(dir).value()->put({"t", "", ""}, test::make_put("c", "", {{"n", 2}})).value();
  std::filesystem::rename(dir / "troupe.mdb", file);
  require_error(open_lmdb_cache(dir), errc::checkpoint_corrupt);
  BOOST_TEST(!stored(thread_key("t")).empty());
}

BOOST_AUTO_TEST_CASE(a_cache_of_a_newer_format_is_refused_and_left_alone) {
  set(*open(), numbered(1), 1);
  const auto before = records();
  edit([](lmdb_txn& txn) {
    auto key = cache_meta_key();
    const std::string newer{static_cast<char>(cache_format + 1), 'm', 'o', 'r', 'e'};
    txn.put(key, sealed(newer, key, record_kind::meta)).value();
  });
  auto refused = open_lmdb_cache(dir);
  require_error(refused, errc::format_too_new);
  BOOST_TEST(refused.error().message().find(file.string()) != std::string::npos);
  BOOST_TEST(records() == before);
}

// ---- damage -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_damaged_value_is_a_miss_and_removed) {
  auto key = cache_entry_key(numbered(1));
  set(*open(), numbered(1), "value");
  const auto whole = stored(key);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    edit([&](lmdb_txn& txn) { txn.put(key, flipped(whole, at)).value(); });
    BOOST_TEST(!is_there(*open(), numbered(1)));
    BOOST_TEST(stored(key).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_value_can_be_set_again_and_takes_no_other_along) {
  auto key = cache_entry_key(numbered(1));
  set(*open(), numbered(1), 1);
  set(*open(), numbered(2), 2);
  const auto whole = stored(key);
  for (auto at : {std::size_t{0}, record_header_bytes, whole.size() - 1}) { // magic, number, value
    edit([&](lmdb_txn& txn) { txn.put(key, flipped(whole, at)).value(); });
    auto cache = open();
    set(*cache, numbered(1), 3);
    BOOST_TEST(get(*cache, numbered(1)) == value(3));
    BOOST_TEST(get(*cache, numbered(2)) == value(2));
  }
  open()->clear({"node"}).value();
  BOOST_TEST(records() == 1u); // the remains of the damaged ones are removed, too
}

BOOST_AUTO_TEST_CASE(a_value_that_is_whole_but_cannot_be_read_is_a_miss_and_removed) {
  set(*open(), numbered(1), 1);
  auto key = cache_entry_key(numbered(1));
  const auto place = cache_place({"node"}, "k1");
  for (std::string_view encoded : {"", "\xc1", "\x91", "\x01\x01", "\xd4\x7f\x01"}) {
    edit([&](lmdb_txn& txn) {
      std::string payload;
      append_cache_entry({1, std::nullopt, place, encoded}, payload);
      txn.put(key, sealed(payload, key, record_kind::cache_entry)).value();
    });
    BOOST_TEST(!is_there(*open(), numbered(1)));
    BOOST_TEST(stored(key).empty());
  }
}

BOOST_AUTO_TEST_CASE(two_places_of_one_hash_do_not_get_each_others_value) {
  set(*open(), numbered(1), 1);
  auto key = cache_entry_key(numbered(1));
  edit([&](lmdb_txn& txn) {
    std::string payload;
    append_cache_entry({1, std::nullopt, cache_place({"node"}, "other"), "\x07"}, payload);
    txn.put(key, sealed(payload, key, record_kind::cache_entry)).value();
  });
  BOOST_TEST(!is_there(*open(), numbered(1)));
  set(*open(), numbered(1), 2);
  BOOST_TEST(get(*open(), numbered(1)) == value(2));
}

BOOST_AUTO_TEST_CASE(a_damaged_index_makes_the_cache_start_over) {
  const auto age_key = cache_age_key(1);
  const std::function<void(lmdb_txn&)> damages[] = {
    [&](lmdb_txn& txn) {
      auto meta = std::string{*txn.get(cache_meta_key()).value()};
      txn.put(cache_meta_key(), flipped(meta, meta.size() - 1)).value();
    },
    [&](lmdb_txn& txn) { txn.put(cache_meta_key(), "").value(); },
    [&](lmdb_txn& txn) {
      auto age = std::string{*txn.get(age_key).value()};
      txn.put(age_key, flipped(age, age.size() - 1)).value();
    },
    [&](lmdb_txn& txn) { // whole, but no entry's
      std::string payload;
      append_cache_age({"", std::nullopt, 1, cache_place({"node"})}, payload);
      txn.put(age_key, sealed(payload, age_key, record_kind::cache_index)).value();
    },
    [&](lmdb_txn& txn) { txn.put("\x31", "").value(); },
    [&](lmdb_txn& txn) { txn.put("\x31\x09", "").value(); },
  };
  for (const auto& damage : damages) {
    std::filesystem::remove_all(dir);
    set(*open(), numbered(1), 1, start + 1h);
    edit(damage);
    open()->clear({"nobody"}).value();
    BOOST_TEST(records() == 1u); // the meta record
    set(*open(), numbered(1), 2);
    BOOST_TEST(get(*open(), numbered(1)) == value(2));
  }
}

BOOST_AUTO_TEST_CASE(an_index_that_does_not_fit_keeps_no_full_cache_from_working) {
  auto put_meta = [](lmdb_txn& txn, std::uint64_t charged_bytes) {
    std::string payload;
    append_cache_meta({.next_number = 1000, .charged_bytes = charged_bytes}, payload);
    txn.put(cache_meta_key(), sealed(payload, cache_meta_key(), record_kind::meta)).value();
  };
  auto put_end = [](lmdb_txn& txn, const store_key& key) {
    txn.put(key, sealed("", key, record_kind::cache_index)).value();
  };
  const std::function<void(lmdb_txn&)> damages[] = {
    [&](lmdb_txn& txn) { put_meta(txn, 0); }, // charged less than there is
    [&](lmdb_txn& txn) { put_meta(txn, UINT64_MAX); },
    [&](lmdb_txn& txn) { put_end(txn, cache_end_key(time_point::min(), 500)); }, // of nobody
    [&](lmdb_txn& txn) { put_end(txn, cache_end_key(time_point::min(), 20)); },  // of another's age
    [&](lmdb_txn& txn) { txn.put("\x32\x01", "").value(); },
    [&](lmdb_txn& txn) { txn.erase(cache_age_key(20)).value(); },
    [&](lmdb_txn& txn) { txn.erase_all(cache_ages_prefix()).value(); },
    [&](lmdb_txn& txn) { txn.erase_all(cache_entries_prefix()).value(); },
    [&](lmdb_txn& txn) {
      auto age = std::string{*txn.get(cache_age_key(20)).value()};
      txn.put(cache_age_key(20), flipped(age, age.size() - 1)).value();
    },
  };
  const value v = std::string(10'000, 'x');
  const auto until = start + 1h;
  for (const auto& damage : damages) {
    std::filesystem::remove_all(dir);
    auto cache = open({small_file});
    for (int n = 0; n < 30; ++n)
      set(*cache, numbered(n), v, until);
    cache.reset();
    edit(damage);
    cache = open({small_file});
    for (int n = 0; n < 100; ++n) {
      set(*cache, numbered(n), value{n, v}, until);
      BOOST_TEST((get(*cache, numbered(n)) == value{n, v}));
    }
    cache.reset();
    BOOST_TEST(std::filesystem::file_size(file) <= small_file + limits::store_reserve_bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_value_of_a_newer_record_format_is_a_miss_and_removed) {
  set(*open(), numbered(1), 1);
  auto key = cache_entry_key(numbered(1));
  edit([&](lmdb_txn& txn) { // another kind stands for it: whole, but not to be read
    txn.put(key, sealed("\x01", key, static_cast<record_kind>(99))).value();
  });
  BOOST_TEST(!is_there(*open(), numbered(1)));
  BOOST_TEST(stored(key).empty());
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_ends_no_process) {
  {
    auto cache = open();
    for (int n = 0; n < 5; ++n)
      set(*cache, numbered(n), std::string(50'000, 'x'));
  }
  std::size_t refused = 0;
  auto is_whole = [&refused](const auto& r) {
    if (!r) {
      require_error(r, errc::checkpoint_corrupt);
      ++refused;
    }
    return r.has_value();
  };
  const auto whole = file_bytes(file);
  std::size_t found = 0;
  for (auto cut = whole.size(); cut >= 2 * 4096; cut -= 4096) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << whole.substr(0, cut);
    auto cache = open_lmdb_cache(dir);
    if (!is_whole(cache))
      continue;
    for (int n = 0; n < 5; ++n) {
      auto entry = (*cache)->get(numbered(n), start);
      if (!is_whole(entry) || !*entry) // damage may hide an entry: a miss costs a run of its node
        continue;
      BOOST_TEST((**entry == value(std::string(50'000, 'x'))));
      ++found;
    }
    if (cut == whole.size())
      BOOST_TEST(found == 5u);
  }
  BOOST_TEST(refused > 0u);
}

// ---- values -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_value_may_be_as_large_as_the_limit_and_no_larger) {
  constexpr std::size_t header = 5; // of msgpack's bin 32
  std::vector<std::byte> data(limits::value_size_bytes_max - header + 1);
  auto cache = open();
  require_error(cache->set(numbered(1), value::bytes(data), {}), errc::invalid_value);
  data.pop_back();
  set(*cache, numbered(1), value::bytes(data));
  BOOST_TEST(get(*cache, numbered(1)).size() == data.size());
}

BOOST_AUTO_TEST_CASE(a_value_may_be_as_deep_as_the_limit_and_no_deeper) {
  value deep;
  for (std::size_t i = 0; i < limits::value_depth_max; ++i)
    deep = value::list({deep});
  auto cache = open();
  set(*cache, numbered(1), deep);
  BOOST_TEST((get(*cache, numbered(1)) == deep));
  require_error(cache->set(numbered(1), value::list({deep}), {}), errc::invalid_value);
  BOOST_TEST((get(*cache, numbered(1)) == deep));
}

BOOST_AUTO_TEST_CASE(a_value_may_take_an_eighth_of_the_file_and_no_more) {
  auto charge = [](std::size_t size) {
    return cache_change::charge_of(numbered(10), to_msgpack(std::string(size, 'x')).value());
  };
  std::size_t size = small_file / 16;
  while (charge(size + 1) <= small_file / 8)
    ++size;
  auto cache = open({small_file});
  for (int n = 10; n < 60; ++n) {
    set(*cache, numbered(n), std::string(size, 'x'));
    BOOST_TEST(is_there(*cache, numbered(n)));
  }
  auto refused = cache->set(numbered(10), std::string(size + 1, 'x'), {});
  require_error(refused, errc::invalid_value);
  BOOST_TEST(refused.error().message().find("`node`") != std::string::npos);
}

// ---- processes ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_set_survives_a_killed_process) {
  auto code = in_child([this] {
    auto cache = open();
    for (int n = 0; n < 20; ++n)
      set(*cache, numbered(n), n);
    raise(SIGKILL);
    return 0;
  });
  BOOST_TEST(code == -SIGKILL);
  auto cache = open();
  for (int n = 0; n < 20; ++n)
    BOOST_TEST(get(*cache, numbered(n)) == value(n));
}

BOOST_AUTO_TEST_CASE(processes_share_a_directory) {
  auto cache = open({small_file});
  const value v = std::string(10'000, 'x');
  for (int round = 0; round < 5; ++round) {
    set(*cache, numbered(round), round);
    auto code = in_child([&] {
      auto mine = open({small_file});
      if (mine == cache)
        return 1;
      if (get(*mine, numbered(round)) != value(round))
        return 2;
      set(*mine, {{"child"}, std::to_string(round)}, round);
      for (int n = 0; n < 30; ++n)
        set(*mine, {{"much"}, std::to_string(round * 100 + n)}, v);
      return 0;
    });
    BOOST_TEST(code == 0);
    BOOST_TEST(get(*cache, {{"child"}, std::to_string(round)}) == value(round));
  }
  BOOST_TEST(std::filesystem::file_size(file) <= small_file);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cache_test
