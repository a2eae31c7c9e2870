// postgres_cache: the node cache in Postgres. Calls run on the calling thread.
//
// Invariants, unless the tables are damaged:
//  - A shard's bytes are the sum of those of its entries: every change of an entry locks the row of
//    its shard first. A change of entries of several shards locks all shards, in their order.
//  - Each set gives a new number, so numbers are in the order of age.
#include "persistence/cache/cache_format.hpp"
#include "persistence/cache/cache_rules.hpp"
#include "persistence/postgres/postgres_cache_statements.hpp"
#include "persistence/postgres/postgres_pool.hpp"
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/store/store_namespace.hpp"

#include <troupe/postgres.hpp>

#include <algorithm>
#include <atomic>

namespace troupe {

namespace {

constexpr std::size_t value_share_of_cache = 8;   // one eighth for one value
constexpr std::size_t freed_share = 16;           // a cache that is too large frees a sixteenth
constexpr std::size_t entry_overhead_bytes = 120; // headers, numbers and the id

std::int64_t end_number(cache_time at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

cache_time end_of_number(std::int64_t nanoseconds) {
  return cache_time{
    std::chrono::duration_cast<cache_time::duration>(std::chrono::nanoseconds{nanoseconds})};
}

/// An entry as it is stored.
struct encoded_entry {
  std::string id;
  std::int64_t shard = 0;
  std::string space; // sorts as spaces do
  std::string place;

  explicit encoded_entry(const cache_key& key)
    : id{cache_entry_key(key).view()},
      shard{static_cast<unsigned char>(id.back())},
      space{namespace_bytes(key.space)},
      place{cache_place(key.space, key.key)} {}

  std::size_t bytes(std::string_view encoded) const {
    return entry_overhead_bytes + space.size() + place.size() + encoded.size();
  }
};

/// The answer to a look-up. `damaged` is the number of an entry that can't be read.
struct looked_up {
  std::optional<value> found;
  std::optional<std::int64_t> damaged;
};

looked_up read_cached_entry(postgres_rows& rows, const encoded_entry& sought, cache_time now) {
  if (rows.size() == 0)
    return {};
  auto number = rows.number(0, entry_number_column);
  if (rows.bytes(0, entry_place_column) != sought.place)
    return {}; // of another place with the same hash
  if (!rows.is_null(0, entry_end_column)
      && has_run_out(end_of_number(rows.number(0, entry_end_column)), now))
    return {};
  auto v = from_msgpack(rows.bytes(0, entry_value_column));
  if (!v || !rows.well_formed())
    return {std::nullopt, number};
  return {std::move(*v), std::nullopt};
}

class postgres_cache final : public node_cache {
public:
  postgres_cache(const postgres_options& database, std::size_t bytes_max)
    : bytes_max_{std::max(bytes_max, limits::postgres_cache_bytes_min)},
      sql_{database.schema},
      pool_{database} {}

  result<std::optional<value>> get(const cache_key& key, cache_time now) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok.error();
    last_now_ = end_number(now);
    const encoded_entry sought{key};
    postgres_params params;
    params.bytes(sought.id);
    auto looked = pool_.with([&](postgres_connection& on) -> result<looked_up> {
      auto rows = on.ask(sql_.get, params);
      return rows ? read_cached_entry(*rows, sought, now) : result<looked_up>{rows.error()};
    });
    if (!looked)
      return looked.error();
    if (looked->damaged) // a miss in any case, even when it can't be removed
      static_cast<void>(forget(sought, *looked->damaged));
    return std::move(looked->found);
  }

  result<void> set(const cache_key& key, const value& v, std::optional<cache_time> until) override {
    if (auto ok = check_cache_key(key); !ok)
      return ok;
    auto encoded = to_msgpack(v);
    if (!encoded)
      return encoded.error();
    const encoded_entry entry{key};
    auto bytes = entry.bytes(*encoded);
    if (auto most = bytes_max_ / value_share_of_cache; bytes > most)
      return error{errc::invalid_value,
                   "cache a value: it is too large for this cache: " + std::to_string(bytes)
                     + " bytes, at most " + std::to_string(most) + ": `" + key.space.back() + "`"};
    postgres_params params;
    params.bytes(entry.id).number(entry.shard).bytes(entry.space).bytes(entry.place);
    params.bytes(*encoded);
    until ? params.number(end_number(*until)) : params.null();
    params.number(static_cast<std::int64_t>(bytes));
    auto size = change_shard(entry.shard, sql_.set, params, &sql_.size);
    if (!size)
      return size.error();
    return *size > static_cast<std::int64_t>(bytes_max_) ? shrink() : result<void>{};
  }

  // Entries that are set meanwhile stay: they have greater numbers.
  result<void> clear(const std::vector<std::string>& space) override {
    auto last = pool_.with([this](postgres_connection& on) { return number_of(on, sql_.last); });
    if (!last)
      return last.error();
    const auto first = namespace_bytes(space);
    const auto end = namespace_bytes_end(first);
    postgres_params params;
    if (!space.empty())
      params.bytes(first).bytes(end);
    params.number(*last);
    for (;;) {
      auto removed = remove(space.empty() ? sql_.clear_all : sql_.clear, params);
      if (!removed)
        return removed.error();
      if (*removed < static_cast<std::int64_t>(limits::postgres_cache_removed_max))
        return {};
    }
  }

private:
  static result<std::int64_t> number_of(postgres_connection& on,
                                        const postgres_statement& statement) {
    auto rows = on.ask(statement);
    if (!rows)
      return rows.error();
    return rows->size() == 1 ? rows->number(0, 0) : 0;
  }

  // Changes an entry in one round trip, another one being the commit's. Result: the answer of
  // `then`, a number, asked after the commit; 0 without it.
  result<std::int64_t> change_shard(std::int64_t shard, const postgres_statement& change,
                                    const postgres_params& params,
                                    const postgres_statement* then = nullptr) {
    postgres_params where;
    where.number(shard);
    return pool_.with([&](postgres_connection& on) -> result<std::int64_t> {
      if (auto ok = on.send(sql_.begin); !ok)
        return ok.error();
      if (auto ok = on.send(sql_.lock_shard, where); !ok)
        return ok.error();
      if (auto ok = on.send(change, params); !ok)
        return ok.error();
      if (auto done = on.ask(sql_.commit); !done)
        return done.error();
      return then ? number_of(on, *then) : 0;
    });
  }

  result<void> forget(const encoded_entry& entry, std::int64_t number) {
    postgres_params params;
    params.bytes(entry.id).number(number);
    auto done = change_shard(entry.shard, sql_.forget, params);
    return done ? result<void>{} : done.error();
  }

  // Removes a piece of the entries. Result: how many it removed.
  result<std::int64_t> remove(const postgres_statement& removal, const postgres_params& params) {
    return pool_.with([&](postgres_connection& on) -> result<std::int64_t> {
      if (auto ok = on.send(sql_.begin); !ok)
        return ok.error();
      if (auto ok = on.send(sql_.lock); !ok)
        return ok.error();
      if (auto ok = on.send(removal, params); !ok)
        return ok.error();
      if (auto ok = on.send(sql_.commit); !ok)
        return ok.error();
      auto answers = on.finish();
      if (!answers)
        return answers.error();
      auto& removed = (*answers)[2];
      return removed.size() == 1 ? removed.number(0, 0) : 0;
    });
  }

  // Each set removes a bounded number of entries. The next ones remove the rest.
  result<void> shrink() {
    postgres_params params;
    params.number(last_now_);
    params.number(static_cast<std::int64_t>(bytes_max_));
    params.number(static_cast<std::int64_t>(bytes_max_ - bytes_max_ / freed_share));
    for (std::size_t i = 0; i < limits::postgres_cache_removals_max; ++i) {
      auto removed = remove(sql_.shrink, params);
      if (!removed)
        return removed.error();
      if (*removed < static_cast<std::int64_t>(limits::postgres_cache_removed_max))
        break;
    }
    return {};
  }

  const std::size_t bytes_max_;
  const postgres_cache_statements sql_;
  postgres_pool pool_; // after the statements that its connections have prepared
  std::atomic<std::int64_t> last_now_ = INT64_MIN;
};

} // namespace

result<std::shared_ptr<node_cache>> open_postgres_cache(const postgres_options& database,
                                                        postgres_cache_options options) {
  auto connection = postgres_connection::open(database);
  if (!connection)
    return connection.error();
  if (auto ok = migrate(**connection, database.schema, "cache", cache_migrations()); !ok)
    return ok.error();
  return std::shared_ptr<node_cache>{std::make_shared<postgres_cache>(database, options.bytes_max)};
}

} // namespace troupe
