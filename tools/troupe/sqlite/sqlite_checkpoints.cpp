#include "tools/troupe/sqlite/sqlite_checkpoints.hpp"

#include "tools/troupe/sqlite/reference_values.hpp"

#include <sqlite3.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <span>

namespace troupe::cli {

namespace {

constexpr std::int64_t layout = 4; // of checkpoints; older ones are migrated by the reference

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

[[noreturn]] void refuse(const std::string& why) {
  throw error{errc::invalid_value, why};
}

// ---- a row as values ----------------------------------------------------------------------------

value typed_value(std::string_view type, std::string_view data) {
  if (type == "msgpack")
    return from_reference_msgpack(data);
  if (type == "null")
    return nullptr;
  if (type == "bytes" || type == "bytearray")
    return value::bytes(std::as_bytes(std::span{data}));
  refuse("a value of type `" + std::string{type} + "` can't be read");
}

// A number, or 32 digits, a dot and a random number: the same for all channels of a step.
version stored_version(const value& v) {
  if (v.is_int() && v.as_int() >= 0)
    return {static_cast<std::uint64_t>(v.as_int()), 0};
  auto text = v.is_string() ? v.as_string() : std::string_view{};
  auto dot = std::min(text.find('.'), text.size());
  version out;
  double random = 0;
  const auto* end = text.data() + text.size();
  auto number = std::from_chars(text.data(), text.data() + dot, out.number);
  auto tag = std::from_chars(text.data() + std::min(dot + 1, text.size()), end, random);
  if (number.ec != std::errc{} || number.ptr != text.data() + dot || tag.ec != std::errc{}
      || tag.ptr != end)
    refuse("not a version: " + to_json(v));
  out.tag = std::bit_cast<std::uint64_t>(random);
  return out;
}

named<version> stored_versions(const value& v) {
  named<version> out;
  for (const auto& e : v.entries())
    out.emplace_back(e.key(), stored_version(e.val));
  return out;
}

const value& member(const value& map, const char* name, bool (value::*is_kind)() const noexcept) {
  const auto& out = map[name];
  if (!(out.*is_kind)())
    refuse(std::string{"member `"} + name + "` is missing or of another kind");
  return out;
}

checkpoint checkpoint_of(const value& from) {
  checkpoint out;
  out.v = member(from, "v", &value::is_int).as_int();
  if (out.v != layout)
    refuse("it has layout " + std::to_string(out.v) + ", only 4 can be read");
  out.id = member(from, "id", &value::is_string).as_string();
  out.ts = member(from, "ts", &value::is_string).as_string();
  out.channel_versions = stored_versions(member(from, "channel_versions", &value::is_map));
  for (const auto& e : member(from, "channel_values", &value::is_map).entries())
    out.channel_values.emplace_back(e.key(), e.val);
  for (const auto& e : member(from, "versions_seen", &value::is_map).entries()) {
    if (!e.val.is_map())
      refuse("the versions that a node has seen are not a map");
    out.versions_seen.emplace_back(e.key(), stored_versions(e.val));
  }
  out.updated_channels = from["updated_channels"].as<std::optional<std::vector<std::string>>>();
  return out;
}

// Calls `read`; its exceptions get the place in front.
template <class F> auto located(const std::string& place, F read) {
  try {
    return read();
  } catch (const error& why) {
    throw error{why.code(), place + ": " + why.message()};
  }
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
  auto place = "thread `" + out.ref.thread_id + "`, checkpoint " + out.ref.checkpoint_id;
  located(place, [&] {
    out.metadata = from_json(column(row, 4)).value();
    if (column(row, 5) != "msgpack")
      refuse("a checkpoint of type `" + text(row, 5) + "` can't be read");
    out.checkpoint = checkpoint_of(from_reference_checkpoint(column(row, 6)));
    if (out.checkpoint.id != out.ref.checkpoint_id)
      refuse("its own id differs: " + out.checkpoint.id);
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
                          [&row] { return typed_value(column(row, 3), column(row, 4)); });
    out.push_back(std::move(write));
  }
  return out;
}

void sqlite_checkpoints::fail(const char* what) const {
  const auto* why = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
  throw error{errc::storage_failed, std::string{what} + ": " + why + ": " + file_};
}

} // namespace troupe::cli
