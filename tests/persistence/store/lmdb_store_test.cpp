// The store in a file: restarts, several users of one file, damage, a full file.
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/store/item_change.hpp"
#include "persistence/store/shared_turn.hpp"

#include "tests/fixtures/savers.hpp"

#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::data::make;
using test::require_error;
using texts = std::vector<std::string>;

// The vector of "3" is (3, 1).
result<std::vector<std::vector<float>>> embed_number(const texts& all) {
  std::vector<std::vector<float>> out;
  for (const auto& text : all)
    out.push_back({std::stof(text), 1});
  return out;
}

struct lmdb_store_fixture {
  std::chrono::system_clock::time_point now{};
  test::temporary_directory directory;
  std::atomic<std::size_t> embedded = 0;

  store_options options(std::size_t exact_max = limits::store_exact_vectors_default) {
    return {.index = store_index{.dims = 2,
                                 .embed =
                                   [this](const texts& all) {
                                     embedded += all.size();
                                     return embed_number(all);
                                   },
                                 .fields = {"text"},
                                 .distance = vector_distance::l2,
                                 .exact_max = exact_max},
            .now = [this] { return now; }};
  }
  std::shared_ptr<store> open(store_options with) {
    return open_lmdb_store(directory.path(), {.store = std::move(with)}).value();
  }
  std::shared_ptr<store> open() { return open(options()); }
  void put(store& to, const std::string& key) { to.put({"a"}, key, value{{"text", key}}).value(); }
  std::filesystem::path file() const { return directory.path() / "store.mdb"; }

  /// The file's records, for a test to change.
  template <class Fn> void change_file(Fn fn) {
    auto env = lmdb_env::open(file(), limits::store_map_bytes_default).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
  std::string stored(const lmdb_txn& txn, std::string_view key) {
    return std::string{txn.get(key).value().value()};
  }
  void flip(lmdb_txn& txn, std::string_view key, std::size_t at) {
    auto bytes = stored(txn, key);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    txn.put(key, bytes).value();
  }
};

texts keys(store& in, const std::string& query = {}, std::size_t limit = 10) {
  texts found;
  for (const auto& item : in.search({.limit = limit, .query = query}).value())
    found.push_back(item.key);
  return found;
}

// Runs `fn` in another process. Returns whether it succeeded.
template <class Fn> bool in_another_process(Fn fn) {
  auto child = fork();
  if (child == 0) {
    auto went_well = false;
    try {
      went_well = fn();
    } catch (...) {}
    _exit(went_well ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb_store, lmdb_store_fixture)

// ---- restarts -----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(items_and_their_vectors_are_there_after_a_restart,
                     make({std::size_t{2}, limits::store_exact_vectors_default}), exact_max) {
  auto items = open(options(exact_max));
  for (int i = 1; i < 8; ++i)
    put(*items, std::to_string(i));
  items->put({.space = {"b"}, .key = "ends", .value = value{{"text", "5"}}, .ttl = 10s}).value();
  items->remove({"a"}, "5").value();
  auto before = items->search({.query = "5"}).value();
  auto space_before = items->list_namespaces({}).value();
  items.reset();
  auto counted = embedded.load();
  items = open(options(exact_max));
  BOOST_TEST((items->search({.query = "5"}).value() == before));
  BOOST_TEST(embedded == counted + 1); // the query
  BOOST_TEST((items->list_namespaces({}).value() == space_before));
  put(*items, "9");
  BOOST_TEST((keys(*items, "5") == texts{"ends", "4", "6", "3", "7", "2", "1", "9"}));
  now += 10s;
  BOOST_TEST((keys(*items, "8", 2) == texts{"7", "9"}));
  BOOST_TEST(items->sweep().value() == 1u);
}

BOOST_AUTO_TEST_CASE(a_store_of_other_dims_takes_old_vectors_for_none) {
  put(*open(), "1");
  auto other = options();
  other.index->dims = 3;
  other.index->embed = [](const texts& all) {
    return std::vector<std::vector<float>>(all.size(), {1, 2, 3});
  };
  auto items = open(other);
  put(*items, "2");
  BOOST_TEST((keys(*items, "1") == texts{"2", "1"}));
  BOOST_TEST(!items->search({.query = "1"}).value()[1].score.has_value());
}

// Two of them fit a page.
BOOST_AUTO_TEST_CASE(vectors_fill_their_pages) {
  constexpr std::size_t count = 200;
  auto long_vectors = options();
  long_vectors.index->dims = 384;
  long_vectors.index->embed = [](const texts& all) {
    return std::vector<std::vector<float>>(all.size(), std::vector<float>(384, 1));
  };
  {
    auto items = open(long_vectors);
    for (std::size_t i = 0; i < count; i += 20) {
      std::vector<store_op> puts;
      for (std::size_t k = i; k < i + 20; ++k)
        puts.emplace_back(store_put{{"a"}, std::to_string(k), value{{"text", "t"}}});
      items->batch(puts).value();
    }
  }
  auto env = lmdb_env::open(file(), limits::store_map_bytes_default).value();
  BOOST_TEST(env->measure().value().used < (count / 2 + 40) * 4096);
}

BOOST_AUTO_TEST_CASE(the_store_lies_beside_the_saver_and_is_nobody_elses_to_read) {
  auto saver = open_lmdb_saver(directory.path()).value();
  auto items = open();
  put(*items, "1");
  BOOST_TEST(std::filesystem::exists(directory.path() / "troupe.mdb"));
  struct stat status {};
  BOOST_REQUIRE(stat(file().c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 0777) == 0600u);
}

// ---- several users ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(stores_of_one_directory_see_each_others_puts) {
  auto one = open();
  auto two = open();
  put(*one, "1");
  BOOST_TEST((keys(*two, "1") == texts{"1"}));
  put(*two, "2");
  BOOST_TEST((keys(*one, "2") == texts{"2", "1"}));
  one->put({"a"}, "2", value{{"text", "-9"}}).value();
  BOOST_TEST((keys(*two, "2") == texts{"1", "2"}));
  BOOST_TEST((keys(*open({}), "2") == texts{"1", "2"})); // without an index: in order
  two->remove({"a"}, "1").value();
  BOOST_TEST((keys(*one, "1") == texts{"2"}));
}

BOOST_DATA_TEST_CASE(processes_see_each_others_puts_and_removals,
                     make({std::size_t{2}, limits::store_exact_vectors_default}), exact_max) {
  auto items = open(options(exact_max));
  for (const auto* key : {"1", "2", "3"})
    put(*items, key);
  BOOST_TEST((keys(*items, "3") == texts{"3", "2", "1"})); // the index has them
  BOOST_TEST(in_another_process([&] {
    auto theirs = open(options(exact_max));
    auto seen = keys(*theirs, "1") == texts{"1", "2", "3"};
    theirs->remove({"a"}, "3").value();
    put(*theirs, "4");
    theirs->put({"a"}, "1", value{{"text", "7"}}).value();
    return seen;
  }));
  BOOST_TEST((keys(*items, "7") == texts{"1", "4", "2"}));
  put(*items, "3");
  BOOST_TEST((keys(*items, "3") == texts{"3", "2", "4", "1"}));
}

BOOST_AUTO_TEST_CASE(an_index_is_rid_of_what_others_removed) {
  auto mine = open();
  auto theirs = open();
  for (int round = 0; round < 3; ++round) {
    std::vector<store_op> puts;
    for (int i = 0; i < 1500; ++i)
      puts.emplace_back(store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i)}}});
    theirs->batch(puts).value();
    BOOST_TEST((keys(*mine, std::to_string(round), 1) == texts{std::to_string(round)}));
  }
}

// ---- several threads ----------------------------------------------------------------------------

namespace {

struct counted_job {
  int number = 0;
  bool is_done = false;
};

} // namespace

BOOST_AUTO_TEST_CASE(jobs_that_come_while_others_are_done_are_done_together_in_their_order) {
  constexpr int later = 5;
  shared_turn<counted_job> turn;
  std::vector<std::vector<int>> done;
  auto do_all = [&](const std::vector<counted_job*>& jobs) {
    auto& group = done.emplace_back();
    for (auto* job : jobs)
      group.push_back(job->number);
  };
  std::vector<std::thread> threads;
  counted_job first{.number = 0};
  turn.run(first, [&](const std::vector<counted_job*>& jobs) {
    do_all(jobs);
    for (std::size_t i = 1; i <= later; ++i) {
      threads.emplace_back([&, i] {
        counted_job mine{.number = static_cast<int>(i)};
        turn.run(mine, do_all);
      });
      while (turn.waiting() != i)
        std::this_thread::yield();
    }
  });
  for (auto& thread : threads)
    thread.join();
  BOOST_TEST((done == std::vector<std::vector<int>>{{0}, {1, 2, 3, 4, 5}}));
}

// Another name of the same hash: nothing can be put there.
BOOST_AUTO_TEST_CASE(a_put_that_is_refused_takes_no_other_threads_put_along) {
  const std::string long_name(500, 'n');
  auto items = open();
  put(*items, "1");
  items->put({"a"}, long_name, value{{"text", "1"}}).value();
  items.reset();
  change_file([&](lmdb_txn& txn) {
    auto key = item_key(find_space(txn, {"a"}).value().value(), long_name);
    record_opener opener;
    auto bytes = stored(txn, key);
    auto item = read_item(opener.open(bytes, key, record_kind::item, nullptr).value()).value();
    item.key.back() = 'x';
    std::string record;
    begin_record(record);
    append_item(item, false, to_msgpack(item.value).value(), record);
    seal_record(record, key, record_kind::item);
    txn.put(key, record).value();
  });
  items = open();
  constexpr int threads = 6;
  constexpr int puts = 10;
  std::vector<std::thread> all;
  std::atomic<int> refused = 0;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < puts; ++i)
        if (t != 0)
          put(*items, std::to_string(100 * t + i));
        else if (!items->put({"a"}, long_name, value{{"text", "2"}}))
          ++refused;
    });
  for (auto& thread : all)
    thread.join();
  BOOST_TEST(refused == puts);
  for (int t = 1; t < threads; ++t)
    for (int i = 0; i < puts; ++i)
      BOOST_TEST(items->get({"a"}, std::to_string(100 * t + i)).value().has_value());
  BOOST_TEST((keys(*items, "505", 1) == texts{"505"}));
}

// ---- damage -------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_damaged_item_is_told_and_can_be_put_anew_or_removed, make({true, false}),
                     removes) {
  auto items = open();
  put(*items, "1");
  put(*items, "2");
  items.reset();
  change_file([&](lmdb_txn& txn) {
    auto space = find_space(txn, {"a"}).value().value();
    flip(txn, item_key(space, "1"), record_header_bytes + 3);
  });
  items = open();
  require_error(items->get({"a"}, "1"), errc::checkpoint_corrupt);
  require_error(items->search({}), errc::checkpoint_corrupt);
  require_error(items->search({.query = "1"}), errc::checkpoint_corrupt);
  BOOST_TEST(items->get({"a"}, "2").value().has_value());
  if (removes)
    items->remove({"a"}, "1").value();
  else
    put(*items, "1");
  BOOST_TEST((keys(*items, "2") == (removes ? texts{"2"} : texts{"2", "1"})));
}

BOOST_AUTO_TEST_CASE(a_damaged_vector_is_as_good_as_none) {
  auto items = open();
  put(*items, "1");
  put(*items, "2");
  items.reset();
  change_file([&](lmdb_txn& txn) {
    lmdb_cursor at{txn};
    BOOST_REQUIRE(at.seek(vectors_prefix()).value());
    flip(txn, std::string{at.key()}, record_header_bytes + 12);
  });
  items = open();
  auto found = items->search({.query = "1"}).value();
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST(found[0].key == "2");
  BOOST_TEST(!found[1].score.has_value());
  put(*items, "1");
  BOOST_TEST((keys(*items, "1") == texts{"1", "2"}));
}

BOOST_AUTO_TEST_CASE(every_flipped_byte_of_an_items_records_is_an_error_or_no_matter) {
  auto items = open();
  items->put({.space = {"a"}, .key = "1", .value = value{{"text", "1"}}, .ttl = 10s}).value();
  items.reset();
  std::vector<std::pair<std::string, std::size_t>> records;
  change_file([&](lmdb_txn& txn) {
    lmdb_cursor at{txn};
    for (auto more = at.seek({"\0", 1}).value(); more; more = at.next().value())
      records.emplace_back(at.key(), at.data().size());
  });
  BOOST_TEST(records.size() == 5u); // meta, namespace, item, end, vector
  auto env = lmdb_env::open(file(), limits::store_map_bytes_default).value();
  for (const auto& [key, size] : records)
    for (std::size_t at = 0; at < size; ++at) {
      auto txn = env->begin_write().value();
      flip(txn, key, at);
      auto bytes = stored(txn, key);
      record_opener opener;
      for (auto kind : {record_kind::meta, record_kind::space, record_kind::item,
                        record_kind::item_end, record_kind::vector})
        BOOST_TEST(!opener.open(bytes, key, kind, nullptr));
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_end_goes_with_the_sweep_and_leaves_the_item) {
  auto items = open();
  items->put({.space = {"a"}, .key = "1", .value = value{{"text", "1"}}, .ttl = 10s}).value();
  items.reset();
  change_file([&](lmdb_txn& txn) {
    lmdb_cursor at{txn};
    BOOST_REQUIRE(at.seek(item_ends_prefix()).value());
    flip(txn, std::string{at.key()}, record_header_bytes);
  });
  items = open();
  now += 10s;
  items->sweep().value();
  BOOST_TEST(items->sweep().value() == 0u);
  BOOST_TEST(!items->get({"a"}, "1").value().has_value()); // its time is over all the same
  put(*items, "1");
  BOOST_TEST((keys(*items, "1") == texts{"1"}));
}

BOOST_AUTO_TEST_CASE(what_is_no_store_is_not_opened) {
  {
    std::ofstream{file()} << std::string(10'000, 'x');
    require_error(open_lmdb_store(directory.path()), errc::checkpoint_corrupt);
    std::filesystem::remove(file());
  }
  change_file([](lmdb_txn& txn) { txn.put("other", "program").value(); });
  require_error(open_lmdb_store(directory.path()), errc::checkpoint_corrupt);
  std::filesystem::remove(file());
  change_file([](lmdb_txn& txn) {
    std::string record;
    begin_record(record);
    record.append("\x03\x01\x07", 3); // format 3, and what only that one knows
    seal_record(record, items_meta_key(), record_kind::meta);
    txn.put(items_meta_key(), record).value();
  });
  require_error(open_lmdb_store(directory.path()), errc::format_too_new);
  require_error(open_lmdb_store(directory.path() / "a" / "b"), errc::storage_failed);
}

// ---- a full file --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_store_keeps_what_it_has_and_can_remove) {
  lmdb_store_options small{
    .map_size_bytes_max = 1u << 20, .store = options(), .compress_bytes_min = SIZE_MAX};
  auto items = open_lmdb_store(directory.path(), small).value();
  const std::string large(40'000, 'x');
  std::size_t count = 0;
  result<void> last;
  for (; count < 100; ++count) {
    last = items->put({"a"}, std::to_string(count),
                      value{{"text", std::to_string(count)}, {"large", large}});
    if (!last)
      break;
  }
  require_error(last, errc::storage_full);
  BOOST_TEST(count > 10u);
  for (int round = 0; round < 3; ++round)
    require_error(items->put({"a"}, "more", value{{"text", "1"}, {"large", large}}),
                  errc::storage_full);
  for (std::size_t i = 0; i < count; ++i)
    BOOST_TEST(items->get({"a"}, std::to_string(i)).value().has_value());
  BOOST_TEST((keys(*items, "3", 1) == texts{"3"}));
  for (std::size_t i = 0; i < count / 2; ++i)
    items->remove({"a"}, std::to_string(i)).value();
  items->put({"a"}, "more", value{{"text", "1"}, {"large", large}}).value();
  BOOST_TEST(std::filesystem::file_size(file())
             <= small.map_size_bytes_max + limits::store_reserve_bytes);
  items.reset();
  items = open_lmdb_store(directory.path(), small).value();
  BOOST_TEST(keys(*items, {}, 1000).size() == count - count / 2 + 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
