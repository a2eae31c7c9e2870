// Long-term memory shared by threads: values by namespace and key, found again by filter and
// meaning.
#pragma once

#include <troupe/error.hpp>
#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// Gives a vector for each text.
/// Shape:  as many vectors as texts, all of one length, of finite numbers.
/// Order:  that of the texts.
/// Blocks: as it likes. May be called on any thread, on several at once.
/// Errors: any; who called for the vectors gets them as they are. What it throws becomes
///         node_failed.
/// Source: langgraph/store/base/embed.py, EmbeddingsFunc.
using embed_function =
  std::function<result<std::vector<std::vector<float>>>(const std::vector<std::string>& texts)>;

/// A path of parts, from the outside in.
/// Shape:  of a stored value: at least one part, none empty, none with a dot; the first is not
///         "langgraph"; within limits::store_namespace_parts_max and _bytes_max. Where something is
///         looked for it may be anything.
using store_namespace = std::vector<std::string>;

/// How long an item lives after it was put, or read and refreshed.
using store_ttl = std::chrono::milliseconds;
/// No end.
inline constexpr store_ttl store_forever = store_ttl::max();

/// A stored value.
/// Shape:  times as `2026-11-21T20:21:07.123456+00:00`; `created_at` is that of the first put.
struct store_item {
  store_namespace space;
  std::string key;
  troupe::value value; // a map
  std::string created_at;
  std::string updated_at;
  std::optional<double> score = std::nullopt; ///< of a search by meaning: the higher, the closer
  friend bool operator==(const store_item&, const store_item&) = default;
};

// ---- operations ---------------------------------------------------------------------------------

/// Looks for the item under a key.
/// Shape:  `refresh_ttl`: whether its time to live begins anew; nothing: as the store is told to.
/// Source: langgraph/store/base, GetOp.
struct store_get {
  store_namespace space;
  std::string key;
  std::optional<bool> refresh_ttl = std::nullopt;
};

/// Stores a value in the place of what is there, with its vectors and its time to live; removes the
/// item where `value` is null.
/// Shape:  `index`: the paths of the texts to embed (store_index); nothing: those of the store, an
///         empty list: none. Without an index in the store it says nothing. `ttl` above 0;
///         nothing: that of the store.
/// Source: langgraph/store/base, PutOp.
struct store_put {
  store_namespace space;
  std::string key;     // any bytes
  troupe::value value; // a map, or null
  std::optional<std::vector<std::string>> index = std::nullopt;
  std::optional<store_ttl> ttl = std::nullopt;
};

/// What search() looks for: items under a namespace whose members fit.
/// Shape:  `filter` null, or a map from member names to conditions, which must all hold. A map of
///         operators ($eq $ne $gt $gte $lt $lte): all of them hold. Another map: the member is a
///         map whose members fit it. A list: a list as long whose elements fit it. Anything else:
///         equal, numbers across kinds. A missing member is null. The four orders compare
///         numbers, booleans (as 0 and 1) and texts of a number; other members do not fit.
///         `query` a text to compare by meaning; empty, or in a store without an index: none.
///         `refresh_ttl` as in store_get, of the items that are given.
/// Units:  `limit` above limits::store_results_max counts as that.
/// Source: langgraph/store/base, SearchOp.
struct store_query {
  store_namespace prefix = {}; // part by part; empty: all
  value filter = {};
  std::size_t limit = 10; // counts behind the filter and the offset
  std::size_t offset = 0;
  std::string query = {};
  std::optional<bool> refresh_ttl = std::nullopt;
};

/// Which namespaces list_namespaces() gives.
/// Shape:  in `prefix` and `suffix` a part "*" fits any. They are held against the whole namespace,
///         which is then cut to its first `max_depth` parts.
/// Source: langgraph/store/base, ListNamespacesOp.
struct namespace_query {
  store_namespace prefix = {};
  store_namespace suffix = {};
  std::optional<std::size_t> max_depth = std::nullopt;
  std::size_t limit = 100;
  std::size_t offset = 0;
};

using store_op = std::variant<store_get, store_put, store_query, namespace_query>;

/// What an operation gives, in the order of store_op: an item or nothing, nothing, items,
/// namespaces.
using store_answer = std::variant<std::optional<store_item>, std::monostate,
                                  std::vector<store_item>, std::vector<store_namespace>>;

// ---- the store ----------------------------------------------------------------------------------

/// Keeps values beyond the end of threads. All members may be called from any thread at once and
/// may block, on the disk and on what embeds texts. What a call stored is seen by every call that
/// begins after it returned. An item whose time to live is over is as good as removed: no call
/// gives it, nor a namespace that holds nothing else.
/// Errors: of all members storage codes, those of the embed_function (node_failed of the type
///         EmbeddingsError when its vectors are not as they must be), and those named there. After
///         an error nothing is changed.
/// Source: langgraph/store/base, BaseStore.
class store {
public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  /// Does several operations at once. Those that look see the store as it was before the puts; of
  /// several puts to one key only the last one counts. The puts are done all or not at all.
  /// Order:  one answer for each operation, in their order.
  /// Errors: those of the members below; invalid_value for more than limits::store_batch_ops_max.
  /// Source: langgraph/store/memory, InMemoryStore.batch.
  virtual result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) = 0;

  /// Removes items that lived out their time, those first that did so first, and says how many.
  /// Calls that put do it themselves, every store_ttl_config::sweep_interval, and so does a runtime
  /// that prunes (runtime_options::prune).
  /// Units:  `items_max` items at most; others go with the next call.
  /// Blocks: others' puts while a piece goes, limits::store_sweep_items_max items.
  /// Source: langgraph/store/postgres, PostgresStore.sweep_ttl.
  virtual result<std::size_t> sweep(std::size_t items_max = SIZE_MAX) = 0;

  // Each of the others is a batch of one.

  /// The item under a key, or nothing, as in a namespace that cannot be.
  result<std::optional<store_item>> get(const store_namespace& space, const std::string& key,
                                        std::optional<bool> refresh_ttl = std::nullopt);
  /// Stores a value; the value of a key that is there is replaced. The result must be looked at: a
  /// memory that was not stored is lost. `put(…).value()` throws the error.
  /// Errors: invalid_value: of class InvalidNamespaceError for a bad namespace, else for a value
  ///         that is no map (null removes nothing), too deep or too large, a key that is too long,
  ///         a `ttl` of 0 or less, a path that is none.
  result<void> put(const store_namespace& space, const std::string& key, const value& v);
  result<void> put(store_put what);
  /// Removes a key. No error when there is nothing.
  result<void> remove(const store_namespace& space, const std::string& key);
  /// The items that fit.
  /// Order:  with a `query`: the closest first (of an item's vectors the closest counts), behind
  ///         them the items without vectors; of equal ones, and without a `query`: by namespace,
  ///         then key, in the order of their bytes.
  /// Errors: invalid_value: a filter that is no map or too deep (limits::value_depth_max), an
  ///         unknown operator, an order against what is no number.
  result<std::vector<store_item>> search(const store_query& query);
  /// The namespaces that hold a value and fit.
  /// Order:  sorted, part by part; each once.
  result<std::vector<store_namespace>> list_namespaces(const namespace_query& query);
};

// ---- options ------------------------------------------------------------------------------------

/// How close two vectors are. The score is the cosine of their angle (0 for a vector of zeros),
/// their inner product, or their distance's negative.
enum class vector_distance { cosine, inner_product, l2 };

/// What makes a store search by meaning.
/// Shape:  `fields`: paths of the texts of an item that are embedded, each text for itself. A path
///         is names with dots between them; behind a name `[0]`, `[-1]` or `[*]` picks elements of
///         a list, a name `*` all members or elements, `{a,b.c}` several members. "$" is the whole
///         value. What is no text counts as its JSON text, null as nothing.
/// Units:  `dims` numbers of a vector; `exact_max` vectors up to which a search compares with all
///         of them. Above, an index finds most of the closest, but not always all.
/// Source: langgraph/store/base, IndexConfig; embed.py, get_text_at_path, tokenize_path.
struct store_index {
  std::size_t dims = 0;
  embed_function embed;
  std::vector<std::string> fields = {"$"};
  vector_distance distance = vector_distance::cosine;
  std::size_t exact_max = limits::store_exact_vectors_default;
};

/// How items end.
/// Source: langgraph/store/base, TTLConfig.
struct store_ttl_config {
  bool refresh_on_read = true;           ///< where an operation does not say
  store_ttl default_ttl = store_forever; ///< of puts that name none
  store_ttl sweep_interval = limits::store_sweep_interval_default; ///< store_forever: only sweep()
};

/// What a store takes its times from. Called on the threads that use it.
using store_clock = std::function<std::chrono::system_clock::time_point()>;

struct store_options {
  std::optional<store_index> index = std::nullopt;
  store_ttl_config ttl = {};
  store_clock now = std::chrono::system_clock::now;
};

/// A store in memory.
/// Errors: throws error{invalid_config} for options that make no sense.
/// Source: langgraph/store/memory, InMemoryStore; with times to live.
std::shared_ptr<store> make_memory_store(store_options options = {});

struct lmdb_store_options {
  std::size_t map_size_bytes_max = limits::store_map_bytes_default;
  store_options store = {};
  /// With a ring, items and vectors that are stored from now on are encrypted (AES-256-GCM), under
  /// one data key of the file. Namespaces and the keys of items are not, since they are looked up
  /// and put in order, nor are sizes, and when items end. What was stored in plain before stays
  /// readable, and plain until it is put anew. A removed item's record is gone; the file's free
  /// pages may hold its bytes, encrypted as they were, until others take their place.
  std::shared_ptr<const troupe::keyring> keyring = nullptr;
  /// Items of at least so many bytes are compressed (zstd); SIZE_MAX: none is. Vectors never are.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// A store in a file of a data directory: `store.mdb`, beside the saver's. The directory is made
/// when it is missing, but not its parents. Several processes may use it at once, and one process
/// may open it several times, with `store` options of each one's own; for the others the first one
/// counts. What a put that returned stored survives a power cut. Vectors are kept: they need not be
/// embedded again; the first search by meaning reads them all. A vector of other `dims` is as good
/// as none.
/// Blocks: on the disk, each put until it is synced; what several threads put meanwhile is synced
///         together.
/// Errors: invalid_config for options that make no sense, or when this process has it open without
///         these keys; storage codes. Of all members also key_missing, for items of a key that is
///         not in the ring, and for any put beside them.
/// Source: troupe; persistence/FORMAT.md.
result<std::shared_ptr<store>> open_lmdb_store(const std::filesystem::path& dir,
                                               lmdb_store_options options = {});

} // namespace troupe
