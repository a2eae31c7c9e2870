// The layered layout.
//
// Invariants:
//  - Slots stand for items first, then for the pieces of long edges, one in each layer they pass.
//  - A link leads from one layer to the next.
#include "graph/draw_layout.hpp"

#include "graph/draw_layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::drawing {
namespace {

constexpr double item_gap = 32;   // between items side by side
constexpr double piece_gap = 14;  // beside an edge that passes
constexpr double layer_gap = 44;  // between layers of items
constexpr double label_gap = 22;  // above and below a layer that only edges pass
constexpr double gap_extra = 80;  // at most: added where edges lead far to the side
constexpr double loop_width = 26; // beside an item
constexpr double port_gap = 16;   // between edges at one side of an item, at most
constexpr double corner = 10;     // no edge begins this close to a corner
constexpr int rounds = 10;        // iterations of finding x

// ---- x --------------------------------------------------------------------------------------

// Finds places in a row: as near as possible to the wanted ones (a weighted sum of squares), at the
// required distances. Neighbours that are too close are pooled and move as one.
class row_solver {
public:
  void add(double wanted, double weight, double distance) {
    offset_ += distance; // relative to the first one of the pool
    offsets_.push_back(offset_);
    pools_.push_back({(wanted - offset_) * weight, weight, 1});
    while (pools_.size() > 1 && pools_[pools_.size() - 2].place() > pools_.back().place()) {
      auto last = pools_.back();
      pools_.pop_back();
      pools_.back().sum += last.sum;
      pools_.back().weight += last.weight;
      pools_.back().count += last.count;
    }
  }

  template <class F> void each(F place) const {
    std::size_t i = 0;
    for (const auto& p : pools_)
      for (std::size_t n = 0; n < p.count; ++n, ++i)
        place(i, p.place() + offsets_[i]);
  }

private:
  struct pool {
    double sum, weight;
    std::size_t count;
    double place() const { return sum / weight; }
  };
  double offset_ = 0;
  std::vector<double> offsets_;
  std::vector<pool> pools_;
};

class layouter {
public:
  layouter(std::span<const extent> items, std::span<const layout_edge> edges)
    : items_{items},
      edges_{edges},
      net_{make_layers(items.size(), to_arrows(edges))},
      shapes_(net_.slots()) {}

  placed_items run() {
    shape_slots();
    find_x();
    find_y();
    find_ports();
    placed_items out;
    for (std::size_t i = 0; i < items_.size(); ++i)
      out.items.push_back(
        {x_[i] - items_[i].width / 2, middle_[net_.layer_of[i]] - half_height(i)});
    for (std::size_t e = 0; e < edges_.size(); ++e)
      out.edges.push_back(route(e));
    out.whole = whole(out);
    return out;
  }

private:
  struct shape {
    double left = 0, right = 0, height = 0; // left and right of its x
  };

  static std::vector<arrow> to_arrows(std::span<const layout_edge> edges) {
    std::vector<arrow> out;
    for (const auto& e : edges)
      out.push_back({e.from, e.to, e.label.width > 0});
    return out;
  }

  bool is_item(std::size_t slot) const { return slot < items_.size(); }
  double half_height(std::size_t item) const { return items_[item].height / 2; }

  // ---- sizes --------------------------------------------------------------------------------

  void shape_slots() {
    for (std::size_t i = 0; i < items_.size(); ++i)
      shapes_[i] = {items_[i].width / 2, items_[i].width / 2, items_[i].height};
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const auto& label = edges_[e].label;
      const auto& pieces = net_.pieces[e];
      if (edges_[e].from == edges_[e].to)
        shapes_[edges_[e].from].right += loop_width + (label.width > 0 ? label.width + 4 : 0);
      else if (!pieces.empty())
        shapes_[label_piece(e)] = {label.width / 2, label.width / 2, label.height};
    }
  }

  std::uint32_t label_piece(std::size_t edge) const {
    const auto& pieces = net_.pieces[edge];
    return pieces[pieces.size() / 2];
  }

  // ---- x ------------------------------------------------------------------------------------

  double distance(std::size_t a, std::size_t b) const {
    return shapes_[a].right + shapes_[b].left + (is_item(a) && is_item(b) ? item_gap : piece_gap);
  }

  // Long edges pull harder, so that they run straight.
  double pull(std::size_t a, std::size_t b) const {
    return is_item(a) && is_item(b) ? 1 : is_item(a) || is_item(b) ? 2 : 8;
  }

  void find_x() {
    x_.assign(net_.slots(), 0);
    for (const auto& layer : net_.layers)
      for (std::size_t i = 0; i < layer.size(); ++i)
        x_[layer[i]] = i == 0 ? 0 : x_[layer[i - 1]] + distance(layer[i - 1], layer[i]);
    for (int round = 0; round < rounds; ++round) {
      bool settle = round >= rounds / 2;
      for (std::size_t l = 0; l < net_.layers.size(); ++l)
        move(net_.layers[l], true, settle);
      for (std::size_t l = net_.layers.size(); l-- > 0;)
        move(net_.layers[l], settle, true);
    }
    double left = 0;
    for (std::size_t s = 0; s < x_.size(); ++s)
      left = s == 0 ? x_[s] - shapes_[s].left : std::min(left, x_[s] - shapes_[s].left);
    for (double& x : x_)
      x = std::ceil(x - left);
  }

  // Moves slots towards their neighbours in the layers above and below.
  void move(const std::vector<std::uint32_t>& layer, bool above, bool below) {
    constexpr double stay = 0.01;
    row_solver row;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      auto s = layer[i];
      double weight = stay;
      double sum = stay * x_[s];
      auto look_at = [&](const std::vector<std::uint32_t>& neighbours) {
        for (auto n : neighbours) {
          weight += pull(s, n);
          sum += pull(s, n) * x_[n];
        }
      };
      if (above)
        look_at(net_.above[s]);
      if (below)
        look_at(net_.below[s]);
      // One more pixel, so that rounding at the end keeps them apart.
      row.add(sum / weight, weight, i == 0 ? 0 : distance(layer[i - 1], s) + 1);
    }
    row.each([&](std::size_t i, double x) { x_[layer[i]] = x; });
  }

  // ---- y ------------------------------------------------------------------------------------

  void find_y() {
    double y = 0;
    for (std::size_t l = 0; l < net_.layers.size(); ++l) {
      double height = 0;
      for (auto s : net_.layers[l])
        height = std::max(height, shapes_[s].height);
      height = 2 * std::ceil(height / 2);
      if (l > 0)
        y += gap_above(l);
      top_.push_back(y);
      middle_.push_back(y + height / 2);
      y += height;
      bottom_.push_back(y);
    }
  }

  double gap_above(std::size_t layer) const {
    auto has_items = [this](const std::vector<std::uint32_t>& slots) {
      return std::ranges::any_of(slots, [this](auto s) { return is_item(s); });
    };
    double run = 0;
    for (auto s : net_.layers[layer])
      for (auto n : net_.above[s])
        run = std::max(run, std::abs(x_[s] - x_[n]));
    bool items = has_items(net_.layers[layer]) && has_items(net_.layers[layer - 1]);
    return (items ? layer_gap : label_gap) + std::round(std::min(gap_extra, run / 20));
  }

  // ---- edges --------------------------------------------------------------------------------

  struct end {
    std::uint32_t item;
    double towards; // x of what it leads to
    std::uint32_t edge;
  };

  // Ends at one side of an item are sorted by the place they lead to, so that they do not cross
  // there.
  void find_ports() {
    std::vector<end> below;
    std::vector<end> above;
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from == edges_[e].to)
        continue;
      auto [upper, lower] = ends(e);
      const auto& pieces = net_.pieces[e];
      below.push_back({upper, x_[pieces.empty() ? lower : pieces.front()], e});
      above.push_back({lower, x_[pieces.empty() ? upper : pieces.back()], e});
    }
    out_at_.resize(edges_.size());
    in_at_.resize(edges_.size());
    spread(below, out_at_);
    spread(above, in_at_);
  }

  void spread(std::vector<end>& ends, std::vector<double>& x_of_edge) const {
    std::ranges::stable_sort(ends, {}, [](const end& e) { return std::pair{e.item, e.towards}; });
    for (std::size_t first = 0; first < ends.size();) {
      auto item = ends[first].item;
      auto last = first;
      while (last < ends.size() && ends[last].item == item)
        ++last;
      auto count = static_cast<double>(last - first);
      double gap = std::min(port_gap, std::max(0.0, items_[item].width - 2 * corner) / count);
      for (auto i = first; i < last; ++i)
        x_of_edge[ends[i].edge] = x_[item]
                                  + gap * (static_cast<double>(i - first) - (count - 1) / 2);
      first = last;
    }
  }

  // (upper, lower) item of an edge.
  std::pair<std::uint32_t, std::uint32_t> ends(std::size_t e) const {
    return net_.reversed[e] ? std::pair{edges_[e].to, edges_[e].from}
                            : std::pair{edges_[e].from, edges_[e].to};
  }

  placed_edge route(std::size_t e) const {
    if (edges_[e].from == edges_[e].to)
      return loop(e);
    auto [upper, lower] = ends(e);
    placed_edge out;
    auto add = [&out](double x, double y) {
      if (out.path.empty() || out.path.back() != point{x, y})
        out.path.push_back({x, y});
    };
    auto upper_layer = net_.layer_of[upper];
    auto lower_layer = net_.layer_of[lower];
    add(out_at_[e], middle_[upper_layer] + half_height(upper));
    add(out_at_[e], bottom_[upper_layer]);
    for (auto s : net_.pieces[e]) {
      add(x_[s], top_[net_.layer_of[s]]);
      add(x_[s], bottom_[net_.layer_of[s]]);
    }
    add(in_at_[e], top_[lower_layer]);
    add(in_at_[e], middle_[lower_layer] - half_height(lower));
    out.label = label_at(e, out.path);
    if (net_.reversed[e]) {
      std::ranges::reverse(out.path);
      out.leads = placed_edge::way::back;
    }
    return out;
  }

  point label_at(std::size_t e, const std::vector<point>& path) const {
    if (!net_.pieces[e].empty()) {
      auto s = label_piece(e);
      return {x_[s], middle_[net_.layer_of[s]]};
    }
    return {(path.front().x + path.back().x) / 2, (path.front().y + path.back().y) / 2};
  }

  placed_edge loop(std::size_t e) const {
    auto item = edges_[e].from;
    double x = x_[item] + items_[item].width / 2;
    double y = middle_[net_.layer_of[item]];
    double up = std::min(half_height(item) / 2, 12.0);
    double out = x + loop_width * 1.2; // the curve itself stays within loop_width
    return {placed_edge::way::loop,
            {{x, y - up}, {out, y - 2 * up}, {out, y + 2 * up}, {x, y + up}},
            {x + loop_width + 2 + edges_[e].label.width / 2, y}};
  }

  extent whole(const placed_items& out) const {
    extent size;
    for (std::size_t s = 0; s < x_.size(); ++s)
      size.width = std::max(size.width, x_[s] + shapes_[s].right);
    for (std::size_t e = 0; e < edges_.size(); ++e) // labels of edges that go straight
      size.width = std::max(size.width, out.edges[e].label.x + edges_[e].label.width / 2);
    size.height = bottom_.empty() ? 0 : bottom_.back();
    return size;
  }

  std::span<const extent> items_;
  std::span<const layout_edge> edges_;
  layered_net net_;
  std::vector<shape> shapes_;
  std::vector<double> x_;                     // of slots: their middle
  std::vector<double> top_, middle_, bottom_; // of layers
  std::vector<double> out_at_, in_at_;        // x of the upper and lower ends of edges
};

// ---- rightwards -----------------------------------------------------------------------------

extent turned(extent e) {
  return {e.height, e.width};
}
void turn(point& p) {
  std::swap(p.x, p.y);
}

placed_items place_rightwards(std::span<const extent> items, std::span<const layout_edge> edges) {
  std::vector<extent> turned_items(items.size());
  std::ranges::transform(items, turned_items.begin(), turned);
  std::vector<layout_edge> turned_edges{edges.begin(), edges.end()};
  for (auto& e : turned_edges)
    e.label = turned(e.label);
  auto out = place(turned_items, turned_edges);
  out.whole = turned(out.whole);
  std::ranges::for_each(out.items, turn);
  for (auto& e : out.edges) {
    std::ranges::for_each(e.path, turn);
    turn(e.label);
  }
  return out;
}

} // namespace

placed_items place(std::span<const extent> items, std::span<const layout_edge> edges,
                   bool rightwards) {
  return rightwards ? place_rightwards(items, edges) : layouter{items, edges}.run();
}

} // namespace troupe::drawing
