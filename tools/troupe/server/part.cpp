// The part of the command line that needs troupe::server.
#include "server/documents/lmdb_documents.hpp"
#include "server/documents/postgres_documents.hpp"
#include "tools/troupe/parts.hpp"
#include "tools/troupe/server/definitions.hpp"

namespace troupe::cli {

namespace {

result<std::optional<bool>> rotate_key(const std::filesystem::path& directory,
                                       const std::shared_ptr<const key_provider>& keys) {
  return server::rotate_documents_key(directory, keys);
}

result<std::optional<bool>> rotate_key_of(const postgres_options& database) {
  return server::rotate_documents_key(database);
}

constexpr server_part part{.define_serve = define_serve,
                           .define_dev = define_dev,
                           .rotate_key = rotate_key,
                           .rotate_key_of = rotate_key_of};

} // namespace

extern "C" const server_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
