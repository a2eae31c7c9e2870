// The document stores that one suite runs over, and small documents.
#pragma once

#include "server/documents/lmdb_documents.hpp"
#include "server/documents/postgres_documents.hpp"
#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <boost/mpl/list.hpp>

#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe::server::test {

using troupe::test::require_error;
using troupe::test::temporary_directory;

inline std::shared_ptr<const keyring> test_keys() {
  return keyring::from_text("key " + std::string(64, '7')).value();
}

/// A kind of store with one that is fresh. `again` opens the same documents once more, after the
/// first store was closed, where they outlive it.
struct memory_kind {
  std::shared_ptr<document_store> documents = memory_documents();
};

struct lmdb_kind {
  temporary_directory dir;
  std::shared_ptr<document_store> documents = open_lmdb_documents(dir.path()).value();
  std::shared_ptr<document_store> again() {
    documents.reset();
    return open_lmdb_documents(dir.path()).value();
  }
};

// All that can be done to a record is done to every one.
struct encrypted_lmdb_kind {
  temporary_directory dir;
  std::shared_ptr<document_store> documents =
    open_lmdb_documents(dir.path(), test_keys(), {.compress_bytes_min = 1}).value();
  std::shared_ptr<document_store> again() {
    documents.reset();
    return open_lmdb_documents(dir.path(), test_keys()).value();
  }
};

struct postgres_kind {
  postgres_options options = troupe::test::postgres_server::of_this_program().fresh_options();
  std::shared_ptr<document_store> documents = open_postgres_documents(options).value();
  std::shared_ptr<document_store> again() { return open_postgres_documents(options).value(); }
};

struct encrypted_postgres_kind {
  static postgres_options encrypted() {
    auto made = troupe::test::postgres_server::of_this_program().fresh_options();
    made.keyring = test_keys();
    made.compress_bytes_min = 1;
    return made;
  }
  postgres_options options = encrypted();
  std::shared_ptr<document_store> documents = open_postgres_documents(options).value();
  std::shared_ptr<document_store> again() { return open_postgres_documents(options).value(); }
};

using document_kinds = boost::mpl::list<memory_kind, lmdb_kind, encrypted_lmdb_kind, postgres_kind,
                                        encrypted_postgres_kind>;
using lasting_kinds =
  boost::mpl::list<lmdb_kind, encrypted_lmdb_kind, postgres_kind, encrypted_postgres_kind>;

// ---- small documents ----------------------------------------------------------------------------

inline document_change put(document_kind kind, const std::string& id, value body,
                           std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, id, std::move(body), expected};
}
inline document_change removal(document_kind kind, const std::string& id,
                               std::optional<std::uint64_t> expected = std::nullopt) {
  return {kind, id, std::nullopt, expected};
}

inline void commit(document_store& to, std::vector<document_change> changes) {
  to.commit_and_wait(std::move(changes)).value();
}

inline std::vector<std::string> ids_of(const document_page& page) {
  std::vector<std::string> ids;
  for (const auto& one : page.documents)
    ids.push_back(one.id);
  return ids;
}

/// The ids of a page with spaces between them, and the total: "b a of 3".
inline std::string found(document_store& in, const document_query& query) {
  auto page = in.search(query).value();
  std::string text;
  for (const auto& id : ids_of(page))
    text += id + " ";
  return text + "of " + std::to_string(page.total);
}

} // namespace troupe::server::test
