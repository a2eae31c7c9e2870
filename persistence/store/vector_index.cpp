// vector_index: exact ranking, and ranking by the graph.
#include "persistence/store/vector_index.hpp"

#include "persistence/store/hnsw_graph.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr std::size_t graph_step = 64; // at most: vectors that a query adds to the graph
constexpr std::size_t overfetch = 4;   // hits asked of the graph for each expected one
constexpr std::size_t fetch_min = 64;

bool is_worse(const vector_hit& a, const vector_hit& b) {
  return a.score < b.score;
}

} // namespace

// ---- the ranking --------------------------------------------------------------------------------

vector_ranking::vector_ranking(std::vector<vector_hit> hits, bool is_complete)
  : heap_{std::move(hits)},
    is_complete_{is_complete} {
  std::ranges::make_heap(heap_, is_worse);
}

std::vector<vector_hit> vector_ranking::next() {
  std::vector<vector_hit> alike;
  while (!heap_.empty() && (alike.empty() || heap_.front().score == alike.front().score)) {
    std::ranges::pop_heap(heap_, is_worse);
    alike.push_back(heap_.back());
    heap_.pop_back();
  }
  return alike;
}

// ---- the index ----------------------------------------------------------------------------------

vector_index::vector_index(std::size_t dims, vector_distance distance, std::size_t exact_max)
  : dims_{dims},
    distance_{distance},
    exact_max_{exact_max} {}

vector_index::vector_index(vector_index&&) noexcept = default;
vector_index& vector_index::operator=(vector_index&&) noexcept = default;
vector_index::~vector_index() = default;

std::vector<float> vector_index::prepared(std::span<const float> vector) const {
  std::vector<float> out(vector.begin(), vector.end());
  if (distance_ != vector_distance::cosine)
    return out;
  double squares = 0;
  for (auto x : out)
    squares += static_cast<double>(x) * static_cast<double>(x);
  auto length = std::sqrt(squares);
  if (length > 0)
    for (auto& x : out)
      x = static_cast<float>(static_cast<double>(x) / length);
  return out;
}

void vector_index::add(std::uint64_t number, std::uint64_t group, std::span<const float> vector) {
  auto ready = prepared(vector);
  slots_of_[number].push_back(owners_.size());
  floats_.insert(floats_.end(), ready.begin(), ready.end());
  owners_.push_back({number, group});
  ++group_sizes_[group];
  ++alive_;
}

void vector_index::remove(std::uint64_t number) {
  auto at = slots_of_.find(number);
  if (at == slots_of_.end())
    return;
  auto group = group_sizes_.find(owners_[at->second.front()].group);
  group->second -= at->second.size();
  if (group->second == 0)
    group_sizes_.erase(group);
  for (auto slot : at->second) {
    owners_[slot].number = 0;
    --alive_;
    if (graph_ && slot < graph_->size())
      try {
        graph_->remove(slot);
      } catch (...) {
        drop_graph();
      }
  }
  slots_of_.erase(at);
  if (owners_.size() > 2 * alive_ + graph_step)
    compact();
}

// Slots move, so the graph starts anew.
void vector_index::compact() {
  vector_index fresh{dims_, distance_, exact_max_};
  for (std::size_t i = 0; i < owners_.size(); ++i)
    if (owners_[i].number != 0) {
      auto vector = slot(i);
      fresh.slots_of_[owners_[i].number].push_back(fresh.owners_.size());
      fresh.floats_.insert(fresh.floats_.end(), vector.begin(), vector.end());
      fresh.owners_.push_back(owners_[i]);
    }
  fresh.group_sizes_ = std::move(group_sizes_);
  fresh.alive_ = alive_;
  *this = std::move(fresh);
}

void vector_index::drop_graph() noexcept {
  graph_.reset();
  graph_failed_ = true;
}

void vector_index::settle() {
  if (alive_ <= exact_max_ || graph_failed_)
    return;
  try {
    if (!graph_)
      graph_ = std::make_unique<hnsw_graph>(dims_, distance_);
    auto end = std::min(owners_.size(), graph_->size() + graph_step);
    for (auto i = graph_->size(); i < end; ++i) {
      graph_->add(slot(i));
      if (owners_[i].number == 0)
        graph_->remove(i);
    }
  } catch (...) {
    drop_graph();
  }
}

std::vector<std::uint64_t> vector_index::numbers() const {
  std::vector<std::uint64_t> all;
  all.reserve(slots_of_.size());
  for (const auto& [number, slots] : slots_of_)
    all.push_back(number);
  return all;
}

std::size_t vector_index::size_of(const vector_groups& groups) const {
  std::size_t size = 0;
  for (auto group : groups)
    if (auto at = group_sizes_.find(group); at != group_sizes_.end())
      size += at->second;
  return size;
}

vector_ranking vector_index::rank(std::span<const float> query, const vector_groups* wanted,
                                  std::size_t count) const {
  auto about = wanted ? size_of(*wanted) : alive_;
  if (about <= exact_max_ || !graph_ || graph_->size() != owners_.size())
    return rank_exactly(query, wanted);
  auto one_in = (alive_ + about - 1) / about;
  if (count >= alive_ / (overfetch * one_in))
    return rank_exactly(query, wanted);
  auto fetch = std::max(fetch_min, overfetch * one_in * count);
  std::vector<vector_hit> hits;
  try {
    for (auto [slot, score] : graph_->closest(prepared(query), fetch))
      if (auto [number, group] = owners_[slot]; !wanted || wanted->contains(group))
        hits.push_back({score, number});
  } catch (...) {
    return rank_exactly(query, wanted);
  }
  return {std::move(hits), false};
}

vector_ranking vector_index::rank_exactly(std::span<const float> query,
                                          const vector_groups* wanted) const {
  auto ready = prepared(query);
  std::vector<vector_hit> hits;
  for (std::size_t i = 0; i < owners_.size(); ++i)
    if (auto [number, group] = owners_[i]; number != 0 && (!wanted || wanted->contains(group)))
      hits.push_back({vector_score(distance_, ready, slot(i)), number});
  return {std::move(hits), true};
}

} // namespace troupe
