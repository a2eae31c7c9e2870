// Where the nodes and edges of one drawn graph go: layers from top to bottom, or left to right.
// Pure geometry; knows boxes of some size and arrows between them, nothing else.
//
// Source: the method of Sugiyama, Tagawa and Toda (1981), as in Gansner et al., "A technique for
// drawing directed graphs" (1993), with simpler parts.
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
  extent label = {};      ///< 0 by 0: none
};

struct placed_edge {
  enum class way : std::uint8_t {
    onward, ///< towards higher layers
    back,   ///< against them: it closes a circle
    loop,   ///< from an item to itself
  };
  way leads = way::onward;
  /// From the border of `from` to the border of `to`. It goes along the layers' direction at each
  /// of these points; of a loop they are the four points of a cubic curve.
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
///         No two items or labels overlap and no edge crosses an item, as long as the edges that
///         pass layers do not come to more than pieces_max pieces (draw_layers.hpp): the longest
///         of more go straight, behind what stands in their way.
/// Order:  layers follow the edges, except those that are `back`; which are is decided by a
///         depth-first walk in the order of items and edges. The same arguments give the same
///         result.
/// Units:  `rightwards` exchanges x and y in all of the result.
/// Errors: none.
placed_items place(std::span<const extent> items, std::span<const layout_edge> edges,
                   bool rightwards = false);

} // namespace troupe::drawing
