// postgres_sealing: rows whose values are sealed under a data key. FORMAT.md, "Sealed rows",
// explains the columns.
//
// Invariants:
//  - A sealed column is a record (record.hpp). A plain value never looks like one, so both stand
//    beside each other.
//  - The place of a row is authenticated with it: a row that was moved does not open.
#pragma once

#include "persistence/crypt/data_keys.hpp"
#include "persistence/crypt/sealed_record.hpp"
#include "persistence/postgres/postgres_values.hpp"

#include <troupe/postgres.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The keys and the compression of a saver or store in Postgres.
struct postgres_sealing {
  explicit postgres_sealing(const postgres_options& options)
    : keys{remembering(options.keyring)},
      compress_bytes_min{options.compress_bytes_min} {}

  std::shared_ptr<const key_provider> keys; // null: new threads stay plain
  std::size_t compress_bytes_min;
};

// ---- places -------------------------------------------------------------------------------------

std::string thread_key_place(std::int64_t thread);
std::string store_key_place();
std::string metadata_place(std::int64_t chain, std::string_view checkpoint_id);
std::string value_place(std::int64_t chain, std::string_view channel, std::int64_t number,
                        std::int64_t tag);
std::string write_place(std::int64_t chain, std::string_view checkpoint_id,
                        std::string_view task_id, std::int64_t slot, std::string_view channel);
std::string item_place(std::string_view path, std::string_view key);
std::string vector_place(std::int64_t number, std::int64_t place);

/// The plain columns of a checkpoint.
struct checkpoint_columns {
  std::int64_t chain = 0;
  std::string_view checkpoint_id;
  std::string_view parent_id;
  std::int64_t v = 0;
  std::string_view ts;
};
/// The place of the column `seen`: it binds the other columns of its checkpoint.
class checkpoint_place {
public:
  explicit checkpoint_place(const checkpoint_columns& row);
  void add(std::string_view channel, std::int64_t number, std::int64_t tag);
  const std::string& text() const noexcept { return text_; }

private:
  std::string text_;
};

// ---- payloads -----------------------------------------------------------------------------------

/// The sealed part of a checkpoint's column `seen`.
struct seen_and_updated {
  std::string_view seen;
  std::optional<std::vector<std::string>> updated;
};
std::string encode(const seen_and_updated& of);
/// Errors: checkpoint_corrupt.
result<seen_and_updated> decode_seen_and_updated(std::string_view payload);

/// The sealed part of a write.
struct path_and_value {
  std::string_view task_path;
  std::string_view value;
};
std::string encode(const path_and_value& of);
/// Errors: checkpoint_corrupt.
result<path_and_value> decode_path_and_value(std::string_view payload);

// ---- keys ---------------------------------------------------------------------------------------

inline constexpr std::string_view sealed_thread_name = "an encrypted thread"; // in messages
inline constexpr std::string_view sealed_store_name = "the encrypted store";

/// The data key in a row's columns `id_column` and the one after it; nullopt for a plain thread.
/// Errors: checkpoint_corrupt.
result<std::optional<wrapped_key>> read_data_key(const postgres_rows& rows, std::size_t row,
                                                 int id_column);

// ---- sealing and opening ------------------------------------------------------------------------

/// Whether a column is sealed. The column is `value`, `metadata` or `vector`.
bool is_sealed(std::string_view column) noexcept;

/// Thread: one at a time.
class row_sealer {
public:
  explicit row_sealer(std::size_t compress_bytes_min) : sealer_{compress_bytes_min} {}
  /// Errors: storage_failed.
  result<std::string> seal(std::string_view payload, std::string_view place, record_kind kind,
                           aes_gcm& cipher);

private:
  record_sealer sealer_;
};

/// Opens rows of many threads. Each data key is unwrapped at the first row that needs it.
/// Thread: one at a time.
class row_opener {
public:
  /// `keys` may be null, and must outlive the opener.
  explicit row_opener(const key_provider* keys) : keys_{keys} {}

  /// The data key of the thread to which a chain belongs.
  void add_key(std::int64_t chain, std::int64_t thread, wrapped_key wrapped);

  /// A column's payload; a plain column is its own payload.
  /// Owns:   nothing; valid while `column` is, and until the end of the scope.
  /// Errors: key_missing, checkpoint_corrupt, format_too_new; those of the key provider.
  result<std::string_view> open(std::string_view column, std::int64_t chain, std::string_view place,
                                record_kind kind);
  /// The same for a column that is known to be sealed.
  result<std::string_view> open_sealed(std::string_view column, std::int64_t chain,
                                       std::string_view place, record_kind kind);

  record_opener::scope scope() noexcept { return record_opener::scope{opener_}; }

private:
  struct thread_key {
    wrapped_key wrapped;
    std::optional<aes_gcm> cipher;
  };
  result<aes_gcm*> cipher_of(std::int64_t chain);

  const key_provider* keys_;
  std::map<std::int64_t, std::int64_t> threads_; // by chain
  std::map<std::int64_t, thread_key> data_keys_; // by thread
  record_opener opener_;
};

/// The data key of one thread, whose row is locked: opens its rows and seals new ones.
/// Thread: one at a time.
class thread_data_key {
public:
  /// `stored`: the key of its row. `sealing` must outlive this.
  thread_data_key(const postgres_sealing& sealing, std::int64_t thread,
                  std::optional<wrapped_key> stored)
    : sealing_{&sealing},
      thread_{thread},
      stored_{std::move(stored)},
      sealer_{sealing.compress_bytes_min} {}

  /// Null for a plain thread. Errors: key_missing; those of the key provider.
  result<aes_gcm*> cipher();
  bool is_stored() const noexcept { return stored_.has_value(); }
  row_sealer& sealer() noexcept { return sealer_; }

  /// An opener without chains, and one more chain of this thread.
  row_opener opener() const { return row_opener{sealing_->keys.get()}; }
  void add_to(row_opener& opener, std::int64_t chain) const;

private:
  const postgres_sealing* sealing_;
  std::int64_t thread_;
  std::optional<wrapped_key> stored_;
  std::optional<aes_gcm> cipher_;
  row_sealer sealer_;
};

} // namespace troupe
