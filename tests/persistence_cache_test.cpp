// What every cache must do, then the bounds of the one in memory, then the LMDB cache: its file,
// damage, other processes, no room.
#include "persistence/cache_change.hpp"
#include "persistence/cache_format.hpp"

#include "tests/persistence_fixture.hpp"

#include <troupe/node_cache.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::require_error;
using test::temporary_directory;
using time_point = node_cache::clock::time_point;

constexpr time_point start{std::chrono::hours{24 * 365 * 56}};

struct memory_backend {
  std::shared_ptr<node_cache> cache = make_memory_cache();
};

struct lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<node_cache> cache = open_lmdb_cache(dir.path() / "data").value();
};

// All that can be done to a record is done to every one.
struct encrypted_lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<node_cache> cache =
    open_lmdb_cache(dir.path() / "data",
                    {.keyring = keyring::from_text("key " + std::string(64, '7')).value(),
                     .compress_bytes_min = 1})
      .value();
};

using backends = boost::mpl::list<memory_backend, lmdb_backend, encrypted_lmdb_backend>;

value get(node_cache& from, const cache_key& key, time_point now = start) {
  return from.get(key, now).value().value_or("absent");
}

void set(node_cache& to, const cache_key& key, const value& v,
         std::optional<time_point> until = std::nullopt) {
  to.set(key, v, until).value();
}

bool is_there(node_cache& in, const cache_key& key, time_point now = start) {
  return in.get(key, now).value().has_value();
}

cache_key numbered(int n) {
  return {{"node"}, "k" + std::to_string(n)};
}

// A key that counts as so many bytes.
cache_key key_of_size(std::size_t bytes) {
  return {{"node", "x"}, std::string(bytes - 5 - 2, 'k')};
}

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_cache)

// ---- every cache --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(get_gives_what_was_set_until_it_is_replaced, backend, backends) {
  backend on;
  BOOST_TEST(!is_there(*on.cache, numbered(1)));
  set(*on.cache, numbered(1), "one");
  set(*on.cache, numbered(2), "two");
  BOOST_TEST(get(*on.cache, numbered(1)) == value("one"));
  set(*on.cache, numbered(1), "other");
  BOOST_TEST(get(*on.cache, numbered(1)) == value("other"));
  BOOST_TEST(get(*on.cache, numbered(2)) == value("two"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(values_of_every_kind_come_back, backend, backends) {
  backend on;
  const value all[] = {
    nullptr,
    false,
    INT64_MIN,
    1.0,
    std::string(1'000'000, 'x'),
    value::bytes(std::vector<std::byte>(3)),
    value::list(),
    value{{"writes", value{value{"log", value{1, 2}}, value{"__error__", nullptr}}}},
    value::extension(value_kind::send, value{"node", value{{"x", 1}}}),
    value::extension(value_kind::overwrite, value::list()),
  };
  for (const auto& v : all) {
    set(*on.cache, numbered(1), v);
    BOOST_TEST((on.cache->get(numbered(1), start).value() == v));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_runs_out_at_its_end_and_not_before, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, start + 10s);
  BOOST_TEST(is_there(*on.cache, numbered(1), start));
  BOOST_TEST(is_there(*on.cache, numbered(1), start + 10s - 1ns));
  BOOST_TEST(!is_there(*on.cache, numbered(1), start + 10s));
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_without_an_end_does_not_run_out, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1);
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point::min()));
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replacing_a_value_replaces_its_end, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, start + 1s);
  set(*on.cache, numbered(1), 2, start + 9s);
  BOOST_TEST(get(*on.cache, numbered(1), start + 5s) == value(2));
  set(*on.cache, numbered(1), 3);
  BOOST_TEST(get(*on.cache, numbered(1), start + 99s) == value(3));
  set(*on.cache, numbered(1), 4, start + 100s);
  BOOST_TEST(!is_there(*on.cache, numbered(1), start + 100s));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ends_may_lie_anywhere, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, time_point::min());
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point::min()));
  set(*on.cache, numbered(2), 2, time_point::max());
  BOOST_TEST(is_there(*on.cache, numbered(2), time_point::max() - 1ns));
  BOOST_TEST(!is_there(*on.cache, numbered(2), time_point::max()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ends_may_lie_before_1970, backend, backends) {
  backend on;
  set(*on.cache, numbered(1), 1, time_point{} - 5s);
  BOOST_TEST(is_there(*on.cache, numbered(1), time_point{} - 6s));
  BOOST_TEST(!is_there(*on.cache, numbered(1), time_point{}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(places_are_kept_apart_whatever_their_bytes, backend, backends) {
  backend on;
  const std::vector<cache_key> all{
    {{"a"}, "b"},    {{"a", "b"}, ""},    {{"a", "b"}, "c"},      {{"a"}, "bc"},
    {{"ab"}, "c"},   {{""}, ""},          {{"", ""}, ""},         {{""}, std::string(1, '\0')},
    {{"a"}, "\x01"}, {{"a", "\x01"}, ""}, {{"\xff"}, "\xff\xff"}, {{"a"}, std::string(1000, 'k')},
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    set(*on.cache, all[i], i);
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST(get(*on.cache, all[i]) == value(i));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clear_forgets_what_is_at_or_under_a_space, backend, backends) {
  backend on;
  const std::vector<cache_key> all{
    {{"a"}, "1"},       {{"a"}, "2"},  {{"a", "b"}, "1"}, {{"a", "b", "c"}, "1"},
    {{"a", "bc"}, "1"}, {{"ab"}, "1"}, {{"b", "a"}, "1"},
  };
  for (const auto& key : all)
    set(*on.cache, key, 1, start + 1h);
  auto left = [&] {
    std::string marks;
    for (const auto& key : all)
      marks.push_back(is_there(*on.cache, key) ? 'x' : '-');
    return marks;
  };
  on.cache->clear({"nobody"}).value();
  on.cache->clear({""}).value();
  on.cache->clear({"a", "b", "c", "d"}).value();
  BOOST_TEST(left() == "xxxxxxx");
  on.cache->clear({"a", "b"}).value();
  BOOST_TEST(left() == "xx--xxx");
  on.cache->clear({"a"}).value();
  BOOST_TEST(left() == "-----xx");
  on.cache->clear({}).value();
  BOOST_TEST(left() == "-------");
  set(*on.cache, all[0], 2);
  BOOST_TEST(left() == "x------");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clearing_an_empty_cache_is_no_error, backend, backends) {
  backend on;
  on.cache->clear({}).value();
  on.cache->clear({"a"}).value();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_without_a_space_is_refused, backend, backends) {
  backend on;
  require_error(on.cache->set({{}, "k"}, 1, {}), errc::invalid_value);
  require_error(on.cache->get({{}, "k"}, start), errc::invalid_value);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_may_be_as_long_as_the_limit_and_no_longer, backend, backends) {
  backend on;
  auto longest = key_of_size(limits::cache_key_bytes_max);
  auto too_long = key_of_size(limits::cache_key_bytes_max + 1);
  set(*on.cache, longest, 1);
  BOOST_TEST(is_there(*on.cache, longest));
  require_error(on.cache->set(too_long, 1, {}), errc::invalid_value);
  require_error(on.cache->get(too_long, start), errc::invalid_value);
  cache_key parts{std::vector<std::string>(limits::cache_key_bytes_max), ""};
  set(*on.cache, parts, 2);
  BOOST_TEST(get(*on.cache, parts) == value(2));
  parts.space.emplace_back();
  require_error(on.cache->set(parts, 2, {}), errc::invalid_value);
  on.cache->clear(too_long.space).value();
  on.cache->clear(parts.space).value();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(several_threads_set_get_and_clear_at_once, backend, backends) {
  constexpr int threads = 4;
  constexpr int rounds = 36;
  backend on;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&on, t] {
        for (int i = 0; i < rounds; ++i) {
          cache_key own{{"own", std::to_string(t)}, std::to_string(i % 7)};
          cache_key shared{{"shared"}, std::to_string(i % 3)};
          set(*on.cache, own, value{t, i}, start + 1h);
          set(*on.cache, shared, value{{"t", t}, {"again", t}});
          if (get(*on.cache, own) != value{t, i})
            std::abort();
          auto v = get(*on.cache, shared);
          if (v.is_map() && v["t"] != v["again"])
            std::abort();
          if (i % 16 == 15)
            on.cache->clear(i % 32 == 31 ? own.space : shared.space).value();
        }
      });
  }
  cache_key last{{"own", "0"}, std::to_string((rounds - 1) % 7)};
  BOOST_TEST(get(*on.cache, last) == (value{0, rounds - 1}));
}

// What is in the cache is what was set last, or nothing: against a map, whatever the order.
BOOST_AUTO_TEST_CASE_TEMPLATE(no_sequence_of_calls_gives_a_wrong_value, backend, backends) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    backend on;
    std::mt19937 random{seed};
    auto now = start;
    struct expected {
      value v;
      std::optional<time_point> until;
    };
    std::map<cache_key, expected> model;
    for (int i = 0; i < 200; ++i) {
      cache_key key{{"n" + std::to_string(random() % 2), "m" + std::to_string(random() % 2)},
                    std::to_string(random() % 4)};
      now += std::chrono::seconds{random() % 3};
      switch (random() % 8) {
        case 0:
          on.cache->clear({key.space[0]}).value();
          std::erase_if(model, [&](const auto& e) { return e.first.space[0] == key.space[0]; });
          break;
        case 1:
        case 2:
        case 3: {
          auto until = random() % 2 ? std::optional{now + std::chrono::seconds{random() % 9}}
                                    : std::nullopt;
          value v{i, std::string(random() % 5000, 'x')};
          set(*on.cache, key, v, until);
          model[key] = {v, until};
          break;
        }
        default: {
          auto there = model.find(key);
          auto has = there != model.end() && (!there->second.until || now < *there->second.until);
          auto found = on.cache->get(key, now).value();
          BOOST_TEST(found.has_value() == has, "seed " << seed << ", call " << i);
          if (found && has)
            BOOST_TEST((*found == there->second.v), "seed " << seed << ", call " << i);
        }
      }
    }
  }
}

// ---- in memory ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_memory_cache_holds_as_many_values_as_the_limit_and_no_more) {
  constexpr auto most = static_cast<int>(limits::memory_cache_entries_max);
  auto cache = make_memory_cache();
  for (int n = 0; n < most; ++n)
    set(*cache, numbered(n), n);
  BOOST_TEST(get(*cache, numbered(0)) == value(0));
  set(*cache, numbered(most), most);
  BOOST_TEST(!is_there(*cache, numbered(0)));
  BOOST_TEST(get(*cache, numbered(1)) == value(1));
  BOOST_TEST(get(*cache, numbered(most)) == value(most));
}

BOOST_AUTO_TEST_CASE(a_full_memory_cache_forgets_what_ran_out_before_the_oldest) {
  auto cache = make_memory_cache(3);
  set(*cache, numbered(1), 1);
  set(*cache, numbered(2), 2, start + 1s);
  set(*cache, numbered(3), 3, start + 9s);
  BOOST_TEST(is_there(*cache, numbered(1), start + 1s)); // tells the time
  set(*cache, numbered(4), 4);
  BOOST_TEST(!is_there(*cache, numbered(2)));
  BOOST_TEST((is_there(*cache, numbered(1)) && is_there(*cache, numbered(3))));
  set(*cache, numbered(5), 5);
  BOOST_TEST(!is_there(*cache, numbered(1)));
  BOOST_TEST((is_there(*cache, numbered(3)) && is_there(*cache, numbered(4))));
}

BOOST_AUTO_TEST_CASE(a_value_that_is_set_again_counts_as_new) {
  auto cache = make_memory_cache(2);
  set(*cache, numbered(1), 1);
  set(*cache, numbered(2), 2);
  set(*cache, numbered(1), 3);
  set(*cache, numbered(3), 3);
  BOOST_TEST(is_there(*cache, numbered(1)));
  BOOST_TEST(!is_there(*cache, numbered(2)));
}

BOOST_AUTO_TEST_CASE(a_memory_cache_of_no_values_keeps_none) {
  auto cache = make_memory_cache(0);
  set(*cache, numbered(1), 1, start + 1s);
  BOOST_TEST(!is_there(*cache, numbered(1)));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- LMDB ---------------------------------------------------------------------------------------

namespace {

struct lmdb_fixture {
  temporary_directory temporary;
  std::filesystem::path dir = temporary.path() / "data";
  std::filesystem::path file = dir / "cache.mdb";

  // Values take as much room as they are large.
  std::shared_ptr<node_cache> open(lmdb_cache_options options = {}) {
    options.compress_bytes_min = SIZE_MAX;
    return open_lmdb_cache(dir, options).value();
  }
  // As a saver of other data would write it; the cache must be closed.
  template <class Fn> void edit(Fn fn) {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
  std::string stored(std::string_view key) {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    auto txn = env->begin_read().value();
    return std::string{txn.get(key).value().value_or("")};
  }
  std::size_t records() {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    return env->begin_read().value().entries();
  }
};

std::string file_bytes(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string sealed(std::string_view payload, std::string_view key, record_kind kind) {
  std::string record;
  begin_record(record);
  record.append(payload);
  seal_record(record, key, kind);
  return record;
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

// Runs `body` in another process and gives what it returns.
template <class Fn> int in_child(Fn body) {
  auto pid = fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: %s\n", e.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

constexpr std::size_t small_file = limits::cache_file_bytes_min;

// As many values of one size as fit before the first one goes.
int fill(node_cache& cache, const value& v) {
  int n = 0;
  do
    set(cache, numbered(n++), v);
  while (is_there(cache, numbered(0)));
  return n - 1;
}

} // namespace

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
  BOOST_TEST(records() == 1u); // what the damaged ones left behind went too
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
  auto allow_damage = [](const auto& r) {
    if (!r)
      require_error(r, errc::checkpoint_corrupt);
  };
  const auto whole = file_bytes(file);
  for (auto cut = whole.size() - 4096; cut >= 2 * 4096; cut -= 4096) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << whole.substr(0, cut);
    auto cache = open_lmdb_cache(dir);
    allow_damage(cache);
    for (int n = 0; cache && n < 5; ++n)
      allow_damage((*cache)->get(numbered(n), start));
  }
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

// ---- full ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_file_forgets_the_oldest_and_only_that) {
  auto cache = open({small_file});
  auto n = fill(*cache, std::string(10'000, 'x'));
  BOOST_TEST(n > 20);
  for (int i = 1; i <= n; ++i)
    BOOST_TEST(is_there(*cache, numbered(i)));
  set(*cache, numbered(1), std::string(10'000, 'y')); // is new again
  set(*cache, numbered(n + 1), std::string(10'000, 'x'));
  BOOST_TEST(is_there(*cache, numbered(1)));
  BOOST_TEST(!is_there(*cache, numbered(2)));
  BOOST_TEST(is_there(*cache, numbered(3)));
}

BOOST_AUTO_TEST_CASE(a_full_file_forgets_what_ran_out_before_the_oldest) {
  auto cache = open({small_file});
  const value v = std::string(10'000, 'x');
  set(*cache, {{"late"}, "1"}, v, start + 9s);
  set(*cache, {{"early"}, "1"}, v, start + 2s);
  set(*cache, {{"earlier"}, "1"}, v, start + 1s);
  int n = 0;
  do
    set(*cache, numbered(n++), v);
  while (is_there(*cache, {{"late"}, "1"}, start));
  BOOST_TEST((is_there(*cache, {{"early"}, "1"}) && is_there(*cache, {{"earlier"}, "1"})));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s)); // tells the time
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, {{"earlier"}, "1"}));
  BOOST_TEST(is_there(*cache, {{"early"}, "1"}));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s));
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, {{"early"}, "1"}));
  BOOST_TEST(is_there(*cache, numbered(0), start + 2s));
  set(*cache, numbered(n++), v);
  BOOST_TEST(!is_there(*cache, numbered(0)));
}

BOOST_DATA_TEST_CASE(a_file_stays_within_its_bound_whatever_the_sizes,
                     boost::unit_test::data::xrange(2), seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  const std::size_t sizes[] = {10, 300, 2'000, 5'000, 30'000, 100'000};
  auto cache = open({small_file});
  for (int i = 0; i < 250; ++i) {
    cache_key key{{"n" + std::to_string(random() % 3)}, std::to_string(random() % 200)};
    value v = std::string(random() % sizes[random() % std::size(sizes)], 'x');
    auto until = random() % 3 ? std::nullopt : std::optional{start + std::chrono::seconds{i + 20}};
    set(*cache, key, v, until);
    BOOST_TEST((get(*cache, key, start + std::chrono::seconds{i}) == v));
    if (random() % 100 == 0)
      cache->clear({"n0"}).value();
  }
  BOOST_TEST(std::filesystem::file_size(file) <= small_file);
  cache->clear({}).value();
  cache.reset();
  BOOST_TEST(records() == 1u);
}

// What is free lies in pieces then. The sizes are drawn so that it happens.
BOOST_AUTO_TEST_CASE(a_value_is_kept_also_when_half_of_a_full_file_makes_no_room_for_it) {
  std::mt19937 random{395};
  auto cache = open({small_file});
  for (int n = 0; n < 180; ++n) {
    const unsigned sizes[] = {2'500, 30'000, 115'000};
    const auto bound = sizes[random() % 3];
    value v = std::string(random() % bound, 'x');
    set(*cache, numbered(n), v);
    BOOST_TEST((get(*cache, numbered(n)) == v));
  }
}

BOOST_AUTO_TEST_CASE(clearing_takes_all_records_along) {
  auto cache = open();
  for (int n = 0; n < 20; ++n)
    set(*cache, numbered(n % 10), n, n % 2 ? std::nullopt : std::optional{start + 1h});
  cache->clear({"node"}).value();
  cache.reset();
  BOOST_TEST(records() == 1u);
  std::string payload;
  append_cache_meta({.next_number = 21, .charged_bytes = 0}, payload);
  auto key = cache_meta_key();
  BOOST_TEST((stored(key) == sealed(payload, key, record_kind::meta)));
}

BOOST_AUTO_TEST_CASE(a_bound_below_the_least_counts_as_the_least) {
  auto cache = open({1});
  set(*cache, numbered(1), std::string(100'000, 'x'));
  BOOST_TEST(is_there(*cache, numbered(1)));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_larger_shrinks_what_it_holds_and_goes_on) {
  const value v = std::string(50'000, 'x');
  {
    auto cache = open();
    for (int n = 0; n < 60; ++n)
      set(*cache, numbered(n), v);
  }
  const auto size = std::filesystem::file_size(file);
  auto cache = open({small_file});
  for (int n = 60; n < 100; ++n) {
    set(*cache, numbered(n), v);
    BOOST_TEST(is_there(*cache, numbered(n)));
  }
  BOOST_TEST(!is_there(*cache, numbered(59)));
  BOOST_TEST(std::filesystem::file_size(file) <= size + limits::store_reserve_bytes);
}

// A bound on the file's size stands for a full disk: writing fails in the same place.
BOOST_AUTO_TEST_CASE(on_a_full_disk_the_cache_makes_do_with_the_file_it_has) {
  auto code = in_child([this] {
    signal(SIGXFSZ, SIG_IGN);
    auto cache = open();
    rlimit bound{200 << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &bound);
    for (int n = 0; n < 100; ++n) {
      set(*cache, numbered(n), value{n, std::string(20'000, 'x')});
      if (get(*cache, numbered(n))[0] != value(n))
        return 1;
    }
    return 0;
  });
  BOOST_TEST(code == 0);
  BOOST_TEST(std::filesystem::file_size(file) <= std::uintmax_t{200 << 10});
}

BOOST_AUTO_TEST_CASE(a_disk_that_takes_nothing_is_reported_and_works_again_later) {
  auto code = in_child([this] {
    signal(SIGXFSZ, SIG_IGN);
    auto cache = open();
    set(*cache, numbered(1), 1);
    rlimit bound{0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &bound);
    for (int i = 0; i < 3; ++i) {
      auto refused = cache->set(numbered(2), 2, {});
      if (refused || refused.error().code() != errc::storage_full)
        return 1;
      refused = cache->clear({});
      if (refused || refused.error().code() != errc::storage_full)
        return 2;
      if (get(*cache, numbered(1)) != value(1) || is_there(*cache, numbered(2)))
        return 3;
    }
    bound.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &bound);
    set(*cache, numbered(2), 2);
    return get(*cache, numbered(1)) == value(1) && get(*cache, numbered(2)) == value(2) ? 0 : 4;
  });
  BOOST_TEST(code == 0);
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

} // namespace troupe
