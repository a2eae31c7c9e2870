// The layered layout: what holds for every graph, on seeded ones.
#include "graph/draw_layers.hpp"
#include "graph/draw_layout.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace troupe::drawing {
namespace {

using way = placed_edge::way;

struct sample {
  std::vector<extent> items;
  std::vector<layout_edge> edges;
};

sample some_graph(unsigned seed) {
  std::mt19937 random{seed};
  auto below = [&random](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
  sample out;
  auto count = 1 + below(25);
  for (std::uint32_t i = 0; i < count; ++i)
    out.items.push_back({30.0 + below(200), 20.0 + below(100)});
  for (std::uint32_t n = below(3 * count); n > 0; --n) {
    auto label = below(3) == 0 ? extent{10.0 + below(80), 18} : extent{};
    auto from = below(count);
    auto to = below(count);
    auto is_same = [&](const layout_edge& e) { return e.from == from && e.to == to; };
    if (std::ranges::none_of(out.edges, is_same))
      out.edges.push_back({from, to, label});
  }
  return out;
}

struct rectangle {
  double left, top, right, bottom;
};

bool overlap(const rectangle& a, const rectangle& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::vector<rectangle> item_places(const sample& s, const placed_items& placed) {
  std::vector<rectangle> out;
  for (std::size_t i = 0; i < s.items.size(); ++i) {
    auto at = placed.items[i];
    out.push_back({at.x, at.y, at.x + s.items[i].width, at.y + s.items[i].height});
  }
  return out;
}

// For items and for labels.
std::vector<rectangle> all_places(const sample& s, const placed_items& placed) {
  auto out = item_places(s, placed);
  for (std::size_t e = 0; e < s.edges.size(); ++e) {
    const auto& size = s.edges[e].label;
    auto at = placed.edges[e].label;
    if (size.width > 0)
      out.push_back({at.x - size.width / 2, at.y - size.height / 2, at.x + size.width / 2,
                     at.y + size.height / 2});
  }
  return out;
}

bool touches(const rectangle& item, point p) {
  bool beside = p.x == item.left || p.x == item.right;
  bool across = p.y == item.top || p.y == item.bottom;
  return (across && p.x >= item.left && p.x <= item.right)
         || (beside && p.y >= item.top && p.y <= item.bottom);
}

// The rule for a curve between two points: it leaves and arrives along y.
bool crosses(const rectangle& item, point a, point b) {
  return overlap(item, {std::min(a.x, b.x), std::min(a.y, b.y), std::max(a.x, b.x) + 0.01,
                        std::max(a.y, b.y)});
}

placed_items placed(const sample& s, bool rightwards = false) {
  return place(s.items, s.edges, rightwards);
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_draw_layout)

namespace data = boost::unit_test::data;

BOOST_DATA_TEST_CASE(no_two_items_or_labels_overlap, data::xrange(200u), seed) {
  auto s = some_graph(seed);
  auto got = placed(s);
  auto places = all_places(s, got);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      BOOST_TEST(!overlap(places[i], places[j]), "places " << i << " and " << j);
    BOOST_TEST(places[i].left >= 0);
    BOOST_TEST(places[i].top >= 0);
    BOOST_TEST(places[i].right <= got.whole.width);
    BOOST_TEST(places[i].bottom <= got.whole.height);
  }
}

BOOST_DATA_TEST_CASE(edges_lead_down_unless_they_go_back, data::xrange(200u), seed) {
  auto s = some_graph(seed);
  auto got = placed(s);
  for (std::size_t e = 0; e < s.edges.size(); ++e) {
    const auto& edge = got.edges[e];
    auto lower = [](point a, point b) { return a.y < b.y; };
    auto higher = [](point a, point b) { return a.y > b.y; };
    bool loop = s.edges[e].from == s.edges[e].to;
    BOOST_TEST((edge.leads == way::loop) == loop);
    if (edge.leads == way::onward)
      BOOST_TEST(std::ranges::is_sorted(edge.path, lower), "edge " << e);
    if (edge.leads == way::back)
      BOOST_TEST(std::ranges::is_sorted(edge.path, higher), "edge " << e);
  }
}

BOOST_DATA_TEST_CASE(edges_join_the_borders_of_their_items_and_cross_no_other, data::xrange(200u),
                     seed) {
  auto s = some_graph(seed);
  auto got = placed(s);
  auto items = item_places(s, got);
  for (std::size_t e = 0; e < s.edges.size(); ++e) {
    const auto& path = got.edges[e].path;
    BOOST_TEST(touches(items[s.edges[e].from], path.front()), "edge " << e);
    BOOST_TEST(touches(items[s.edges[e].to], path.back()), "edge " << e);
    if (got.edges[e].leads == way::loop)
      continue;
    for (std::size_t p = 1; p < path.size(); ++p)
      for (std::size_t i = 0; i < items.size(); ++i)
        BOOST_TEST(!crosses(items[i], path[p - 1], path[p]), "edge " << e << " item " << i);
  }
}

BOOST_DATA_TEST_CASE(the_same_graph_has_the_same_layout, data::xrange(20u), seed) {
  auto s = some_graph(seed);
  auto a = placed(s);
  auto b = placed(s);
  BOOST_TEST((a.whole == b.whole));
  BOOST_TEST((a.items == b.items));
  for (std::size_t e = 0; e < s.edges.size(); ++e)
    BOOST_TEST((a.edges[e].path == b.edges[e].path));
}

BOOST_DATA_TEST_CASE(rightwards_is_the_same_with_x_and_y_exchanged, data::xrange(50u), seed) {
  auto s = some_graph(seed);
  auto right = placed(s, true);
  for (auto& size : s.items)
    std::swap(size.width, size.height);
  for (auto& e : s.edges)
    std::swap(e.label.width, e.label.height);
  auto down = placed(s);
  BOOST_TEST(right.whole.width == down.whole.height);
  for (std::size_t i = 0; i < s.items.size(); ++i)
    BOOST_TEST((right.items[i] == point{down.items[i].y, down.items[i].x}));
}

BOOST_AUTO_TEST_CASE(only_an_edge_that_closes_a_circle_goes_back) {
  sample s{std::vector<extent>(4, {60, 30}), {{0, 1}, {1, 2}, {2, 1}, {1, 3}, {0, 3}, {2, 2}}};
  auto got = placed(s);
  std::vector<way> wanted{way::onward, way::onward, way::back, way::onward, way::onward, way::loop};
  for (std::size_t e = 0; e < s.edges.size(); ++e)
    BOOST_TEST((got.edges[e].leads == wanted[e]), "edge " << e);
}

BOOST_AUTO_TEST_CASE(a_chain_stands_in_one_line) {
  sample s{std::vector<extent>(5, {60, 30}), {{0, 1}, {1, 2}, {2, 3}, {3, 4}}};
  s.items[2].width = 200;
  auto got = placed(s);
  for (const auto& e : got.edges)
    for (auto p : e.path)
      BOOST_TEST(p.x == got.whole.width / 2);
}

BOOST_AUTO_TEST_CASE(what_follows_side_by_side_is_centred_below) {
  sample s{std::vector<extent>(4, {60, 30}), {{0, 1}, {0, 2}, {0, 3}}};
  auto got = placed(s);
  BOOST_TEST(got.items[0].x == got.items[2].x);
  BOOST_TEST(got.items[1].y == got.items[3].y);
}

BOOST_AUTO_TEST_CASE(no_items_have_an_empty_layout) {
  auto got = place({}, {});
  BOOST_TEST((got.whole == extent{}));
}

BOOST_AUTO_TEST_CASE(a_tree_has_no_crossings) {
  std::vector<arrow> arrows;
  for (std::uint32_t i = 1; i < 200; ++i)
    arrows.push_back({(i * 7919u) % i, i});
  BOOST_TEST(crossings(make_layers(200, arrows)) == 0u);
}

BOOST_AUTO_TEST_CASE(sweeps_untangle_two_crossed_rows) {
  std::vector<arrow> arrows; // 0 leads to 1 … 8, and these to 9 … 16 the other way around
  for (std::uint32_t i = 1; i <= 8; ++i) {
    arrows.push_back({0, i});
    arrows.push_back({9 - i, 8 + i});
  }
  BOOST_TEST(crossings(make_layers(17, arrows)) == 0u);
}

BOOST_AUTO_TEST_CASE(links_lead_from_one_layer_to_the_next) {
  std::vector<arrow> arrows{{0, 1}, {1, 2, true}, {2, 3}, {0, 3}, {3, 0}};
  auto net = make_layers(4, arrows);
  for (std::uint32_t s = 0; s < net.slots(); ++s)
    for (auto t : net.below[s])
      BOOST_TEST(net.layer_of[t] == net.layer_of[s] + 1);
  BOOST_TEST(net.pieces[1].size() == 1u); // for the label
  BOOST_TEST(net.pieces[3].size() == 3u);
  BOOST_TEST(net.reversed[4]);
}

BOOST_AUTO_TEST_CASE(edges_that_would_be_too_many_pieces_go_straight) {
  std::vector<arrow> arrows;
  sample s;
  for (std::uint32_t i = 0; i < 100; ++i) {
    s.items.push_back({60, 30});
    for (std::uint32_t j = i + 1; j < 100; ++j) {
      arrows.push_back({i, j});
      s.edges.push_back({i, j});
    }
  }
  auto net = make_layers(100, arrows);
  BOOST_TEST(net.slots() > 100 + pieces_max / 2);
  BOOST_TEST(net.slots() <= 100 + pieces_max);
  auto got = placed(s);
  for (const auto& e : got.edges)
    BOOST_TEST(e.path.front().y < e.path.back().y);
}

BOOST_AUTO_TEST_CASE(a_thousand_items_with_many_edges_are_placed) {
  std::mt19937 random{7};
  sample s{std::vector<extent>(1000, {80, 36}), {}};
  for (std::uint32_t i = 1; i < 1000; ++i)
    for (int k = 0; k < 3; ++k)
      s.edges.push_back({static_cast<std::uint32_t>(random() % i), i});
  auto got = placed(s);
  auto items = item_places(s, got);
  std::ranges::sort(items, {}, [](const rectangle& r) { return std::pair{r.top, r.left}; });
  for (std::size_t i = 1; i < items.size(); ++i)
    BOOST_TEST(!overlap(items[i - 1], items[i]));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::drawing
