// postgres_rotation: wraps the data keys of a schema again, one after the other. A key is replaced
// only where it is still the one that was read, so no row is locked while the key provider works.
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_store_statements.hpp"

#include <troupe/postgres.hpp>

#include <string>

namespace troupe {

namespace {

class rotation {
public:
  rotation(postgres_connection& on, const key_provider& keys, std::string current)
    : on_{on},
      keys_{keys},
      current_{std::move(current)} {}

  result<void> rotate_threads(const postgres_statements& sql) {
    for (std::int64_t after = -1;;) {
      postgres_params params;
      params.number(after);
      auto rows = on_.ask(sql.data_keys, params);
      if (!rows)
        return rows.error();
      if (rows->size() == 0)
        return {};
      for (std::size_t row = 0; row < rows->size(); ++row) {
        after = rows->number(row, 0);
        auto stored = read_data_key(*rows, row, 1);
        if (!stored)
          return stored.error();
        ++report.threads;
        postgres_params swap;
        swap.number(after);
        auto ok = rotate_one(**stored, thread_key_place(after), sealed_thread_name,
                             sql.swap_data_key, swap);
        if (!ok)
          return ok;
      }
    }
  }

  result<void> rotate_store(const postgres_store_statements& sql) {
    auto rows = on_.ask(sql.data_key);
    if (!rows)
      return rows.error();
    auto stored = rows->size() == 0 ? std::optional<wrapped_key>{} : read_data_key(*rows, 0, 0);
    if (!stored)
      return stored.error();
    if (!*stored)
      return {};
    ++report.files;
    postgres_params swap;
    return rotate_one(**stored, store_key_place(), sealed_store_name, sql.swap_data_key, swap);
  }

  rotation_report report;

private:
  // `params`: those of the statement before the old data key.
  result<void> rotate_one(const wrapped_key& stored, std::string_view place, std::string_view of,
                          const postgres_statement& swap, postgres_params& params) {
    auto anew = rewrapped(keys_, stored, current_, place, of);
    if (!anew)
      return anew.error();
    if (!*anew)
      return {};
    params.bytes(stored.bytes).bytes((**anew).id).bytes((**anew).bytes);
    auto swapped = on_.ask(swap, params);
    if (!swapped)
      return swapped.error();
    report.rewrapped += swapped->size();
    return {};
  }

  postgres_connection& on_;
  const key_provider& keys_;
  const std::string current_;
};

} // namespace

result<rotation_report> rotate_store_keys(const postgres_options& database) {
  if (!database.keyring)
    return error{errc::invalid_config, "rotate the store's keys: the key ring is missing"};
  auto current = database.keyring->wrapping_id();
  if (!current)
    return current.error();
  const postgres_statements saver_sql{database.schema};
  const postgres_store_statements store_sql{database.schema};
  auto connection = postgres_connection::open(database);
  if (!connection)
    return connection.error();
  auto& on = **connection;
  auto has_saver = has_part(on, database.schema, "saver");
  auto has_store = has_saver ? has_part(on, database.schema, "store") : has_saver;
  if (!has_store)
    return has_store.error();
  if (!*has_saver && !*has_store)
    return error{errc::storage_failed, "rotate the store's keys: schema `" + database.schema
                                         + "` has neither a saver nor a store"};
  rotation all{on, *database.keyring, std::move(*current)};
  if (*has_saver) {
    if (auto ok = migrate(on, database.schema, "saver", saver_migrations()); !ok)
      return ok.error();
    if (auto ok = all.rotate_threads(saver_sql); !ok)
      return ok.error();
  }
  if (*has_store) {
    if (auto ok = migrate(on, database.schema, "store", store_migrations()); !ok)
      return ok.error();
    if (auto ok = all.rotate_store(store_sql); !ok)
      return ok.error();
  }
  return all.report;
}

} // namespace troupe
