// The saver in Postgres: its schema, failures of the server and the connection, and savers that
// share a database. The other suites have the duties of every saver.
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/record/versions_seen.hpp"

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::require_error;

struct postgres_saver_fixture {
  test::postgres_server& server = test::postgres_server::of_this_program();
  postgres_options options = server.fresh_options();
  std::shared_ptr<troupe::saver> saver = open();

  std::shared_ptr<troupe::saver> open() const { return open_postgres_saver(options).value(); }

  std::string run(std::string_view sql) { return server.run(in_schema(sql, options.schema)); }

  /// Keeps the thread's row locked until release().
  void hold(const std::string& thread_id) {
    run("BEGIN");
    run("SELECT 1 FROM @.threads WHERE thread_id = '" + thread_id + "' FOR UPDATE");
  }
  void release() { run("COMMIT"); }

  /// Makes the next `times` commits of a checkpoint, but for the first ones, do `statement` at
  /// their end.
  void at_commit(const std::string& statement, int times, int first = 0) {
    run("CREATE SEQUENCE @.commits");
    run("GRANT USAGE ON SEQUENCE @.commits TO troupe");
    run("CREATE FUNCTION @.hit() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "DECLARE n int8 := nextval('@.commits'); BEGIN IF n BETWEEN "
        + std::to_string(first + 1) + " AND " + std::to_string(first + times) + " THEN " + statement
        + "; END IF; RETURN NULL; END $$");
    run("CREATE CONSTRAINT TRIGGER hit AFTER INSERT ON @.checkpoints "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @.hit()");
  }
};

save_request request_for(const std::string& thread_id, unsigned n, std::uint64_t owner = 0) {
  save_request request{{thread_id, "", {}}, {}, make_put(checkpoint_id(n), "", {{"n", n}})};
  if (owner != 0)
    request.claim = thread_claim{0, owner};
  return request;
}

bool has(saver& in, const std::string& thread_id, unsigned n) {
  return in.get_tuple({thread_id, "", checkpoint_id(n)}).value().has_value();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_postgres_saver, postgres_saver_fixture)

// ---- the schema ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(savers_that_start_at_once_make_one_schema) {
  options = server.fresh_options();
  std::vector<std::future<result<std::shared_ptr<troupe::saver>>>> opened;
  for (int i = 0; i < 4; ++i)
    opened.push_back(
      std::async(std::launch::async, [this] { return open_postgres_saver(options); }));
  for (auto& one : opened)
    one.get().value();
  BOOST_TEST(run("SELECT count(*) FROM @.migrations") == "2");
}

BOOST_AUTO_TEST_CASE(a_schema_of_a_newer_troupe_is_refused) {
  run("INSERT INTO @.migrations (part, version) VALUES ('saver', 99)");
  auto refused = open_postgres_saver(options);
  require_error(refused, errc::format_too_new);
  BOOST_TEST(contains(refused.error().message(), "`" + options.schema + "`"));
  BOOST_TEST(contains(refused.error().message(), "its saver has version 99"));
  BOOST_TEST(contains(refused.error().message(), "reads up to 2"), refused.error().message());
}

BOOST_AUTO_TEST_CASE(a_migration_that_fails_leaves_the_version_before_it) {
  auto on = postgres_connection::open(options).value();
  const postgres_migration made[] = {{"CREATE TABLE @.one (n int8)"},
                                     {"CREATE TABLE @.two (n int8)", "CREATE TABLE @.one ()"}};
  BOOST_TEST(!migrate(*on, options.schema, "part", made).has_value());
  BOOST_TEST(run("SELECT max(version) FROM @.migrations WHERE part = 'part'") == "1");
  BOOST_TEST(run("SELECT to_regclass('@.two')") == "");
}

BOOST_AUTO_TEST_CASE(a_schema_may_have_any_name) {
  for (const auto* name : {"we\"ird; DROP", "a b", "Größe", "select"}) {
    options.schema = name;
    auto there = open();
    there->put({"t", "", ""}, make_put("c", "", {{"n", 1}})).value();
    BOOST_TEST(there->list({}).value().size() == 1u);
  }
  for (const std::string& name : {std::string{}, std::string(64, 's'), std::string{"a\0b", 3}}) {
    options.schema = name;
    require_error(open_postgres_saver(options), errc::invalid_config);
  }
}

BOOST_AUTO_TEST_CASE(who_may_not_make_tables_can_use_those_that_are_there) {
  options.conninfo = server.conninfo("guest");
  auto refused = open_postgres_saver(options);
  require_error(refused, errc::storage_failed);
  BOOST_TEST(contains(refused.error().message(), "grant"), refused.error().message());
  run("GRANT USAGE ON SCHEMA @ TO guest");
  run("GRANT ALL ON ALL TABLES IN SCHEMA @ TO guest");
  run("GRANT ALL ON ALL SEQUENCES IN SCHEMA @ TO guest");
  open()->put({"t", "", ""}, make_put("c", "", {})).value();
  BOOST_TEST(saver->list({}).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(names_of_any_length_are_told_apart) {
  const std::string a(10'000, 'a');
  const std::string b = std::string(9'999, 'a') + 'b';
  auto put = make_put("c", "", {{a, 1}, {b, 2}}, value{{"run_id", a}});
  saver->put({"t", "", ""}, put).value();
  auto tuple = saver->get_tuple({"t", "", ""}).value();
  BOOST_TEST((tuple->checkpoint.channel_values == named<value>{{a, 1}, {b, 2}}));
  BOOST_TEST(saver->delete_for_runs({b}).value().checkpoints == 0u);
  BOOST_TEST(saver->delete_for_runs({a}).value().checkpoints == 1u);
}

BOOST_AUTO_TEST_CASE(a_damaged_row_is_an_error) {
  saver->put({"t", "", ""}, make_put("c", "", {{"n", 1}})).value();
  run("UPDATE @.channel_values SET value = '\\xc1'");
  require_error(saver->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
  run("UPDATE @.channel_values SET value = '\\xc0'");
  run("UPDATE @.checkpoints SET numbers = '{}'");
  require_error(saver->get_tuple({"t", "", ""}), errc::checkpoint_corrupt);
  run("UPDATE @.checkpoints SET numbers = '{1}', seen = '\\xff'");
  require_error(saver->list({}), errc::checkpoint_corrupt);
}

// ---- opening fails ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_is_wrong_with_the_server_is_said) {
  auto fails = [this](std::string conninfo, std::string_view says) {
    options.conninfo = std::move(conninfo);
    auto refused = open_postgres_saver(options);
    require_error(refused, errc::storage_failed);
    BOOST_TEST(contains(refused.error().message(), says), refused.error().message());
  };
  fails("host=/nowhere", "/nowhere");
  fails(server.conninfo("troupe", "nothing"), "create the database");
  fails(server.conninfo("nobody-known"), "nobody-known");
  fails(server.conninfo("guarded") + " password=wrong-secret", "check user and password");
  BOOST_TEST(!contains(open_postgres_saver(options).error().message(), "secret"));
}

BOOST_DATA_TEST_CASE(no_message_contains_the_password,
                     boost::unit_test::data::make(
                       {"postgresql://me:sec/ret@/db", "postgresql://me:sec@ret@host/db",
                        "postgresql://me:sec?ret@host/db", "postgresql://me:sec#ret@host/db",
                        "postgres://me:sec%ret@host/db", "password=sec ret", "passwort=secret",
                        "host=h pa'ss=secret", "password='secret"}),
                     conninfo) {
  options.conninfo = conninfo;
  auto refused = open_postgres_saver(options);
  require_error(refused, errc::invalid_config);
  BOOST_TEST(!contains(refused.error().message(), "sec"));
  BOOST_TEST(!contains(refused.error().message(), "ret"));
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  auto refuses = [this](auto change) {
    auto changed = options;
    change(changed);
    require_error(open_postgres_saver(changed), errc::invalid_config);
  };
  refuses([](auto& o) { o.pool_size = 0; });
  refuses([](auto& o) { o.pool_size = limits::postgres_pool_size_max + 1; });
  refuses([](auto& o) { o.connect_timeout = {}; });
  refuses([](auto& o) { o.statement_timeout = {}; });
  refuses([](auto& o) { o.lock_timeout = {}; });
  refuses([](auto& o) { o.conninfo = std::string{"host=a\0b", 8}; });
}

BOOST_AUTO_TEST_CASE(a_server_that_says_nothing_is_given_up) {
  test::temporary_directory dir;
  auto listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
  auto path = (dir.path() / ".s.PGSQL.5432").string();
  std::ranges::copy(path, at.sun_path);
  BOOST_REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  BOOST_REQUIRE(listen(listener, 4) == 0);
  options.conninfo = "port=5432 host=" + dir.path().string();
  options.connect_timeout = std::chrono::milliseconds{30};
  auto refused = open_postgres_saver(options);
  close(listener);
  require_error(refused, errc::storage_failed);
  BOOST_TEST(contains(refused.error().message(), "30 ms"), refused.error().message());
}

BOOST_AUTO_TEST_CASE(failures_of_the_server_have_codes) {
  BOOST_TEST(to_string(postgres_error("53100", "x").code()) == "storage_full");
  BOOST_TEST(to_string(postgres_error("55P03", "x").code()) == "storage_locked");
  BOOST_TEST(to_string(postgres_error("XX000", "x").code()) == "storage_failed");
  BOOST_TEST(contains(postgres_error("57014", "x").message(), "statement_timeout"));
  BOOST_TEST((kind_of_failure("40P01") == postgres_failure::repeat));
  BOOST_TEST((kind_of_failure("57P01") == postgres_failure::lost));
  BOOST_TEST((kind_of_failure("53100") == postgres_failure::statement));
}

// ---- connections end ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(reads_and_writes_outlive_their_connections) {
  saver->put({"t", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  BOOST_TEST(has(*saver, "t", 1));
  server.terminate_all();
  BOOST_TEST(has(*saver, "t", 1));
  server.terminate_all();
  saver->put({"t", "", ""}, make_put(checkpoint_id(2), checkpoint_id(1), {})).value();
  BOOST_TEST(has(*saver, "t", 2));
}

BOOST_AUTO_TEST_CASE(a_request_whose_connection_ends_is_stored_by_the_next) {
  saver->put({"t", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  hold("t");
  auto answer = test::submit(*saver, request_for("t", 2, 5), save_ack::durable);
  server.terminate(server.waiting_process());
  release();
  answer.get().value();
  BOOST_TEST(has(*saver, "t", 2));
  BOOST_TEST(saver->thread_owner("t").value() == 5u);
}

BOOST_AUTO_TEST_CASE(many_threads_are_stored_in_few_transactions_and_again_when_one_is_lost) {
  saver->put({"t0", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  at_commit("PERFORM pg_terminate_backend(pg_backend_pid())", 1, 1); // the second has them all
  hold("t0");
  std::vector<std::future<result<void>>> answers;
  answers.push_back(test::submit(*saver, request_for("t0", 2, 5), save_ack::durable));
  server.waiting_process();
  constexpr int threads = limits::postgres_threads_locked_max + 50;
  for (int i = 1; i <= threads; ++i)
    answers.push_back(test::submit(*saver, request_for("t" + std::to_string(i), 2, 5),
                                   i % 2 == 0 ? save_ack::durable : save_ack::accepted));
  release();
  for (auto& answer : answers)
    answer.get().value();
  BOOST_TEST(saver->threads().value().size() == threads + 1u);
  // One for the thread that was there, one for its second step; then all others.
  BOOST_TEST(std::stoi(run("SELECT count(DISTINCT xmin::text) FROM @.checkpoints")) <= 4);
}

BOOST_AUTO_TEST_CASE(values_beyond_what_one_statement_takes_are_stored_in_several) {
  const value large{std::string(limits::postgres_statement_bytes_max / 2 + 1, 'x')};
  save_request request{{"t", "", "c1"},
                       {{"task", "", {{"a", large}, {"b", large}, {"c", large}}}},
                       make_put("c1", "", {{"a", large}, {"b", large}, {"c", large}})};
  test::submit(*saver, request, save_ack::durable).get().value();
  auto tuple = saver->get_tuple({"t", "", ""}).value();
  BOOST_REQUIRE(tuple->pending_writes.size() == 3u);
  BOOST_REQUIRE(tuple->checkpoint.channel_values.size() == 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST((tuple->pending_writes[i].value == large));
    BOOST_TEST((tuple->checkpoint.channel_values[i].second == large));
  }
}

BOOST_AUTO_TEST_CASE(a_commit_that_never_succeeds_is_an_error_that_the_next_request_hears_of) {
  at_commit("PERFORM pg_terminate_backend(pg_backend_pid())", 2);
  require_error(test::submit(*saver, request_for("t", 1), save_ack::durable).get(),
                errc::storage_failed);
  run("ALTER SEQUENCE @.commits RESTART");
  test::submit(*saver, request_for("t", 2), save_ack::accepted).get().value();
  require_error(test::submit(*saver, request_for("t", 3), save_ack::durable).get(),
                errc::storage_failed);
  test::submit(*saver, request_for("t", 4), save_ack::durable).get().value();
  BOOST_TEST(saver->list({}).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_from_other_failures) {
  at_commit("RAISE EXCEPTION 'no room' USING ERRCODE = '53100'", 2);
  require_error(saver->put({"t", "", ""}, make_put("c", "", {})), errc::storage_full);
  saver->put({"t", "", ""}, make_put("c", "", {})).value(); // there is room again
}

BOOST_AUTO_TEST_CASE(the_victim_of_a_deadlock_is_stored_at_the_second_try) {
  at_commit("RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'", 1);
  saver->put({"t", "", ""}, make_put("c", "", {{"n", 1}})).value();
  auto stored = saver->get_tuple({"t", "", ""}).value();
  BOOST_REQUIRE(stored.has_value());
  BOOST_TEST(stored->ref.checkpoint_id == "c");
  BOOST_TEST(stored->checkpoint.channel_values.at(0).second == value(1));
}

BOOST_AUTO_TEST_CASE(a_statement_that_takes_too_long_is_an_error) {
  saver->put({"t", "", ""}, make_put("c", "", {})).value();
  options.statement_timeout = std::chrono::milliseconds{40};
  auto hurried = open();
  hold("t");
  auto refused = hurried->put({"t", "", ""}, make_put("d", "", {}));
  release();
  require_error(refused, errc::storage_failed);
  BOOST_TEST(contains(refused.error().message(), "statement_timeout"), refused.error().message());
  hurried->put({"t", "", ""}, make_put("d", "", {})).value();
}

BOOST_AUTO_TEST_CASE(a_thread_that_others_hold_for_too_long_is_an_error) {
  options.lock_timeout = std::chrono::milliseconds{30};
  auto hurried = open();
  hurried->put({"t", "", ""}, make_put("c", "", {})).value();
  hold("t");
  auto stored = hurried->put({"t", "", ""}, make_put("d", "", {}));
  auto other = hurried->put({"u", "", ""}, make_put("c", "", {}));
  auto rewound = hurried->rewind("t", {.after_id = "b"});
  release();
  require_error(stored, errc::storage_locked);
  BOOST_TEST(contains(stored.error().message(), "lock_timeout"), stored.error().message());
  BOOST_TEST(other.has_value());
  require_error(rewound, errc::storage_locked);
  hurried->put({"t", "", ""}, make_put("d", "", {})).value();
  BOOST_TEST(hurried->list({.thread_id = "t"}).value().size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_was_committed_without_an_answer_is_not_there_twice) {
  server.withhold_answers(true);
  auto other = open();
  auto request = request_for("t", 1, 5);
  request.ref.checkpoint_id = checkpoint_id(1);
  request.writes = {{"task", "", {{"a", 1}, {"a", 2}, {"__resume__", 3}}}};
  auto answer = test::submit(*other, request, save_ack::durable);
  auto process = server.waiting_process("SyncRep");
  BOOST_TEST(has(*saver, "t", 1) == false); // nobody sees it before the commit has ended
  server.withhold_answers(false);
  server.terminate(process);
  answer.get().value();
  BOOST_TEST(saver->thread_owner("t").value() == 5u);
  auto tuple = saver->get_tuple({"t", "", ""}).value();
  BOOST_TEST(tuple->pending_writes.size() == 3u);
  BOOST_TEST(run("SELECT count(*) FROM @.checkpoints") == "1");
  BOOST_TEST(run("SELECT count(*) FROM @.channel_values") == "1");
}

BOOST_AUTO_TEST_CASE(a_rewind_without_an_answer_is_done_once) {
  for (unsigned n = 1; n <= 3; ++n)
    saver->put({"t", "", ""}, make_put(checkpoint_id(n), "", {{"n", n}}, value::map({}), {n, 7}))
      .value();
  server.withhold_answers(true);
  auto other = open();
  auto answer = std::async(std::launch::async,
                           [&other] { return other->rewind("t", {.after_id = checkpoint_id(2)}); });
  auto process = server.waiting_process("SyncRep");
  server.withhold_answers(false);
  server.terminate(process);
  answer.get().value();
  BOOST_TEST(test::ids_of(saver->list({}).value())
             == (std::vector{checkpoint_id(2), checkpoint_id(1)}));
}

BOOST_DATA_TEST_CASE(a_server_that_crashes_in_a_commit_has_all_of_it_or_nothing,
                     boost::unit_test::data::make({false, true}), is_committed) {
  saver->put({"t", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  run("CREATE TABLE @.gate ()");
  run("GRANT ALL ON @.gate TO troupe");
  if (is_committed) {
    server.withhold_answers(true);
  } else {
    at_commit("LOCK TABLE @.gate IN ACCESS SHARE MODE", 2);
    run("BEGIN");
    run("LOCK TABLE @.gate");
  }
  auto other = open();
  auto request = request_for("t", 2);
  request.ref.checkpoint_id = checkpoint_id(2);
  request.writes = {{"task", "", {{"a", 1}}}};
  auto answer = test::submit(*other, request, save_ack::durable);
  server.waiting_process(is_committed ? "SyncRep" : "Lock");
  if (is_committed)
    server.withhold_answers(false);
  server.stop();
  require_error(answer.get(), errc::storage_failed);
  server.start();
  if (!is_committed)
    run("DROP TRIGGER hit ON @.checkpoints");
  auto there = other->get_tuple({"t", "", checkpoint_id(2)});
  while (!there) // it may still refuse what comes
    there = other->get_tuple({"t", "", checkpoint_id(2)});
  BOOST_TEST(there->has_value() == is_committed);
  if (is_committed)
    BOOST_TEST((**there).pending_writes.size() == 1u);
  test::submit(*other, request, save_ack::durable).get().value();
  BOOST_TEST(run("SELECT count(*) FROM @.checkpoints") == "2");
  BOOST_TEST(run("SELECT count(*) FROM @.writes") == "1");
}

BOOST_AUTO_TEST_CASE(a_server_that_comes_back_is_used_again) {
  saver->put({"t", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  server.stop();
  require_error(saver->get_tuple({"t", "", ""}), errc::storage_failed);
  require_error(saver->put({"t", "", ""}, make_put("c", "", {})), errc::storage_failed);
  server.start();
  for (auto answer = saver->put({"t", "", ""}, make_put(checkpoint_id(2), "", {})); !answer;)
    answer = saver->put({"t", "", ""}, make_put(checkpoint_id(2), "", {}));
  BOOST_TEST(has(*saver, "t", 2));
}

BOOST_AUTO_TEST_CASE(more_readers_than_connections_take_turns) {
  options.pool_size = 1;
  auto narrow = open();
  narrow->put({"t", "", ""}, make_put(checkpoint_id(1), "", {})).value();
  std::vector<std::future<bool>> found;
  for (int i = 0; i < 8; ++i)
    found.push_back(std::async(std::launch::async, [&narrow] { return has(*narrow, "t", 1); }));
  for (auto& one : found)
    BOOST_TEST(one.get());
}

// ---- savers that share a database ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(of_two_runs_that_go_on_from_one_state_one_stores_the_step) {
  auto other = open();
  for (unsigned step = 1; step <= 25; ++step) {
    auto before = saver->thread_owner("t").value();
    std::vector<std::future<result<void>>> answers;
    for (unsigned run : {1u, 2u}) {
      auto& to = run == 1 ? *saver : *other;
      auto request = request_for("t", 2 * step + run);
      request.claim = thread_claim{before, 2 * step + run};
      if (step > 1)
        request.put->parent_id = other->get_tuple({"t", "", ""}).value()->ref.checkpoint_id;
      answers.push_back(test::submit(to, std::move(request),
                                     step % 2 == 0 ? save_ack::durable : save_ack::accepted));
    }
    std::size_t stored = 0;
    for (auto& answer : answers) {
      auto stood = answer.get();
      stored += stood ? 1 : 0;
      if (!stood)
        BOOST_TEST(to_string(stood.error().code()) == "conflict");
    }
    BOOST_TEST(stored == 1u);
    static_cast<void>(saver->threads().value()); // what was accepted is committed
    static_cast<void>(other->threads().value());
  }
  BOOST_TEST(saver->list({}).value().size() == 25u);
}

BOOST_AUTO_TEST_CASE(a_refused_run_leaves_no_thread_behind) {
  auto late = request_for("t", 1);
  late.claim = thread_claim{5, 5};
  require_error(test::submit(*saver, std::move(late), save_ack::durable).get(), errc::conflict);
  BOOST_TEST(run("SELECT count(*) FROM @.threads") == "0");
}

BOOST_AUTO_TEST_CASE(two_savers_that_store_the_same_threads_in_any_order_get_done) {
  auto other = open();
  std::vector<std::future<result<void>>> answers;
  for (unsigned i = 0; i < 60; ++i) {
    answers.push_back(
      test::submit(*saver, request_for("t" + std::to_string(i), 1), save_ack::durable));
    answers.push_back(
      test::submit(*other, request_for("t" + std::to_string(59 - i), 2), save_ack::durable));
  }
  for (auto& answer : answers)
    answer.get().value();
  BOOST_TEST(saver->threads().value().size() == 60u);
  BOOST_TEST(saver->list({}).value().size() == 120u);
}

BOOST_AUTO_TEST_CASE(a_long_history_is_read_in_several_answers) {
  constexpr unsigned steps = limits::postgres_ancestors_fetched + 20;
  std::vector<std::future<result<void>>> answers;
  for (unsigned n = 1; n <= steps; ++n) {
    auto parent = n == 1 ? "" : checkpoint_id(n - 1);
    save_request request{{"t", "", checkpoint_id(n)},
                         {{"task", "", {{"log", n}, {"other", "x"}}}},
                         make_put(checkpoint_id(n), parent, {})};
    answers.push_back(test::submit(*saver, std::move(request), save_ack::durable));
  }
  for (auto& answer : answers)
    answer.get().value();
  auto found = saver->get_delta_channel_history({"t", "", ""}, {"log"}).value();
  BOOST_REQUIRE(found.size() == 1u);
  BOOST_REQUIRE(found[0].second.writes.size() == steps - 1);
  BOOST_TEST(found[0].second.writes.front().value == value(1));
  BOOST_TEST(found[0].second.writes.back().value == value(steps - 1));
  BOOST_TEST(saver->list({}).value().size() == steps);
  BOOST_TEST(saver->prune({"t"}, {.keep_latest = 3}).value().checkpoints == steps - 3);
}

// ---- bytes --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(versions_seen_survive_their_bytes_and_no_others_are_taken) {
  const named<named<version>> seen{{"__input__", {}},
                                   {"node", {{"a", {1, 0}}, {"b", {~0ull, ~0ull}}}}};
  auto bytes = encode_versions_seen(seen);
  BOOST_TEST((decode_versions_seen(bytes).value() == seen));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    require_error(decode_versions_seen(std::string_view{bytes}.substr(0, size)),
                  errc::checkpoint_corrupt);
  require_error(decode_versions_seen(bytes + '\0'), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(an_array_that_does_not_fit_is_not_read) {
  postgres_params params;
  params.bytes_array(std::vector<std::string>{"one", "", std::string{"\0", 1}});
  const std::string good{params.values()[0], static_cast<std::size_t>(params.lengths()[0])};
  auto rows_of = [](std::string data) {
    auto* made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
    char name[] = "a";
    PGresAttDesc column{name, 0, 0, 1, 0, -1, -1};
    PQsetResultAttrs(made, 1, &column);
    PQsetvalue(made, 0, 0, data.data(), static_cast<int>(data.size()));
    return postgres_rows{made};
  };
  auto whole = rows_of(good);
  BOOST_TEST(whole.bytes_array(0, 0).size() == 3u);
  BOOST_TEST(whole.well_formed());
  for (std::size_t size = 0; size < good.size(); ++size) {
    auto cut = rows_of(good.substr(0, size));
    BOOST_TEST(cut.bytes_array(0, 0).empty());
    BOOST_TEST(!cut.well_formed());
  }
  for (std::size_t at : {3u, 7u, 11u, 12u, 20u}) {
    auto changed = good;
    changed[at] = '\x7f';
    auto odd = rows_of(changed);
    BOOST_TEST(odd.bytes_array(0, 0).empty());
    BOOST_TEST(!odd.well_formed());
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
