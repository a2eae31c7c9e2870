// The file is written under another name, in one transaction.
#include "tools/troupe/sqlite/sqlite_export.hpp"

#include "tools/troupe/reference_checkpoints.hpp"

#include <sqlite3.h>

#include <memory>
#include <string>
#include <system_error>

namespace troupe::cli {
namespace {

// As SqliteSaver.setup makes them.
constexpr const char* make_tables =
  "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',"
  " checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB,"
  " metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));"
  "CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',"
  " checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '',"
  " idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,"
  " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));";
constexpr const char* insert_checkpoint =
  "INSERT INTO checkpoints VALUES (?, ?, ?, ?, 'msgpack', ?, ?)";
constexpr const char* insert_write = "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

// The file under its other name; removed unless it was given its own.
class unfinished_file {
public:
  explicit unfinished_file(const std::filesystem::path& file)
    : file_{file},
      path_{file.string() + ".unfinished"} {
    std::error_code failed;
    if (std::filesystem::exists(file_, failed))
      throw error{errc::invalid_config,
                  "export: " + file_.string() + " exists already: choose another name"};
    std::filesystem::remove(path_, failed); // of an export that was killed
  }
  unfinished_file(const unfinished_file&) = delete;
  unfinished_file& operator=(const unfinished_file&) = delete;
  ~unfinished_file() {
    std::error_code failed;
    if (!path_.empty())
      std::filesystem::remove(path_, failed);
  }

  std::string path() const { return path_.string(); }
  void finish() {
    std::error_code failed;
    std::filesystem::rename(path_, file_, failed);
    if (failed)
      throw error{errc::storage_failed,
                  "export: name the file: " + failed.message() + ": " + file_.string()};
    path_.clear();
  }

private:
  std::filesystem::path file_, path_;
};

class export_database {
public:
  explicit export_database(const std::string& file) {
    sqlite3* opened = nullptr;
    auto code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                nullptr);
    db_.reset(opened);
    expect(code == SQLITE_OK);
    run("BEGIN");
    run(make_tables);
    checkpoint_ = prepare(insert_checkpoint);
    write_ = prepare(insert_write);
  }

  void add(const checkpoint_tuple& tuple) {
    const auto& ref = tuple.ref;
    for (const auto* id : {&ref.thread_id, &ref.checkpoint_ns})
      to_json(value(*id)); // refuses texts that are not UTF-8
    auto blob = to_reference_blob(tuple.checkpoint);
    auto metadata = to_json(tuple.metadata);
    begin(*checkpoint_, ref);
    tuple.parent_id.empty() ? bind_null(*checkpoint_, 4) : bind(*checkpoint_, 4, tuple.parent_id);
    bind_blob(*checkpoint_, 5, blob);
    bind_blob(*checkpoint_, 6, metadata);
    step(*checkpoint_);
    std::int64_t position = 0;
    for (std::size_t i = 0; i < tuple.pending_writes.size(); ++i) {
      const auto& w = tuple.pending_writes[i];
      position = i > 0 && tuple.pending_writes[i - 1].task_id == w.task_id ? position + 1 : 0;
      add_write(ref, w, position);
    }
  }

  void commit() {
    checkpoint_ = nullptr;
    write_ = nullptr;
    run("COMMIT");
    auto code = sqlite3_close(db_.get());
    expect(code == SQLITE_OK);
    db_.release();
  }

private:
  struct close_database {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
  };
  struct end_statement {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  using statement = std::unique_ptr<sqlite3_stmt, end_statement>;

  void add_write(const checkpoint_ref& ref, const pending_write& w, std::int64_t position) {
    auto typed = located("a write to channel `" + w.channel + "`",
                         [&w] { return to_reference_typed(w.value); });
    std::string type{typed.type};
    begin(*write_, ref);
    bind(*write_, 4, w.task_id);
    bind(*write_, 5, w.task_path);
    expect(sqlite3_bind_int64(write_.get(), 6, reference_index(w.channel, position)) == SQLITE_OK);
    bind(*write_, 7, w.channel);
    bind(*write_, 8, type);
    bind_blob(*write_, 9, typed.data);
    step(*write_);
  }

  void begin(sqlite3_stmt& row, const checkpoint_ref& ref) {
    sqlite3_reset(&row);
    bind(row, 1, ref.thread_id);
    bind(row, 2, ref.checkpoint_ns);
    bind(row, 3, ref.checkpoint_id);
  }

  // A statement is stepped before its texts end.
  void bind(sqlite3_stmt& row, int number, const std::string& text) {
    expect(sqlite3_bind_text64(&row, number, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8)
           == SQLITE_OK);
  }
  void bind_blob(sqlite3_stmt& row, int number, const std::string& bytes) {
    expect(sqlite3_bind_blob64(&row, number, bytes.data(), bytes.size(), SQLITE_STATIC)
           == SQLITE_OK);
  }
  void bind_null(sqlite3_stmt& row, int number) {
    expect(sqlite3_bind_null(&row, number) == SQLITE_OK);
  }

  statement prepare(const char* sql) {
    sqlite3_stmt* out = nullptr;
    expect(sqlite3_prepare_v2(db_.get(), sql, -1, &out, nullptr) == SQLITE_OK);
    return statement{out};
  }
  void step(sqlite3_stmt& row) { expect(sqlite3_step(&row) == SQLITE_DONE); }
  void run(const char* sql) {
    expect(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }

  void expect(bool went_well) const {
    if (!went_well)
      throw error{errc::storage_failed, std::string{"write the export: "}
                                          + (db_ ? sqlite3_errmsg(db_.get()) : "out of memory")};
  }

  std::unique_ptr<sqlite3, close_database> db_;
  statement checkpoint_;
  statement write_;
};

} // namespace

void write_sqlite_checkpoints(const std::filesystem::path& file,
                              const std::function<std::optional<checkpoint_tuple>()>& next) {
  unfinished_file unfinished{file};
  {
    export_database to{unfinished.path()};
    while (auto tuple = next())
      located(place_of(tuple->ref), [&] { to.add(*tuple); });
    to.commit();
  }
  unfinished.finish();
}

} // namespace troupe::cli
