// Shared by the tests of caches: values by number, the LMDB cache with access to its file, and the
// cache in Postgres.
#pragma once

#include "persistence/cache/cache_change.hpp"
#include "persistence/cache/cache_format.hpp"
#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <troupe/node_cache.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace troupe::cache_test {

using namespace std::chrono_literals;
using test::require_error;
using test::temporary_directory;
using time_point = node_cache::clock::time_point;

constexpr time_point start{std::chrono::hours{24 * 365 * 56}};

inline value get(node_cache& from, const cache_key& key, time_point now = start) {
  return from.get(key, now).value().value_or("absent");
}

inline void set(node_cache& to, const cache_key& key, const value& v,
                std::optional<time_point> until = std::nullopt) {
  to.set(key, v, until).value();
}

inline bool is_there(node_cache& in, const cache_key& key, time_point now = start) {
  return in.get(key, now).value().has_value();
}

inline cache_key numbered(int n) {
  return {{"node"}, "k" + std::to_string(n)};
}

// A key that counts as so many bytes.
inline cache_key key_of_size(std::size_t bytes) {
  return {{"node", "x"}, std::string(bytes - 5 - 2, 'k')};
}

struct lmdb_fixture {
  temporary_directory temporary;
  std::filesystem::path dir = temporary.path() / "data";
  std::filesystem::path file = dir / "cache.mdb";

  // Values take as much room as they are large.
  std::shared_ptr<node_cache> open(lmdb_cache_options options = {}) {
    options.compress_bytes_min = SIZE_MAX;
    return open_lmdb_cache(dir, options).value();
  }
  // As a saver of other data would write it; the cache must be closed.
  template <class Fn> void edit(Fn fn) {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }
  std::string stored(std::string_view key) {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    auto txn = env->begin_read().value();
    return std::string{txn.get(key).value().value_or("")};
  }
  std::size_t records() {
    auto env = lmdb_env::open(file, limits::cache_file_bytes_default).value();
    return env->begin_read().value().entries();
  }
};

struct postgres_backend {
  postgres_options database = test::postgres_server::of_this_program().fresh_options();
  std::shared_ptr<node_cache> cache = open_postgres_cache(database).value();
};

inline std::string file_bytes(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline std::string sealed(std::string_view payload, std::string_view key, record_kind kind) {
  std::string record;
  begin_record(record);
  record.append(payload);
  seal_record(record, key, kind);
  return record;
}

inline std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

// Runs `body` in another process and gives what it returns.
template <class Fn> int in_child(Fn body) {
  auto pid = fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: %s\n", e.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

constexpr std::size_t small_file = limits::cache_file_bytes_min;

// As many values of one size as fit before the first one goes.
inline int fill(node_cache& cache, const value& v) {
  int n = 0;
  do
    set(cache, numbered(n++), v);
  while (is_there(cache, numbered(0)));
  return n - 1;
}

} // namespace troupe::cache_test
