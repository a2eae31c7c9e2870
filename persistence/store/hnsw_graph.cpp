// hnsw_graph: the only file that knows hnswlib. The library's SIMD code is left out, because its
// prefetching reads beyond its lists. Its loader is not used, because it trusts its input.
#include "persistence/store/hnsw_graph.hpp"

#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>

namespace troupe {

namespace {

constexpr std::size_t links = 16;            // of a vector, in each layer
constexpr std::size_t build_breadth = 100;   // candidates for these links
constexpr std::size_t search_breadth = 128;  // at least: candidates of a query
constexpr std::size_t first_capacity = 4096; // vectors; doubles when full

// Several sums in parallel, so that the compiler can vectorize them.
template <class Term> float sum(std::span<const float> a, std::span<const float> b, Term term) {
  constexpr std::size_t lanes = 16;
  float sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += term(a[i + lane], b[i + lane]);
  float rest = 0;
  for (; i < a.size(); ++i)
    rest += term(a[i], b[i]);
  for (auto s : sums)
    rest += s;
  return rest;
}

float inner_product(std::span<const float> a, std::span<const float> b) noexcept {
  return sum(a, b, [](float x, float y) { return x * y; });
}

float squared_distance(std::span<const float> a, std::span<const float> b) noexcept {
  return sum(a, b, [](float x, float y) { return (x - y) * (x - y); });
}

template <float (*Distance)(std::span<const float>, std::span<const float>)>
class space final : public hnswlib::SpaceInterface<float> {
public:
  explicit space(std::size_t dims) : dims_{dims} {}
  size_t get_data_size() override { return dims_ * sizeof(float); }
  void* get_dist_func_param() override { return &dims_; }
  hnswlib::DISTFUNC<float> get_dist_func() override {
    return [](const void* a, const void* b, const void* dims) {
      auto size = *static_cast<const std::size_t*>(dims);
      return Distance({static_cast<const float*>(a), size}, {static_cast<const float*>(b), size});
    };
  }

private:
  std::size_t dims_;
};

float negative_product(std::span<const float> a, std::span<const float> b) {
  return -inner_product(a, b);
}

float distance_squared(std::span<const float> a, std::span<const float> b) {
  return squared_distance(a, b);
}

std::unique_ptr<hnswlib::SpaceInterface<float>> space_of(std::size_t dims,
                                                         vector_distance distance) {
  if (distance == vector_distance::l2)
    return std::make_unique<space<distance_squared>>(dims);
  return std::make_unique<space<negative_product>>(dims);
}

} // namespace

float vector_score(vector_distance distance, std::span<const float> a,
                   std::span<const float> b) noexcept {
  return distance == vector_distance::l2 ? -std::sqrt(squared_distance(a, b)) : inner_product(a, b);
}

struct hnsw_graph::parts {
  parts(std::size_t dims, vector_distance d)
    : distance{d},
      how{space_of(dims, d)},
      graph{how.get(), first_capacity, links, build_breadth} {
    graph.setEf(search_breadth);
  }
  vector_distance distance;
  std::unique_ptr<hnswlib::SpaceInterface<float>> how;
  hnswlib::HierarchicalNSW<float> graph;
};

hnsw_graph::hnsw_graph(std::size_t dims, vector_distance distance)
  : parts_{std::make_unique<parts>(dims, distance)} {}

hnsw_graph::~hnsw_graph() = default;

std::size_t hnsw_graph::size() const noexcept {
  return parts_->graph.cur_element_count;
}

void hnsw_graph::add(std::span<const float> vector) {
  auto& graph = parts_->graph;
  if (graph.cur_element_count == graph.max_elements_)
    graph.resizeIndex(graph.max_elements_ * 2);
  graph.addPoint(vector.data(), graph.cur_element_count);
}

void hnsw_graph::remove(std::size_t slot) {
  parts_->graph.markDelete(slot);
}

std::vector<std::pair<std::size_t, float>> hnsw_graph::closest(std::span<const float> query,
                                                               std::size_t count) const {
  auto found = parts_->graph.searchKnn(query.data(), count);
  std::vector<std::pair<std::size_t, float>> out;
  for (; !found.empty(); found.pop()) {
    auto [distance, slot] = found.top();
    out.emplace_back(slot,
                     parts_->distance == vector_distance::l2 ? -std::sqrt(distance) : -distance);
  }
  return out;
}

} // namespace troupe
