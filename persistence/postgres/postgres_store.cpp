// postgres_store: the long-term store in Postgres. Reads and changes run on the calling thread. The
// row of store_state makes it one store for many processes: each change locks it until its commit.
// So changes come one after the other, and the numbers of puts become visible in their order.
#include "persistence/postgres/postgres_pool.hpp"
#include "persistence/postgres/postgres_schema.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "persistence/postgres/postgres_store_statements.hpp"
#include "persistence/postgres/postgres_vectors.hpp"
#include "persistence/store/local_store.hpp"
#include "persistence/store/store_namespace.hpp"
#include "persistence/store/vector_bytes.hpp"

#include <troupe/postgres.hpp>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::size_t vectors_fetched_max = 10'000;

error corrupt_store(std::string_view what) {
  return {errc::checkpoint_corrupt, "read the store: malformed: " + std::string{what}};
}

constexpr std::size_t sealed_extra_bytes = record_header_bytes + gcm_overhead_bytes; // of a vector

// The cipher of the store's data key; unwrapped when a row needs it.
// Thread: one at a time.
class store_cipher {
public:
  explicit store_cipher(const key_provider* keys) : keys_{keys} {}

  void set(std::optional<wrapped_key> stored) { stored_ = std::move(stored); }

  bool has_key() const noexcept { return stored_.has_value(); }

  /// Null for a plain store. Errors: key_missing; those of the key provider.
  result<aes_gcm*> find() {
    if (!cipher_ && stored_) {
      auto unwrapped = unwrapped_cipher(keys_, *stored_, store_key_place(), sealed_store_name);
      if (!unwrapped)
        return unwrapped.error();
      cipher_.emplace(std::move(*unwrapped));
    }
    return cipher_ ? &*cipher_ : nullptr;
  }

  /// As record_opener::open; a plain column is its own payload.
  result<std::string_view> open(std::string_view column, std::string_view place, record_kind kind) {
    if (!is_sealed(column))
      return column;
    auto cipher = find();
    if (!cipher)
      return cipher.error();
    return opener_.open(column, place, kind, *cipher);
  }
  record_opener::scope scope() noexcept { return record_opener::scope{opener_}; }

  /// The key of a plain store, when there is a provider. Errors: those of the provider.
  result<std::optional<wrapped_key>> make() {
    if (stored_ || !keys_)
      return std::optional<wrapped_key>{};
    auto made = make_data_key(*keys_, store_key_place());
    if (!made)
      return made.error();
    stored_ = made->wrapped;
    cipher_.emplace(std::move(made->cipher));
    return stored_;
  }

private:
  const key_provider* keys_;
  std::optional<wrapped_key> stored_;
  std::optional<aes_gcm> cipher_;
  record_opener opener_;
};

result<stored_item> read_item(postgres_rows& rows, std::size_t row, store_cipher& cipher) {
  auto opened = cipher.scope();
  auto path = rows.bytes(row, path_column);
  auto bytes = cipher.open(rows.bytes(row, value_column),
                           item_place(path, rows.bytes(row, key_column)), record_kind::item);
  if (!bytes)
    return bytes.error();
  auto space = namespace_of_bytes(path);
  auto val = from_msgpack(*bytes);
  if (!space || !val || !val->is_map())
    return corrupt_store("an item");
  stored_item item{.number = static_cast<std::uint64_t>(rows.number(row, item_number_column)),
                   .space = std::move(*space),
                   .key = rows.string(row, key_column),
                   .value = std::move(*val),
                   .created = rows.number(row, created_column),
                   .updated = rows.number(row, updated_at_column),
                   .ttl = store_ttl{rows.number(row, ttl_column)},
                   .end = rows.number(row, end_column)};
  if (!rows.well_formed() || !times_fit(item))
    return corrupt_store("an item");
  return item;
}

std::vector<std::int64_t> signed_numbers(std::span<const std::uint64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

// ---- reading ------------------------------------------------------------------------------------

// A transaction that begins with the first read.
class postgres_snapshot final : public store_snapshot {
public:
  postgres_snapshot(postgres_connection& on, const postgres_store_statements& sql,
                    const key_provider* keys, const postgres_vectors* vectors)
    : on_{on},
      sql_{sql},
      cipher_{keys},
      vectors_{vectors} {}

  result<std::optional<stored_item>> find(const store_namespace& space,
                                          const std::string& key) override {
    auto path = namespace_bytes(space);
    postgres_params params;
    params.bytes(path).bytes(key);
    auto rows = ask(sql_.find, params);
    if (!rows)
      return rows.error();
    if (rows->size() == 0)
      return std::optional<stored_item>{};
    auto item = read_item(*rows, 0, cipher_);
    return item ? result<std::optional<stored_item>>{std::move(*item)} : item.error();
  }

  result<std::vector<std::optional<stored_item>>>
  find(std::span<const std::uint64_t> numbers) override {
    postgres_params params;
    params.number_array(signed_numbers(numbers));
    auto rows = ask(sql_.find_numbers, params);
    if (!rows)
      return rows.error();
    std::vector<std::optional<stored_item>> found(numbers.size());
    for (std::size_t row = 0; row < rows->size(); ++row) {
      auto place = rows->number(row, extra_column);
      auto item = read_item(*rows, row, cipher_);
      if (!item)
        return item.error();
      if (place < 1 || static_cast<std::size_t>(place) > found.size())
        return corrupt_store("a row's place");
      found[static_cast<std::size_t>(place) - 1] = std::move(*item);
    }
    return found;
  }

  result<std::vector<std::uint64_t>> missing(std::span<const std::uint64_t> numbers) override {
    postgres_params params;
    params.number_array(signed_numbers(numbers));
    auto rows = ask(sql_.missing, params);
    if (!rows)
      return rows.error();
    std::vector<std::uint64_t> gone;
    for (std::size_t row = 0; row < rows->size(); ++row)
      gone.push_back(static_cast<std::uint64_t>(rows->number(row, 0)));
    return gone;
  }

  result<std::uint64_t> last_number() override {
    auto rows = ask(sql_.last_number);
    if (!rows)
      return rows.error();
    return rows->size() == 1 ? static_cast<std::uint64_t>(rows->number(0, 0))
                             : result<std::uint64_t>{corrupt_store("its state")};
  }

  result<void> each(const store_namespace& prefix, const take_item& take) override {
    auto path = namespace_bytes(prefix);
    const auto end = namespace_bytes_end(path);
    std::string key;
    for (auto is_last = false; !is_last;) {
      postgres_params params;
      params.bytes(path).bytes(key).bytes(end);
      auto rows = ask(sql_.page, params);
      if (!rows)
        return rows.error();
      auto size = rows->size();
      for (std::size_t row = 0; row < size; ++row) {
        auto item = read_item(*rows, row, cipher_);
        auto more = item ? take(*item) : item.error();
        if (!more || !*more)
          return more ? result<void>{} : more.error();
      }
      is_last = size == 0
                || (size < limits::postgres_rows_fetched
                    && rows->number(0, extra_column) == static_cast<std::int64_t>(size));
      if (!is_last) {
        path = rows->string(size - 1, path_column);
        key = rows->string(size - 1, key_column) + '\0'; // the smallest key after it
      }
    }
    return {};
  }

  result<std::vector<store_namespace>> namespaces(std::int64_t now) override {
    postgres_params params;
    params.number(now);
    auto rows = ask(sql_.namespaces, params);
    if (!rows)
      return rows.error();
    std::vector<store_namespace> found;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      auto space = namespace_of_bytes(rows->bytes(row, 0));
      if (!space)
        return corrupt_store("a namespace");
      found.push_back(std::move(*space));
    }
    return found;
  }

  result<vector_groups> groups(const store_namespace& prefix) override {
    auto path = namespace_bytes(prefix);
    auto end = namespace_bytes_end(path);
    postgres_params params;
    params.bytes(path).bytes(end);
    auto rows = ask(sql_.groups, params);
    if (!rows)
      return rows.error();
    vector_groups found;
    for (std::size_t row = 0; row < rows->size(); ++row)
      found.insert(static_cast<std::uint64_t>(rows->number(row, 0)));
    return found;
  }

  // A damaged vector counts as missing.
  result<void> vectors_after(std::uint64_t number, std::size_t dims,
                             const take_vector& take) override {
    const auto bytes = dims * 4;
    const auto count = std::clamp<std::size_t>(limits::postgres_statement_bytes_max / bytes, 1,
                                               vectors_fetched_max);
    auto after = static_cast<std::int64_t>(number);
    for (std::int64_t place = INT64_MAX;;) {
      postgres_params params;
      const std::int64_t sizes[] = {static_cast<std::int64_t>(bytes),
                                    static_cast<std::int64_t>(bytes + sealed_extra_bytes)};
      params.number(after).number(place).number_array(sizes);
      params.number(static_cast<std::int64_t>(count));
      auto rows = ask(sql_.vectors_after, params);
      if (!rows)
        return rows.error();
      for (std::size_t row = 0; row < rows->size(); ++row) {
        after = rows->number(row, 0);
        place = rows->number(row, 1);
        auto opened = cipher_.scope();
        auto column = open_vector(*rows, row, dims);
        if (!column && !is_damage(column.error()))
          return column.error();
        auto vector = column ? read_vector_bytes(*column) : std::nullopt;
        if (vector && vector->size() == dims)
          take(static_cast<std::uint64_t>(after), static_cast<std::uint64_t>(rows->number(row, 2)),
               *vector);
      }
      if (rows->size() < count)
        return {};
    }
  }

  result<std::unique_ptr<vector_hits>> rank(std::span<const float> query,
                                            const store_namespace& prefix,
                                            std::size_t count) override {
    if (!has_begun_) // the first statement also reads the data key
      if (auto begun = last_number(); !begun)
        return begun.error();
    if (cipher_.has_key()) // another process encrypts it
      return error{errc::key_missing, "search the store: it is encrypted by now: open it again"};
    return vectors_->rank(on_, query, prefix, count);
  }

  result<void> end() {
    if (!has_begun_)
      return {};
    auto done = on_.ask(sql_.commit);
    return done ? result<void>{} : done.error();
  }

private:
  // The first statement goes together with the one that reads the data key.
  result<postgres_rows> ask(const postgres_statement& statement,
                            const postgres_params& params = {}) {
    if (std::exchange(has_begun_, true))
      return on_.ask(statement, params);
    for (const auto* before : {&sql_.begin_reading, &sql_.data_key})
      if (auto ok = on_.send(*before); !ok)
        return ok.error();
    if (auto ok = on_.send(statement, params); !ok)
      return ok.error();
    auto answers = on_.finish();
    if (!answers)
      return answers.error();
    const auto& key_row = answers->at(answers->size() - 2);
    auto data_key = key_row.size() == 1
                      ? read_data_key(key_row, 0, 0)
                      : result<std::optional<wrapped_key>>{corrupt_store("its state")};
    if (!data_key)
      return data_key.error();
    cipher_.set(std::move(*data_key));
    return std::move(answers->back());
  }

  // A plain vector may begin as a record does, so the size decides.
  result<std::string_view> open_vector(postgres_rows& rows, std::size_t row, std::size_t dims) {
    auto column = rows.bytes(row, 3);
    if (column.size() == 4 * dims)
      return column;
    return cipher_.open(column, vector_place(rows.number(row, 0), rows.number(row, 1)),
                        record_kind::vector);
  }

  postgres_connection& on_;
  const postgres_store_statements& sql_;
  store_cipher cipher_;
  const postgres_vectors* vectors_; // null: not asked to rank
  bool has_begun_ = false;
};

// ---- changing -----------------------------------------------------------------------------------

// Statements are only queued, and leave with the commit: two round trips a change.
class postgres_change final : public store_change {
public:
  postgres_change(postgres_connection& on, const postgres_store_statements& sql,
                  const postgres_sealing& sealing)
    : on_{on},
      sql_{sql},
      cipher_{sealing.keys.get()},
      sealer_{sealing.compress_bytes_min} {}

  // Numbers never come twice, even when the server lost its last commits: they are at least the
  // current time.
  result<void> begin() {
    if (auto ok = on_.send(sql_.begin); !ok)
      return ok;
    auto rows = on_.ask(sql_.lock);
    if (!rows)
      return rows.error();
    if (rows->size() != 1)
      return corrupt_store("its state");
    last_ = rows->number(0, 0);
    auto data_key = read_data_key(*rows, 0, 1);
    if (!data_key)
      return data_key.error();
    cipher_.set(std::move(*data_key));
    return {};
  }

  result<void> put(stored_item item, const prepared_put& what) override {
    auto cipher = find_or_make_cipher();
    if (!cipher)
      return cipher.error();
    auto path = namespace_bytes(item.space);
    auto space = ++last_;
    auto number = ++last_;
    has_put_ = true;
    std::vector<std::string> vectors(what.vectors.size());
    for (std::size_t i = 0; i < vectors.size(); ++i)
      append_vector_bytes(what.vectors[i], vectors[i]);
    auto sealed = *cipher ? seal(path, item.key, number, what.encoded, vectors, **cipher)
                          : result<std::string>{std::string{}};
    if (!sealed)
      return sealed.error();
    postgres_params params;
    params.bytes(path).number(space).bytes(item.key).number(number);
    params.bytes(*cipher ? std::string_view{*sealed} : what.encoded);
    params.number(item.updated).number(item.ttl.count()).number(item.end).bytes_array(vectors);
    return on_.send(sql_.put, params);
  }

  result<void> remove(const store_namespace& space, const std::string& key) override {
    auto path = namespace_bytes(space);
    postgres_params place;
    place.bytes(path).bytes(key);
    if (auto ok = on_.send(sql_.remove, place); !ok)
      return ok;
    postgres_params whole;
    whole.bytes(path);
    return on_.send(sql_.erase_space, whole);
  }

  result<void> refresh(const stored_item& item, std::int64_t now, std::int64_t end) override {
    postgres_params params;
    params.number(static_cast<std::int64_t>(item.number)).number(now).number(end);
    return on_.send(sql_.refresh, params);
  }

  result<std::size_t> sweep(std::int64_t now, std::size_t count) override {
    postgres_params params;
    params.number(now).number(static_cast<std::int64_t>(count));
    if (auto ok = on_.send(sql_.sweep, params); !ok)
      return ok.error();
    auto answers = settle();
    if (!answers)
      return answers.error();
    auto& swept = answers->back();
    std::vector<std::int64_t> spaces;
    for (std::size_t row = 0; row < swept.size(); ++row)
      spaces.push_back(swept.number(row, 1));
    postgres_params emptied;
    emptied.number_array(spaces);
    if (auto ok = spaces.empty() ? result<void>{} : on_.send(sql_.erase_spaces, emptied); !ok)
      return ok.error();
    return swept.size();
  }

  result<void> commit() override {
    postgres_params params;
    params.number(last_);
    if (auto ok = has_put_ ? on_.send(sql_.set_last, params) : result<void>{}; !ok)
      return ok;
    if (auto ok = on_.send(sql_.commit); !ok)
      return ok;
    auto done = settle();
    return done ? result<void>{} : done.error();
  }

private:
  result<aes_gcm*> find_or_make_cipher() {
    auto made = cipher_.make();
    if (!made)
      return made.error();
    if (*made) {
      postgres_params params;
      params.bytes((**made).id).bytes((**made).bytes);
      if (auto ok = on_.send(sql_.set_data_key, params); !ok)
        return ok.error();
    }
    return cipher_.find();
  }

  // The item's value, sealed. Its vectors are replaced by sealed ones.
  result<std::string> seal(std::string_view path, std::string_view key, std::int64_t number,
                           std::string_view value, std::vector<std::string>& vectors,
                           aes_gcm& cipher) {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      auto place = vector_place(number, static_cast<std::int64_t>(i) + 1);
      auto record = vector_sealer_.seal(vectors[i], place, record_kind::vector, cipher);
      if (!record)
        return record.error();
      vectors[i] = std::move(*record);
    }
    return sealer_.seal(value, item_place(path, key), record_kind::item, cipher);
  }

  // Collects the answers. The first column of each answer row is the number of a removed item.
  result<std::vector<postgres_rows>> settle() {
    auto answers = on_.finish();
    if (answers)
      for (auto& rows : *answers)
        for (std::size_t row = 0; row < rows.size(); ++row)
          gone_.push_back(static_cast<std::uint64_t>(rows.number(row, 0)));
    return answers;
  }

  postgres_connection& on_;
  const postgres_store_statements& sql_;
  store_cipher cipher_;
  row_sealer sealer_;
  row_sealer vector_sealer_{SIZE_MAX}; // single vectors hardly get smaller
  std::int64_t last_ = 0;
  bool has_put_ = false;
};

// ---- the database -------------------------------------------------------------------------------

class postgres_store_backend final : public store_backend {
public:
  postgres_store_backend(const postgres_options& options, std::unique_ptr<postgres_vectors> vectors)
    : sql_{options.schema},
      sealing_{options},
      vectors_{std::move(vectors)},
      pool_{options} {}

  bool ranks_vectors() const noexcept override { return vectors_ != nullptr; }

  result<void> read(const read_work& work) override {
    return pool_.with([&](postgres_connection& on) -> result<void> {
      postgres_snapshot items{on, sql_, sealing_.keys.get(), vectors_.get()};
      auto done = work(items);
      return done ? items.end() : done;
    });
  }

  result<std::vector<std::uint64_t>> change(bool, const change_work& work) override {
    return pool_.with([&](postgres_connection& on) -> result<std::vector<std::uint64_t>> {
      postgres_change change{on, sql_, sealing_};
      if (auto ok = change.begin(); !ok)
        return ok.error();
      if (auto ok = work(change); !ok)
        return ok.error();
      if (auto ok = change.commit(); !ok)
        return ok.error();
      return change.gone();
    });
  }

private:
  const postgres_store_statements sql_;
  const postgres_sealing sealing_;
  const std::unique_ptr<postgres_vectors> vectors_; // null: they are searched in memory
  postgres_pool pool_; // after the statements that its connections have prepared
};

} // namespace

result<std::shared_ptr<store>> open_postgres_store(const postgres_options& database,
                                                   store_options options) {
  if (auto ok = check_store_options(options); !ok)
    return ok.error();
  auto connection = postgres_connection::open(database);
  if (!connection)
    return connection.error();
  if (auto ok = migrate(**connection, database.schema, "store", store_migrations()); !ok)
    return ok.error();
  result<std::unique_ptr<postgres_vectors>> vectors{nullptr};
  if (options.index)
    vectors = postgres_vectors::open(database, *options.index);
  if (!vectors)
    return vectors.error();
  return std::shared_ptr<store>{std::make_shared<local_store>(
    std::make_shared<postgres_store_backend>(database, std::move(*vectors)), std::move(options))};
}

} // namespace troupe
