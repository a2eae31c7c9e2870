// Layers: break cycles, take longest paths, cut long edges to pieces, and reduce crossings.
#include "graph/draw_layers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe::drawing {
namespace {

using slots = std::vector<std::uint32_t>;

constexpr int sweeps_max = 12;
constexpr int idle_sweeps_max = 4; // sweeps without an improvement before the search ends

// ---- circles --------------------------------------------------------------------------------

// Finds the arrows that lead back to an item on the current path of the walk.
class circle_finder {
public:
  circle_finder(std::size_t items, std::span<const arrow> arrows)
    : arrows_{arrows},
      out_(items),
      seen_(items, state::unseen),
      closes_(arrows.size()) {
    for (std::uint32_t a = 0; a < arrows.size(); ++a)
      out_[arrows[a].from].push_back(a);
    for (std::uint32_t i = 0; i < items; ++i)
      if (seen_[i] == state::unseen)
        walk(i);
  }

  std::vector<bool> take() && { return std::move(closes_); }

private:
  enum class state : std::uint8_t { unseen, open, done };

  void walk(std::uint32_t from) {
    std::vector<std::pair<std::uint32_t, std::size_t>> path; // (item, number of its arrows taken)
    auto enter = [&](std::uint32_t item) {
      seen_[item] = state::open;
      path.emplace_back(item, 0);
    };
    enter(from);
    while (!path.empty()) {
      auto& [item, taken] = path.back();
      if (taken == out_[item].size()) {
        seen_[item] = state::done;
        path.pop_back();
        continue;
      }
      auto a = out_[item][taken++];
      auto to = arrows_[a].to;
      if (seen_[to] == state::open)
        closes_[a] = true;
      else if (seen_[to] == state::unseen)
        enter(to);
    }
  }

  std::span<const arrow> arrows_;
  std::vector<slots> out_;
  std::vector<state> seen_;
  std::vector<bool> closes_;
};

// ---- layers ---------------------------------------------------------------------------------

// An arrow that leads down at least `length` layers.
struct fall {
  std::uint32_t upper, lower, length;
};

std::vector<std::uint32_t> longest_paths(std::size_t items, const std::vector<fall>& falls) {
  std::vector<slots> out(items);
  std::vector<std::uint32_t> waits_for(items);
  for (std::uint32_t f = 0; f < falls.size(); ++f) {
    if (falls[f].upper == falls[f].lower)
      continue;
    out[falls[f].upper].push_back(f);
    ++waits_for[falls[f].lower];
  }
  slots ready;
  for (std::uint32_t i = 0; i < items; ++i)
    if (waits_for[i] == 0)
      ready.push_back(i);
  std::vector<std::uint32_t> layer(items);
  for (std::size_t next = 0; next < ready.size(); ++next)
    for (auto f : out[ready[next]]) {
      auto to = falls[f].lower;
      layer[to] = std::max(layer[to], layer[falls[f].upper] + falls[f].length);
      if (--waits_for[to] == 0)
        ready.push_back(to);
    }
  return layer;
}

// ---- pieces ---------------------------------------------------------------------------------

class net_maker {
public:
  net_maker(std::size_t items, std::span<const arrow> arrows) {
    net_.reversed = circle_finder{items, arrows}.take();
    for (std::size_t a = 0; a < arrows.size(); ++a) {
      const auto& [from, to, labelled] = arrows[a];
      std::uint32_t length = labelled ? 2 : 1;
      falls_.push_back(net_.reversed[a] ? fall{to, from, length} : fall{from, to, length});
    }
    net_.layer_of = longest_paths(items, falls_);
    net_.pieces.resize(arrows.size());
    net_.above.resize(items);
    net_.below.resize(items);
    cut();
    fill_layers();
  }

  layered_net take() && { return std::move(net_); }

private:
  std::size_t pieces_of(std::uint32_t f) const {
    const auto& [upper, lower, length] = falls_[f];
    return upper == lower ? 0 : net_.layer_of[lower] - net_.layer_of[upper] - 1;
  }

  void cut() {
    std::vector<std::uint32_t> shortest_first(falls_.size());
    std::iota(shortest_first.begin(), shortest_first.end(), 0);
    std::ranges::stable_sort(shortest_first, {}, [this](auto f) { return pieces_of(f); });
    std::size_t spent = 0;
    for (auto f : shortest_first) {
      spent += pieces_of(f);
      if (spent > pieces_max)
        break;
      if (falls_[f].upper != falls_[f].lower)
        cut(f);
    }
  }

  void cut(std::uint32_t f) {
    auto last = falls_[f].upper;
    for (auto n = pieces_of(f); n > 0; --n) {
      auto piece = static_cast<std::uint32_t>(net_.layer_of.size());
      net_.layer_of.push_back(net_.layer_of[last] + 1);
      net_.above.emplace_back();
      net_.below.emplace_back();
      net_.pieces[f].push_back(piece);
      link(last, piece);
      last = piece;
    }
    link(last, falls_[f].lower);
  }

  void link(std::uint32_t upper, std::uint32_t lower) {
    net_.below[upper].push_back(lower);
    net_.above[lower].push_back(upper);
  }

  // Fills layers in the order of a walk from above, in which a tree has no crossings.
  void fill_layers() {
    std::uint32_t count = 0;
    for (auto l : net_.layer_of)
      count = std::max(count, l + 1);
    net_.layers.resize(count);
    std::vector<bool> seen(net_.slots());
    slots open;
    for (std::uint32_t root = 0; root < net_.slots(); ++root) {
      if (net_.above[root].empty())
        open.push_back(root);
      while (!open.empty()) {
        auto s = open.back();
        open.pop_back();
        if (seen[s])
          continue;
        seen[s] = true;
        net_.layers[net_.layer_of[s]].push_back(s);
        open.insert(open.end(), net_.below[s].rbegin(), net_.below[s].rend());
      }
    }
  }

  layered_net net_;
  std::vector<fall> falls_; // by arrow
};

// ---- crossings ------------------------------------------------------------------------------

std::vector<std::uint32_t> places(const layered_net& net) {
  std::vector<std::uint32_t> out(net.slots());
  for (const auto& layer : net.layers)
    for (std::uint32_t i = 0; i < layer.size(); ++i)
      out[layer[i]] = i;
  return out;
}

// Counts the elements added so far that lie after a place. (A Fenwick tree.)
class later_counter {
public:
  explicit later_counter(std::size_t size) : sums_(size + 1) {}
  std::size_t added_behind(std::size_t place) const {
    std::size_t upto = 0;
    for (auto i = place + 1; i > 0; i &= i - 1)
      upto += sums_[i];
    return total_ - upto;
  }
  void add(std::size_t place) {
    ++total_;
    for (auto i = place + 1; i < sums_.size(); i += i & (~i + 1))
      ++sums_[i];
  }

private:
  std::size_t total_ = 0;
  std::vector<std::size_t> sums_;
};

std::size_t crossings_below(const layered_net& net, std::size_t layer, const slots& place) {
  later_counter ends{net.layers[layer + 1].size()};
  std::size_t out = 0;
  for (auto upper : net.layers[layer]) {
    for (auto lower : net.below[upper])
      out += ends.added_behind(place[lower]);
    for (auto lower : net.below[upper])
      ends.add(place[lower]);
  }
  return out;
}

// ---- untangling -----------------------------------------------------------------------------

// Moves each slot to the middle of the slots it is linked to; one without links stays.
void order_by(slots& layer, const std::vector<slots>& linked, slots& place) {
  std::vector<std::pair<double, std::uint32_t>> wanted;
  for (auto s : layer) {
    double sum = 0;
    for (auto n : linked[s])
      sum += place[n];
    wanted.emplace_back(linked[s].empty() ? place[s] : sum / static_cast<double>(linked[s].size()),
                        s);
  }
  std::ranges::stable_sort(wanted, {}, &std::pair<double, std::uint32_t>::first);
  for (std::uint32_t i = 0; i < layer.size(); ++i) {
    layer[i] = wanted[i].second;
    place[layer[i]] = i;
  }
}

void untangle(layered_net& net) {
  auto best = net.layers;
  auto fewest = crossings(net);
  auto place = places(net);
  for (int sweep = 0, idle = 0; sweep < sweeps_max && idle < idle_sweeps_max && fewest; ++sweep) {
    if (sweep % 2 == 0)
      for (std::size_t l = 1; l < net.layers.size(); ++l)
        order_by(net.layers[l], net.above, place);
    else
      for (std::size_t l = net.layers.size() - 1; l-- > 0;)
        order_by(net.layers[l], net.below, place);
    ++idle;
    if (auto now = crossings(net); now < fewest) {
      fewest = now;
      best = net.layers;
      idle = 0;
    }
  }
  net.layers = std::move(best);
}

} // namespace

std::size_t crossings(const layered_net& net) {
  auto place = places(net);
  std::size_t out = 0;
  for (std::size_t l = 0; l + 1 < net.layers.size(); ++l)
    out += crossings_below(net, l, place);
  return out;
}

layered_net make_layers(std::size_t items, std::span<const arrow> arrows) {
  auto net = net_maker{items, arrows}.take();
  untangle(net);
  return net;
}

} // namespace troupe::drawing
