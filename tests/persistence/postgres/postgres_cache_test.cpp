// The cache in Postgres: caches that share a schema, its bound, failures of the server and the
// connection, damage. cache_test.cpp has the duties of every cache.
#include "persistence/postgres/postgres_schema.hpp"

#include "tests/persistence/cache/cache_fixture.hpp"

#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <atomic>
#include <future>

namespace troupe::cache_test {

namespace {

using boost::unit_test::data::make;

struct postgres_cache_fixture : postgres_backend {
  test::postgres_server& server = test::postgres_server::of_this_program();

  std::shared_ptr<node_cache> open(postgres_cache_options options = {}) {
    return open_postgres_cache(database, options).value();
  }
  std::string run(std::string_view sql) { return server.run(in_schema(sql, database.schema)); }
  std::string count() { return run("SELECT count(*) FROM @.cache_entries"); }
  /// Whether the shards have the sums of their entries.
  bool is_counted() {
    return run("SELECT count(*) FROM @.cache_shards s WHERE bytes <> (SELECT coalesce(sum(bytes), "
               "0) FROM @.cache_entries e WHERE e.shard = s.shard)")
           == "0";
  }
  /// Makes entries of so many bytes each.
  void fill_with(int entries, int bytes) {
    run("INSERT INTO @.cache_entries (id, shard, space, place, value, bytes) SELECT "
        "int8send(n), 7, '', '', '', "
        + std::to_string(bytes) + " FROM generate_series(1, " + std::to_string(entries) + ") AS n");
    run("UPDATE @.cache_shards SET bytes = bytes + " + std::to_string(entries) + "::int8 * "
        + std::to_string(bytes) + " WHERE shard = 7");
  }
};

constexpr postgres_cache_options small_cache{.bytes_max = limits::postgres_cache_bytes_min};

struct tally {
  int n = 0;
  TROUPE_STATE(tally, n)
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_postgres_cache, postgres_cache_fixture)

// ---- opening ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(caches_that_start_at_once_make_one_schema) {
  database = server.fresh_options();
  std::vector<std::future<bool>> opened;
  for (int i = 0; i < 4; ++i)
    opened.push_back(
      std::async(std::launch::async, [this] { return open_postgres_cache(database).has_value(); }));
  for (auto& one : opened)
    BOOST_TEST(one.get());
  BOOST_TEST(run("SELECT string_agg(part || version, ' ') FROM @.migrations") == "cache1");
}

BOOST_AUTO_TEST_CASE(a_schema_of_a_newer_troupe_is_refused) {
  run("INSERT INTO @.migrations (part, version) VALUES ('cache', 99)");
  require_error(open_postgres_cache(database), errc::format_too_new);
  open_postgres_store(database).value(); // a part of its own
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  database.lock_timeout = 0ms;
  require_error(open_postgres_cache(database), errc::invalid_config);
}

// ---- several caches -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(caches_of_one_schema_have_the_same_values) {
  auto other = open();
  set(*cache, numbered(1), "one");
  BOOST_TEST(get(*other, numbered(1)) == value("one"));
  set(*other, numbered(1), "two", start + 5s);
  BOOST_TEST(get(*cache, numbered(1), start + 4s) == value("two"));
  BOOST_TEST(!is_there(*cache, numbered(1), start + 5s));
  other->clear({"node"}).value();
  BOOST_TEST(!is_there(*cache, numbered(1)));
  auto elsewhere = postgres_backend{};
  set(*cache, numbered(2), 2);
  BOOST_TEST(!is_there(*elsewhere.cache, numbered(2)));
}

BOOST_AUTO_TEST_CASE(caches_that_change_the_same_values_at_once_count_them_right) {
  std::vector<std::future<void>> hosts;
  for (int host = 0; host < 3; ++host)
    hosts.push_back(std::async(std::launch::async, [this, host] {
      auto mine = open(small_cache);
      for (int i = 0; i < 60; ++i) {
        set(*mine, numbered(i % 5), std::string(static_cast<std::size_t>(i) * 2000, 'x'),
            start + std::chrono::seconds{i});
        is_there(*mine, numbered(host), start + 20s);
        if (i % 20 == 19)
          mine->clear({"node"}).value();
      }
    }));
  for (auto& host : hosts)
    host.get();
  BOOST_TEST(is_counted());
}

// ---- the bound ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_cache_removes_expired_values_before_the_oldest) {
  auto full = open(small_cache);
  const std::string large(100'000, 'x');
  for (int n = 0; n < 9; ++n)
    set(*full, numbered(n), large, start + (n == 5 ? 1s : 100s));
  BOOST_TEST(is_there(*full, numbered(0), start + 2s));
  for (int n = 9; n < 11; ++n)
    set(*full, numbered(n), large);
  BOOST_TEST(count() == "9");
  BOOST_TEST(!is_there(*full, numbered(5), start));
  BOOST_TEST(!is_there(*full, numbered(0), start));
  for (int n : {1, 2, 3, 4, 6, 7, 8, 9, 10})
    BOOST_TEST(is_there(*full, numbered(n), start));
  set(*full, numbered(1), large); // now the newest
  for (int n = 11; n < 13; ++n)
    set(*full, numbered(n), large);
  BOOST_TEST(is_there(*full, numbered(1), start));
  BOOST_TEST(!is_there(*full, numbered(2), start));
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(a_cache_has_at_most_its_bound_of_bytes) {
  auto full = open(small_cache);
  for (int n = 0; n < 40; ++n) {
    set(*full, numbered(n), std::string(static_cast<std::size_t>(n) * 2500, 'x'));
    BOOST_TEST(is_there(*full, numbered(n)));
    BOOST_TEST(std::stoull(run("SELECT sum(bytes) FROM @.cache_entries")) <= small_cache.bytes_max);
  }
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(a_bound_below_the_smallest_counts_as_that) {
  auto full = open({.bytes_max = 0});
  set(*full, numbered(1), std::string(100'000, 'x'));
  BOOST_TEST(is_there(*full, numbered(1)));
}

BOOST_AUTO_TEST_CASE(one_set_removes_a_bounded_number_of_values) {
  constexpr auto at_once =
    static_cast<int>(limits::postgres_cache_removed_max * limits::postgres_cache_removals_max);
  auto full = open(small_cache);
  fill_with(at_once + 2000, 2000);
  set(*full, numbered(1), 1);
  BOOST_TEST(count() == "2001");
  set(*full, numbered(2), 2);
  BOOST_TEST(std::stoi(count()) < 600);
  BOOST_TEST(get(*full, numbered(1)) == value(1));
  BOOST_TEST(get(*full, numbered(2)) == value(2));
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(clearing_removes_any_number_of_values) {
  fill_with(static_cast<int>(limits::postgres_cache_removed_max * 2 + 1), 10);
  set(*cache, numbered(1), 1);
  cache->clear({}).value();
  BOOST_TEST(count() == "0");
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(a_value_may_take_an_eighth_and_no_more) {
  auto full = open(small_cache);
  std::size_t size = small_cache.bytes_max / 8;
  while (!full->set(numbered(1), std::string(size, 'x'), {}))
    --size;
  BOOST_TEST(size > small_cache.bytes_max / 8 - 300);
  BOOST_TEST((get(*full, numbered(1)) == value(std::string(size, 'x'))));
  auto refused = full->set(numbered(1), std::string(size + 1, 'x'), {});
  require_error(refused, errc::invalid_value);
  BOOST_TEST(refused.error().message().find("`node`") != std::string::npos);
  BOOST_TEST(is_there(*full, numbered(1)));
}

BOOST_AUTO_TEST_CASE(a_value_may_be_as_large_as_the_limit_and_no_larger) {
  std::vector<std::byte> data(limits::value_size_bytes_max + 1);
  require_error(cache->set(numbered(1), value::bytes(data), {}), errc::invalid_value);
  value deep;
  for (std::size_t i = 0; i < limits::value_depth_max; ++i)
    deep = value::list({deep});
  set(*cache, numbered(1), deep);
  BOOST_TEST((get(*cache, numbered(1)) == deep));
  require_error(cache->set(numbered(1), value::list({deep}), {}), errc::invalid_value);
}

BOOST_AUTO_TEST_CASE(spaces_are_cleared_whole_however_long_they_are) {
  const std::string part(255, 'p');
  const std::vector<cache_key> all{{{part, "a"}, "k"},        {{part, "a", "b"}, "k"},
                                   {{part, "ab"}, "k"},       {{part + "p", "a"}, "k"},
                                   {{part, part, "a"}, "k"},  {{part, part, "b"}, "k"},
                                   {{part, part + "x"}, "k"}, {{std::string{"\xff\xff"}}, "k"}};
  for (const auto& key : all)
    set(*cache, key, 1);
  auto left = [&] {
    std::string marks;
    for (const auto& key : all)
      marks.push_back(is_there(*cache, key) ? 'x' : '-');
    return marks;
  };
  cache->clear({part, part, "a"}).value();
  BOOST_TEST(left() == "xxxx-xxx");
  cache->clear({part, "a"}).value();
  BOOST_TEST(left() == "--xx-xxx");
  cache->clear({part, part}).value();
  BOOST_TEST(left() == "--xx--xx");
  cache->clear({}).value();
  BOOST_TEST(left() == "--------");
}

// ---- failures -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_cache_outlives_its_connections) {
  set(*cache, numbered(1), 1);
  server.terminate_all();
  BOOST_TEST(get(*cache, numbered(1)) == value(1));
  server.terminate_all();
  set(*cache, numbered(1), 2);
  server.terminate_all();
  BOOST_TEST(get(*cache, numbered(1)) == value(2));
  server.terminate_all();
  cache->clear({}).value();
  BOOST_TEST(!is_there(*cache, numbered(1)));
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(a_set_without_an_answer_is_done_again_and_counted_once) {
  server.withhold_answers(true);
  auto other = open();
  auto answer = std::async(std::launch::async, [&] { set(*other, numbered(1), "v"); });
  auto process = server.waiting_process("SyncRep");
  server.withhold_answers(false);
  server.terminate(process);
  answer.get();
  BOOST_TEST(get(*cache, numbered(1)) == value("v"));
  BOOST_TEST(is_counted());
}

BOOST_AUTO_TEST_CASE(a_cache_that_others_hold_for_too_long_is_an_error) {
  database.lock_timeout = 30ms;
  auto hurried = open();
  set(*hurried, numbered(1), 1);
  run("BEGIN");
  run("SELECT 1 FROM @.cache_shards FOR UPDATE");
  auto refused = hurried->set(numbered(1), 2, {});
  BOOST_TEST(get(*hurried, numbered(1)) == value(1)); // a look-up waits for nobody
  auto not_cleared = hurried->clear({});
  run("COMMIT");
  require_error(refused, errc::storage_locked);
  require_error(not_cleared, errc::storage_locked);
  set(*hurried, numbered(1), 3);
}

BOOST_AUTO_TEST_CASE(a_run_does_not_fail_with_its_cache) {
  std::atomic<int> calls = 0;
  state_graph<tally> g;
  g.add_node("count", [&calls](const tally& s) { return troupe::set(&tally::n, s.n + ++calls); },
             {.cache_policy = cache_policy{}});
  g.add_edge(START, "count");
  auto graph = g.compile();
  runtime rt{{.cache = cache}};
  auto app = rt.load(graph);
  auto n = [&app] { return app.invoke(value{{"n", 10}}).state().n; };
  BOOST_TEST(n() == 11);
  BOOST_TEST(n() == 11);
  server.stop();
  BOOST_TEST(n() == 12);
  require_error(cache->get(numbered(1), start), errc::storage_failed);
  require_error(cache->clear({}), errc::storage_failed);
  server.start();
  while (!cache->get(numbered(1), start)) // the server may still refuse connections
    ;
  BOOST_TEST(n() == 11);
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_from_other_failures) {
  run("CREATE FUNCTION @.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$");
  run("CREATE TRIGGER hit BEFORE INSERT ON @.cache_entries EXECUTE FUNCTION @.full()");
  require_error(cache->set(numbered(1), 1, {}), errc::storage_full);
  BOOST_TEST(is_counted());
}

// ---- damage -------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_damaged_value_is_a_miss_and_removed,
                     make({"", "\\xc1", "\\x91", "\\x0101", "\\xd47f01", "\\xdd7fffffff"}), bytes) {
  set(*cache, numbered(1), "value");
  set(*cache, numbered(2), 2);
  run("UPDATE @.cache_entries SET value = '" + std::string{bytes} + "' WHERE place LIKE '%k1'");
  BOOST_TEST(!is_there(*cache, numbered(1)));
  BOOST_TEST(count() == "1");
  BOOST_TEST(is_counted());
  set(*cache, numbered(1), 3);
  BOOST_TEST(get(*cache, numbered(1)) == value(3));
  BOOST_TEST(get(*cache, numbered(2)) == value(2));
}

BOOST_AUTO_TEST_CASE(two_places_of_one_hash_do_not_get_each_others_value) {
  set(*cache, numbered(1), 1);
  run("UPDATE @.cache_entries SET place = place || '\\x00'");
  BOOST_TEST(!is_there(*cache, numbered(1)));
  set(*cache, numbered(1), 2);
  BOOST_TEST(get(*cache, numbered(1)) == value(2));
  BOOST_TEST(count() == "1");
}

BOOST_AUTO_TEST_CASE(shards_that_count_wrong_keep_no_cache_from_working) {
  for (const auto* bytes : {"-9000000000", "9000000000"}) {
    auto full = open(small_cache);
    run("UPDATE @.cache_shards SET bytes = " + std::string{bytes} + " WHERE shard = 3");
    for (int n = 0; n < 20; ++n)
      set(*full, numbered(n), n);
    full->clear({}).value();
    BOOST_TEST(!is_there(*full, numbered(1)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cache_test
