// The graph of a vector index: hnswlib behind a wall. It throws and is not told of elsewhere.
#pragma once

#include <troupe/store.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// How close two prepared vectors are: the higher, the closer. For the cosine they are of length 1
/// or 0.
/// Shape:  of the same size.
float vector_score(vector_distance distance, std::span<const float> a,
                   std::span<const float> b) noexcept;

/// A graph over slots 0, 1, 2 …
/// Thread: one at a time, but for closest(), which may run beside itself.
/// Errors: all members but size() throw what hnswlib and the allocator throw. After one the graph
///         is good for nothing but its end.
class hnsw_graph {
public:
  hnsw_graph(std::size_t dims, vector_distance distance);
  hnsw_graph(const hnsw_graph&) = delete;
  hnsw_graph& operator=(const hnsw_graph&) = delete;
  ~hnsw_graph();

  std::size_t size() const noexcept;
  /// The vector of the next slot.
  void add(std::span<const float> vector);
  /// Lets a slot be found no more.
  void remove(std::size_t slot);
  /// Slots and their scores, in no order.
  std::vector<std::pair<std::size_t, float>> closest(std::span<const float> query,
                                                     std::size_t count) const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
