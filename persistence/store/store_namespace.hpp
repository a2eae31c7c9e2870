// Namespaces of the store: which may be, and which of them a query lists.
#pragma once

#include <troupe/store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Whether values can be put there.
/// Errors: invalid_value of class InvalidNamespaceError.
/// Source: langgraph/store/base, _validate_namespace.
result<void> check_store_namespace(const store_namespace& space);

/// A namespace as bytes, which sort as namespaces do: a part ends with 00 01, and a 00 of its own
/// is 00 ff. Those under a prefix begin with its bytes.
std::string namespace_bytes(const store_namespace& space);
/// Back again; nothing for bytes that are no namespace with a part.
std::optional<store_namespace> namespace_of_bytes(std::string_view bytes);

/// Whether a namespace begins and ends as the query says; "*" there fits any part.
/// Source: langgraph/store/memory, _does_match.
bool fits(const store_namespace& space, const namespace_query& query);

/// Picks out of namespaces given in order those a query lists. Keeps the query by reference.
/// Source: langgraph/store/memory, InMemoryStore._handle_list_namespaces.
class namespace_listing {
public:
  explicit namespace_listing(const namespace_query& query) : query_{query} {}

  bool is_full() const noexcept { return found_.size() >= query_.limit; }
  /// Shape:  not before any that was given so far.
  void take(const store_namespace& space);
  std::vector<store_namespace> found() && { return std::move(found_); }

private:
  const namespace_query& query_;
  store_namespace last_; // cut, and listed or skipped
  std::size_t skipped_ = 0;
  bool has_last_ = false;
  std::vector<store_namespace> found_;
};

} // namespace troupe
