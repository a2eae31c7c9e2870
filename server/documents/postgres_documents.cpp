// postgres_documents: reads on the calling thread, commits on the writer's. The body is kept as
// msgpack, so that nothing is lost; beside it stand its members as jsonb, for searches.
#include "server/documents/postgres_documents.hpp"

#include "persistence/postgres/postgres_pool.hpp"
#include "server/documents/document_index.hpp"
#include "server/documents/document_order.hpp"
#include "server/documents/document_watches.hpp"
#include "server/documents/postgres_document_search.hpp"
#include "server/documents/postgres_document_watcher.hpp"
#include "server/documents/postgres_document_writer.hpp"

#include <algorithm>
#include <random>

namespace troupe::server {

namespace {

std::int64_t random_origin() {
  std::random_device random;
  return static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random());
}

// The members that stay plain beside a sealed body.
value indexed_members(document_kind kind, const value& body) {
  auto members = value::map();
  for (const auto& index : document_indexes)
    for (auto name : {index.member, index.order})
      if (index.kind == kind && body[name].is_string())
        members = members.with(name, body[name]);
  return members;
}

class postgres_document_store final : public document_store {
public:
  explicit postgres_document_store(const postgres_options& database)
    : options_{database},
      sql_{database.schema},
      sealing_{database},
      pool_{database} {}

  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    postgres_params params;
    params.number(static_cast<std::int64_t>(kind)).bytes(id);
    return pool_.with([&](postgres_connection& on) -> result<std::optional<document>> {
      auto rows = on.ask(sql_.get, params);
      if (!rows)
        return rows.error();
      if (rows->size() == 0)
        return std::optional<document>{};
      auto cipher = cipher_for(on, *rows, 0, 1);
      if (!cipher)
        return cipher.error();
      auto one = cipher->open(kind, id, static_cast<std::uint64_t>(rows->number(0, 0)),
                              rows->bytes(0, 1));
      return one ? result<std::optional<document>>{std::move(*one)} : one.error();
    });
  }

  result<document_page> search(const document_query& query) override {
    return pool_.with([&](postgres_connection& on) {
      return sealing_.keys && needs_all_members(query) ? search_here(on, query)
                                                       : search_there(on, query);
    });
  }

  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    if (auto ok = check_changes(changes); !ok)
      return then(std::move(ok));
    auto posted = std::make_shared<posted_commit>();
    std::vector<document_change> names; // without bodies, for the watchers
    for (auto& change : changes) {
      names.push_back({change.kind, change.id, std::nullopt, {}, change.is_condition});
      auto one = post(std::move(change));
      if (!one)
        return then(one.error());
      posted->changes.push_back(std::move(*one));
    }
    commit_job job;
    job.upkeep = [this, posted] { return writer_.make(*posted); };
    job.done = [this, posted, names = std::move(names),
                then = std::move(then)](result<void> committed) {
      writer_.forget(posted);
      if (committed && posted->refused)
        committed = *posted->refused;
      if (committed)
        watches_.tell(names);
      then(std::move(committed));
    };
    writer_.expect(posted);
    commits_.submit(std::move(job));
  }

  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    auto handle = watches_.add(kind, std::move(told));
    std::scoped_lock lock{watcher_mutex_};
    if (!watcher_)
      watcher_.emplace(options_, sql_, watches_, origin_, last_number());
    return handle;
  }

  bool is_shared() const noexcept override { return true; }

private:
  result<posted_change> post(document_change change) {
    posted_change posted{change.kind, std::move(change.id), std::nullopt,
                         {},          change.expected,      change.is_condition};
    if (!change.body)
      return posted;
    auto body = to_msgpack(*change.body);
    if (!body)
      return body.error();
    posted.body = std::move(*body);
    posted.members = jsonb_text(sealing_.keys ? indexed_members(change.kind, *change.body)
                                              : *change.body);
    return posted;
  }

  std::optional<std::int64_t> last_number() {
    auto last = pool_.with([this](postgres_connection& on) { return on.ask(sql_.last); });
    return last && last->size() == 1 ? std::optional{last->number(0, 0)} : std::nullopt;
  }

  // The cipher for rows that may be sealed.
  result<document_cipher> cipher_for(postgres_connection& on, const postgres_rows& rows,
                                     std::size_t first, int column) {
    document_cipher cipher{sealing_};
    auto any_is_sealed = false;
    for (auto row = first; row < rows.size(); ++row)
      any_is_sealed = any_is_sealed || is_sealed(rows.bytes(row, column));
    if (!any_is_sealed)
      return cipher;
    auto state = on.ask(sql_.data_key);
    if (!state)
      return state.error();
    auto stored = state->size() == 1 ? read_data_key(*state, 0, 0)
                                     : result<std::optional<wrapped_key>>{std::nullopt};
    if (!stored)
      return stored.error();
    cipher.set(std::move(*stored));
    return cipher;
  }

  // Asks a statement that is made of a query.
  result<postgres_rows> ask(postgres_connection& on, std::string_view selected,
                            const document_sql& made) {
    auto text = in_schema("SELECT " + std::string{selected} + " FROM @.documents WHERE ",
                          options_.schema);
    return on.ask(statements_.find_or_add(text + made.text), made.params);
  }

  // id, revision and body of each row.
  result<std::vector<document>> read_all(postgres_connection& on, document_kind kind,
                                         postgres_rows& rows) {
    auto cipher = cipher_for(on, rows, 0, 2);
    if (!cipher)
      return cipher.error();
    std::vector<document> found;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      auto one = cipher->open(kind, rows.bytes(row, 0),
                              static_cast<std::uint64_t>(rows.number(row, 1)), rows.bytes(row, 2));
      if (!one)
        return one.error();
      found.push_back(std::move(*one));
    }
    return found;
  }

  result<document_page> search_there(postgres_connection& on, const document_query& query) {
    auto paged = conditions_of(query, false);
    append_page(query, paged);
    if (auto ok = on.send(sql_.begin_reading); !ok)
      return ok.error();
    auto total = ask(on, "count(*)::int8", conditions_of(query, false));
    if (!total)
      return total.error();
    auto rows = ask(on, "id, revision, body", paged);
    if (!rows)
      return rows.error();
    auto documents = read_all(on, query.kind, *rows);
    if (auto done = on.ask(sql_.commit); !done && documents)
      return done.error();
    if (!documents)
      return documents.error();
    return document_page{std::move(*documents), static_cast<std::size_t>(total->number(0, 0))};
  }

  // Reads what the indexes select, and compares the bodies here.
  result<document_page> search_here(postgres_connection& on, const document_query& query) {
    auto rows = ask(on, "id, revision, body", conditions_of(query, true));
    auto all = rows ? read_all(on, query.kind, *rows) : rows.error();
    if (!all)
      return all.error();
    std::map<std::string, document> matching;
    std::vector<document_place> places;
    for (auto& one : *all)
      if (matches(one, query)) {
        places.push_back(place_of(one.id, one.body, query));
        matching.emplace(one.id, std::move(one));
      }
    document_page page{{}, places.size()};
    for (const auto& place : page_of(std::move(places), query))
      page.documents.push_back(std::move(matching.at(place.id)));
    return page;
  }

  const postgres_options options_;
  const postgres_document_statements sql_;
  const postgres_sealing sealing_;
  const std::int64_t origin_ = random_origin();
  document_statement_cache statements_;
  postgres_pool pool_; // after the statements that its connections have prepared
  document_watches watches_;
  postgres_document_writer writer_{options_, sql_, sealing_, origin_};
  std::mutex watcher_mutex_;
  std::optional<postgres_document_watcher> watcher_;
  group_commit commits_{writer_, options_.commit_window}; // the last member: it uses the others
};

} // namespace

result<std::shared_ptr<document_store>> open_postgres_documents(const postgres_options& database) {
  auto connection = postgres_connection::open(database);
  if (!connection)
    return connection.error();
  if (auto ok = migrate(**connection, database.schema, "documents", documents_migrations()); !ok)
    return ok.error();
  return std::shared_ptr<document_store>{std::make_shared<postgres_document_store>(database)};
}

// The row is not locked while the key provider works: the key is replaced only where it is still
// the one that was read.
result<std::optional<bool>> rotate_documents_key(const postgres_options& database) {
  if (!database.keyring)
    return error{errc::invalid_config, "rotate the documents' key: the key ring is missing"};
  auto current = database.keyring->wrapping_id();
  if (!current)
    return current.error();
  const postgres_document_statements sql{database.schema};
  auto connection = postgres_connection::open(database);
  if (!connection)
    return connection.error();
  auto& on = **connection;
  auto is_there = has_part(on, database.schema, "documents");
  if (!is_there)
    return is_there.error();
  if (!*is_there)
    return std::optional<bool>{};
  auto row = on.ask(sql.data_key);
  auto stored = row ? read_data_key(*row, 0, 0) : row.error();
  if (!stored)
    return stored.error();
  if (!*stored)
    return std::optional<bool>{};
  auto anew = rewrapped(*database.keyring, **stored, *current, documents_key_place,
                        sealed_documents_name);
  if (!anew)
    return anew.error();
  if (!*anew)
    return std::optional{false};
  postgres_params swap;
  swap.bytes((*stored)->bytes).bytes((*anew)->id).bytes((*anew)->bytes);
  auto swapped = on.ask(sql.swap_data_key, swap);
  return swapped ? result<std::optional<bool>>{swapped->size() > 0} : swapped.error();
}

} // namespace troupe::server
