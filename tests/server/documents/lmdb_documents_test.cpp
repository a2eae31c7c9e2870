// Documents in a file: what a search reads, shared transactions, damage, keys, a full file.
#include "persistence/lmdb/data_files.hpp"
#include "server/documents/document_index.hpp"
#include "server/documents/lmdb_document_change.hpp"
#include "server/documents/lmdb_document_snapshot.hpp"

#include "tests/server/documents/document_kinds.hpp"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace troupe::server::test {

namespace {

constexpr auto a_thread = document_kind::thread;

std::string digits(int n) {
  auto text = std::to_string(n);
  return std::string(6 - text.size(), '0') + text;
}

value thread_body(int n, const std::string& status = "idle") {
  return value{{"created_at", "2026-01-01T00:00:00." + digits(n)}, {"status", status}};
}

struct documents_file {
  temporary_directory dir;
  std::filesystem::path file = dir.path() / documents_file_name;
  std::shared_ptr<document_store> documents = open_lmdb_documents(dir.path()).value();

  std::unique_ptr<lmdb_env> env() {
    documents.reset();
    return lmdb_env::open(file, limits::store_map_bytes_default).value();
  }
  template <class Fn> void edit(Fn fn) {
    auto opened = env();
    auto txn = opened->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
  void flip(std::string_view key) {
    edit([key](lmdb_txn& txn) {
      std::string bytes{txn.get(key).value().value()};
      bytes.back() = static_cast<char>(bytes.back() ^ 1);
      txn.put(key, bytes).value();
    });
  }
  document_store& reopen(std::shared_ptr<const key_provider> keys = nullptr,
                         lmdb_documents_options options = {}) {
    documents.reset();
    documents = open_lmdb_documents(dir.path(), std::move(keys), options).value();
    return *documents;
  }
  void put_threads(int count, int busy_every) {
    std::vector<document_change> changes;
    for (int n = 0; n < count; ++n) {
      changes.push_back(
        put(a_thread, "t" + digits(n), thread_body(n, n % busy_every ? "idle" : "busy")));
      if (changes.size() == 5000 || n + 1 == count)
        commit(*documents, std::exchange(changes, {}));
    }
  }
  bool has_text(std::string_view text) {
    documents.reset();
    std::ifstream in{file, std::ios::binary};
    std::string all{std::istreambuf_iterator<char>{in}, {}};
    return all.find(text) != all.npos;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_lmdb_documents, documents_file)

// ---- what a search reads ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_newest_of_many_documents_are_found_without_reading_the_others) {
  constexpr int many = 100'000, busy_every = 1000;
  put_threads(many, busy_every);
  auto opened = env();
  auto searched = [&opened](const document_query& query, std::size_t documents, std::size_t keys) {
    auto at = lmdb_document_snapshot::begin(*opened, nullptr).value();
    auto page = at.search(query).value();
    BOOST_TEST(at.documents_read() == documents);
    BOOST_TEST(at.keys_read() <= keys);
    return page;
  };
  document_query newest{
    .kind = a_thread, .order_by = "created_at", .descending = true, .limit = 10};
  auto page = searched(newest, 10, 12);
  BOOST_TEST(page.total == 100'000u);
  BOOST_TEST(page.documents.front().id == "t099999");
  BOOST_TEST(page.documents.back().id == "t099990");
  newest.offset = 20;
  BOOST_TEST(searched(newest, 10, 32).documents.front().id == "t099979");
  newest.equal = {{"status", "busy"}};
  page = searched(newest, 10, 101);
  BOOST_TEST(page.total == 100u);
  BOOST_TEST(page.documents.front().id == "t079000");
  page = searched({.kind = a_thread, .offset = 5, .limit = 1}, 1, 7);
  BOOST_TEST(page.documents.front().id == "t000005");
  BOOST_TEST(page.total == 100'000u);
  BOOST_TEST(searched({.kind = a_thread, .id_prefix = "t00001"}, 10, 10).total == 10u);
  BOOST_TEST(searched({.kind = a_thread, .ids = {"t000001", "x"}}, 2, 0).total == 1u);
}

BOOST_AUTO_TEST_CASE(commits_that_wait_together_share_transactions) {
  constexpr int commits = 500;
  auto transaction = [this] { return env()->begin_write().value().id(); };
  auto before = transaction();
  reopen();
  std::promise<void> all_wait, all_done;
  documents->commit({put(a_thread, "first", thread_body(0))},
                    [&](result<void>) { all_wait.get_future().wait(); });
  std::atomic<int> done = 0;
  for (int n = 0; n < commits; ++n)
    documents->commit({put(a_thread, digits(n), thread_body(n))}, [&](result<void> how) {
      BOOST_REQUIRE(how.has_value());
      if (++done == commits)
        all_done.set_value();
    });
  all_wait.set_value();
  all_done.get_future().wait();
  BOOST_TEST(transaction() - before < commits / 2);
}

BOOST_AUTO_TEST_CASE(a_commit_without_hurry_shares_the_transaction_of_the_next_one) {
  constexpr std::uint64_t pairs = 50;
  auto transaction = [this] { return env()->begin_write().value().id(); };
  auto before = transaction();
  reopen();
  std::atomic<std::uint64_t> durable = 0;
  for (std::uint64_t n = 0; n < pairs; ++n) {
    documents->commit_soon(
      {put(a_thread, "t", thread_body(1), 2 * n)}, commit_pace::gathers,
      [](const result<void>& how) { BOOST_REQUIRE(how.has_value()); },
      [&](const result<void>& how) { durable += how ? 1 : 0; });
    commit(*documents, {put(a_thread, "t", thread_body(2), 2 * n + 1)});
    BOOST_TEST(durable == n + 1); // before the later one
    BOOST_TEST(documents->newest(a_thread, "t").value()->body == thread_body(2));
  }
  BOOST_TEST(transaction() - before < 2 * pairs); // a pair that was slow has two
}

BOOST_AUTO_TEST_CASE(stores_of_one_directory_are_the_same) {
  BOOST_TEST(open_lmdb_documents(dir.path()).value() == documents);
  require_error(open_lmdb_documents(dir.path(), test_keys()), errc::invalid_config);
}

// ---- damage -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_damaged_document_is_named_and_can_be_replaced_or_removed) {
  put_threads(4, 2);
  for (int n = 0; n < 2; ++n) {
    const auto id = "t" + digits(n);
    flip(document_key(a_thread, id));
    reopen();
    auto names_it = [&id](const auto& answer) {
      require_error(answer, errc::checkpoint_corrupt);
      BOOST_TEST(answer.error().message().find("thread `" + id + "`") != std::string::npos);
    };
    names_it(documents->get(a_thread, id));
    names_it(documents->search({a_thread}));
    names_it(documents->commit_and_wait({put(a_thread, id, thread_body(9), 1)}));
    auto change = n == 0 ? put(a_thread, id, thread_body(9, "new")) : removal(a_thread, id);
    commit(*documents, {change});
  }
  BOOST_TEST(found(*documents, {a_thread}) == "t000000 t000002 t000003 of 3");
  BOOST_TEST(documents->get(a_thread, "t000000").value()->revision == 1u);
  BOOST_TEST(found(*documents, {.kind = a_thread, .order_by = "created_at"})
             == "t000002 t000003 t000000 of 3");
  BOOST_TEST(found(*documents, {.kind = a_thread, .equal = {{"status", "busy"}}})
             == "t000002 of 1");
  BOOST_TEST(found(*documents, {.kind = a_thread, .equal = {{"status", "new"}}}) == "t000000 of 1");
}

BOOST_AUTO_TEST_CASE(a_body_that_is_not_a_map_is_damage) {
  put_threads(1, 1);
  edit([](lmdb_txn& txn) {
    auto key = document_key(a_thread, "t000000");
    std::string record;
    begin_record(record);
    append_document({1, {}, "\x01"}, record);
    seal_record(record, key, record_kind::document);
    txn.put(key, record).value();
  });
  require_error(reopen().get(a_thread, "t000000"), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_damaged_index_entry_is_reported) {
  put_threads(1, 1);
  std::string key;
  edit([&key](lmdb_txn& txn) {
    lmdb_cursor at{txn};
    BOOST_REQUIRE(at.seek(indexes_prefix()).value());
    key = at.key();
  });
  flip(key);
  reopen();
  require_error(documents->search({.kind = a_thread, .order_by = "created_at"}),
                errc::checkpoint_corrupt);
  BOOST_TEST(documents->get(a_thread, "t000000").value().has_value());
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_documents_never_get_through) {
  for (std::string bytes :
       {std::string{}, std::string{"\1"}, std::string{"\0\0", 2}, std::string{"\1\x7f"},
        std::string{"\1\1\x7f"
                    "a"},
        std::string(20, '\xff')})
    BOOST_TEST((!read_document_head(bytes) || !read_document("x", *read_document_head(bytes))));
  for (auto rest : {"", "a", "axx", "zz", "q"})
    BOOST_TEST(id_after_terms(document_indexes[3], rest).empty());
}

BOOST_AUTO_TEST_CASE(a_file_of_another_program_or_a_newer_troupe_is_refused) {
  edit([](lmdb_txn& txn) {
    auto key = documents_meta_key();
    std::string record;
    begin_record(record);
    record += '\x7f';
    seal_record(record, key, record_kind::meta);
    txn.put(key, record).value();
  });
  require_error(open_lmdb_documents(dir.path()), errc::format_too_new);
  edit([](lmdb_txn& txn) {
    txn.erase(documents_meta_key()).value();
    txn.put("other", "data").value();
  });
  require_error(open_lmdb_documents(dir.path()), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_file_with_other_indexes_gets_the_present_ones) {
  put_threads(3, 3);
  edit([](lmdb_txn& txn) {
    auto key = documents_meta_key();
    auto meta =
      read_documents_meta(open_record(txn.get(key).value().value(), key, record_kind::meta).value())
        .value();
    ++meta.fingerprint;
    std::string record;
    begin_record(record);
    append_documents_meta(meta, record);
    seal_record(record, key, record_kind::meta);
    txn.put(key, record).value();
    txn.erase_all(indexes_prefix()).value();
    txn.put(index_key(2, "aold", "t9"), record).value();
  });
  reopen();
  BOOST_TEST(found(*documents, {.kind = a_thread, .order_by = "created_at", .descending = true})
             == "t000002 t000001 t000000 of 3");
  BOOST_TEST(found(*documents, {.kind = a_thread, .equal = {{"status", "busy"}}})
             == "t000000 of 1");
  BOOST_TEST(documents->get(a_thread, "t000000").value()->revision == 1u);
}

// ---- keys ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(bodies_are_encrypted_with_a_key_ring) {
  const std::string marker = "MARKER-in-the-clear";
  commit(*documents, {put(a_thread, "plain", value{{"x", "old-" + marker}})});
  reopen(test_keys());
  commit(*documents, {put(a_thread, "plain", value{{"x", "old"}}),
                      put(a_thread, "sealed", value{{"status", "idle"}, {"x", "new-" + marker}})});
  BOOST_TEST(!has_text("new-" + marker));
  reopen();
  BOOST_TEST(documents->get(a_thread, "none").value().has_value() == false);
  require_error(documents->get(a_thread, "sealed"), errc::key_missing);
  require_error(documents->search({a_thread}), errc::key_missing);
  require_error(documents->commit_and_wait({put(a_thread, "new", value::map())}),
                errc::key_missing);
  reopen(keyring::from_text("key " + std::string(64, '8')).value());
  require_error(documents->get(a_thread, "sealed"), errc::key_missing);
  reopen(test_keys());
  BOOST_TEST(documents->get(a_thread, "sealed").value()->body["x"] == value("new-" + marker));
}

BOOST_AUTO_TEST_CASE(a_data_key_is_rotated_to_the_current_key) {
  BOOST_TEST(!rotate_documents_key(dir.path(), nullptr).value());
  reopen(test_keys());
  commit(*documents, {put(a_thread, "t", thread_body(1))});
  documents.reset();
  auto both =
    keyring::from_text("key " + std::string(64, '7') + "\nnew " + std::string(64, '8')).value();
  BOOST_TEST(rotate_documents_key(dir.path(), both).value().value());
  BOOST_TEST(!rotate_documents_key(dir.path(), both).value().value());
  reopen(keyring::from_text("new " + std::string(64, '8')).value());
  BOOST_TEST(documents->get(a_thread, "t").value()->body == thread_body(1));
}

// ---- a full file --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_file_keeps_what_it_has_and_can_remove) {
  reopen(nullptr, {.map_size_bytes_max = 1, .compress_bytes_min = SIZE_MAX});
  const value large{{"x", std::string(20'000, 'x')}};
  int n = 0;
  result<void> last;
  for (; last; ++n)
    last = documents->commit_and_wait({put(document_kind::run, "r" + digits(n), value::map()),
                                       put(a_thread, "t" + digits(n), large)});
  require_error(last, errc::storage_full);
  const auto kept = static_cast<std::size_t>(n - 1);
  BOOST_TEST(kept > 3u);
  BOOST_TEST(documents->search({.kind = a_thread, .limit = 0}).value().total == kept);
  BOOST_TEST(documents->search({.kind = document_kind::run, .limit = 0}).value().total == kept);
  for (std::size_t i = 0; i < kept; ++i)
    BOOST_TEST(documents->get(a_thread, "t" + digits(static_cast<int>(i))).value()->body == large);
  for (int i = 0; i < 3; ++i)
    commit(*documents, {removal(a_thread, "t" + digits(i))});
  commit(*documents, {put(a_thread, "again", large)});
  BOOST_TEST(documents->get(a_thread, "again").value()->body == large);
}

BOOST_AUTO_TEST_CASE(a_full_disk_loses_only_the_commit_that_found_it) {
  reopen(nullptr, {.compress_bytes_min = SIZE_MAX});
  put_threads(100, 2);
  const value large{{"x", std::string(1u << 20, 'x')}};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = std::filesystem::file_size(file);
  setrlimit(RLIMIT_FSIZE, &small);
  auto refused = documents->commit_and_wait(
    {put(document_kind::run, "r", value::map()), put(a_thread, "large", large)});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  require_error(refused, errc::storage_full);
  BOOST_TEST(!documents->get(document_kind::run, "r").value());
  BOOST_TEST(documents->search({.kind = a_thread, .limit = 0}).value().total == 100u);
  commit(*documents, {put(a_thread, "large", large, 0)});
  BOOST_TEST(documents->get(a_thread, "large").value()->body == large);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
