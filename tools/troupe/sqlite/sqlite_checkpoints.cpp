#include "tools/troupe/sqlite/sqlite_checkpoints.hpp"

#include "tools/troupe/reference_checkpoints.hpp"
#include "tools/troupe/reference_values.hpp"

#include <sqlite3.h>

#include <filesystem>

namespace troupe::cli {

namespace {

constexpr const char* select_checkpoints =
  "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata, type, checkpoint"
  " FROM checkpoints ORDER BY thread_id, checkpoint_ns, checkpoint_id";
constexpr const char* select_writes =
  "SELECT task_id, task_path, channel, type, value FROM writes"
  " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx";

std::string_view column(sqlite3_stmt& row, int number) {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(&row, number));
  auto size = sqlite3_column_bytes(&row, number);
  return data ? std::string_view{data, static_cast<std::size_t>(size)} : std::string_view{};
}

std::string text(sqlite3_stmt& row, int number) {
  return std::string{column(row, number)};
}

void bind(sqlite3_stmt& statement, int number, const std::string& text) {
  sqlite3_bind_text(&statement, number, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

} // namespace

void sqlite_checkpoints::close_database::operator()(sqlite3* db) const noexcept {
  sqlite3_close_v2(db);
}

void sqlite_checkpoints::end_statement::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

sqlite_checkpoints::sqlite_checkpoints(const std::filesystem::path& file) : file_{file.string()} {
  sqlite3* opened = nullptr;
  auto code = sqlite3_open_v2(file_.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  db_.reset(opened);
  if (code != SQLITE_OK)
    fail("open the file");
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // The transaction ends with the connection: both tables are seen as of one moment.
  step(*prepare("BEGIN"));
  checkpoints_ = prepare(select_checkpoints);
  writes_ = prepare(select_writes);
}

std::optional<checkpoint_tuple> sqlite_checkpoints::next() {
  if (step(*checkpoints_))
    return read_checkpoint();
  sqlite3_reset(checkpoints_.get());
  return std::nullopt;
}

sqlite_checkpoints::statement sqlite_checkpoints::prepare(const char* sql) const {
  sqlite3_stmt* out = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql, -1, &out, nullptr) != SQLITE_OK)
    fail("look for checkpoints");
  return statement{out};
}

/// Whether there is a row.
bool sqlite_checkpoints::step(sqlite3_stmt& statement) const {
  auto code = sqlite3_step(&statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    fail("read checkpoints");
  return code == SQLITE_ROW;
}

checkpoint_tuple sqlite_checkpoints::read_checkpoint() const {
  auto& row = *checkpoints_;
  checkpoint_tuple out;
  out.ref = {text(row, 0), text(row, 1), text(row, 2)};
  out.parent_id = text(row, 3);
  located(place_of(out.ref), [&] {
    out.metadata = from_json(column(row, 4)).value();
    if (column(row, 5) != "msgpack")
      throw error{errc::invalid_value, "a checkpoint of type `" + text(row, 5) + "` can't be read"};
    out.checkpoint = from_reference_map(from_reference_checkpoint(column(row, 6)));
    if (out.checkpoint.id != out.ref.checkpoint_id)
      throw error{errc::invalid_value, "its own id differs: " + out.checkpoint.id};
    out.pending_writes = read_writes(out.ref);
    return true;
  });
  return out;
}

std::vector<pending_write> sqlite_checkpoints::read_writes(const checkpoint_ref& of) const {
  auto& row = *writes_;
  sqlite3_reset(&row);
  bind(row, 1, of.thread_id);
  bind(row, 2, of.checkpoint_ns);
  bind(row, 3, of.checkpoint_id);
  std::vector<pending_write> out;
  while (step(row)) {
    pending_write write{text(row, 0), text(row, 2), {}, text(row, 1)};
    write.value = located("a write to channel `" + write.channel + "`",
                          [&row] { return from_reference_typed(column(row, 3), column(row, 4)); });
    out.push_back(std::move(write));
  }
  return out;
}

void sqlite_checkpoints::fail(const char* what) const {
  const auto* why = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
  throw error{errc::storage_failed, std::string{what} + ": " + why + ": " + file_};
}

} // namespace troupe::cli
