// lmdb_document_writer: writes commits into the file, as the sink of the group commit.
#pragma once

#include "persistence/group_commit.hpp"
#include "server/documents/accepted_documents.hpp"
#include "server/documents/lmdb_document_change.hpp"

#include <optional>
#include <vector>

namespace troupe::server {

/// Thread: the writer thread; prepare() comes before that thread starts.
class lmdb_document_writer final : public commit_sink {
public:
  lmdb_document_writer(lmdb_env& env, file_sealing& sealing, accepted_documents& accepted)
    : env_{env},
      sealing_{sealing},
      accepted_{accepted} {}

  /// Makes a new file one of documents, and brings an older one to the present indexes.
  /// Errors: checkpoint_corrupt, format_too_new, storage codes.
  result<void> prepare();

  result<void> begin() override;
  write_outcome write(const commit_job& job) override { return job.upkeep(); }
  result<void> commit() override;
  void abort() override { change_.reset(); }

  // ---- within the open transaction

  /// Makes the changes. `refused` is set, and nothing is changed, when a document has another
  /// revision or can't be read.
  write_outcome make(const std::vector<encoded_change>& changes,
                     std::optional<troupe::error>& refused);
  result<std::optional<bool>> rewrap_key() { return change_->rewrap_key(); }

private:
  result<void> extend_map(bool extended);
  result<void> touch();

  lmdb_env& env_;
  file_sealing& sealing_;
  accepted_documents& accepted_; // since the last commit
  std::optional<lmdb_document_change> change_;
  bool reopen_first_ = false;  // a commit failed
  bool has_removed_ = false;   // the open transaction has a commit that only removes
  bool wants_reserve_ = false; // a removal found no room and may use the reserve
  bool is_extended_ = false;   // the map reaches into the reserve
};

} // namespace troupe::server
