// Documents in Postgres: servers that share a schema, lost connections, damage, keys, indexes.
#include "server/documents/postgres_document_search.hpp"

#include "persistence/postgres/postgres_schema.hpp"
#include "tests/server/documents/document_kinds.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace troupe::server::test {

namespace {

constexpr auto threads = document_kind::thread;

/// The ids that a watcher was told, to wait for.
class heard_ids {
public:
  std::shared_ptr<void> watch(document_store& in) {
    return in.watch(threads, [this](const std::vector<std::string>& ids) {
      std::scoped_lock lock{mutex_};
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      changed_.notify_all();
    });
  }
  void wait_for(const std::string& id) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return std::ranges::find(ids_, id) != ids_.end(); });
  }
  auto count(const std::string& id) {
    std::scoped_lock lock{mutex_};
    return std::ranges::count(ids_, id);
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ids_;
};

struct postgres_documents_fixture : postgres_kind {
  troupe::test::postgres_server& server = troupe::test::postgres_server::of_this_program();

  std::shared_ptr<document_store> open() { return open_postgres_documents(options).value(); }
  std::string run(std::string_view sql) { return server.run(in_schema(sql, options.schema)); }
  static document_change thread(const std::string& id, int n,
                                std::optional<std::uint64_t> expected = std::nullopt) {
    return put(threads, id, value{{"n", n}}, expected);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_postgres_documents, postgres_documents_fixture)

// ---- opening ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(stores_that_open_at_once_make_one_schema) {
  options = server.fresh_options();
  std::vector<std::future<bool>> opened;
  for (int i = 0; i < 4; ++i)
    opened.push_back(std::async(std::launch::async,
                                [this] { return open_postgres_documents(options).has_value(); }));
  for (auto& one : opened)
    BOOST_TEST(one.get());
}

BOOST_AUTO_TEST_CASE(a_schema_of_a_newer_troupe_is_refused) {
  run("INSERT INTO @.migrations (part, version) VALUES ('documents', 99)");
  require_error(open_postgres_documents(options), errc::format_too_new);
}

// ---- several servers ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(servers_of_one_schema_agree_by_revisions) {
  auto other = open();
  commit(*documents, {thread("t", 1, 0)});
  require_error(other->commit_and_wait({thread("t", 2, 0)}), errc::conflict);
  commit(*other, {thread("t", 2, 1)});
  require_error(documents->commit_and_wait({thread("t", 3, 1)}), errc::conflict);
  BOOST_TEST(documents->get(threads, "t").value()->revision == 2u);
  BOOST_TEST(documents->is_shared());
}

BOOST_AUTO_TEST_CASE(servers_that_count_up_together_lose_nothing) {
  constexpr int servers = 3, rounds = 20;
  commit(*documents, {thread("t", 0)});
  std::vector<std::future<void>> all;
  for (int i = 0; i < servers; ++i)
    all.push_back(std::async(std::launch::async, [this] {
      auto mine = open();
      for (int done = 0; done < rounds;) {
        auto now = mine->get(threads, "t").value();
        auto n = static_cast<int>(now->body["n"].as_int());
        if (mine->commit_and_wait({thread("t", n + 1, now->revision)}))
          ++done;
      }
    }));
  for (auto& one : all)
    one.get();
  BOOST_TEST(documents->get(threads, "t").value()->body["n"] == value(servers * rounds));
  BOOST_TEST(run("SELECT count(*) - max(number) FROM @.document_changes") == "0");
}

BOOST_AUTO_TEST_CASE(a_watcher_learns_of_another_servers_changes) {
  auto other = open();
  heard_ids heard;
  auto handle = heard.watch(*documents);
  commit(*documents, {thread("mine", 1)});
  commit(*other, {thread("a", 1), put(document_kind::run, "r", value::map())});
  heard.wait_for("a");
  commit(*other, {removal(threads, "a"), thread("b", 1)});
  heard.wait_for("b");
  BOOST_TEST(heard.count("a") == 2);
  BOOST_TEST(heard.count("mine") == 1);
  BOOST_TEST(heard.count("r") == 0);
}

BOOST_AUTO_TEST_CASE(a_watcher_that_lost_its_connection_learns_of_what_it_missed) {
  auto other = open();
  heard_ids heard;
  auto handle = heard.watch(*documents);
  commit(*other, {thread("a", 1)});
  heard.wait_for("a");
  server.terminate_all();
  commit(*other, {thread("b", 1)});
  heard.wait_for("b");
}

BOOST_AUTO_TEST_CASE(a_watcher_without_notifications_looks_from_time_to_time) {
  heard_ids heard;
  auto handle = heard.watch(*documents);
  commit(*open(), {thread("a", 1)});
  heard.wait_for("a");
  run("INSERT INTO @.document_changes SELECT last + 1, 7, 3, 'b' FROM @.documents_state");
  run("UPDATE @.documents_state SET last = last + 1");
  heard.wait_for("b");
}

BOOST_AUTO_TEST_CASE(a_watcher_that_missed_too_much_is_told_all_documents) {
  heard_ids heard;
  auto handle = heard.watch(*documents);
  auto other = open();
  commit(*other, {thread("a", 1)});
  heard.wait_for("a");
  run("INSERT INTO @.documents SELECT 3, 'b', 1, '\\x80', '{}'");
  run("UPDATE @.documents_state SET last = last + 5");
  commit(*other, {thread("c", 1)});
  heard.wait_for("b");
  heard.wait_for("c");
}

BOOST_AUTO_TEST_CASE(the_log_of_changes_keeps_a_bounded_number) {
  const auto kept = static_cast<int>(limits::document_changes_kept);
  run("INSERT INTO @.document_changes SELECT n, 1, 3, 'x' FROM generate_series(1, 1500) AS n");
  run("UPDATE @.documents_state SET last = " + std::to_string(kept + 999));
  commit(*documents, {thread("t", 1)});
  BOOST_TEST(run("SELECT min(number) FROM @.document_changes") == "1001");
}

// ---- failures -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lost_connection_is_opened_again) {
  commit(*documents, {thread("t", 1)});
  server.terminate_all();
  commit(*documents, {thread("t", 2, 1)});
  server.terminate_all();
  BOOST_TEST(documents->get(threads, "t").value()->revision == 2u);
}

BOOST_AUTO_TEST_CASE(a_commit_without_an_answer_is_made_once) {
  server.withhold_answers(true);
  auto other = open();
  std::promise<result<void>> answer;
  other->commit({thread("t", 1, 0), thread("u", 1, 0)},
                [&answer](result<void> how) { answer.set_value(std::move(how)); });
  auto process = server.waiting_process("SyncRep");
  server.withhold_answers(false);
  server.terminate(process);
  answer.get_future().get().value();
  BOOST_TEST(documents->get(threads, "t").value()->revision == 1u);
  BOOST_TEST(run("SELECT count(*) FROM @.document_changes") == "2");
}

BOOST_AUTO_TEST_CASE(a_server_that_comes_back_is_used_again) {
  commit(*documents, {thread("t", 1)});
  server.stop();
  require_error(documents->get(threads, "t"), errc::storage_failed);
  require_error(documents->search({threads}), errc::storage_failed);
  require_error(documents->commit_and_wait({thread("t", 2)}), errc::storage_failed);
  server.start();
  while (!documents->commit_and_wait({thread("t", 3)})) {
    // no attempt is made for as long as the failed one took
  }
  BOOST_TEST(documents->get(threads, "t").value()->revision == 2u);
}

BOOST_AUTO_TEST_CASE(a_damaged_document_is_named_and_can_be_replaced) {
  commit(*documents, {thread("t", 1)});
  for (const auto* bytes : {"", "\\x01", "\\xff", "\\x8101", "\\x54524f00"}) {
    run(std::string{"UPDATE @.documents SET body = '"} + bytes + "'");
    auto refused = documents->get(threads, "t");
    require_error(refused, errc::checkpoint_corrupt);
    BOOST_TEST(refused.error().message().find("thread `t`") != std::string::npos);
    require_error(documents->search({threads}), errc::checkpoint_corrupt);
  }
  commit(*documents, {thread("t", 2)});
  BOOST_TEST(documents->get(threads, "t").value()->body["n"] == value(2));
}

BOOST_AUTO_TEST_CASE(texts_that_jsonb_lacks_are_found) {
  const std::string zero("a\0b\\u0000", 9);
  commit(*documents, {put(threads, "t", value{{"x", zero}, {"y", "\xff!"}, {zero, "z"}})});
  BOOST_TEST(found(*documents, {.kind = threads, .equal = {{"x", zero}}}) == "t of 1");
  BOOST_TEST(found(*documents, {.kind = threads, .equal = {{zero, "z"}}}) == "t of 1");
  BOOST_TEST(found(*documents, {.kind = threads, .equal = {{"y", "\xff!"}}}) == "t of 1");
  BOOST_TEST(found(*documents, {.kind = threads, .like = {{"y", "\xff!"}}}) == "t of 1");
  BOOST_TEST(found(*documents, {.kind = threads, .equal = {{"status", "\xff!"}}}) == "of 0");
  BOOST_TEST(documents->get(threads, "t").value()->body["x"] == value(zero));
}

// ---- keys ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(bodies_are_sealed_with_a_key_ring) {
  const value body{{"status", "idle"}, {"secret", "MARKER"}};
  commit(*documents, {put(threads, "plain", body)});
  options.keyring = test_keys();
  auto sealed = open();
  commit(*sealed, {put(threads, "sealed", body)});
  BOOST_TEST(run("SELECT count(*) FROM @.documents WHERE id = 'sealed' AND "
                 "(position('MARKER' IN body) > 0 OR members::text LIKE '%MARKER%')")
             == "0");
  BOOST_TEST(found(*sealed, {.kind = threads, .equal = {{"secret", "MARKER"}}})
             == "plain sealed of 2");
  BOOST_TEST(found(*sealed, {.kind = threads, .equal = {{"status", "idle"}}, .limit = 1})
             == "plain of 2");
  BOOST_TEST(documents->get(threads, "plain").value()->body == body);
  require_error(documents->get(threads, "sealed"), errc::key_missing);
  require_error(documents->commit_and_wait({put(threads, "new", body)}), errc::key_missing);
  commit(*documents, {removal(threads, "plain")});
  run("UPDATE @.documents SET id = 'moved' WHERE id = 'sealed'");
  require_error(sealed->get(threads, "moved"), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_data_key_in_postgres_is_rotated_to_the_current_key) {
  require_error(rotate_documents_key(options), errc::invalid_config);
  options.keyring = test_keys();
  BOOST_TEST(!rotate_documents_key(options).value());
  commit(*open(), {thread("t", 1)});
  options.keyring =
    keyring::from_text("key " + std::string(64, '7') + "\nnew " + std::string(64, '8')).value();
  BOOST_TEST(rotate_documents_key(options).value().value());
  BOOST_TEST(!rotate_documents_key(options).value().value());
  options.keyring = keyring::from_text("new " + std::string(64, '8')).value();
  BOOST_TEST(open()->get(threads, "t").value()->revision == 1u);
  options.schema += " other";
  BOOST_TEST(!rotate_documents_key(options).value());
}

// ---- indexes ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_newest_of_many_documents_are_found_by_an_index) {
  run("INSERT INTO @.documents SELECT 3, convert_to('t' || n, 'UTF8'), 1, '\\x80', "
      "jsonb_build_object('created_at', lpad(n::text, 6, '0'), 'status', "
      "CASE n % 1000 WHEN 0 THEN 'busy' ELSE 'idle' END) FROM generate_series(1, 100000) AS n");
  run("ANALYZE @.documents");
  document_query newest{.kind = threads, .order_by = "created_at", .descending = true, .limit = 10};
  auto page = documents->search(newest).value();
  BOOST_TEST(page.total == 100'000u);
  BOOST_TEST(page.documents.front().id == "t100000");
  auto plan_of_search = [this](const document_query& query) {
    auto made = conditions_of(query, false);
    append_page(query, made);
    auto& text = made.text;
    text = text.substr(0, text.rfind('$')) + "10"; // its limit
    for (const auto* offset : {"$1::int8", "$2::int8"})
      if (auto at = text.find(offset); at != text.npos)
        text.replace(at, 8, "0");
    if (auto at = text.find("$1::text"); at != text.npos)
      text.replace(at, 8, "'busy'");
    run("CREATE FUNCTION @.plan() RETURNS text LANGUAGE plpgsql AS $f$ DECLARE line text; whole "
        "text := ''; BEGIN FOR line IN EXECUTE $q$EXPLAIN SELECT id, revision, body FROM "
        "@.documents WHERE "
        + text + "$q$ LOOP whole := whole || line || E'\\n'; END LOOP; RETURN whole; END $f$");
    auto plan = run("SELECT @.plan()");
    run("DROP FUNCTION @.plan()");
    return plan;
  };
  auto plan = plan_of_search(newest);
  BOOST_TEST(plan.find("documents_3_created_at") != plan.npos, plan);
  BOOST_TEST(plan.find("Sort") == plan.npos, plan);
  newest.equal = {{"status", "busy"}};
  plan = plan_of_search(newest);
  BOOST_TEST(plan.find("documents_3_status_created_at") != plan.npos, plan);
  BOOST_TEST(plan.find("Sort") == plan.npos, plan);
  BOOST_TEST(documents->search(newest).value().total == 100u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
