// lmdb_document_snapshot: finds documents in one read transaction.
#pragma once

#include "persistence/lmdb/data_key.hpp"
#include "server/documents/document_format.hpp"
#include "server/documents/document_index.hpp"
#include "server/documents/document_order.hpp"

#include <functional>
#include <optional>
#include <string>

namespace troupe::server {

/// Thread: one at a time.
/// Errors: of all members storage codes; checkpoint_corrupt, which names the document.
class lmdb_document_snapshot {
public:
  /// `keys` may be null.
  static result<lmdb_document_snapshot> begin(lmdb_env& env, const key_provider* keys);

  result<std::optional<document>> get(document_kind kind, const std::string& id);
  result<document_page> search(const document_query& query);

  /// The documents and keys that the members have read so far.
  std::size_t documents_read() const noexcept { return documents_read_; }
  std::size_t keys_read() const noexcept { return keys_read_; }

private:
  /// Takes the id of a candidate. False: no more are needed.
  using take_id = std::function<result<bool>(const std::string& id)>;

  lmdb_document_snapshot(lmdb_txn txn, const documents_meta& meta, const key_provider* keys);
  result<document_page> search_in_order(const document_query& query, const document_plan& plan);
  result<document_page> search_and_sort(const document_query& query, const document_plan& plan);
  // The following return whether `take` wants more.
  result<bool> each_candidate(const document_query& query, const document_plan& plan,
                              const take_id& take);
  result<bool> each_key(const store_key& prefix, const document_index* index, const take_id& take);
  result<bool> each_key_backwards(const store_key& prefix, const document_index* index,
                                  const take_id& take);

  lmdb_txn txn_;
  documents_meta meta_;
  record_opener opener_;
  data_cipher cipher_;
  std::size_t documents_read_ = 0;
  std::size_t keys_read_ = 0;
};

} // namespace troupe::server
