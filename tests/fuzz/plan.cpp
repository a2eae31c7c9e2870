// Drawing a graph from a seed.
#include "tests/fuzz/plan.hpp"

#include <algorithm>
#include <set>

namespace troupe::fuzz {

const channel_design* graph_design::channel(const std::string& key) const {
  auto at = std::find_if(channels.begin(), channels.end(),
                         [&key](const auto& c) { return c.name == key; });
  return at == channels.end() ? nullptr : &*at;
}

const node_design* graph_design::node(const std::string& key) const {
  auto at = std::find_if(nodes.begin(), nodes.end(),
                         [&key](const auto& n) { return n.name == key; });
  return at == nodes.end() ? nullptr : &*at;
}

namespace {

constexpr std::size_t depth_max = 2;

// The features of this plan, so that seeds differ in kind and not only in detail.
struct flavour {
  bool asks, fails, stops, loops, sends, joins, defers, nests, narrow;
  explicit flavour(dice& d)
    : asks{d.chance(55)},
      fails{d.chance(40)},
      stops{d.chance(25)},
      loops{d.chance(50)},
      sends{d.chance(55)},
      joins{d.chance(50)},
      defers{d.chance(35)},
      nests{d.chance(50)},
      narrow{d.chance(35)} {}
};

// Within a graph whose tasks may run side by side, or that is not stored, no graph keeps a state of
// its own: such a state has one place, whatever task it belongs to.
struct surroundings {
  const graph_design* around = nullptr;
  std::size_t place = 0; // of the node in `around` that is this graph
  std::size_t depth = 0;
  bool one_task = true;
};

class maker {
public:
  explicit maker(dice& d) : dice_{d}, has_{d} {
    for (char c = 'a'; c <= 'z'; ++c) {
      names_.push_back(std::string(1, c));
      names_.push_back(std::string(1, c) + "2");
    }
    dice_.mix(names_);
  }

  std::shared_ptr<graph_design> graph(const surroundings& where) {
    auto out = std::make_shared<graph_design>();
    out->name = "g" + std::to_string(graphs_++);
    out->counter = "c" + out->name;
    if (where.depth > 0)
      out->keeps = keeping(where);
    add_channels(*out, where);
    add_nodes(*out, where);
    for (std::size_t i = 0; i < out->nodes.size(); ++i)
      add_inner(*out, i, where);
    add_edges(*out);
    add_routes(*out);
    for (std::size_t i = 0; i < out->nodes.size(); ++i)
      add_body(*out, i, where);
    add_stops(*out);
    return out;
  }

private:
  // ---- channels -------------------------------------------------------------------------------

  checkpointing keeping(const surroundings& where) {
    auto n = dice_.below(100);
    if (n < 15)
      return checkpointing::none;
    return n < 45 && where.one_task ? checkpointing::per_thread : checkpointing::inherit;
  }

  channel_rule rule_for(content holds) {
    using enum channel_rule;
    static const std::vector<channel_rule> numbers{last,
                                                   last,
                                                   last,
                                                   sum,
                                                   sum,
                                                   sum,
                                                   maximum,
                                                   any,
                                                   ephemeral,
                                                   ephemeral_unguarded,
                                                   last,
                                                   untracked,
                                                   untracked_unguarded};
    static const std::vector<channel_rule> lists{append, append,       append,   append,
                                                 last,   topic,        topic,    topic_accumulating,
                                                 any,    delta_append, ephemeral};
    static const std::vector<channel_rule> maps{merge, merge, merge,
                                                last,  any,   ephemeral_unguarded};
    return dice_.pick(holds == content::number ? numbers : holds == content::list ? lists : maps);
  }

  void add_channel(graph_design& g, std::string name, content holds) {
    g.channels.push_back({std::move(name), holds, rule_for(holds)});
  }

  void add_channels(graph_design& g, const surroundings& where) {
    if (where.around)
      for (const auto& c : where.around->channels)
        if (c.name != where.around->counter && dice_.chance(60))
          add_channel(g, c.name, c.holds);
    auto more = dice_.between(where.around ? 1 : 3, where.around ? 2 : 6);
    for (std::uint32_t i = 0; i < more; ++i) {
      auto n = dice_.below(10);
      auto holds = n < 4 ? content::number : n < 8 ? content::list : content::map;
      auto letter = holds == content::number ? "n" : holds == content::list ? "l" : "m";
      add_channel(g, letter + std::to_string(channels_++), holds);
    }
    g.channels.push_back({g.counter, content::number, channel_rule::sum});
    dice_.mix(g.channels);
    if (dice_.chance(20))
      g.inputs = some_channels(g);
    if (dice_.chance(25))
      g.outputs = some_channels(g);
  }

  std::vector<std::string> some_channels(const graph_design& g) {
    std::vector<std::string> out;
    for (const auto& c : g.channels)
      if (dice_.chance(65))
        out.push_back(c.name);
    if (out.empty())
      out.push_back(g.channels.front().name);
    return out;
  }

  // ---- nodes ----------------------------------------------------------------------------------

  std::string name() {
    auto out = names_.back();
    names_.pop_back();
    return out;
  }

  void add_nodes(graph_design& g, const surroundings& where) {
    auto count = where.around ? dice_.between(1, 3) : dice_.between(2, 9);
    for (std::uint32_t i = 0; i < count && !names_.empty(); ++i) {
      node_design n;
      n.name = name();
      n.defer = has_.defers && dice_.chance(20);
      if (has_.fails && dice_.chance(30))
        n.attempts_max = dice_.between(2, 3);
      if (has_.narrow && dice_.chance(30)) {
        n.reads = some_channels(g);
        if (std::find(n.reads.begin(), n.reads.end(), g.counter) == n.reads.end())
          n.reads.push_back(g.counter);
      }
      g.nodes.push_back(std::move(n));
    }
  }

  void add_inner(graph_design& g, std::size_t i, const surroundings& where) {
    if (!has_.nests || where.depth >= depth_max || names_.size() < 4 || !dice_.chance(20))
      return;
    bool one_task = where.one_task && g.keeps != checkpointing::none;
    g.nodes[i].inner = graph({&g, i, where.depth + 1, one_task});
    g.nodes[i].reads.clear();
  }

  static bool keeps_own_state(const graph_design& g) {
    return g.keeps == checkpointing::per_thread
           || std::any_of(g.nodes.begin(), g.nodes.end(),
                          [](const auto& n) { return n.inner && keeps_own_state(*n.inner); });
  }
  static bool sendable(const node_design& n) { return !n.inner || !keeps_own_state(*n.inner); }

  // ---- edges ----------------------------------------------------------------------------------

  void add_edges(graph_design& g) {
    const auto& nodes = g.nodes;
    g.edges.push_back({{START}, nodes[0].name});
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      if (has_.joins && i >= 2 && dice_.chance(30))
        add_join(g, i);
      auto n = dice_.below(10);
      if (n < 2)
        g.edges.push_back({{START}, nodes[i].name});
      for (auto k = n < 8 ? 1u : n < 9 ? 2u : 0u; k > 0; --k)
        add_edge(g, nodes[dice_.below(i)].name, nodes[i].name);
    }
    if (dice_.chance(40))
      add_edge(g, nodes.back().name, END);
    dice_.mix(g.edges);
  }

  void add_edge(graph_design& g, const std::string& from, const std::string& to) {
    for (const auto& e : g.edges)
      if (e.to == to && e.from == std::vector<std::string>{from})
        return;
    g.edges.push_back({{from}, to});
  }

  void add_join(graph_design& g, std::size_t to) {
    std::vector<std::string> from;
    for (std::size_t i = 0; i < to; ++i)
      if (dice_.chance(45))
        from.push_back(g.nodes[i].name);
    if (from.size() < 2)
      from = {g.nodes[0].name, g.nodes[1].name};
    if (from.size() > 3)
      from.resize(3);
    dice_.mix(from);
    g.edges.push_back({std::move(from), g.nodes[to].name});
  }

  // ---- where it goes --------------------------------------------------------------------------

  // `from`: its place; -1 is START.
  target_design target(const graph_design& g, int from, bool may_send) {
    if (dice_.chance(15))
      return {END, false, false};
    target_design out;
    bool back = has_.loops && from >= 0 && dice_.chance(35);
    auto i = back ? dice_.below(static_cast<std::size_t>(from) + 1)
                  : dice_.below(g.nodes.size() - static_cast<std::size_t>(from + 1))
                      + static_cast<std::uint32_t>(from + 1);
    if (i >= g.nodes.size())
      return {END, false, false};
    out.node = g.nodes[i].name;
    out.back = back;
    out.send = may_send && has_.sends && sendable(g.nodes[i]) && dice_.chance(40);
    return out;
  }

  std::vector<target_design> targets(const graph_design& g, int from, bool may_send,
                                     std::uint32_t most) {
    std::vector<target_design> out;
    for (auto n = dice_.between(0, most); n > 0; --n)
      out.push_back(target(g, from, may_send));
    return out;
  }

  void add_routes(graph_design& g) {
    int senders = 0;
    for (int i = -1; i < static_cast<int>(g.nodes.size()); ++i)
      for (int k = 0; k < 2 && dice_.chance(i < 0 ? 15 : k == 0 ? 30 : 8); ++k) {
        route_design r;
        r.from = i < 0 ? START : g.nodes[static_cast<std::size_t>(i)].name;
        r.name = "r" + std::to_string(routes_++);
        r.labelled = dice_.chance(25);
        if (i >= 0 && has_.fails && dice_.chance(8))
          r.fails = 1;
        for (auto n = dice_.between(1, 3); n > 0; --n)
          r.options.push_back(targets(g, i, senders < 2, 3));
        for (const auto& option : r.options)
          senders += std::any_of(option.begin(), option.end(), [](auto& t) { return t.send; });
        g.routes.push_back(std::move(r));
      }
  }

  // ---- bodies ---------------------------------------------------------------------------------

  write_design write(const std::vector<channel_design>& channels) {
    const auto& c = channels[dice_.below(channels.size())];
    bool folds = c.rule == channel_rule::append || c.rule == channel_rule::sum
                 || c.rule == channel_rule::merge || c.rule == channel_rule::maximum
                 || c.rule == channel_rule::delta_append;
    return {c.name, dice_.below(7), folds && dice_.chance(4)};
  }

  std::vector<write_design> writes(const graph_design& g, const std::string& counter) {
    std::vector<channel_design> channels;
    for (const auto& c : g.channels) {
      if (c.name == counter)
        continue;
      bool one_only = c.rule == channel_rule::last || c.rule == channel_rule::ephemeral
                      || c.rule == channel_rule::untracked;
      channels.insert(channels.end(), one_only ? 1 : 4, c);
    }
    std::vector<write_design> out;
    std::set<std::string> used;
    if (!channels.empty())
      for (auto n = dice_.between(0, 3); n > 0; --n)
        if (auto w = write(channels); used.insert(w.channel).second)
          out.push_back(w);
    return out;
  }

  part_design part(const graph_design& g, std::size_t i, const surroundings& where) {
    part_design out;
    out.command = dice_.chance(30);
    if (out.command && dice_.chance(where.around ? 20 : 2)) {
      out.to_parent = true;
      const auto& to = where.around ? *where.around : g;
      out.writes = writes(to, to.counter);
      out.targets = targets(to, static_cast<int>(where.around ? where.place : i), false, 2);
      std::erase_if(out.targets, [](const auto& t) { return t.back; });
      return out;
    }
    out.writes = writes(g, g.counter);
    if (out.command)
      out.targets = targets(g, static_cast<int>(i), true, 2);
    return out;
  }

  // A body that can go back or send makes the counter grow.
  static void count_rounds(const graph_design& g, node_design& n) {
    auto far = [](const auto& t) { return t.back || t.send; };
    bool counts = false;
    for (const auto& r : g.routes)
      for (const auto& option : r.options)
        counts = counts || (r.from == n.name && std::any_of(option.begin(), option.end(), far));
    for (const auto& v : n.body.variants)
      for (const auto& p : v)
        counts = counts || std::any_of(p.targets.begin(), p.targets.end(), far);
    if (!counts)
      return;
    for (auto& v : n.body.variants) {
      if (v.empty() || v.front().to_parent)
        v.insert(v.begin(), part_design{});
      v.front().writes.push_back({g.counter, 0, false});
    }
  }

  void add_body(graph_design& g, std::size_t i, const surroundings& where) {
    auto& n = g.nodes[i];
    if (n.inner)
      return;
    if (has_.asks && dice_.chance(28)) {
      auto k = dice_.below(10);
      n.body.questions = k < 6 ? 1 : k < 9 ? 2 : 3;
      n.body.asks_of = dice_.chance(70) ? 1 : 2;
    }
    if (has_.fails && dice_.chance(25)) {
      static const std::vector<std::uint32_t> times{1, 1, 1, 2, 3, 5};
      n.body.fails = dice_.pick(times);
      n.body.fails_behind = dice_.chance(40);
    }
    for (auto v = dice_.between(1, 2); v > 0; --v) {
      auto& parts = n.body.variants.emplace_back();
      auto k = dice_.below(10);
      for (auto p = k < 1 ? 0u : k < 8 ? 1u : 2u; p > 0; --p)
        parts.push_back(part(g, i, where));
      // A list of plain updates without a command is not a valid node output.
      if (parts.size() > 1
          && std::none_of(parts.begin(), parts.end(), [](const auto& p) { return p.command; }))
        parts.back().command = true;
    }
    count_rounds(g, n);
  }

  void add_stops(graph_design& g) {
    if (!has_.stops)
      return;
    auto some = [this, &g] {
      std::vector<std::string> out;
      if (dice_.chance(10))
        return std::vector<std::string>{"*"};
      for (const auto& n : g.nodes)
        if (dice_.chance(20))
          out.push_back(n.name);
      return out;
    };
    if (dice_.chance(50))
      g.before = some();
    if (dice_.chance(35))
      g.after = some();
  }

  dice& dice_;
  flavour has_;
  std::vector<std::string> names_;
  std::size_t graphs_ = 0, channels_ = 0, routes_ = 0;
};

} // namespace

std::shared_ptr<const graph_design> make_graph(dice& d) {
  return maker{d}.graph({});
}

} // namespace troupe::fuzz
