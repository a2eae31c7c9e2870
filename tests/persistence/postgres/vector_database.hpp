// A database of the tests' Postgres server that has the extension `vector` (pgvector), where the
// server has it.
#pragma once

#include "tests/persistence/postgres/postgres_server.hpp"

#include <libpq-fe.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace troupe::test {

/// Runs a statement in that database, as the superuser; its first column's first row.
inline std::string run_in_vectors(const std::string& sql) {
  auto& server = postgres_server::of_this_program();
  std::unique_ptr<PGconn, decltype(&PQfinish)> on{
    PQconnectdb(server.conninfo("postgres", "vectors").c_str()), PQfinish};
  std::unique_ptr<PGresult, decltype(&PQclear)> done{PQexec(on.get(), sql.c_str()), PQclear};
  auto status = PQresultStatus(done.get());
  BOOST_REQUIRE_MESSAGE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
                        sql + ": " + PQerrorMessage(on.get()));
  return PQntuples(done.get()) > 0 ? PQgetvalue(done.get(), 0, 0) : "";
}

/// Whether the server has the extension. The first call prints when it has not.
inline bool has_vectors() {
  static const bool has = [] {
    auto& server = postgres_server::of_this_program();
    if (server.run("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == "0") {
      std::fprintf(stderr, "skipped: searches in the database: this Postgres server has no "
                           "extension `vector`: install postgresql-15-pgvector or pgvector\n");
      return false;
    }
    server.run("CREATE DATABASE vectors OWNER troupe");
    run_in_vectors("CREATE SCHEMA \"of extensions\"");
    run_in_vectors("GRANT USAGE ON SCHEMA \"of extensions\" TO troupe");
    run_in_vectors("CREATE EXTENSION vector SCHEMA \"of extensions\"");
    std::fprintf(
      stderr, "pgvector %s\n",
      run_in_vectors("SELECT extversion FROM pg_extension WHERE extname = 'vector'").c_str());
    return true;
  }();
  return has;
}

/// Options for a schema in that database that no test had before. Without the extension: in the
/// other database, with a search in memory.
inline postgres_options options_with_vectors() {
  auto& server = postgres_server::of_this_program();
  auto options = server.fresh_options();
  options.search = vector_search::memory;
  if (has_vectors()) {
    options.conninfo = server.conninfo("troupe", "vectors");
    options.search = vector_search::database;
  }
  return options;
}

} // namespace troupe::test
