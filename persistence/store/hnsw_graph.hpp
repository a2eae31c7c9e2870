// hnsw_graph: the graph of a vector index, which hides hnswlib. It throws exceptions; no other file
// knows the library.
#pragma once

#include <troupe/store.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// The closeness of two prepared vectors: the higher, the closer. For the cosine, vectors have
/// length 1 or 0.
/// Shape:  both of the same size.
float vector_score(vector_distance distance, std::span<const float> a,
                   std::span<const float> b) noexcept;

/// A graph over slots 0, 1, 2 …
/// Thread: one at a time; only closest() may run concurrently with itself.
/// Errors: all members but size() throw exceptions of hnswlib and the allocator. After an exception
///         the graph may only be destroyed.
class hnsw_graph {
public:
  hnsw_graph(std::size_t dims, vector_distance distance);
  hnsw_graph(const hnsw_graph&) = delete;
  hnsw_graph& operator=(const hnsw_graph&) = delete;
  ~hnsw_graph();

  std::size_t size() const noexcept;
  /// Adds the vector of the next slot.
  void add(std::span<const float> vector);
  /// Marks a slot, so that it is not found any more.
  void remove(std::size_t slot);
  /// The closest slots and their scores, in any order.
  std::vector<std::pair<std::size_t, float>> closest(std::span<const float> query,
                                                     std::size_t count) const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
