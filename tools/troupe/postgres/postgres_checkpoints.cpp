#include "tools/troupe/postgres/postgres_checkpoints.hpp"

#include "tools/troupe/reference_checkpoints.hpp"
#include "tools/troupe/reference_values.hpp"

#include <troupe/json.hpp>

#include <map>
#include <utility>

namespace troupe::cli {

namespace {

constexpr const char* connect_seconds = "10";
constexpr int binary = 1;

// Text columns sort by bytes, as checkpoint ids and threads do elsewhere.
constexpr const char* open_cursor =
  "DECLARE troupe_import NO SCROLL CURSOR FOR SELECT thread_id, checkpoint_ns, checkpoint_id,"
  " coalesce(parent_checkpoint_id, ''), checkpoint::text, metadata::text FROM checkpoints"
  " ORDER BY thread_id COLLATE \"C\", checkpoint_ns COLLATE \"C\", checkpoint_id COLLATE \"C\"";
// Source: langgraph/checkpoint/postgres/base.py, SELECT_SQL.
constexpr const char* select_values =
  "SELECT b.channel, b.type, b.blob FROM checkpoints c"
  " CROSS JOIN LATERAL jsonb_each_text(c.checkpoint -> 'channel_versions') AS v(channel, version)"
  " JOIN checkpoint_blobs b ON b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns"
  " AND b.channel = v.channel AND b.version = v.version"
  " WHERE c.thread_id = $1 AND c.checkpoint_ns = $2 AND c.checkpoint_id = $3";
constexpr const char* select_writes =
  "SELECT task_id, task_path, channel, coalesce(type, ''), blob FROM checkpoint_writes"
  " WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id = $3 ORDER BY task_id, idx";

std::string_view field(const PGresult& from, int row, int column) {
  return {PQgetvalue(&from, row, column),
          static_cast<std::size_t>(PQgetlength(&from, row, column))};
}

std::string text(const PGresult& from, int row, int column) {
  return std::string{field(from, row, column)};
}

value json_of(std::string_view text) {
  return from_json(text, json_form::plain).value();
}

} // namespace

postgres_checkpoints::postgres_checkpoints(const std::string& conninfo) {
  const char* keys[] = {"dbname", "connect_timeout", "application_name", "client_encoding",
                        nullptr};
  const char* values[] = {conninfo.c_str(), connect_seconds, "troupe store import", "UTF8",
                          nullptr};
  constexpr int expand_dbname = 1;
  connection_.reset(PQconnectdbParams(keys, values, expand_dbname));
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK)
    throw error{errc::storage_failed,
                std::string{"connect to the Postgres server: "}
                  + (connection_ ? PQerrorMessage(connection_.get()) : "out of memory")};
  ask("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
}

std::optional<checkpoint_tuple> postgres_checkpoints::next() {
  if (!std::exchange(is_open_, true))
    ask(open_cursor);
  auto row = ask("FETCH 1 FROM troupe_import");
  if (PQntuples(row.get()) > 0)
    return read_checkpoint(*row);
  ask("CLOSE troupe_import");
  is_open_ = false;
  return std::nullopt;
}

postgres_checkpoints::answer
postgres_checkpoints::ask(const char* sql, const std::vector<std::string>& texts) const {
  std::vector<const char*> parameters;
  for (const auto& text : texts)
    parameters.push_back(text.c_str());
  answer out{PQexecParams(connection_.get(), sql, static_cast<int>(parameters.size()), nullptr,
                          parameters.data(), nullptr, nullptr, binary)};
  auto status = out ? PQresultStatus(out.get()) : PGRES_FATAL_ERROR;
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
    throw error{errc::storage_failed, std::string{"read checkpoints from Postgres: "}
                                        + PQerrorMessage(connection_.get())};
  return out;
}

checkpoint_tuple postgres_checkpoints::read_checkpoint(const PGresult& row) const {
  checkpoint_tuple out;
  out.ref = {text(row, 0, 0), text(row, 0, 1), text(row, 0, 2)};
  out.parent_id = text(row, 0, 3);
  located(place_of(out.ref), [&] {
    out.metadata = json_of(field(row, 0, 5));
    auto stored = json_of(field(row, 0, 4));
    auto inline_values = stored["channel_values"];
    if (stored.is_map()) // a checkpoint whose values are all in blobs may lack the member
      stored = stored.with("channel_values", value::map());
    out.checkpoint = from_reference_map(stored);
    if (out.checkpoint.id != out.ref.checkpoint_id)
      throw error{errc::invalid_value, "its own id differs: " + out.checkpoint.id};
    out.checkpoint.channel_values = read_values(out.ref, inline_values);
    out.pending_writes = read_writes(out.ref);
  });
  return out;
}

// Plain values are in the checkpoint itself, others in blobs.
named<value> postgres_checkpoints::read_values(const checkpoint_ref& of,
                                               const value& inline_values) const {
  std::map<std::string, value> found;
  for (const auto& e : inline_values.entries())
    found.emplace(e.key(), e.val);
  auto rows = ask(select_values, {of.thread_id, of.checkpoint_ns, of.checkpoint_id});
  for (int i = 0; i < PQntuples(rows.get()); ++i) {
    auto channel = text(*rows, i, 0);
    auto type = field(*rows, i, 1);
    if (type == "empty")
      continue;
    found[channel] = type == "msgpack" ? from_reference_channel(channel, field(*rows, i, 2))
                                       : located("channel `" + channel + "`", [&] {
                                           return from_reference_typed(type, field(*rows, i, 2));
                                         });
  }
  return {found.begin(), found.end()};
}

std::vector<pending_write> postgres_checkpoints::read_writes(const checkpoint_ref& of) const {
  auto rows = ask(select_writes, {of.thread_id, of.checkpoint_ns, of.checkpoint_id});
  std::vector<pending_write> out;
  for (int i = 0; i < PQntuples(rows.get()); ++i) {
    pending_write write{text(*rows, i, 0), text(*rows, i, 2), {}, text(*rows, i, 1)};
    write.value = located("a write to channel `" + write.channel + "`", [&] {
      return from_reference_typed(field(*rows, i, 3), field(*rows, i, 4));
    });
    out.push_back(std::move(write));
  }
  return out;
}

} // namespace troupe::cli
