// Damaged stores: every byte of every kind of record, and files that are not a store.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/lmdb/lmdb_pages.hpp"
#include "persistence/lmdb/lmdb_reader.hpp"
#include "persistence/record/record.hpp"

#include "tests/fixtures/savers.hpp"

#include <troupe/data_dir.hpp>
#include <troupe/node_cache.hpp>
#include <troupe/store.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::require_error;
using test::temporary_directory;

constexpr std::size_t map_size = 4 << 20;

struct damage_fixture {
  temporary_directory temporary;
  std::filesystem::path dir = temporary.path() / "data";
  std::filesystem::path file = dir / "troupe.mdb";

  /// A store with records of every kind. The small values of the last checkpoint are too many for
  /// its own record.
  void make_store() {
    auto s = open_lmdb_saver(dir, {.map_size_bytes_max = map_size}).value();
    std::vector<value> log(40, value("an entry of a list that grows"));
    for (unsigned n = 0; n < 3; ++n) {
      log.emplace_back(n);
      checkpoint_ref at{"thread", "", ""};
      s->put(at, make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1),
                          {{"log", value::list(log)}, {"n", n}}, value{{"step", n}}, {n + 1, 7}))
        .value();
    }
    s->put({"thread", "inner:1", ""},
           make_put(checkpoint_id(9), "",
                    {{"n", 1}, {"x", std::string(60, 'x')}, {"y", std::string(60, 'y')}}))
      .value();
    s->put_writes({"thread", "", checkpoint_id(1)}, {"task", "~a", {{"log", value(1)}}}).value();
  }

  void fill(std::string_view bytes) {
    std::filesystem::create_directory(dir);
    std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
  }
};

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// The status with which a child process ended.
template <class Fn> int apart(Fn fn) {
  auto pid = fork();
  if (pid == 0)
    _exit(fn());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// As nobody when this process is root's.
template <class Fn> int as_nobody(Fn fn) {
  return apart([&fn] { return geteuid() != 0 || setuid(65534) == 0 ? fn() : 77; });
}

std::map<std::string, std::string> all_records(const lmdb_txn& txn) {
  std::map<std::string, std::string> all;
  auto add = [&all](auto key, auto data) -> result<void> {
    all.emplace(key, data);
    return {};
  };
  scan_all(txn, add).value();
  return all;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_damage, damage_fixture)

// ---- records ------------------------------------------------------------------------------------

// Within a transaction that is never committed.
BOOST_AUTO_TEST_CASE(every_changed_byte_of_every_kind_of_record_is_reported) {
  make_store();
  auto env = open_saver_file(file, map_size).value();
  auto txn = env->begin_write().value();
  std::set<record_kind> kinds;
  for (const auto& [key, record] : all_records(txn)) {
    kinds.insert(kind_of(record));
    if (kind_of(record) == record_kind::meta)
      continue; // read when a store is opened: below
    for (std::size_t i = 0; i < record.size(); ++i) {
      auto damaged = record;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      txn.put(key, damaged).value();
      require_error(lmdb_reader{txn}.list({}), errc::checkpoint_corrupt);
    }
    for (auto size : {std::size_t{1}, record.size() - 1}) {
      txn.put(key, std::string_view{record}.substr(0, size)).value();
      require_error(lmdb_reader{txn}.list({}), errc::checkpoint_corrupt);
    }
    txn.put(key, record).value();
  }
  BOOST_TEST(kinds.size() == 9u);
  BOOST_TEST(lmdb_reader{txn}.list({}).value().size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_damaged_thread_is_listed_with_its_damage_and_hides_no_other_one) {
  make_store();
  open_lmdb_saver(dir, {.map_size_bytes_max = map_size})
    .value()
    ->put({"another", "", ""}, make_put(checkpoint_id(5), "", {{"n", 1}}))
    .value();
  auto env = open_saver_file(file, map_size).value();
  auto txn = env->begin_write().value();
  auto whole = lmdb_reader{txn}.threads().value();
  BOOST_REQUIRE(whole.size() == 2u);
  for (const auto& info : whole)
    BOOST_TEST(info.damage.empty());
  std::set<std::string> damaged;
  for (const auto& [key, record] : all_records(txn)) {
    if (kind_of(record) != record_kind::checkpoint)
      continue;
    auto changed = record;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    txn.put(key, changed).value();
    auto infos = lmdb_reader{txn}.threads().value();
    BOOST_REQUIRE(infos.size() == 2u);
    for (const auto& info : infos)
      if (!info.damage.empty()) {
        BOOST_TEST(info.ts == "");
        damaged.insert(info.thread_id);
      }
    BOOST_TEST(std::ranges::count(infos, std::string{}, &thread_info::damage) >= 1);
    txn.put(key, record).value();
  }
  BOOST_TEST((damaged == std::set<std::string>{"another", "thread"}));
}

BOOST_AUTO_TEST_CASE(every_changed_byte_of_the_meta_record_is_reported_when_it_is_opened) {
  make_store();
  auto whole = bytes_of(file);
  constexpr std::string_view head{"T\1\1\0", 4};
  constexpr std::size_t size = record_header_bytes + 2;
  auto newest = whole.rfind(head); // the same record lies in pages that are free by now
  std::size_t refused = 0;
  for (auto at = whole.find(head); at <= newest; at = whole.find(head, at + 1)) {
    for (std::size_t i = 0; i < size; ++i) {
      auto damaged = whole;
      damaged[at + i] = static_cast<char>(damaged[at + i] ^ 0x10);
      fill(damaged);
      auto opened = open_lmdb_saver(dir, {.map_size_bytes_max = map_size});
      if (opened)
        continue;
      require_error(opened, errc::checkpoint_corrupt);
      ++refused;
    }
  }
  BOOST_TEST(refused == size);
}

// ---- pages --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_store_that_is_whole_passes_the_check_at_every_moment) {
  auto s = open_lmdb_saver(dir, {.map_size_bytes_max = map_size}).value();
  std::uint64_t records = 0;
  for (unsigned n = 0; n < 60; ++n) {
    auto thread = "thread " + std::to_string(n % 7);
    auto text = std::string(n % 5 == 0 ? 30'000 : 100, 'x');
    s->put({thread, "", ""}, make_put(checkpoint_id(n), "", {{"text", text}, {"n", n}})).value();
    if (n % 6 == 5)
      s->delete_thread(thread).value();
    auto whole = check_store_file(file).value();
    BOOST_TEST(whole.pages > 0u);
    records = whole.records;
  }
  s.reset();
  auto env = open_saver_file(file, map_size).value();
  BOOST_TEST(env->begin_read().value().entries() == records);
}

BOOST_AUTO_TEST_CASE(named_trees_are_checked_too) {
  std::filesystem::create_directory(dir);
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi tree = 0;
  std::string record;
  begin_record(record);
  record.append(3'000, 'x');
  seal_record(record, "key", record_kind::value);
  BOOST_REQUIRE(mdb_env_create(&env) == 0);
  BOOST_REQUIRE(mdb_env_set_maxdbs(env, 2) == 0);
  BOOST_REQUIRE(mdb_env_open(env, file.c_str(), MDB_NOSUBDIR, 0600) == 0);
  BOOST_REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
  BOOST_REQUIRE(mdb_dbi_open(txn, "named", MDB_CREATE, &tree) == 0);
  MDB_val key{3, const_cast<char*>("key")}, data{record.size(), record.data()};
  BOOST_REQUIRE(mdb_put(txn, tree, &key, &data, 0) == 0);
  BOOST_REQUIRE(mdb_txn_commit(txn) == 0);
  mdb_env_close(env);
  BOOST_TEST(check_store_file(file).value().records == 1u);
  auto bytes = bytes_of(file);
  bytes[bytes.find("xxx")] = 'y';
  fill(bytes);
  require_error(check_store_file(file), errc::checkpoint_corrupt);
}

// LMDB takes pages on trust: some that are damaged end the process, others hide records.
BOOST_AUTO_TEST_CASE(what_the_check_lets_through_is_read_without_harm) {
  {
    auto s = open_lmdb_saver(dir, {.map_size_bytes_max = map_size}).value();
    for (unsigned n = 0; n < 120; ++n) {
      auto text = std::string(n % 40 == 0 ? 9'000 : 200, 'x');
      s->put({"thread " + std::to_string(n % 9), "", ""},
             make_put(checkpoint_id(n), "", {{"text", text}, {"n", n}}))
        .value();
    }
    s->delete_thread("thread 3").value();
  }
  auto ids = [this] {
    auto s = open_lmdb_saver(dir, {.map_size_bytes_max = map_size});
    auto all = s ? (**s).list({}) : s.error();
    return all ? test::ids_of(*all) : std::vector<std::string>{all.error().message()};
  };
  auto whole = bytes_of(file);
  auto expected = ids();
  std::mt19937 random{7};
  int refused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    auto damaged = whole;
    auto page = random() % (whole.size() / 4096) * 4096;
    auto size = trial % 3 == 2 ? 4096 : 1; // a byte of a page's head or body, or all of the page
    auto at = page + (trial % 3 == 0 ? random() % 64 : trial % 3 == 1 ? random() % 4096 : 0);
    for (int i = 0; i < size; ++i)
      damaged[at + i] = static_cast<char>(trial % 2 == 0 ? random() : 0);
    fill(damaged);
    if (auto checked = check_store_file(file); !checked) {
      require_error(checked, errc::checkpoint_corrupt);
      ++refused;
      continue;
    }
    BOOST_TEST(apart([&] { return ids() == expected ? 0 : 1; }) == 0, "byte " << at);
  }
  BOOST_TEST(refused > 50);
}

// ---- files --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_file_without_its_first_pages_is_damage_for_every_use_and_left_alone) {
  make_store();
  auto begin = bytes_of(file).substr(0, 8192);
  std::vector<std::string> all;
  for (std::size_t size : {0u, 20u, 1000u, 4096u})
    all.push_back(begin.substr(0, size));
  for (std::size_t size : {1u, 4096u, 8192u})
    all.emplace_back(size, '\0');
  for (const auto& bytes : all) {
    fill(bytes);
    require_error(open_lmdb_saver(dir), errc::checkpoint_corrupt);
    require_error(open_lmdb_saver(dir, {.read_only = true}), errc::checkpoint_corrupt);
    require_error(stat_data(dir), errc::checkpoint_corrupt);
    require_error(copy_data(dir, temporary.path() / "copy"), errc::checkpoint_corrupt);
    BOOST_TEST(check_data(dir).value().damaged == 1u);
    BOOST_TEST((bytes_of(file) == bytes));
  }
  BOOST_TEST(!std::filesystem::exists(temporary.path() / "copy" / "troupe.mdb"));
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_reported_with_the_same_words_by_every_use) {
  fill("");
  auto words = file.string() + " is empty: it was cut short: restore a copy";
  auto says_so = [&words](const error& err) {
    return err.message().ends_with(words) && err.code() == errc::checkpoint_corrupt;
  };
  BOOST_TEST(says_so(open_lmdb_saver(dir).error()));
  BOOST_TEST(says_so(open_lmdb_saver(dir, {.read_only = true}).error()));
  BOOST_TEST(says_so(stat_data(dir).error()));
  BOOST_TEST(says_so(copy_data(dir, temporary.path() / "copy").error()));
  BOOST_TEST(check_data(dir).value().damages.at(0).what.ends_with(words));
  std::ofstream{dir / "store.mdb"};
  require_error(open_lmdb_store(dir), errc::checkpoint_corrupt);
  std::ofstream{dir / "cache.mdb"};
  require_error(open_lmdb_cache(dir), errc::checkpoint_corrupt);
}

// The kernel ends the process at a write beyond the limit, after one that comes out short.
BOOST_AUTO_TEST_CASE(a_kill_or_a_failure_while_a_file_is_made_leaves_no_file_of_its_name) {
  auto limit_files = [](rlim_t bytes) {
    rlimit none{0, 0}, limit{bytes, bytes};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  auto copy = temporary.path() / "copy";
  for (rlim_t bytes : {0u, 100u, 4096u}) {
    auto made = apart([&] {
      limit_files(bytes);
      return open_lmdb_saver(dir) ? 0 : 1;
    });
    BOOST_TEST(made == (bytes == 0 ? -SIGXFSZ : 1)); // a write that comes out short is an error
    BOOST_TEST(!std::filesystem::exists(file));
  }
  make_store();
  for (rlim_t bytes : {0u, 100u, 4096u}) {
    auto copied = apart([&] {
      auto env = lmdb_env::open(file, map_size).value();
      limit_files(bytes);
      return env->copy_to(copy, false) ? 0 : 1;
    });
    BOOST_TEST(copied == -SIGXFSZ);
    BOOST_TEST(!std::filesystem::exists(copy));
  }
  BOOST_TEST(open_lmdb_saver(dir).value()->list({}).value().size() == 4u);
}

BOOST_AUTO_TEST_CASE(files_that_are_no_store_are_refused_and_left_alone) {
  make_store();
  auto store = bytes_of(file);
  auto no_magic = store;
  no_magic[16] = 'x';
  no_magic[4096 + 16] = 'x';
  for (const auto& bytes :
       {std::string(100'000, '\0'),
        std::string("\x7f"
                    "ELF")
          + store,
        no_magic, store.substr(0, 8192).replace(16, 4, "none"), std::string(8192, 'x')}) {
    fill(bytes);
    auto refused = open_lmdb_saver(dir);
    require_error(refused, errc::checkpoint_corrupt);
    BOOST_TEST(refused.error().message().find(file.string()) != std::string::npos);
    BOOST_TEST((bytes_of(file) == bytes));
  }
}

BOOST_AUTO_TEST_CASE(a_directory_in_place_of_a_file_is_refused) {
  std::filesystem::create_directories(file);
  require_error(open_lmdb_saver(dir), errc::storage_failed);
  std::filesystem::remove(file);
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir / "troupe.mdb-lock");
  require_error(open_lmdb_saver(dir), errc::storage_failed);
}

BOOST_AUTO_TEST_CASE(what_belongs_to_somebody_else_is_refused) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can make what belongs to somebody else");
    return;
  }
  make_store();
  chmod(temporary.path().c_str(), 0755);
  auto refused = [this] {
    auto s = open_lmdb_saver(dir);
    return !s && s.error().code() == errc::storage_failed
               && s.error().message().find(dir.string()) != std::string::npos
             ? 0
             : 1;
  };
  BOOST_TEST(as_nobody(refused) == 0); // mode 0700
  chmod(dir.c_str(), 0755);
  BOOST_TEST(as_nobody(refused) == 0); // files of mode 0600
  chmod(file.c_str(), 0644);
  chmod((file.string() + "-lock").c_str(), 0666);
  BOOST_TEST(as_nobody(refused) == 0); // a file that can be read only
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
