// The combinatorial half of the layout: the layer of each item, and the order within each layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::drawing {

struct arrow {
  std::uint32_t from, to;
  bool labelled = false; ///< then a layer lies between its ends, where the label finds room
};

/// Items in layers. Slots are the items, then the pieces of edges that pass layers.
struct layered_net {
  std::vector<bool> reversed;                     ///< of edges: they lead against the layers
  std::vector<std::vector<std::uint32_t>> pieces; ///< of edges: their slots from above to below
  std::vector<std::uint32_t> layer_of;            ///< of slots
  std::vector<std::vector<std::uint32_t>> layers; ///< slots from left to right
  std::vector<std::vector<std::uint32_t>> above;  ///< of slots: linked ones in the layer above
  std::vector<std::vector<std::uint32_t>> below;
  std::size_t slots() const noexcept { return layer_of.size(); }
};

/// The most pieces of edges that a net has; above it, the longest edges get no pieces.
inline constexpr std::size_t pieces_max = 20'000;

/// Layers for `items` items, with few crossings of `arrows`.
/// Shape:  an arrow from an item to itself is in no layer and has no pieces.
/// Order:  every arrow leads to a later layer unless it is reversed. Reversed are the arrows that
///         close a cycle in a depth-first walk, in the order of items and arrows.
layered_net make_layers(std::size_t items, std::span<const arrow> arrows);

/// The number of pairs of links that cross. For tests.
std::size_t crossings(const layered_net& net);

} // namespace troupe::drawing
