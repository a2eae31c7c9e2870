// The stores that one suite runs over. A store that is added here is tested by all of it.
#pragma once

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/vector_database.hpp"

#include <troupe/store.hpp>

#include <array>
#include <filesystem>
#include <memory>
#include <ostream>

namespace troupe::test {

/// A kind of store. `open` gives a fresh, empty one; a directory for it alone is there.
struct store_kind {
  const char* name;
  std::shared_ptr<store> (*open)(const std::filesystem::path& dir, store_options options);
  friend std::ostream& operator<<(std::ostream& out, const store_kind& kind) {
    return out << kind.name;
  }
};

inline const std::array store_kinds{
  store_kind{"memory", [](const std::filesystem::path&,
                          store_options options) { return make_memory_store(std::move(options)); }},
  store_kind{"lmdb",
             [](const std::filesystem::path& dir, store_options options) {
               return open_lmdb_store(dir, {.store = std::move(options)}).value();
             }},
  // All that can be done to a record is done to every one.
  store_kind{"encrypted lmdb",
             [](const std::filesystem::path& dir, store_options options) {
               return open_lmdb_store(
                        dir, {.store = std::move(options),
                              .keyring = keyring::from_text("key " + std::string(64, '7')).value(),
                              .compress_bytes_min = 1})
                 .value();
             }},
  store_kind{"postgres",
             [](const std::filesystem::path&, store_options options) {
               auto database = postgres_server::of_this_program().fresh_options();
               return open_postgres_store(database, std::move(options)).value();
             }},
  // Searches in the database, where the server can.
  store_kind{"postgres with vectors",
             [](const std::filesystem::path&, store_options options) {
               return open_postgres_store(options_with_vectors(), std::move(options)).value();
             }},
  store_kind{"encrypted postgres",
             [](const std::filesystem::path&, store_options options) {
               auto database = postgres_server::of_this_program().fresh_options();
               database.keyring = keyring::from_text("key " + std::string(64, '7')).value();
               database.compress_bytes_min = 1;
               return open_postgres_store(database, std::move(options)).value();
             }},
};

/// A store of any kind, with a clock that stands still unless told.
struct store_fixture {
  std::chrono::system_clock::time_point now{};
  temporary_directory directory;
  std::shared_ptr<store> items;

  void use(const store_kind& kind, store_options options = {}) {
    options.now = [this] { return now; };
    items = kind.open(directory.path(), std::move(options));
  }
  void put(const store_namespace& space, const std::string& key, const value& v) {
    items->put(space, key, v).value();
  }
  std::vector<std::string> keys(const store_query& query) {
    std::vector<std::string> found;
    for (const auto& item : items->search(query).value())
      found.push_back(item.key);
    return found;
  }
  std::vector<store_namespace> listed(const namespace_query& query = {}) {
    return items->list_namespaces(query).value();
  }
};

} // namespace troupe::test
