// lmdb_documents: reads on the calling thread, commits on the writer's. Encoding is done by the
// caller. A commit that is refused is answered with the transaction that it looked at, since only
// then others can read what it was refused for.
#include "server/documents/lmdb_documents.hpp"

#include "persistence/crypt/data_keys.hpp"
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/runtime_marks.hpp"
#include "server/documents/accepted_documents.hpp"
#include "server/documents/document_index.hpp"
#include "server/documents/document_watches.hpp"
#include "server/documents/lmdb_document_snapshot.hpp"
#include "server/documents/lmdb_document_writer.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>

namespace troupe::server {

namespace {

/// A commit on its way through the writer.
struct pending_documents {
  std::vector<encoded_change> changes;
  std::optional<troupe::error> refused;
  std::function<void(result<void>)> accepted = {}; // of commit_soon()
};

class lmdb_document_store final : public document_store {
public:
  static result<std::unique_ptr<lmdb_document_store>> open(const std::string& dir,
                                                           std::shared_ptr<const key_provider> keys,
                                                           const lmdb_documents_options& options) {
    auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto map_size = std::max(options.map_size_bytes_max, limits::store_map_bytes_min) / page * page;
    auto env = open_documents_file(dir, map_size);
    if (!env)
      return env.error();
    std::unique_ptr<lmdb_document_store> opened{
      new lmdb_document_store{std::move(*env), documents_sealing(remembering(std::move(keys)),
                                                                 options.compress_bytes_min)}};
    if (auto ready = opened->writer_.prepare(); !ready)
      return ready.error();
    opened->commits_.emplace(opened->writer_, limits::server_commit_window);
    return opened;
  }

  const key_provider* keys() const noexcept { return sealing_.keys.get(); }

  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    if (id.empty() || id.size() > limits::document_id_bytes_max)
      return std::optional<document>{};
    if (accepted_.find(kind, id))
      make_durable();
    auto at = lmdb_document_snapshot::begin(*env_, keys());
    return at ? at->get(kind, id) : at.error();
  }

  result<std::optional<document>> newest(document_kind kind, const std::string& id) override {
    auto accepted = accepted_.find(kind, id);
    return accepted ? *accepted : get(kind, id);
  }

  result<document_page> search(const document_query& query) override {
    auto asked = query;
    std::erase_if(asked.ids, [](const auto& id) {
      return id.empty() || id.size() > limits::document_id_bytes_max;
    });
    if (query.id_prefix.size() > limits::document_id_bytes_max
        || asked.ids.empty() != query.ids.empty())
      return document_page{};
    if (accepted_.has_any())
      make_durable();
    auto at = lmdb_document_snapshot::begin(*env_, keys());
    return at ? at->search(asked) : at.error();
  }

  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    auto names = names_of(changes);
    auto pending = encoded_changes(std::move(changes));
    if (!pending)
      return then(pending.error());
    commit_job job;
    job.upkeep = [this, pending = *pending] {
      return writer_.make(pending->changes, pending->refused);
    };
    job.done = [this, pending = *pending, names = std::move(names),
                then = std::move(then)](result<void> committed) {
      if (committed && pending->refused)
        committed = *pending->refused;
      if (committed)
        watches_.tell(names);
      then(std::move(committed));
    };
    commits_->submit(std::move(job));
  }

  // A refusal is told with the transaction, too.
  void commit_soon(std::vector<document_change> changes, commit_pace pace,
                   std::function<void(result<void>)> accepted,
                   std::function<void(result<void>)> durable) override {
    auto pending = encoded_changes(changes);
    if (!pending)
      return accepted(pending.error());
    (*pending)->accepted = std::move(accepted);
    commit_job job;
    job.hurries = pace == commit_pace::hurries;
    auto names = names_of(changes);
    job.upkeep = [this, pending = *pending, changes = std::move(changes)] {
      auto made = writer_.make(pending->changes, pending->refused);
      if (!made.answer || pending->refused)
        return made;
      for (const auto& change : changes)
        accepted_.put(change);
      if (auto tell = std::exchange(pending->accepted, nullptr)) // once, but it may be made again
        tell({});
      return made;
    };
    job.done = [this, pending = *pending, names = std::move(names),
                durable = std::move(durable)](result<void> committed) {
      if (committed && pending->refused)
        committed = *pending->refused;
      if (committed)
        watches_.tell(names);
      (pending->accepted ? pending->accepted : durable)(std::move(committed));
    };
    commits_->submit(std::move(job));
  }

  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    return watches_.add(kind, std::move(told));
  }

  bool is_shared() const noexcept override { return false; }

  result<std::optional<bool>> rewrap_key() {
    std::optional<bool> rewrapped;
    commit_job job;
    job.upkeep = [this, &rewrapped]() -> write_outcome {
      auto how = writer_.rewrap_key();
      rewrapped = how ? *how : std::nullopt;
      return {.answer = how ? result<void>{} : how.error(), .transaction_stands = how.has_value()};
    };
    auto done = commits_->submit_and_wait(std::move(job));
    return done ? result<std::optional<bool>>{rewrapped} : done.error();
  }

private:
  static result<std::shared_ptr<pending_documents>>
  encoded_changes(std::vector<document_change> changes) {
    if (auto ok = check_changes(changes); !ok)
      return ok.error();
    auto pending = std::make_shared<pending_documents>();
    for (auto& change : changes) {
      auto encoded = encode(std::move(change));
      if (!encoded)
        return encoded.error();
      pending->changes.push_back(std::move(*encoded));
    }
    return pending;
  }

  // Changes without bodies, for the watchers.
  static std::vector<document_change> names_of(const std::vector<document_change>& changes) {
    std::vector<document_change> names;
    for (const auto& change : changes)
      names.push_back({change.kind, change.id, std::nullopt, {}, change.is_condition});
    return names;
  }

  // A loss is told to those that made the changes.
  void make_durable() { static_cast<void>(commits_->submit_and_wait({})); }

  lmdb_document_store(std::shared_ptr<lmdb_env> env, file_sealing sealing)
    : env_{std::move(env)},
      sealing_{std::move(sealing)} {}

  std::shared_ptr<lmdb_env> env_; // of copies of the data directory, too
  file_sealing sealing_;
  document_watches watches_;
  accepted_documents accepted_;
  lmdb_document_writer writer_{*env_, sealing_, accepted_};
  std::optional<group_commit> commits_; // the last member: its thread uses the others
};

result<std::shared_ptr<lmdb_document_store>>
documents_at(const std::string& dir, const std::shared_ptr<const key_provider>& keys,
             const lmdb_documents_options& options) {
  auto found = open_objects<lmdb_document_store>::of_this_process().find_or_open(dir, [&] {
    return lmdb_document_store::open(dir, keys, options);
  });
  if (found && !serves_keys((*found)->keys(), keys.get()))
    return open_with_other_keys("server's documents", dir);
  return found;
}

} // namespace

result<std::shared_ptr<document_store>>
open_lmdb_documents(const std::filesystem::path& directory,
                    std::shared_ptr<const key_provider> keys, lmdb_documents_options options) {
  auto path = make_data_directory(directory);
  if (!path)
    return path.error();
  auto opened = documents_at(*path, keys, options);
  return opened ? result<std::shared_ptr<document_store>>{std::move(*opened)} : opened.error();
}

result<std::shared_ptr<void>> mark_as_served(const std::filesystem::path& directory) {
  auto mark = runtime_marks{directory / server_mark_file_name}.announce(0);
  if (!mark && mark.error().code() == errc::conflict)
    return error{errc::storage_locked,
                 "serve " + directory.string()
                   + ": another server has this data directory; several servers share a database"};
  return mark;
}

result<std::optional<bool>> rotate_documents_key(const std::filesystem::path& directory,
                                                 std::shared_ptr<const key_provider> keys) {
  auto path = find_data_directory(directory);
  if (!path)
    return path.error();
  if (!std::filesystem::exists(std::filesystem::path{*path} / documents_file_name))
    return std::optional<bool>{};
  auto opened = documents_at(*path, keys, {});
  return opened ? (*opened)->rewrap_key() : opened.error();
}

} // namespace troupe::server
