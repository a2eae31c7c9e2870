// The duties of every document store.
#include "tests/server/documents/document_kinds.hpp"

#include <troupe/server/limits.hpp>

#include <atomic>
#include <mutex>
#include <thread>

namespace troupe::server::test {

namespace {

constexpr auto thread_kind = document_kind::thread;
constexpr auto run_kind = document_kind::run;

value at_time(int n, const std::string& status = "idle") {
  return value{{"created_at", "2026-01-01T00:00:" + std::to_string(10 + n)}, {"status", status}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_documents)

// ---- commits ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(a_document_is_read_as_it_was_stored, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  BOOST_TEST(!documents.get(thread_kind, "t").value());
  const value body{{"status", "idle"},
                   {"zero", value(std::string("a\0b", 3))},
                   {"large", std::string(100'000, 'x')},
                   {"numbers", value::list({1, 1.0, -0.5, INT64_MAX, 1e300, 1e17})},
                   {"bytes", value::bytes(std::as_bytes(std::span{"\0\xff", 2}))},
                   {"not text", "\xff\xfe"},
                   {"at", value::extension(value_kind::timestamp, 1)},
                   {"$own", value{{"$own", 1}}}};
  commit(documents, {put(thread_kind, "t", body)});
  auto stored = documents.get(thread_kind, "t").value();
  BOOST_REQUIRE(stored.has_value());
  BOOST_TEST(stored->id == "t");
  BOOST_TEST(stored->revision == 1u);
  BOOST_TEST(stored->body == body);
  BOOST_TEST(!documents.get(run_kind, "t").value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_revision_grows_with_every_change, Kind, document_kinds) {
  Kind kind;
  for (std::uint64_t n = 1; n < 4; ++n) {
    commit(*kind.documents, {put(thread_kind, "t", at_time(1), n - 1)});
    BOOST_TEST(kind.documents->get(thread_kind, "t").value()->revision == n);
  }
  commit(*kind.documents, {removal(thread_kind, "t", 3)});
  BOOST_TEST(!kind.documents->get(thread_kind, "t").value());
  commit(*kind.documents, {removal(thread_kind, "t"), put(thread_kind, "u", value::map(), 0)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_commit_with_a_conflict_changes_nothing, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  commit(documents, {put(thread_kind, "t", value{{"n", 1}})});
  for (auto expected : {std::uint64_t{0}, std::uint64_t{2}}) {
    auto refused = documents.commit_and_wait({put(run_kind, "t/new", value{{"n", 1}}),
                                              put(thread_kind, "t", value{{"n", 2}}, expected),
                                              removal(thread_kind, "t2", 0)});
    require_error(refused, errc::conflict);
    BOOST_TEST(refused.error().message().find("thread `t`") != std::string::npos);
  }
  require_error(documents.commit_and_wait({removal(thread_kind, "gone", 1)}), errc::conflict);
  require_error(documents.commit_and_wait({removal(thread_kind, "t", 7)}), errc::conflict);
  BOOST_TEST(!documents.get(run_kind, "t/new").value());
  BOOST_TEST(documents.get(thread_kind, "t").value()->body["n"] == value(1));
  BOOST_TEST(found(documents, {run_kind}) == "of 0");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(changes_need_the_document_of_their_condition, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  const document_change server{document_kind::server, "s", std::nullopt, std::nullopt, true};
  std::vector<std::string> told;
  auto watching = documents.watch(document_kind::server, [&](const auto& ids) {
    told.insert(told.end(), ids.begin(), ids.end());
  });
  auto refused = documents.commit_and_wait({server, put(run_kind, "t/r", value{{"n", 1}})});
  require_error(refused, errc::conflict);
  BOOST_TEST(refused.error().message().find("server `s`") != std::string::npos);
  BOOST_TEST(found(documents, {run_kind}) == "of 0");
  commit(documents, {put(document_kind::server, "s", value{{"n", 1}})});
  commit(documents, {server, put(run_kind, "t/r", value{{"n", 1}})});
  BOOST_TEST(documents.get(run_kind, "t/r").value()->revision == 1u);
  auto stays = documents.get(document_kind::server, "s").value();
  BOOST_REQUIRE(stays.has_value());
  BOOST_TEST(stays->revision == 1u);
  BOOST_TEST(stays->body == (value{{"n", 1}}));
  BOOST_TEST(found(documents, {document_kind::server}) == "s of 1");
  watching.reset();
  BOOST_TEST(told == std::vector<std::string>{"s"}, boost::test_tools::per_element());
  require_error(documents.commit_and_wait({put(run_kind, "t/r", value{{"n", 2}}), server}),
                errc::invalid_value);
  commit(documents, {removal(document_kind::server, "s")});
  require_error(documents.commit_and_wait({server, removal(run_kind, "t/r")}), errc::conflict);
  BOOST_TEST(documents.get(run_kind, "t/r").value().has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(malformed_changes_are_refused, Kind, document_kinds) {
  Kind kind;
  auto refused = [&kind](document_change change) {
    auto id = change.id;
    auto answer = kind.documents->commit_and_wait({put(run_kind, "ok", value::map()), change});
    require_error(answer, errc::invalid_value);
    BOOST_TEST(answer.error().message().find("thread `" + id + "`") != std::string::npos);
    BOOST_TEST(!kind.documents->get(thread_kind, id).value());
  };
  const std::string longest(limits::document_id_bytes_max, 'i');
  const std::string term(limits::document_term_bytes_max, 's');
  refused(put(thread_kind, "", value::map()));
  refused(put(thread_kind, longest + "i", value::map()));
  refused(put(thread_kind, std::string("a\0b", 3), value::map()));
  refused(put(thread_kind, "t", value::list()));
  refused(put(thread_kind, "t", value{{"status", term + "s"}}));
  refused(put(thread_kind, "t", value{{"created_at", std::string("a\0b", 3)}}));
  BOOST_TEST(!kind.documents->get(run_kind, "ok").value());
  require_error(kind.documents->commit_and_wait(
                  {put(thread_kind, "t", value::map()), removal(thread_kind, "t")}),
                errc::invalid_value);
  const value body{{"status", term}, {"created_at", term}};
  commit(*kind.documents, {put(thread_kind, longest, body)});
  BOOST_TEST(found(*kind.documents, {.kind = thread_kind, .equal = {{"status", term}}})
             == longest + " of 1");
  BOOST_TEST(found(*kind.documents, {.kind = thread_kind, .id_prefix = longest + "i"}) == "of 0");
  BOOST_TEST(found(*kind.documents, {.kind = thread_kind, .ids = {longest + "i", ""}}) == "of 0");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(commits_take_effect_in_the_order_of_the_calls, Kind, document_kinds) {
  Kind kind;
  constexpr int n = 200;
  std::atomic<int> answered = 0;
  std::promise<void> all;
  for (int i = 0; i < n; ++i)
    kind.documents->commit({put(thread_kind, "t", value{{"n", i}}, static_cast<unsigned>(i))},
                           [&](result<void> done) {
                             BOOST_REQUIRE(done.has_value());
                             if (++answered == n)
                               all.set_value();
                           });
  all.get_future().wait();
  auto stored = kind.documents->get(thread_kind, "t").value();
  BOOST_TEST(stored->body["n"] == value(n - 1));
  BOOST_TEST(stored->revision == static_cast<unsigned>(n));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_commit_without_hurry_is_seen_at_once_and_durable_later, Kind,
                              document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  std::uint64_t revision = 0;
  auto soon = [&](document_change change, commit_pace pace) {
    std::promise<result<void>> accepted, durable;
    documents.commit_soon(
      {std::move(change)}, pace, [&](result<void> how) { accepted.set_value(std::move(how)); },
      [&](result<void> how) { durable.set_value(std::move(how)); });
    auto how = accepted.get_future().get();
    if (how) {
      BOOST_TEST(documents.newest(thread_kind, "t").value()->body["n"] == value(1));
      BOOST_TEST(documents.newest(thread_kind, "t").value()->revision == revision + 1);
      BOOST_TEST(documents.search({.kind = thread_kind}).value().total == 1u); // reads wait for it
      durable.get_future().get().value();
    }
    return how;
  };
  for (auto pace : {commit_pace::gathers, commit_pace::hurries}) {
    soon(put(thread_kind, "t", value{{"n", 1}}, revision), pace).value();
    BOOST_TEST(documents.get(thread_kind, "t").value()->revision == revision + 1);
    require_error(soon(put(thread_kind, "t", value{{"n", 2}}, revision), pace), errc::conflict);
    BOOST_TEST(documents.newest(thread_kind, "t").value()->body["n"] == value(1));
    ++revision;
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_of_several_threads_wins_each_revision, Kind, document_kinds) {
  Kind kind;
  commit(*kind.documents, {put(thread_kind, "t", value{{"n", 0}})});
  constexpr int threads = 4, rounds = 25;
  std::atomic<int> conflicts = 0;
  auto count_up = [&] {
    for (int done = 0; done < rounds;) {
      auto now = kind.documents->get(thread_kind, "t").value();
      auto answer = kind.documents->commit_and_wait(
        {put(thread_kind, "t", value{{"n", now->body["n"].as_int() + 1}}, now->revision)});
      done += answer ? 1 : 0;
      conflicts += answer ? 0 : 1;
      if (!answer)
        BOOST_REQUIRE(answer.error().code() == errc::conflict);
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(count_up);
  for (auto& one : all)
    one.join();
  BOOST_TEST(kind.documents->get(thread_kind, "t").value()->body["n"] == value(threads * rounds));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(documents_and_indexes_outlive_the_store, Kind, lasting_kinds) {
  Kind kind;
  commit(*kind.documents, {put(thread_kind, "a", at_time(1)), put(thread_kind, "b", at_time(2)),
                           put(thread_kind, "c", at_time(3, "busy"))});
  commit(*kind.documents, {removal(thread_kind, "a"), put(thread_kind, "b", at_time(2), 1)});
  auto again = kind.again();
  BOOST_TEST(again->get(thread_kind, "b").value()->revision == 2u);
  BOOST_TEST(again->get(thread_kind, "b").value()->body == at_time(2));
  BOOST_TEST(found(*again, {thread_kind}) == "b c of 2");
  BOOST_TEST(found(*again, {.kind = thread_kind, .order_by = "created_at", .descending = true})
             == "c b of 2");
  BOOST_TEST(found(*again, {.kind = thread_kind, .equal = {{"status", "busy"}}}) == "c of 1");
}

// ---- searches -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_pages_in_the_order_of_ids, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  for (const auto* id : {"b", "a", "d", "c", "\xff"})
    commit(documents, {put(thread_kind, id, at_time(1))});
  commit(documents, {put(run_kind, "z", value::map())});
  BOOST_TEST(found(documents, {thread_kind}) == "a b c d \xff of 5");
  BOOST_TEST(found(documents, {.kind = thread_kind, .descending = true}) == "\xff d c b a of 5");
  BOOST_TEST(found(documents, {.kind = thread_kind, .offset = 1, .limit = 2}) == "b c of 5");
  BOOST_TEST(found(documents, {.kind = thread_kind, .descending = true, .offset = 3, .limit = 9})
             == "b a of 5");
  BOOST_TEST(found(documents, {.kind = thread_kind, .offset = 9}) == "of 5");
  BOOST_TEST(found(documents, {.kind = thread_kind, .limit = 0}) == "of 5");
  BOOST_TEST(found(documents, {.kind = document_kind::server}) == "of 0");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_by_ids_or_a_prefix_finds_no_others, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  for (const auto* id : {"a/1", "a/2", "a/3", "a", "b/1", "ab"})
    commit(documents, {put(run_kind, id, at_time(std::string_view{id} == "a/3" ? 0 : 1))});
  BOOST_TEST(found(documents, {.kind = run_kind, .id_prefix = "a/"}) == "a/1 a/2 a/3 of 3");
  BOOST_TEST(found(documents, {.kind = run_kind, .id_prefix = "a/", .descending = true})
             == "a/3 a/2 a/1 of 3");
  BOOST_TEST(
    found(documents,
          {.kind = run_kind, .id_prefix = "a/", .order_by = "created_at", .offset = 0, .limit = 2})
    == "a/3 a/1 of 3");
  BOOST_TEST(found(documents, {.kind = run_kind, .ids = {"b/1", "a", "x", "a"}}) == "a b/1 of 2");
  BOOST_TEST(found(documents, {.kind = run_kind, .id_prefix = "b", .ids = {"b/1", "a"}})
             == "b/1 of 1");
  BOOST_TEST(found(documents, {.kind = run_kind, .ids = {"a", "b/1"}, .descending = true})
             == "b/1 a of 2");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_orders_by_a_member_with_ties_by_id, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  commit(documents, {put(thread_kind, "e", at_time(1)), put(thread_kind, "d", at_time(2)),
                     put(thread_kind, "c", at_time(1)), put(thread_kind, "b", value::map()),
                     put(thread_kind, "a", value{{"created_at", 5}})});
  for (const auto* member : {"created_at", "updated_at"}) {
    const std::string order{member};
    auto is_there = order == "created_at";
    BOOST_TEST(found(documents, {.kind = thread_kind, .order_by = order})
               == (is_there ? "c e d a b of 5" : "a b c d e of 5"));
    BOOST_TEST(found(documents, {.kind = thread_kind, .order_by = order, .descending = true})
               == (is_there ? "d c e a b of 5" : "a b c d e of 5"));
    BOOST_TEST(
      found(documents,
            {.kind = thread_kind, .order_by = order, .descending = true, .offset = 1, .limit = 2})
      == (is_there ? "c e of 5" : "b c of 5"));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_compares_members, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  commit(documents, {put(thread_kind, "a", at_time(3, "idle").with("n", 1)),
                     put(thread_kind, "b", at_time(2, "busy").with("n", 1.0)),
                     put(thread_kind, "c", at_time(1, "idle").with("n", value{{"x", 1}})),
                     put(thread_kind, "d", value{{"status", 7}, {"n", "1"}}),
                     put(thread_kind, "e", value{{"status", nullptr}})});
  auto by = [&documents](std::vector<std::pair<std::string, value>> equal, std::string order = {}) {
    return found(documents,
                 {.kind = thread_kind, .equal = std::move(equal), .order_by = std::move(order)});
  };
  BOOST_TEST(by({{"status", "idle"}}) == "a c of 2");
  BOOST_TEST(by({{"status", "idle"}}, "created_at") == "c a of 2");
  BOOST_TEST(by({{"status", "idle"}, {"n", 1}}) == "a of 1");
  BOOST_TEST(by({{"status", "idle"}, {"status", "busy"}}) == "of 0");
  BOOST_TEST(by({{"status", 7}}) == "d of 1");
  BOOST_TEST(by({{"status", nullptr}}) == "e of 1");
  BOOST_TEST(by({{"n", nullptr}}) == "e of 1");
  BOOST_TEST(by({{"n", 1}}) == "a b of 2");
  BOOST_TEST(by({{"n", 1.0}}) == "a b of 2");
  BOOST_TEST(by({{"n", value{{"x", 1.0}}}}) == "c of 1");
  BOOST_TEST(by({{"n", "1"}}) == "d of 1");
  BOOST_TEST(by({{"status", std::string(1000, 'x')}}) == "of 0");
  commit(documents, {put(thread_kind, "a", at_time(3, "busy")), removal(thread_kind, "b")});
  BOOST_TEST(by({{"status", "idle"}}) == "c of 1");
  BOOST_TEST(by({{"status", "busy"}}) == "a of 1");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_finds_contained_members, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  const value metadata{{"user", "u1"},
                       {"tags", value::list({"x", "y", value{{"k", 1}, {"l", 2}}})},
                       {"deep", value{{"er", value{{"still", nullptr}}}}},
                       {"zero", value(std::string("a\0b", 3))}};
  commit(documents, {put(thread_kind, "a", at_time(1).with("metadata", metadata)),
                     put(thread_kind, "b", at_time(2).with("metadata", value{{"user", "u2"}})),
                     put(thread_kind, "c", at_time(3).with("values", value{{"user", "u1"}}))});
  auto with = [&documents](value part) {
    return found(documents, {.kind = thread_kind, .contains = value{{"metadata", part}}});
  };
  auto map = [](const char* key, value v) { return value::map({{key, std::move(v)}}); };
  BOOST_TEST(with(map("user", "u1")) == "a of 1");
  BOOST_TEST(with(value::map()) == "a b of 2");
  BOOST_TEST(with(map("tags", value::list({"y"}))) == "a of 1");
  BOOST_TEST(with(map("tags", value::list({"y", "y", "x"}))) == "a of 1");
  BOOST_TEST(with(map("tags", value::list({map("k", 1.0)}))) == "a of 1");
  BOOST_TEST(with(map("tags", value::list({map("k", 2)}))) == "of 0");
  BOOST_TEST(with(map("tags", "y")) == "of 0");
  BOOST_TEST(with(map("deep", map("er", value::map()))) == "a of 1");
  BOOST_TEST(with(map("deep", map("er", map("still", nullptr)))) == "a of 1");
  BOOST_TEST(with(map("missing", nullptr)) == "of 0");
  BOOST_TEST(with(map("zero", value(std::string("a\0b", 3)))) == "a of 1");
  BOOST_TEST(found(documents, {.kind = thread_kind, .contains = value::map()}) == "a b c of 3");
  BOOST_TEST(
    found(documents, {.kind = thread_kind, .contains = value{{"values", value{{"user", "u1"}}}}})
    == "c of 1");
  BOOST_TEST(found(documents, {.kind = thread_kind,
                               .equal = {{"status", "idle"}},
                               .contains = value{{"metadata", value::map()}},
                               .order_by = "created_at",
                               .descending = true,
                               .offset = 1,
                               .limit = 1})
             == "a of 2");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_finds_parts_of_texts_in_any_case, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  const auto assistant = document_kind::assistant;
  commit(documents, {put(assistant, "a", value{{"name", "Weather Bot"}}),
                     put(assistant, "b", value{{"name", "100% bot_"}}),
                     put(assistant, "c", value{{"name", 5}}), put(assistant, "d", value::map())});
  auto like = [&](std::string part) {
    return found(documents, {.kind = assistant, .like = {{"name", std::move(part)}}});
  };
  BOOST_TEST(like("BOT") == "a b of 2");
  BOOST_TEST(like("weather b") == "a of 1");
  BOOST_TEST(like("%") == "b of 1");
  BOOST_TEST(like("_") == "b of 1");
  BOOST_TEST(like("") == "a b of 2");
  BOOST_TEST(like("5") == "of 0");
  BOOST_TEST(like("\\") == "of 0");
}

// ---- watching -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(a_watcher_learns_of_changed_documents, Kind, document_kinds) {
  Kind kind;
  auto& documents = *kind.documents;
  std::mutex mutex;
  std::vector<std::string> heard;
  auto told = [&](const std::vector<std::string>& ids) {
    std::scoped_lock lock{mutex};
    heard.insert(heard.end(), ids.begin(), ids.end());
  };
  auto handle = documents.watch(run_kind, told);
  commit(documents, {put(run_kind, "r", value::map()), put(thread_kind, "t", value::map()),
                     put(run_kind, "q", value::map())});
  require_error(documents.commit_and_wait({put(run_kind, "x", value::map(), 5)}), errc::conflict);
  commit(documents, {removal(run_kind, "r")});
  {
    std::scoped_lock lock{mutex};
    BOOST_TEST(heard == (std::vector<std::string>{"r", "q", "r"}),
               boost::test_tools::per_element());
  }
  handle.reset();
  commit(documents, {put(run_kind, "r", value::map())});
  BOOST_TEST(heard.size() == 3u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_watcher_may_end_its_own_watch, Kind, document_kinds) {
  Kind kind;
  int calls = 0;
  std::shared_ptr<void> handle;
  handle = kind.documents->watch(run_kind, [&](const std::vector<std::string>&) {
    ++calls;
    handle.reset();
  });
  commit(*kind.documents, {put(run_kind, "r", value::map())});
  commit(*kind.documents, {put(run_kind, "r", value::map())});
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
