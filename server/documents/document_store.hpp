// document_store: the server's records, as values with a revision. One interface; memory, LMDB and
// Postgres stand behind it, and one suite of tests serves all three (tests/server/documents).
//
// Several servers may use one Postgres database. They agree by revisions: a commit that expects a
// revision is refused as a whole when another commit came first.
#pragma once

#include <troupe/error.hpp>
#include <troupe/server/limits.hpp>
#include <troupe/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {

/// The kinds of documents. Values are part of the stored format: append only.
enum class document_kind : std::uint8_t {
  assistant = 1,         ///< by assistant id
  assistant_version = 2, ///< by "ASSISTANT/VERSION", the version as 10 digits
  thread = 3,            ///< by thread id
  run = 4,               ///< by "THREAD/RUN"
  run_place = 5,         ///< by run id: the thread of a run, {thread_id}
  stream_event = 6,      ///< by "RUN/SEQ", the number as 20 digits: events of a run
  cron = 7,              ///< by cron id
  server = 8,            ///< by server id: a living server, with its lease
  follower = 9,          ///< by "THREAD/SERVER": a server with readers of a thread's runs
};

/// The kind's name as in this file, e.g. "assistant_version".
std::string_view to_string(document_kind kind) noexcept;

/// A document.
/// Shape:  `id`: 1 … limits::document_id_bytes_max bytes without a NUL. `body` is a map. Its
/// members
///         that have an index (document_index.hpp) are texts of at most
///         limits::document_term_bytes_max bytes without a NUL, or not texts. `revision` grows with
///         every change of the document, from 1.
struct document {
  std::string id;
  std::uint64_t revision = 0;
  value body;
};

/// A change of one document, or a condition of the changes after it.
/// Shape:  `body` nullopt removes it. `expected`: the revision that the document has now, 0 when it
///         must not exist; nullopt accepts any. `is_condition`: the document must exist, and stays
///         as it is; the last element of a commit is not a condition.
struct document_change {
  document_kind kind;
  std::string id;
  std::optional<value> body;
  std::optional<std::uint64_t> expected = std::nullopt;
  bool is_condition = false;
};

/// Selects documents of a kind.
/// Shape:  `id_prefix`: ids that begin so. `ids`: only these, unless empty. `equal`: members of the
///         body (top level) that are equal. `contains`: a map; its members are contained in the
///         body's, as jsonb's @> (maps by member, lists by element, else equal). `like`: a member
///         and a text that it contains, in any case. `order_by`: a member with texts, or empty for
///         the id; documents without it come last. Ties are in the order of ids. A missing member
///         is equal to null; numbers are equal by their amount (1 and 1.0). Cases are those of
///         ASCII letters.
struct document_query {
  document_kind kind;
  std::string id_prefix = {};
  std::vector<std::string> ids = {};
  std::vector<std::pair<std::string, value>> equal = {};
  value contains = {};
  std::optional<std::pair<std::string, std::string>> like = std::nullopt;
  std::string order_by = {};
  bool descending = false;
  std::size_t offset = 0;
  std::optional<std::size_t> limit = std::nullopt;
};

/// `total`: how many match, without offset and limit.
struct document_page {
  std::vector<document> documents;
  std::size_t total = 0;
};

/// Whether a document matches, but for kind, offset and limit. Pure; the in-memory and the LMDB
/// store select with it.
bool matches(const document& one, const document_query& query);
/// jsonb containment: whether `part` is contained in `whole`.
bool contains(const value& whole, const value& part);

/// Whether the commit of the disk begins at once, or others are gathered into it for about
/// limits::server_commit_window.
enum class commit_pace : std::uint8_t { hurries, gathers };

/// Errors: of every member: storage codes. A document that can't be read is checkpoint_corrupt; the
///         message names it. A change that expects any revision can replace or remove it.
/// Thread: any.
class document_store {
public:
  virtual ~document_store() = default;

  /// Blocks: a read of the disk.
  virtual result<std::optional<document>> get(document_kind kind, const std::string& id) = 0;
  virtual result<document_page> search(const document_query& query) = 0;

  /// Makes all changes or none, durable when `then` is called. Changes of many callers share a
  /// commit of the disk.
  /// Shape:  a document is in at most one of the changes.
  /// Order:  commits take effect in the order of the calls.
  /// Thread: `then` is called on a thread of the store, or on this one; it is short, does not
  ///         throw, and does not drop the last reference to the store.
  /// Errors: conflict when a document does not have the expected revision, or that of a condition
  ///         does not exist. invalid_value when a
  ///         change has another shape; the message names the document.
  virtual void commit(std::vector<document_change> changes,
                      std::function<void(result<void>)> then) = 0;
  /// Blocks: until the changes are durable.
  result<void> commit_and_wait(std::vector<document_change> changes);

  /// The same, with an answer before the disk has the changes.
  /// Shape:  all changes expect a revision.
  /// Order:  `accepted` is called when newest() shows the changes, or with the error when they are
  ///         refused. Later `durable` is called, unless they were refused, and before the `then` of
  ///         a later commit. Its error says that they are lost.
  virtual void commit_soon(std::vector<document_change> changes, commit_pace pace,
                           std::function<void(result<void>)> accepted,
                           std::function<void(result<void>)> durable);
  /// As get(), which shows durable changes alone. This one shows those of commit_soon() at once.
  virtual result<std::optional<document>> newest(document_kind kind, const std::string& id) {
    return get(kind, id);
  }

  /// Calls `told` after commits of any process that uses the store, with the kind and the ids of
  /// changed documents; at once for commits of this object, within the poll time for others'. The
  /// watch ends when the returned handle is dropped.
  /// Thread: of `told`: any, one call at a time; it is short, and does not commit.
  virtual std::shared_ptr<void>
  watch(document_kind kind, std::function<void(const std::vector<std::string>& ids)> told) = 0;

  /// Whether other processes may change documents (Postgres).
  virtual bool is_shared() const noexcept = 0;
};

/// For tests and `--in-memory`.
std::shared_ptr<document_store> memory_documents();

} // namespace troupe::server
