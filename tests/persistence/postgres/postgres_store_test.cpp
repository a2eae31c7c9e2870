// The store in Postgres: stores that share a database, failures of the server and the connection,
// damage. The other suites have the duties of every store.
#include "persistence/postgres/postgres_schema.hpp"

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using boost::unit_test::data::make;
using test::require_error;
using texts = std::vector<std::string>;

// The vector of "3" is (3, 1).
result<std::vector<std::vector<float>>> embed_digits(const texts& all) {
  std::vector<std::vector<float>> out;
  for (const auto& text : all)
    out.push_back({std::stof(text), 1});
  return out;
}

struct postgres_store_fixture {
  std::chrono::system_clock::time_point now{};
  test::postgres_server& server = test::postgres_server::of_this_program();
  postgres_options database = server.fresh_options();
  std::size_t embedded = 0;
  std::shared_ptr<store> items = open();

  store_options options(std::size_t exact_max = limits::store_exact_vectors_default) {
    return {.index = store_index{.dims = 2,
                                 .embed =
                                   [this](const texts& all) {
                                     embedded += all.size();
                                     return embed_digits(all);
                                   },
                                 .fields = {"text"},
                                 .distance = vector_distance::l2,
                                 .exact_max = exact_max},
            .now = [this] { return now; }};
  }
  std::shared_ptr<store> open(store_options with) {
    return open_postgres_store(database, std::move(with)).value();
  }
  std::shared_ptr<store> open() { return open(options()); }
  void put(store& to, const std::string& key) { to.put({"a"}, key, value{{"text", key}}).value(); }
  std::string run(std::string_view sql) { return server.run(in_schema(sql, database.schema)); }

  /// Keeps all changes waiting until release().
  void hold() {
    run("BEGIN");
    run("SELECT 1 FROM @.store_state FOR UPDATE");
  }
  void release() { run("COMMIT"); }
};

texts keys_in(store& in, const std::string& query = {}, std::size_t limit = 10) {
  texts found;
  for (const auto& item : in.search({.limit = limit, .query = query}).value())
    found.push_back(item.key);
  return found;
}

template <class Fn> auto at_once(Fn fn) {
  return std::async(std::launch::async, fn);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_postgres_store, postgres_store_fixture)

// ---- the schema ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(stores_and_savers_that_start_at_once_make_one_schema) {
  database = server.fresh_options();
  std::vector<std::future<bool>> opened;
  for (int i = 0; i < 3; ++i) {
    opened.push_back(at_once([&] { return open_postgres_store(database).has_value(); }));
    opened.push_back(at_once([&] { return open_postgres_saver(database).has_value(); }));
  }
  for (auto& one : opened)
    BOOST_TEST(one.get());
  BOOST_TEST(run("SELECT string_agg(part, ' ' ORDER BY part) FROM @.migrations")
             == "saver saver store store");
}

BOOST_AUTO_TEST_CASE(a_schema_of_a_newer_troupe_is_refused) {
  run("INSERT INTO @.migrations (part, version) VALUES ('store', 99)");
  auto refused = open_postgres_store(database);
  require_error(refused, errc::format_too_new);
  BOOST_TEST(refused.error().message().find("its store has version 99") != std::string::npos);
  open_postgres_saver(database).value(); // a part of its own
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  require_error(open_postgres_store(database, {.now = nullptr}), errc::invalid_config);
  database.lock_timeout = 0ms;
  require_error(open_postgres_store(database), errc::invalid_config);
}

// ---- several stores -----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(stores_see_each_others_puts_and_removals,
                     make({std::size_t{2}, limits::store_exact_vectors_default}), exact_max) {
  auto one = open(options(exact_max));
  auto two = open(options(exact_max));
  for (const auto* key : {"1", "2", "3"})
    put(*one, key);
  BOOST_TEST((keys_in(*one, "3") == texts{"3", "2", "1"}));
  BOOST_TEST((keys_in(*two, "1") == texts{"1", "2", "3"}));
  two->remove({"a"}, "3").value();
  put(*two, "4");
  two->put({"a"}, "1", value{{"text", "7"}}).value();
  BOOST_TEST((keys_in(*one, "7") == texts{"1", "4", "2"}));
  put(*one, "3");
  BOOST_TEST((keys_in(*two, "3") == texts{"3", "2", "4", "1"}));
  BOOST_TEST((keys_in(*open({.now = [this] { return now; }}), "3") == texts{"1", "2", "3", "4"}));
  BOOST_TEST(two->get({"a"}, "1").value()->value == value({{"text", "7"}}));
}

BOOST_AUTO_TEST_CASE(a_time_to_live_counts_for_all) {
  auto other = open();
  items->put({.space = {"a"}, .key = "k", .value = value{{"text", "1"}}, .ttl = 10s}).value();
  now += 9s;
  BOOST_TEST(other->get({"a"}, "k").value().has_value()); // begins anew
  now += 9s;
  BOOST_TEST((keys_in(*items, "1") == texts{"k"}));
  now += 10s;
  BOOST_TEST(!other->get({"a"}, "k").value().has_value());
  BOOST_TEST(keys_in(*items, "1").empty());
  BOOST_TEST(other->list_namespaces({}).value().empty());
  BOOST_TEST(other->sweep().value() == 1u);
  BOOST_TEST(items->sweep().value() == 0u);
  for (const auto* table : {"store_items", "store_vectors", "store_spaces"})
    BOOST_TEST(run("SELECT count(*) FROM @." + std::string{table}) == "0");
}

BOOST_AUTO_TEST_CASE(vectors_are_kept_and_those_of_other_dims_are_none) {
  put(*items, "1");
  put(*items, "2");
  auto counted = embedded;
  BOOST_TEST((keys_in(*open(), "2") == texts{"2", "1"}));
  BOOST_TEST(embedded == counted + 1); // the query
  auto other = options();
  other.index->dims = 3;
  other.index->embed = [](const texts& all) {
    return std::vector<std::vector<float>>(all.size(), {1, 2, 3});
  };
  auto three = open(other);
  put(*three, "9");
  BOOST_TEST((keys_in(*three, "1") == texts{"9", "1", "2"}));
  BOOST_TEST((keys_in(*items, "2") == texts{"2", "1", "9"}));
}

BOOST_AUTO_TEST_CASE(an_index_is_rid_of_what_others_removed) {
  auto theirs = open();
  for (int round = 0; round < 3; ++round) {
    std::vector<store_op> puts;
    for (int i = 0; i < 1100; ++i)
      puts.emplace_back(store_put{{"a"}, std::to_string(i), value{{"text", std::to_string(i)}}});
    theirs->batch(puts).value();
    BOOST_TEST((keys_in(*items, std::to_string(round), 1) == texts{std::to_string(round)}));
  }
}

// A put that was numbered first but is committed last would never be found by who has read on.
BOOST_AUTO_TEST_CASE(puts_become_visible_in_the_order_of_their_numbers) {
  run("CREATE TABLE @.gate ()");
  run("GRANT ALL ON @.gate TO troupe");
  run("CREATE FUNCTION @.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF NEW.key = '1' THEN LOCK TABLE @.gate IN ACCESS SHARE MODE; END IF; RETURN NULL; END $$");
  run("CREATE CONSTRAINT TRIGGER hit AFTER INSERT ON @.store_items "
      "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @.wait()");
  auto other = open();
  auto reader = open();
  run("BEGIN");
  run("LOCK TABLE @.gate");
  auto first = at_once([&] { put(*items, "1"); });
  server.waiting_process();
  auto second = at_once([&] { put(*other, "2"); });
  while (second.wait_for(0s) != std::future_status::ready
         && run("SELECT count(*) FROM pg_locks WHERE NOT granted") != "2")
    ;
  BOOST_TEST(keys_in(*reader, "1").empty());
  run("COMMIT");
  first.get();
  second.get();
  auto found = reader->search({.query = "1"}).value();
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST(found[0].key == "1");
  BOOST_TEST((found[0].score && found[1].score));
}

// As when another server takes over that lacks the latest commits.
BOOST_AUTO_TEST_CASE(a_number_never_comes_twice_even_when_the_server_forgot_it) {
  auto other = open();
  for (const auto* key : {"1", "2"})
    put(*items, key);
  BOOST_TEST((keys_in(*other, "1") == texts{"1", "2"}));
  for (const auto* table : {"store_items", "store_vectors", "store_spaces"})
    run("DELETE FROM @." + std::string{table});
  run("UPDATE @.store_state SET last = 0");
  put(*items, "8");
  put(*items, "9");
  auto found = other->search({.query = "8"}).value();
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST((found[0].key == "8" && found[0].score == 0.0));
  BOOST_TEST((found[1].key == "9" && found[1].score == -1.0));
}

BOOST_AUTO_TEST_CASE(batches_of_several_stores_are_done_whole) {
  std::vector<std::future<void>> writers;
  for (const auto* who : {"1", "2"})
    writers.push_back(at_once([this, who] {
      auto mine = open();
      for (int round = 0; round < 20; ++round) {
        std::vector<store_op> puts;
        for (const auto* key : {"x", "y", "z"})
          puts.emplace_back(store_put{{"a", key}, key, value{{"text", who}, {"n", round}}});
        mine->batch(puts).value();
      }
    }));
  for (int i = 0; i < 40; ++i) {
    auto seen = items->search({}).value();
    BOOST_REQUIRE((seen.empty() || seen.size() == 3));
    for (const auto& item : seen)
      BOOST_REQUIRE((item.value == seen.front().value));
  }
  for (auto& writer : writers)
    writer.get();
}

// ---- much ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_search_reads_on_page_by_page) {
  std::vector<store_op> puts;
  for (int i = 1000; i < 1300; ++i) {
    auto space = i < 1200 ? "b" : "c" + std::to_string(i);
    puts.emplace_back(store_put{{"s", space}, std::to_string(i), value{{"n", i}}});
  }
  puts.emplace_back(store_put{{"a"}, "0", value{{"n", 0}}});
  puts.emplace_back(store_put{{"t"}, "9", value{{"n", 9}}});
  items->batch(puts).value();
  auto found = items->search({.prefix = {"s"}, .limit = 1000}).value();
  BOOST_REQUIRE(found.size() == 300u);
  for (int i = 0; i < 300; ++i)
    BOOST_TEST(found[static_cast<std::size_t>(i)].value["n"] == value(1000 + i));
  auto last = items->search({.prefix = {"s"}, .filter = value{{"n", 1299}}}).value();
  BOOST_TEST(last.size() == 1u);
  BOOST_TEST(items->search({.limit = 1000, .offset = 300}).value().size() == 2u);
  BOOST_TEST(items->list_namespaces({.limit = 1000}).value().size() == 103u);
}

BOOST_AUTO_TEST_CASE(large_values_come_in_several_answers) {
  const std::string large(limits::postgres_statement_bytes_max / 3, 'x');
  for (const auto* key : {"1", "2", "3", "4", "5", "6", "7"})
    items->put({"a"}, key, value{{"large", large}}).value();
  auto found = items->search({}).value();
  BOOST_REQUIRE(found.size() == 7u);
  for (const auto& item : found)
    BOOST_TEST((item.value["large"] == value(large)));
}

// ---- failures -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_store_outlives_its_connections) {
  put(*items, "1");
  server.terminate_all();
  BOOST_TEST(items->get({"a"}, "1").value().has_value());
  server.terminate_all();
  put(*items, "2");
  server.terminate_all();
  BOOST_TEST((keys_in(*items, "2") == texts{"2", "1"}));
}

BOOST_AUTO_TEST_CASE(a_change_whose_connection_ends_is_done_by_the_next) {
  put(*items, "1");
  hold();
  auto answer = at_once([this] { put(*items, "2"); });
  server.terminate(server.waiting_process());
  release();
  answer.get();
  BOOST_TEST((keys_in(*items) == texts{"1", "2"}));
}

BOOST_AUTO_TEST_CASE(a_look_whose_connection_ends_is_done_again) {
  put(*items, "1");
  put(*items, "2");
  auto other = open();
  run("BEGIN");
  run("LOCK TABLE @.store_vectors");
  auto answer = at_once([&other] {
    return other->batch({store_get{{"a"}, "1"}, store_query{.query = "2"}});
  });
  server.terminate(server.waiting_process());
  run("COMMIT");
  auto answers = answer.get().value();
  BOOST_REQUIRE(answers.size() == 2u);
  BOOST_TEST(std::get<0>(answers[0]).has_value());
  auto found = std::get<2>(answers[1]);
  BOOST_REQUIRE(found.size() == 2u);
  BOOST_TEST((found[0].key == "2" && found[0].score == 0.0));
}

BOOST_AUTO_TEST_CASE(what_was_committed_without_an_answer_is_there_once) {
  put(*items, "1");
  server.withhold_answers(true);
  auto other = open();
  auto answer = at_once([&] { put(*other, "2"); });
  auto process = server.waiting_process("SyncRep");
  server.withhold_answers(false);
  server.terminate(process);
  answer.get();
  BOOST_TEST((keys_in(*items, "2") == texts{"2", "1"}));
  BOOST_TEST((keys_in(*other, "2") == texts{"2", "1"}));
  BOOST_TEST(run("SELECT count(*) FROM @.store_vectors") == "2");
}

BOOST_AUTO_TEST_CASE(a_batch_that_the_server_refuses_changes_nothing) {
  run("ALTER TABLE @.store_items ADD CHECK (key <> 'bad')");
  put(*items, "1");
  require_error(items->batch({store_put{{"a"}, "1", value{{"text", "5"}}},
                              store_put{{"b"}, "bad", value{{"text", "2"}}},
                              store_put{{"c"}, "3", value{{"text", "3"}}}}),
                errc::storage_failed);
  BOOST_TEST(items->get({"a"}, "1").value()->value == value({{"text", "1"}}));
  BOOST_TEST(items->list_namespaces({}).value().size() == 1u);
  put(*items, "2");
  BOOST_TEST((keys_in(*items, "2") == texts{"2", "1"}));
}

BOOST_AUTO_TEST_CASE(a_store_that_others_hold_for_too_long_is_an_error) {
  database.lock_timeout = 30ms;
  auto hurried = open();
  put(*hurried, "1");
  hold();
  auto refused = hurried->put({"a"}, "2", value{{"text", "2"}});
  BOOST_TEST((keys_in(*hurried, "1") == texts{"1"})); // who looks waits for nobody
  release();
  require_error(refused, errc::storage_locked);
  put(*hurried, "2");
}

BOOST_AUTO_TEST_CASE(a_server_that_comes_back_is_used_again) {
  put(*items, "1");
  server.stop();
  require_error(items->get({"a"}, "1"), errc::storage_failed);
  require_error(items->put({"a"}, "2", value{{"text", "2"}}), errc::storage_failed);
  server.start();
  while (!items->put({"a"}, "3", value{{"text", "3"}})) // it may still refuse what comes
    ;
  BOOST_TEST((keys_in(*items, "3") == texts{"3", "1"}));
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_from_other_failures) {
  run("CREATE FUNCTION @.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$");
  run("CREATE TRIGGER hit BEFORE INSERT ON @.store_items EXECUTE FUNCTION @.full()");
  require_error(items->put({"a"}, "1", value{{"text", "1"}}), errc::storage_full);
}

// ---- damage -------------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_damaged_item_is_told_and_can_be_put_anew_or_removed,
                     make({"value = '\\xc1'", "value = '\\x93010203'",
                           "created = 9000000000000000000", "ttl = 0", "ends = 1"}),
                     damage) {
  put(*items, "1");
  put(*items, "2");
  run("UPDATE @.store_items SET " + std::string{damage} + " WHERE key = '1'");
  require_error(items->get({"a"}, "1"), errc::checkpoint_corrupt);
  require_error(items->search({.query = "1"}), errc::checkpoint_corrupt);
  BOOST_TEST(items->get({"a"}, "2").value().has_value());
  put(*items, "1");
  BOOST_TEST((keys_in(*items, "1") == texts{"1", "2"}));
  run("UPDATE @.store_items SET " + std::string{damage} + " WHERE key = '2'");
  items->remove({"a"}, "2").value();
  BOOST_TEST((keys_in(*items, "1") == texts{"1"}));
}

BOOST_AUTO_TEST_CASE(a_damaged_vector_is_as_good_as_none) {
  put(*items, "1");
  put(*items, "2");
  run("UPDATE @.store_vectors v SET vector = '\\x0000807f0000807f' FROM @.store_items i "
      "WHERE i.number = v.number AND i.key = '1'");
  BOOST_TEST((keys_in(*items, "1") == texts{"2", "1"}));
}

BOOST_AUTO_TEST_CASE(damage_beside_the_items_is_told) {
  put(*items, "1");
  run("UPDATE @.store_spaces SET path = '\\x61'");
  require_error(items->list_namespaces({}), errc::checkpoint_corrupt);
  run("DELETE FROM @.store_state");
  require_error(items->put({"a"}, "1", value::map()), errc::checkpoint_corrupt);
  require_error(items->search({.query = "1"}), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
