// store_namespace: which namespaces a store accepts, and which of them a query lists.
#pragma once

#include <troupe/store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Whether values can be stored in the namespace.
/// Errors: invalid_value of class InvalidNamespaceError.
/// Source: langgraph/store/base, _validate_namespace.
result<void> check_store_namespace(const store_namespace& space);

/// A namespace as bytes, which sort as namespaces do. A part ends with 00 01; a byte 00 within it
/// becomes 00 ff. The namespaces under a prefix begin with the prefix's bytes.
std::string namespace_bytes(const store_namespace& space);
/// The namespace of these bytes; nullopt for bytes that are not those of a namespace with a part.
std::optional<store_namespace> namespace_of_bytes(std::string_view bytes);
/// An upper bound of the namespaces under a prefix: greater than all of them, and not greater than
/// any later one.
/// Shape:  `prefix` as namespace_bytes gives it.
std::string namespace_bytes_end(std::string prefix);

/// Whether a namespace begins and ends as the query asks; "*" in the query fits any part.
/// Source: langgraph/store/memory, _does_match.
bool fits(const store_namespace& space, const namespace_query& query);

/// Picks the namespaces that a query lists, out of namespaces given in order. Keeps the query by
/// reference.
/// Source: langgraph/store/memory, InMemoryStore._handle_list_namespaces.
class namespace_listing {
public:
  explicit namespace_listing(const namespace_query& query) : query_{query} {}

  bool is_full() const noexcept { return found_.size() >= query_.limit; }
  /// Shape:  must not sort before an earlier one.
  void take(const store_namespace& space);
  std::vector<store_namespace> found() && { return std::move(found_); }

private:
  const namespace_query& query_;
  store_namespace last_; // cut to the query's depth; it was listed or skipped
  std::size_t skipped_ = 0;
  bool has_last_ = false;
  std::vector<store_namespace> found_;
};

} // namespace troupe
