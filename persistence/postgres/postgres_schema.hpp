// postgres_schema: the tables in a Postgres database, and the migrations of older ones.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The statements that turn the version before of a part of the schema into the next one.
/// Shape:  single statements; `@` stands for the schema's name.
using postgres_migration = std::vector<std::string>;

/// `sql` with the schema's name for each `@`.
std::string in_schema(std::string_view sql, std::string_view schema);

/// An expression for `name`, a column or parameter, that is short enough for an index. Two are
/// equal if and only if the names are.
std::string postgres_key_of(std::string_view name);

/// The saver's tables.
std::span<const postgres_migration> saver_migrations();

/// The long-term store's tables.
std::span<const postgres_migration> store_migrations();

/// The node cache's tables.
std::span<const postgres_migration> cache_migrations();

/// Brings a part ("saver", "store", "cache") of the schema to the newest version. Each migration is
/// a transaction of its own, which one process at a time runs. When there is nothing to do, only
/// rights to read are needed.
/// Errors: format_too_new when the part's version is greater than the number of migrations;
///         storage_failed.
result<void> migrate(postgres_connection& on, std::string_view schema, std::string_view part,
                     std::span<const postgres_migration> migrations);

/// Whether the schema has the part, in any version.
/// Errors: storage_failed.
result<bool> has_part(postgres_connection& on, std::string_view schema, std::string_view part);

} // namespace troupe
