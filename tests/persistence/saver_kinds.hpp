// The savers that the suites of every saver run on.
#pragma once

#include <troupe/keyring.hpp>

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/postgres/postgres_server.hpp"

#include <boost/mpl/list.hpp>

namespace troupe::test {

struct memory_backend {
  std::shared_ptr<troupe::saver> saver = make_memory_saver();
};

struct lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<troupe::saver> saver = open_lmdb_saver(dir.path() / "data").value();
};

// All that can be done to a record is done to every one.
struct encrypted_lmdb_backend {
  temporary_directory dir;
  std::shared_ptr<troupe::saver> saver =
    open_lmdb_saver(dir.path() / "data",
                    {.keyring = keyring::from_text("key " + std::string(64, '7')).value(),
                     .compress_bytes_min = 1})
      .value();
};

struct postgres_backend {
  std::shared_ptr<troupe::saver> saver =
    open_postgres_saver(postgres_server::of_this_program().fresh_options()).value();
};

struct encrypted_postgres_backend {
  static postgres_options options() {
    auto made = postgres_server::of_this_program().fresh_options();
    made.keyring = keyring::from_text("key " + std::string(64, '7')).value();
    made.compress_bytes_min = 1;
    return made;
  }
  std::shared_ptr<troupe::saver> saver = open_postgres_saver(options()).value();
};

using backends = boost::mpl::list<memory_backend, lmdb_backend, encrypted_lmdb_backend,
                                  postgres_backend, encrypted_postgres_backend>;

} // namespace troupe::test
