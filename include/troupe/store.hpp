// Long-term memory shared by threads: values by namespace and key, with search by filter.
#pragma once

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A path of parts, from the outside in.
/// Shape:  of a stored value: at least one part, none empty, none with a dot; the first is not
///         "langgraph". Where something is looked for it may be anything.
using store_namespace = std::vector<std::string>;

/// A stored value.
/// Shape:  times as `2026-11-21T20:21:07.123456+00:00`; `created_at` is that of the first put.
struct store_item {
  store_namespace space;
  std::string key;
  troupe::value value; // a map
  std::string created_at;
  std::string updated_at;
  friend bool operator==(const store_item&, const store_item&) = default;
};

/// What search() looks for: items under a namespace whose members fit.
/// Shape:  `filter` null, or a map from member names to conditions, which must all hold. A map of
///         operators ($eq $ne $gt $gte $lt $lte): all of them hold. Another map: the member is a
///         map whose members fit it. A list: a list as long whose elements fit it. Anything else:
///         equal, numbers across kinds. A missing member is null. The four orders compare
///         numbers, booleans (as 0 and 1) and texts of a number; other members do not fit.
struct store_query {
  store_namespace prefix = {}; // part by part; empty: all
  value filter = {};
  std::size_t limit = 10; // counts behind the filter and the offset
  std::size_t offset = 0;
};

/// Which namespaces list_namespaces() gives.
/// Shape:  in `prefix` and `suffix` a part "*" fits any. They are held against the whole namespace,
///         which is then cut to its first `max_depth` parts.
struct namespace_query {
  store_namespace prefix = {};
  store_namespace suffix = {};
  std::optional<std::size_t> max_depth = std::nullopt;
  std::size_t limit = 100;
  std::size_t offset = 0;
};

/// Keeps values beyond the end of threads. All members may be called from any thread at once and
/// may block. What a call stored is seen by every call that begins after it returned.
/// Errors: of all members storage codes, and those named there.
/// Source: langgraph/store/base, BaseStore.
class store {
public:
  virtual ~store() = default;

  /// The item under a key, or nothing, as in a namespace that cannot be.
  virtual result<std::optional<store_item>> get(const store_namespace& space,
                                                const std::string& key) = 0;
  /// Stores a value; the value of a key that is there is replaced.
  /// Shape:  `key` any bytes; `v` a map.
  /// Errors: invalid_value: of class InvalidNamespaceError for a bad namespace, else for a value
  ///         that is no map (null removes nothing). Nothing is changed.
  virtual result<void> put(const store_namespace& space, const std::string& key,
                           const value& v) = 0;
  /// Removes a key. No error when there is nothing.
  virtual result<void> remove(const store_namespace& space, const std::string& key) = 0;
  /// The items that fit.
  /// Order:  by namespace, then key, in the order of their bytes.
  /// Errors: invalid_value: a filter that is no map or too deep (limits::value_depth_max), an
  ///         unknown operator, an order against what is no number.
  virtual result<std::vector<store_item>> search(const store_query& query) = 0;
  /// The namespaces that hold a value and fit.
  /// Order:  sorted, part by part; each once.
  virtual result<std::vector<store_namespace>> list_namespaces(const namespace_query& query) = 0;
};

/// What a store takes its times from. Called on the threads that put.
using store_clock = std::function<std::chrono::system_clock::time_point()>;

/// A store in memory. It has no bound and takes values of any size and depth.
/// Source: langgraph/store/memory, InMemoryStore (without its vectors).
std::shared_ptr<store> make_memory_store(store_clock now = std::chrono::system_clock::now);

} // namespace troupe
