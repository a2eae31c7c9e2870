// postgres_document_sealing: the bodies of documents in Postgres, plain or sealed under one data
// key.
#pragma once

#include "persistence/crypt/data_keys.hpp"
#include "persistence/postgres/postgres_sealing.hpp"
#include "server/documents/document_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe::server {

inline constexpr std::string_view sealed_documents_name = "the encrypted documents";
/// The context of the data key.
inline constexpr std::string_view documents_key_place = "documents";

/// The cipher of the documents' data key; unwrapped when a body needs it.
/// Thread: one at a time.
class document_cipher {
public:
  /// `sealing` must outlive this.
  explicit document_cipher(const postgres_sealing& sealing)
    : sealing_{sealing},
      sealer_{sealing.compress_bytes_min} {}

  /// The stored data key; another one than before is unwrapped anew.
  void set(std::optional<wrapped_key> stored);
  /// The data key to store now: there is a key provider, and no data key yet.
  /// Errors: those of the provider.
  result<std::optional<wrapped_key>> make_if_missing();

  /// The column of a body. Errors: key_missing; those of the provider.
  result<std::string> seal(document_kind kind, std::string_view id, std::string_view body);
  /// Errors: checkpoint_corrupt, which names the document; key_missing; those of the provider.
  result<document> open(document_kind kind, std::string_view id, std::uint64_t revision,
                        std::string_view column);

private:
  result<aes_gcm*> find();

  const postgres_sealing& sealing_;
  std::optional<wrapped_key> stored_;
  std::optional<aes_gcm> cipher_;
  row_sealer sealer_;
  record_opener opener_;
};

} // namespace troupe::server
