// Encryption at rest in Postgres: nothing shows, nothing can be changed or moved, keys rotate and
// can be lost.
#include "persistence/postgres/postgres_schema.hpp"

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/crypt/test_keys.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <future>
#include <thread>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::keys;
using test::make_put;
using test::marker;
using test::require_error;
using test::ring;

constexpr float number_in_sealed_vectors = 1234.5678f;

checkpoint_put sealed_put(unsigned n) {
  auto put = make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1),
                      {{"n", n}, {"text", std::string{marker}}},
                      value{{"step", n}, {"note", std::string{marker}}}, {n + 1, 7});
  put.checkpoint.versions_seen = {{std::string{marker}, {{"n", {1, 7}}}}};
  put.checkpoint.updated_channels = std::vector<std::string>{"n", "text"};
  return put;
}

value sealed_number(saver& from, const std::string& thread_id) {
  auto tuple = from.get_tuple({thread_id, "", ""}).value();
  return tuple ? tuple->checkpoint.channel_values.at(0).second : value("absent");
}

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes)
    for (auto half : {c >> 4, c & 15})
      out += "0123456789abcdef"[half];
  return out;
}

struct sealed_postgres_fixture {
  test::postgres_server& server = test::postgres_server::of_this_program();
  postgres_options database = server.fresh_options();

  postgres_options with(ring keys) const {
    auto options = database;
    options.keyring = std::move(keys);
    return options;
  }
  std::shared_ptr<saver> open(ring keys) const { return open_postgres_saver(with(keys)).value(); }
  std::shared_ptr<store> open_items(ring keys) const {
    auto embed =
      [](const std::vector<std::string>& all) -> result<std::vector<std::vector<float>>> {
      std::vector<std::vector<float>> out;
      for (const auto& text : all)
        out.push_back({static_cast<float>(text.size()), number_in_sealed_vectors});
      return out;
    };
    return open_postgres_store(
             with(keys), {.index = store_index{.dims = 2, .embed = embed, .fields = {"text"}}})
      .value();
  }
  std::string run(std::string_view sql) { return server.run(in_schema(sql, database.schema)); }

  /// All rows of all tables, as text; bytea as hex.
  std::string dump() {
    std::string out;
    auto tables = run("SELECT string_agg(quote_ident(tablename), ' ') FROM pg_tables "
                      "WHERE schemaname = '"
                      + database.schema + "'");
    for (std::size_t begin = 0; begin < tables.size();) {
      auto end = std::min(tables.find(' ', begin), tables.size());
      out +=
        run("SELECT string_agg(t::text, ' ') FROM @." + tables.substr(begin, end - begin) + " t");
      begin = end + 1;
    }
    return out;
  }
  bool shows(std::string_view bytes) {
    auto all = dump();
    return all.find(bytes) != all.npos || all.find(hex_of(bytes)) != all.npos;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_postgres_encryption, sealed_postgres_fixture)

// ---- what shows ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nothing_of_state_items_or_vectors_shows_in_any_table) {
  auto in_vectors = std::string(4, '\0');
  auto bits = std::bit_cast<std::uint32_t>(number_in_sealed_vectors);
  for (auto i = 0u; i < 4; ++i)
    in_vectors[i] = static_cast<char>(bits >> 8 * i);
  auto fill = [&](ring keys) {
    auto to = open(keys);
    to->put({"t", "", ""}, sealed_put(0)).value();
    to->put({"t", "child", ""}, sealed_put(0)).value();
    to->put_writes({"t", "", checkpoint_id(0)},
                   {"task",
                    std::string{marker},
                    {{"a", std::string{marker}}, {"__error__", std::string{marker}}}})
      .value();
    to->copy_thread("t", "copy").value();
    open_items(keys)->put({"a"}, "k", value{{"text", std::string{marker}}}).value();
  };
  fill(nullptr);
  BOOST_TEST(shows(marker));
  BOOST_TEST(shows(in_vectors));
  database = server.fresh_options();
  fill(keys("k1"));
  BOOST_TEST(!shows(marker));
  BOOST_TEST(!shows(in_vectors));
  BOOST_TEST(!shows(std::string(32, '\x11'))); // nor does a key
  auto store = open(keys("k1"));
  for (const auto* thread : {"t", "copy"}) {
    auto tuple = store->get_tuple({thread, "", ""}).value();
    BOOST_TEST((tuple->checkpoint.channel_values.at(1).second == value(std::string{marker})));
    BOOST_TEST(tuple->metadata.at("note") == value(std::string{marker}));
    BOOST_TEST(tuple->checkpoint.versions_seen.at(0).first == marker);
    BOOST_TEST((tuple->checkpoint.updated_channels == std::vector<std::string>{"n", "text"}));
    BOOST_REQUIRE(tuple->pending_writes.size() == 2u);
    BOOST_TEST(tuple->pending_writes[0].task_path == marker);
    BOOST_TEST(tuple->pending_writes[1].value == value(std::string{marker}));
  }
  BOOST_TEST(open_items(keys("k1"))->search({.query = "x"}).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(plain_and_sealed_rows_of_one_thread_are_read_side_by_side) {
  open(nullptr)->put({"t", "", ""}, sealed_put(0)).value();
  open(nullptr)->put({"plain", "", ""}, sealed_put(0)).value();
  {
    auto store = open(keys("k1"));
    BOOST_TEST(sealed_number(*store, "t") == value(0u));
    auto put = sealed_put(1);
    put.new_versions = {"n"}; // the text is that of the plain checkpoint
    put.checkpoint.channel_versions[1].second = {1, 7};
    put.checkpoint.channel_values[0].second = "SECRET";
    store->put({"t", "", ""}, put).value();
    auto all = store->list({.thread_id = "t", .filter = value{{"step", 1}}}).value();
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST((all[0].checkpoint.channel_values[0].second == value("SECRET")));
    BOOST_TEST((all[0].checkpoint.channel_values[1].second == value(std::string{marker})));
  }
  BOOST_TEST(!shows("SECRET"));
  auto store = open(nullptr);
  BOOST_TEST(sealed_number(*store, "plain") == value(0u));
  require_error(store->get_tuple({"t", "", ""}), errc::key_missing);
  require_error(store->put({"t", "", ""}, sealed_put(2)), errc::key_missing);
  BOOST_TEST(store->get_tuple({"t", "", checkpoint_id(0)}).value()->metadata.at("step")
             == value(0u));
}

BOOST_AUTO_TEST_CASE(schemas_of_before_encryption_are_migrated) {
  auto on = postgres_connection::open(database).value();
  migrate(*on, database.schema, "saver", saver_migrations().first(1)).value();
  migrate(*on, database.schema, "store", store_migrations().first(1)).value();
  run("INSERT INTO @.threads (thread_id, thread) VALUES ('t', 1)");
  auto store = open(keys("k1"));
  store->put({"t", "", ""}, sealed_put(0)).value();
  open_items(keys("k1"))->put({"a"}, "k", value::map()).value();
  BOOST_TEST(run("SELECT string_agg(part || version, ' ' ORDER BY part, version) FROM "
                 "@.migrations")
             == "saver1 saver2 store1 store2");
  BOOST_TEST(run("SELECT convert_from(key_id, 'UTF8') FROM @.threads") == "k1");
}

// ---- without the key ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_the_key_a_thread_is_neither_read_nor_written_but_can_be_deleted) {
  for (unsigned n = 0; n < 2; ++n)
    open(keys("k1"))->put({"t", "", ""}, sealed_put(n)).value();
  for (const auto& other : {ring{}, keys("k2"), keys("k1!")}) {
    auto store = open(other);
    auto read = store->get_tuple({"t", "", ""});
    require_error(read, errc::key_missing);
    BOOST_TEST(read.error().message().find("`k1`") != std::string::npos, read.error().message());
    require_error(store->list({}), errc::key_missing);
    require_error(store->get_delta_channel_history({"t", "", ""}, {"n"}), errc::key_missing);
    require_error(store->put({"t", "", ""}, sealed_put(2)), errc::key_missing);
    require_error(store->put_writes({"t", "", checkpoint_id(0)}, {"task", "", {{"n", 1}}}),
                  errc::key_missing);
    require_error(store->prune({"t"}, {}), errc::key_missing);
    require_error(store->copy_thread("t", "u"), errc::key_missing);
    store->put({"other", "", ""}, sealed_put(2)).value(); // the saver continues
    BOOST_TEST(sealed_number(*store, "other") == value(2u));
    store->delete_thread("other").value();
  }
  BOOST_TEST(sealed_number(*open(keys("k1")), "t") == value(1u));
  open(nullptr)->delete_thread("t").value();
  BOOST_TEST(run("SELECT count(*) FROM @.threads") == "0"); // and its key with it
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_made_again_has_another_key) {
  auto store = open(keys("k1"));
  store->put({"t", "", ""}, sealed_put(0)).value();
  auto first = run("SELECT data_key FROM @.threads");
  store->delete_thread("t").value();
  store->put({"t", "", ""}, sealed_put(1)).value();
  BOOST_TEST(run("SELECT data_key FROM @.threads") != first);
  BOOST_TEST(sealed_number(*store, "t") == value(1u));
}

BOOST_AUTO_TEST_CASE(without_the_key_items_are_neither_read_nor_put_but_can_be_removed) {
  open_items(nullptr)->put({"a"}, "plain", value{{"text", "p"}}).value();
  open_items(keys("k1"))->put({"a"}, "sealed", value{{"text", "s"}}).value();
  for (const auto& other : {ring{}, keys("k2"), keys("k1!")}) {
    auto items = open_items(other);
    BOOST_TEST(items->get({"a"}, "plain").value().has_value());
    auto refused = items->get({"a"}, "sealed");
    require_error(refused, errc::key_missing);
    BOOST_TEST(refused.error().message().find("`k1`") != std::string::npos);
    require_error(items->search({}), errc::key_missing);
    require_error(items->search({.query = "s"}), errc::key_missing);
    require_error(items->put({"a"}, "new", value::map()), errc::key_missing);
  }
  BOOST_TEST(open_items(keys("k1"))->search({.query = "s"}).value().size() == 2u);
  open_items(nullptr)->remove({"a"}, "sealed").value();
  BOOST_TEST(!open_items(keys("k1"))->get({"a"}, "sealed").value().has_value());
}

// ---- changed and moved rows ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_row_that_was_changed_is_reported) {
  auto store = open(keys("k1"));
  store->put({"t", "", ""}, sealed_put(0)).value();
  store->put_writes({"t", "", checkpoint_id(0)}, {"task", "path", {{"n", 1}}}).value();
  auto is_reported = [&](const std::string& table, const std::string& change) {
    BOOST_TEST_CONTEXT(table << ": " << change) {
      run("BEGIN");
      run("CREATE TABLE @.saved AS SELECT * FROM @." + table);
      run("UPDATE @." + table + " SET " + change);
      run("COMMIT");
      require_error(store->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
      run("DELETE FROM @." + table);
      run("INSERT INTO @." + table + " SELECT * FROM @.saved");
      run("DROP TABLE @.saved");
      BOOST_TEST(sealed_number(*store, "t") == value(0u));
    }
  };
  auto flipped = [](const std::string& column) {
    return column + " = set_byte(" + column + ", octet_length(" + column + ") - 1, get_byte("
           + column + ", octet_length(" + column + ") - 1) # 1)";
  };
  is_reported("channel_values", flipped("value"));
  is_reported("writes", flipped("value"));
  is_reported("checkpoints", flipped("metadata"));
  is_reported("checkpoints", flipped("seen"));
  is_reported("checkpoints", "parent_id = 'other'"); // plain columns are bound, too
  is_reported("checkpoints", "ts = '2020'");
  is_reported("checkpoints", "numbers = '{9,9}'");
  is_reported("writes", "slot = 5");
  is_reported("writes", "channel = 'text'");
}

BOOST_AUTO_TEST_CASE(rows_that_change_places_are_reported) {
  auto store = open(keys("k1"));
  store->put({"t", "", ""}, sealed_put(0)).value();
  store->put({"t", "", ""}, sealed_put(1)).value();
  store->put({"u", "", ""}, sealed_put(1)).value();
  auto chain_of = [](const std::string& thread) {
    return "(SELECT chain FROM @.chains JOIN @.threads USING (thread) WHERE thread_id = '" + thread
           + "')";
  };
  // The newest value of thread t goes to thread u, and then the older one to the newer version.
  run("UPDATE @.channel_values v SET value = w.value FROM @.channel_values w WHERE v.chain = "
      + chain_of("u") + " AND w.chain = " + chain_of("t")
      + " AND v.number = w.number AND v.channel = w.channel");
  require_error(store->get_tuple({"u", "", ""}), errc::checkpoint_corrupt);
  run("UPDATE @.channel_values v SET value = w.value FROM @.channel_values w WHERE v.chain = "
      + chain_of("t")
      + " AND w.chain = v.chain AND v.number = 2 AND w.number = 1 "
        "AND v.channel = w.channel");
  require_error(store->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
  // Metadata of another checkpoint.
  run("UPDATE @.checkpoints k SET metadata = o.metadata FROM @.checkpoints o WHERE k.chain = "
      + chain_of("t") + " AND o.chain = k.chain AND o.checkpoint_id <> k.checkpoint_id");
  require_error(store->list({.thread_id = "t"}), errc::checkpoint_corrupt);
  // Another thread's data key.
  run("UPDATE @.threads t SET data_key = u.data_key FROM @.threads u WHERE t.thread_id = 't' "
      "AND u.thread_id = 'u'");
  require_error(open(keys("k1"))->get_tuple({"t", "", ""}), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(items_and_vectors_that_change_places_are_noticed) {
  auto items = open_items(keys("k1"));
  items->put({"a"}, "1", value{{"text", "one"}}).value();
  items->put({"a"}, "2", value{{"text", "two"}}).value();
  run("UPDATE @.store_items i SET value = o.value FROM @.store_items o WHERE i.key = '1' "
      "AND o.key = '2'");
  require_error(open_items(keys("k1"))->get({"a"}, "1"), errc::checkpoint_corrupt);
  items->put({"a"}, "1", value{{"text", "one"}}).value();
  run("UPDATE @.store_vectors v SET vector = o.vector FROM @.store_vectors o "
      "WHERE v.number <> o.number");
  auto found = open_items(keys("k1"))->search({.query = "x"}).value();
  BOOST_REQUIRE(found.size() == 2u); // a damaged vector counts as missing
  BOOST_TEST((!found[0].score && !found[1].score));
}

// ---- many savers and rotation -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(two_savers_that_make_a_thread_at_once_agree_on_its_key) {
  auto first = open(keys("k1"));
  auto second = open(keys("k1"));
  for (int round = 0; round < 20; ++round) {
    auto thread = "t" + std::to_string(round);
    auto put = [&](saver& to, unsigned n) {
      return std::async(std::launch::async, [&to, n, thread] {
        return to.put({thread, "", ""}, sealed_put(n)).has_value();
      });
    };
    auto one = put(*first, 0);
    auto two = put(*second, 1);
    BOOST_TEST((one.get() && two.get()));
    BOOST_TEST(first->list({.thread_id = thread}).value().size() == 2u);
    BOOST_TEST(sealed_number(*second, thread) == value(1u));
  }
  auto items = std::vector{open_items(keys("k1")), open_items(keys("k1"))};
  std::vector<std::future<bool>> puts;
  for (auto& to : items)
    puts.push_back(std::async(std::launch::async, [&to, &items] {
      return to->put({"a"}, to == items[0] ? "1" : "2", value::map()).has_value();
    }));
  for (auto& done : puts)
    BOOST_TEST(done.get());
  BOOST_TEST(open_items(keys("k1"))->search({}).value().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_rotation_beside_a_writer_leaves_nothing_under_the_old_key) {
  constexpr unsigned threads = limits::postgres_rows_fetched + 10; // more than one page of them
  open(nullptr)->put({"plain", "", ""}, sealed_put(9)).value();
  {
    auto store = open(keys("k1"));
    for (unsigned n = 0; n < threads; ++n)
      test::submit(*store, {{"t" + std::to_string(n), "", ""}, {}, sealed_put(0)},
                   n + 1 == threads ? save_ack::durable : save_ack::accepted)
        .get()
        .value();
    open_items(keys("k1"))->put({"a"}, "k", value{{"text", "x"}}).value();
  }
  auto before = run("SELECT string_agg(value::text, '' ORDER BY chain, channel) FROM "
                    "@.channel_values WHERE number = 1");
  std::atomic<bool> stop = false;
  auto writer = std::async(std::launch::async, [&] {
    auto store = open(keys("k1 k2"));
    unsigned n = 1;
    for (; !stop || n < 20; ++n)
      store->put({"t" + std::to_string(n % threads), "", ""}, sealed_put(n)).value();
    return n;
  });
  auto report = rotate_store_keys(with(keys("k1 k2"))).value();
  stop = true;
  writer.get();
  BOOST_TEST((report == rotation_report{threads, threads + 1, 1}));
  BOOST_TEST((rotate_store_keys(with(keys("k1 k2"))).value() == rotation_report{threads, 0, 1}));
  BOOST_TEST(run("SELECT string_agg(value::text, '' ORDER BY chain, channel) FROM "
                 "@.channel_values WHERE number = 1")
             == before); // no data was touched
  auto store = open(keys("k2"));
  for (unsigned n = 0; n < threads; ++n)
    BOOST_TEST(store->get_tuple({"t" + std::to_string(n), "", ""}).has_value());
  BOOST_TEST(open_items(keys("k2"))->get({"a"}, "k").value().has_value());
  require_error(open(keys("k1"))->get_tuple({"t0", "", ""}), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(a_rotation_that_can_not_be_done_says_why) {
  require_error(rotate_store_keys(database), errc::invalid_config);
  require_error(rotate_store_keys(with(keys("k1"))), errc::storage_failed);
  BOOST_TEST(run("SELECT count(*) FROM pg_namespace WHERE nspname = '" + database.schema + "'")
             == "0"); // nothing was made
  open(keys("k1"))->put({"t", "", ""}, sealed_put(0)).value();
  require_error(rotate_store_keys(with(keys("k2"))), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(an_undone_run_leaves_its_writes_sealed) {
  auto store = open(keys("k1"));
  auto put = sealed_put(0);
  store->put({"t", "", ""}, put).value();
  store->put_writes({"t", "", checkpoint_id(0)}, {"a", "path a", {{"n", "before"}}}).value();
  auto before = store->get_tuple({"t", "", ""}).value();
  save_request request{
    {"t", "", checkpoint_id(0)}, {{"b", "path b", {{"n", "after"}}}}, sealed_put(1)};
  request.claim = thread_claim{0, 7};
  test::submit(*store, request, save_ack::durable).get().value();
  rewind_point to;
  to.after_id = checkpoint_id(0);
  to.claim = thread_claim{0, 7};
  to.heads.push_back({{"t", "", checkpoint_id(0)}, before->pending_writes});
  store->rewind("t", to).value();
  auto after = store->get_tuple({"t", "", ""}).value();
  BOOST_TEST((after->pending_writes == before->pending_writes));
  BOOST_TEST(!shows("path a"));
  BOOST_TEST(!shows("before"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
