// vector_index: vectors by number, and which of them are close to another one.
//
// Up to a bound, a query is compared with all vectors, or with all vectors of the groups it is
// about. Above it a graph (HNSW) finds most of the closest. The graph follows the vectors by a
// bounded step at each query; until it has all of them, the answer is exact.
//
// Invariants:
//  - Every vector has a slot; the graph has those of the slots below `graphed`, with removed ones
//    marked.
//  - A failure of the graph (it allocates) drops the graph, never an answer.
#pragma once

#include <troupe/store.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace troupe {

/// The number of a vector's item, and how close the vector is.
struct vector_hit {
  float score = 0;
  std::uint64_t number = 0;
};

/// Hits from the best to the worst, sorted only as far as they are taken.
class vector_ranking {
public:
  vector_ranking(std::vector<vector_hit> hits, bool is_complete);

  /// The next hits, all of one score; empty at the end.
  std::vector<vector_hit> next();
  /// Whether no vector was left out. If false, the hits are those that the graph found.
  bool is_complete() const noexcept { return is_complete_; }

private:
  std::vector<vector_hit> heap_;
  bool is_complete_;
};

using vector_groups = std::unordered_set<std::uint64_t>;

class hnsw_graph;

/// Thread: one at a time; only rank() may run concurrently with itself.
class vector_index {
public:
  vector_index(std::size_t dims, vector_distance distance, std::size_t exact_max);
  vector_index(vector_index&&) noexcept;
  vector_index& operator=(vector_index&&) noexcept;
  ~vector_index();

  /// Shape:  `vector` of dims() finite numbers. A number, not 0, may have several vectors, all of
  ///         one group.
  void add(std::uint64_t number, std::uint64_t group, std::span<const float> vector);
  /// Removes all vectors of a number.
  void remove(std::uint64_t number);
  /// Lets the graph follow. Call it before rank(), whose answer is exact otherwise.
  void settle();

  bool contains(std::uint64_t number) const { return slots_of_.contains(number); }
  std::vector<std::uint64_t> numbers() const;
  std::size_t size() const noexcept { return alive_; }
  std::size_t dims() const noexcept { return dims_; }

  /// The vectors by score, of the wanted groups; null: of all.
  /// Shape:  `count`: how many hits the caller expects to use.
  vector_ranking rank(std::span<const float> query, const vector_groups* wanted,
                      std::size_t count) const;
  vector_ranking rank_exactly(std::span<const float> query, const vector_groups* wanted) const;

private:
  struct slot_owner {
    std::uint64_t number = 0; // 0: removed
    std::uint64_t group = 0;
  };
  std::vector<float> prepared(std::span<const float> vector) const;
  std::span<const float> slot(std::size_t i) const {
    return std::span{floats_}.subspan(i * dims_, dims_);
  }
  std::size_t size_of(const vector_groups& groups) const;
  void compact();
  void drop_graph() noexcept;

  std::size_t dims_;
  vector_distance distance_;
  std::size_t exact_max_;
  std::vector<float> floats_;      // slot after slot
  std::vector<slot_owner> owners_; // by slot
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> slots_of_;
  std::unordered_map<std::uint64_t, std::size_t> group_sizes_; // number of vectors by group
  std::size_t alive_ = 0;
  std::unique_ptr<hnsw_graph> graph_;
  bool graph_failed_ = false; // not tried again until compact() renews the slots
};

} // namespace troupe
