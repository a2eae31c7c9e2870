// The store: long-term memory that threads share. Holds values by namespace and key, and searches
// them by filter and meaning.
#pragma once

#include <troupe/error.hpp>
#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// Computes a vector for each text.
/// Shape:  as many vectors as texts, all of one length, of finite numbers.
/// Order:  that of the texts.
/// Blocks: it may block for any time. May be called on any thread, on several at once.
/// Errors: any; the calling operation returns them unchanged. An exception becomes node_failed.
/// Source: langgraph/store/base/embed.py, EmbeddingsFunc.
using embed_function =
  std::function<result<std::vector<std::vector<float>>>(const std::vector<std::string>& texts)>;

/// A path of parts, from the outermost inwards.
/// Shape:  of a stored value: at least one part. No part is empty or has a dot, and the first is
///         not "langgraph". Bounded by limits::store_namespace_parts_max and _bytes_max. A
///         namespace that is only looked up may be anything.
/// Errors: see store.
/// Source: langgraph/store/base, Item.namespace.
using store_namespace = std::vector<std::string>;

/// The time for which an item lives after it was put, or read with a refresh.
/// Errors: none.
/// Source: langgraph/store/base, PutOp.ttl.
using store_ttl = std::chrono::milliseconds;
/// The time to live of items that never expire.
/// Errors: none.
/// Source: troupe.
inline constexpr store_ttl store_forever = store_ttl::max();

/// A stored value.
/// Shape:  times as `2026-11-21T20:21:07.123456+00:00`; `created_at` is that of the first put.
/// Errors: none.
/// Source: langgraph/store/base, Item and SearchItem.
struct store_item {
  store_namespace space;
  std::string key;
  troupe::value value; // a map
  std::string created_at;
  std::string updated_at;
  std::optional<double> score = std::nullopt; ///< of a search by meaning; higher is closer
  friend bool operator==(const store_item&, const store_item&) = default;
};

// ---- operations ---------------------------------------------------------------------------------

/// Reads the item under a key.
/// Shape:  `refresh_ttl`: whether its time to live begins again; without a value as
///         store_ttl_config::refresh_on_read.
/// Errors: see store.
/// Source: langgraph/store/base, GetOp.
struct store_get {
  store_namespace space;
  std::string key;
  std::optional<bool> refresh_ttl = std::nullopt;
};

/// Stores a value with its vectors and its time to live, replacing an existing item; removes the
/// item when `value` is null.
/// Shape:  `index`: the paths of the texts to embed (store_index). Without a value the store's
///         paths are used; an empty list embeds no texts. `index` has no effect in a store without
///         an index. `ttl` is above 0; without a value it is that of the store.
/// Units:  `ttl` in milliseconds.
/// Errors: see store::put.
/// Source: langgraph/store/base, PutOp.
struct store_put {
  store_namespace space;
  std::string key;     // any bytes
  troupe::value value; // a map, or null
  std::optional<std::vector<std::string>> index = std::nullopt;
  std::optional<store_ttl> ttl = std::nullopt;
};

/// Selects the items of search(): items under a namespace whose members fit.
/// Shape:  `filter` is null, or a map from member names to conditions, which must all hold:
///         - a map of operators ($eq $ne $gt $gte $lt $lte): all of them hold
///         - another map: the member is a map whose members fit it
///         - a list: the member is a list of equal length whose elements fit it
///         - any other value: equal, numbers across kinds
///         A missing member is null. $gt, $gte, $lt and $lte compare numbers, booleans (as 0 and 1)
///         and strings that hold a number. Other members do not fit. `query` is a text to compare
///         by meaning. It has no effect when it is empty, or in a store without an index.
///         `refresh_ttl` is as in store_get, for the returned items.
/// Units:  `limit` above limits::store_results_max counts as that.
/// Errors: see store::search.
/// Source: langgraph/store/base, SearchOp.
struct store_query {
  store_namespace prefix = {}; // part by part; empty: all
  value filter = {};
  std::size_t limit = 10; // counts after the filter and the offset
  std::size_t offset = 0;
  std::string query = {};
  std::optional<bool> refresh_ttl = std::nullopt;
};

/// Selects the namespaces of list_namespaces().
/// Shape:  a part "*" in `prefix` and `suffix` fits any part. Both are compared with the whole
///         namespace, which is then cut to its first `max_depth` parts.
/// Units:  `limit` counts namespaces, after `offset`.
/// Errors: see store.
/// Source: langgraph/store/base, ListNamespacesOp.
struct namespace_query {
  store_namespace prefix = {};
  store_namespace suffix = {};
  std::optional<std::size_t> max_depth = std::nullopt;
  std::size_t limit = 100;
  std::size_t offset = 0;
};

/// An operation of store::batch().
/// Errors: see the operations.
/// Source: langgraph/store/base, Op.
using store_op = std::variant<store_get, store_put, store_query, namespace_query>;

/// The result of an operation, in the order of store_op: an item or nothing, nothing, items,
/// namespaces.
/// Errors: none.
/// Source: langgraph/store/base, Result.
using store_answer = std::variant<std::optional<store_item>, std::monostate,
                                  std::vector<store_item>, std::vector<store_namespace>>;

// ---- the store ----------------------------------------------------------------------------------

/// Keeps values beyond the end of threads. All members may be called from any thread at once. They
/// may block, on the disk and on the embed_function. Every call that begins after another one
/// returned sees what that one stored. An expired item counts as removed: no call returns it, nor a
/// namespace that holds only expired items.
/// Errors: of all members storage codes, those of the embed_function, and those listed at the
///         member. Malformed vectors give node_failed of the type EmbeddingsError. After an error
///         nothing has changed.
/// Source: langgraph/store/base, BaseStore.
class store {
public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  /// Does several operations at once. Reads see the store as it was before the puts. The last one
  /// of several puts to one key counts. The puts are done all or not at all.
  /// Order:  one answer for each operation, in their order.
  /// Errors: those of the members below; invalid_value for more than limits::store_batch_ops_max.
  /// Source: langgraph/store/memory, InMemoryStore.batch.
  virtual result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) = 0;

  /// Removes expired items, the longest expired first, and returns their number. Puts do the same
  /// every store_ttl_config::sweep_interval, and so does a runtime that prunes
  /// (runtime_options::prune).
  /// Units:  `items_max` items at most; further ones are removed by the next call.
  /// Blocks: other puts while a piece of limits::store_sweep_items_max items is removed.
  /// Errors: storage codes.
  /// Source: langgraph/store/postgres/base.py, PostgresStore.sweep_ttl.
  virtual result<std::size_t> sweep(std::size_t items_max = SIZE_MAX) = 0;

  // The other members are each a batch of one operation.

  /// The item under a key; nothing when it is missing or the namespace is invalid.
  /// Errors: see store.
  /// Source: langgraph/store/base, BaseStore.get.
  result<std::optional<store_item>> get(const store_namespace& space, const std::string& key,
                                        std::optional<bool> refresh_ttl = std::nullopt);
  /// Stores a value, replacing an existing one of the key. The result must be checked, or a failed
  /// put goes unnoticed. `put(…).value()` throws the error.
  /// Errors: invalid_value: of class InvalidNamespaceError for a bad namespace; else for
  ///         - a value that is not a map (null removes nothing), is too deep or too large
  ///         - a key that is too long
  ///         - a `ttl` of 0 or less, or a malformed path
  /// Source: langgraph/store/base, BaseStore.put.
  result<void> put(const store_namespace& space, const std::string& key, const value& v);
  result<void> put(store_put what);
  /// Removes a key. No error when it is missing.
  /// Errors: see store.
  /// Source: langgraph/store/base, BaseStore.delete.
  result<void> remove(const store_namespace& space, const std::string& key);
  /// The items that fit.
  /// Order:  with a `query`: the closest first (an item counts by its closest vector), after them
  ///         the items without vectors. Ties, and all items without a `query`, are sorted by
  ///         namespace, then key, in the order of their bytes.
  /// Errors: invalid_value for
  ///         - a filter that is not a map or is too deep (limits::value_depth_max)
  ///         - an unknown operator
  ///         - a $gt, $gte, $lt or $lte with an operand that is not a number
  /// Source: langgraph/store/base, BaseStore.search.
  result<std::vector<store_item>> search(const store_query& query);
  /// The namespaces that hold a value and fit.
  /// Order:  sorted, part by part; each once.
  /// Errors: see store.
  /// Source: langgraph/store/base, BaseStore.list_namespaces.
  result<std::vector<store_namespace>> list_namespaces(const namespace_query& query);
};

// ---- options ------------------------------------------------------------------------------------

/// The closeness of two vectors. The score is the cosine of their angle (0 for a vector of zeros),
/// their inner product, or the negative of their distance.
/// Errors: none.
/// Source: langgraph/store/postgres/base.py, PostgresIndexConfig.distance_type.
enum class vector_distance { cosine, inner_product, l2 };

/// The settings of a search by meaning.
/// Shape:  `fields`: paths of the texts of an item that are embedded, each text by itself. A path
///         consists of names with dots between them. After a name, `[0]`, `[-1]` or `[*]` picks
///         elements of a list. A name `*` picks all members or elements, `{a,b.c}` several members,
///         "$" the whole value. A value that is not a string counts as its JSON text; null is
///         skipped.
/// Units:  `dims` numbers in a vector. Up to `exact_max` vectors, a search compares with all of
///         them. Above that, an index finds most of the closest vectors, but not always all.
/// Errors: see make_memory_store and open_lmdb_store.
/// Source: langgraph/store/base, IndexConfig; embed.py, get_text_at_path, tokenize_path.
struct store_index {
  std::size_t dims = 0;
  embed_function embed;
  std::vector<std::string> fields = {"$"};
  vector_distance distance = vector_distance::cosine;
  std::size_t exact_max = limits::store_exact_vectors_default;
};

/// The expiry of items.
/// Units:  milliseconds.
/// Errors: none here; see the functions that make stores.
/// Source: langgraph/store/base, TTLConfig.
struct store_ttl_config {
  bool refresh_on_read = true;           ///< where an operation sets nothing
  store_ttl default_ttl = store_forever; ///< of puts that set none
  store_ttl sweep_interval = limits::store_sweep_interval_default; ///< store_forever: only sweep()
};

/// The source of a store's times. Called on the threads that use the store.
/// Errors: none.
/// Source: troupe.
using store_clock = std::function<std::chrono::system_clock::time_point()>;

/// The options of a store.
/// Errors: see make_memory_store and open_lmdb_store.
/// Source: troupe.
struct store_options {
  std::optional<store_index> index = std::nullopt;
  store_ttl_config ttl = {};
  store_clock now = std::chrono::system_clock::now;
};

/// A store in memory.
/// Errors: throws error{invalid_config} for invalid options.
/// Source: langgraph/store/memory, InMemoryStore; with times to live.
std::shared_ptr<store> make_memory_store(store_options options = {});

/// The options of open_lmdb_store.
/// Units:  `map_size_bytes_max`: the largest size of the file; address space, not memory.
/// Errors: see open_lmdb_store.
/// Source: troupe.
struct lmdb_store_options {
  std::size_t map_size_bytes_max = limits::store_map_bytes_default;
  store_options store = {};
  /// With a key ring or another provider, items and vectors stored from now on are encrypted
  /// (AES-256-GCM), under one data key of the file. Namespaces and the keys of items stay plain,
  /// since they are looked up and sorted; so do sizes and expiry times. Older plain items stay
  /// readable, and plain until they are put anew. The record of a removed item is gone. Free pages
  /// of the file may hold its bytes, encrypted as they were, until other data overwrites them.
  std::shared_ptr<const key_provider> keyring = nullptr;
  /// Items of at least this many bytes are compressed (zstd); SIZE_MAX: never. Vectors never are.
  std::size_t compress_bytes_min = limits::compress_bytes_min;
};

/// A store in the file `store.mdb` of a data directory, beside the saver's file. The directory is
/// created when missing, but not its parents. Several processes may use it at once. One process may
/// open it several times, each time with its own `store` options; the first opening decides the
/// other options. A put that returned survives a power cut. Vectors are stored and need not be
/// embedded again; the first search by meaning reads them all. A vector of other `dims` counts as
/// missing.
/// Blocks: on the disk, each put until it is synced; concurrent puts of several threads share a
///         sync.
/// Errors: invalid_config for invalid options, or when this process has it open with other keys;
///         storage codes. All members give key_missing for items whose key is not in the ring, and
///         any put gives key_missing when the file has such items.
/// Source: troupe; persistence/FORMAT.md.
result<std::shared_ptr<store>> open_lmdb_store(const std::string& dir,
                                               lmdb_store_options options = {});

} // namespace troupe
