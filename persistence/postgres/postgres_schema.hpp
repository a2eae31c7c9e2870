// The tables in a Postgres database, and how older ones become today's.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What makes a version of a part of the schema out of the one before it.
/// Shape:  single statements; `@` stands for the schema's name.
using postgres_migration = std::vector<std::string>;

/// `sql` with the schema's name for each `@`.
std::string in_schema(std::string_view sql, std::string_view schema);

/// An expression that is `name`, a column or parameter, short enough for an index: equal if and
/// only if the names are.
std::string postgres_key_of(std::string_view name);

/// The saver's tables.
std::span<const postgres_migration> saver_migrations();

/// The long-term store's.
std::span<const postgres_migration> store_migrations();

/// Brings a part ("saver", "store") of the schema to the newest version. Each migration is a
/// transaction of its own, which one process at a time runs. Nothing is asked for but reading when
/// there is nothing to do.
/// Errors: format_too_new when the part's version is greater than the number of migrations;
///         storage_failed.
result<void> migrate(postgres_connection& on, std::string_view schema, std::string_view part,
                     std::span<const postgres_migration> migrations);

} // namespace troupe
