// The layout of one drawn graph: where its nodes and edges go, in layers from top to bottom or left
// to right. Pure geometry: it knows boxes of some size and arrows between them, nothing else.
//
// Source: the method of Sugiyama, Tagawa and Toda (1981), as in Gansner et al., "A technique for
//         drawing directed graphs" (1993), with simpler parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::drawing {

/// Units: pixels, as everything here; y grows downwards.
struct extent {
  double width = 0, height = 0;
  friend bool operator==(const extent&, const extent&) = default;
};

struct point {
  double x = 0, y = 0;
  friend bool operator==(const point&, const point&) = default;
};

struct layout_edge {
  std::uint32_t from, to; ///< places among the items
  extent label = {};      ///< 0 by 0: the edge has no label
};

struct placed_edge {
  enum class way : std::uint8_t {
    onward, ///< towards higher layers
    back,   ///< against the layers: it closes a cycle
    loop,   ///< from an item to itself
  };
  way leads = way::onward;
  /// From the border of `from` to the border of `to`. The path runs along the layers' direction at
  /// each of these points; for a loop, they are the four points of a cubic curve.
  std::vector<point> path;
  point label = {}; ///< its centre
};

struct placed_items {
  extent whole;
  std::vector<point> items; ///< their upper left corners
  std::vector<placed_edge> edges;
};

/// Places `items` and routes `edges` between them.
/// Shape:  `edges` has at most one loop an item. Results stand in the order of the arguments.
///         No two items or labels overlap and no edge crosses an item, as long as long edges have
///         at most pieces_max pieces together (draw_layers.hpp). Above that, the longest edges go
///         straight and may pass below items.
/// Order:  layers follow the edges, except those that are `back`. A depth-first walk, in the order
///         of items and edges, decides which are. The same arguments give the same result.
/// Units:  `rightwards` exchanges x and y in all of the result.
/// Errors: none.
placed_items place(std::span<const extent> items, std::span<const layout_edge> edges,
                   bool rightwards = false);

} // namespace troupe::drawing
