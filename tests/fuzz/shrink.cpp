// Making a plan smaller while the difference stays.
#include "tests/fuzz/trial.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

namespace troupe::fuzz {
namespace {

std::shared_ptr<graph_design> copy_of(const graph_design& g) {
  auto out = std::make_shared<graph_design>(g);
  for (auto& n : out->nodes)
    if (n.inner)
      n.inner = copy_of(*n.inner);
  return out;
}

// All graphs of a plan, from the outside in.
void collect(graph_design& g, std::vector<graph_design*>& out) {
  out.push_back(&g);
  for (auto& n : g.nodes)
    if (n.inner)
      collect(*n.inner, out);
}

class shrinker {
public:
  explicit shrinker(plan p) : best_{std::move(p)} {}

  plan run() {
    auto found = try_apart(best_);
    if (!found)
      return best_; // it does not happen every time
    best_.calls.resize(found->call + 1);
    kind_ = found->kind();
    for (bool smaller = true; smaller && !over();) {
      smaller = drop_calls();
      smaller = simplify_calls() || smaller;
      smaller = simplify_graphs() || smaller;
    }
    return best_;
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds time_max{100};

  bool over() const { return clock::now() - begin_ > time_max; }

  bool keep_if_different(plan p) {
    if (over())
      return false;
    auto found = try_apart(p);
    if (!found || found->kind() != kind_)
      return false;
    p.calls.resize(found->call + 1);
    best_ = std::move(p);
    return true;
  }

  bool drop_calls() {
    bool any = false;
    for (std::size_t i = best_.calls.size(); i-- > 0;) {
      if (i >= best_.calls.size())
        continue;
      auto p = best_;
      p.calls.erase(p.calls.begin() + static_cast<std::ptrdiff_t>(i));
      any = keep_if_different(std::move(p)) || any;
    }
    return any;
  }

  bool change_call(std::size_t i, const std::function<bool(call&)>& change) {
    if (i >= best_.calls.size())
      return false;
    auto p = best_;
    return change(p.calls[i]) && keep_if_different(std::move(p));
  }

  bool simplify_calls() {
    bool any = false;
    auto p = best_;
    if (p.pace != pace::plain) {
      p.pace = pace::plain;
      any = keep_if_different(p);
    }
    p = best_;
    if (p.kept != keeper::memory) {
      p.kept = keeper::memory;
      any = keep_if_different(p) || any;
    }
    for (std::size_t i = 0; i < best_.calls.size(); ++i) {
      any = change_call(i, [](call& c) { return !std::exchange(c.before, {}).empty(); }) || any;
      any = change_call(i, [](call& c) { return !std::exchange(c.after, {}).empty(); }) || any;
      any = change_call(i, [](call& c) { return !std::exchange(c.goto_, {}).empty(); }) || any;
      any = change_call(i,
                        [](call& c) {
                          return c.durability != std::exchange(c.durability, durability::async);
                        })
            || any;
      const value input(best_.calls[i].input);
      for (const auto& e : input.entries())
        any = change_call(i,
                          [&e](call& c) {
                            c.input = c.input.without(e.key());
                            return true;
                          })
              || any;
    }
    return any;
  }

  // Tries one change after another on each graph of the plan.
  bool simplify_graphs() {
    bool any = false;
    for (std::size_t g = 0; g < graphs(); ++g) {
      any = each(
              g, [](graph_design& d) { return d.nodes.size(); }, &shrinker::drop_node)
            || any;
      any = each(
              g, [](graph_design& d) { return d.edges.size(); },
              [](graph_design& d, std::size_t i) { return erase(d.edges, i); })
            || any;
      any = each(
              g, [](graph_design& d) { return d.routes.size(); },
              [](graph_design& d, std::size_t i) { return erase(d.routes, i); })
            || any;
      any = each(
              g, [](graph_design& d) { return d.channels.size(); }, &shrinker::drop_channel)
            || any;
      any = each(
              g, [](graph_design& d) { return d.nodes.size() * 7; }, &shrinker::plainer)
            || any;
      any = each(
              g, [](graph_design& d) { return d.routes.size() * 4; }, &shrinker::shorter)
            || any;
      any = each(
              g, [](graph_design&) { return std::size_t{4}; }, &shrinker::without_options)
            || any;
    }
    return any;
  }

  std::size_t graphs() const {
    auto root = copy_of(*best_.graph);
    std::vector<graph_design*> all;
    collect(*root, all);
    return all.size();
  }

  bool each(std::size_t g, const std::function<std::size_t(graph_design&)>& count,
            const std::function<bool(graph_design&, std::size_t)>& change) {
    bool any = false;
    for (std::size_t i = 1000; i-- > 0;) {
      auto p = best_;
      auto root = copy_of(*best_.graph);
      std::vector<graph_design*> all;
      collect(*root, all);
      if (g >= all.size())
        break;
      i = std::min(i, count(*all[g]));
      if (i == 0 || over())
        break;
      if (!change(*all[g], i - 1))
        continue;
      only_known_inputs(p.calls, *root);
      p.graph = root;
      any = keep_if_different(std::move(p)) || any;
    }
    return any;
  }

  static void only_known_inputs(std::vector<call>& calls, const graph_design& g) {
    for (auto& c : calls) {
      const value input(c.input);
      for (const auto& e : input.entries())
        if (!g.channel(std::string{e.key()}))
          c.input = c.input.without(e.key());
    }
  }

  template <class T> static bool erase(std::vector<T>& items, std::size_t i) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  static bool drop_node(graph_design& g, std::size_t i) {
    if (g.nodes.size() == 1)
      return false;
    auto name = g.nodes[i].name;
    erase(g.nodes, i);
    std::erase_if(g.edges, [&](auto& e) {
      std::erase(e.from, name);
      return e.from.empty() || e.to == name;
    });
    std::erase_if(g.routes, [&](const auto& r) { return r.from == name; });
    auto drop = [&](auto& targets) {
      std::erase_if(targets, [&](const auto& t) { return t.node == name; });
    };
    for (auto& r : g.routes)
      for (auto& option : r.options)
        drop(option);
    std::vector<graph_design*> all;
    collect(g, all);
    for (auto* inner : all)
      for (auto& n : inner->nodes)
        for (auto& v : n.body.variants)
          for (auto& p : v)
            drop(p.targets);
    std::erase(g.before, name);
    std::erase(g.after, name);
    return true;
  }

  static bool drop_channel(graph_design& g, std::size_t i) {
    auto name = g.channels[i].name;
    if (name == g.counter)
      return false;
    erase(g.channels, i);
    std::erase(g.inputs, name);
    std::erase(g.outputs, name);
    for (auto& n : g.nodes) {
      std::erase(n.reads, name);
      for (auto& v : n.body.variants)
        for (auto& p : v)
          std::erase_if(p.writes, [&](const auto& w) { return w.channel == name; });
    }
    return true;
  }

  static bool plainer(graph_design& g, std::size_t i) {
    auto& n = g.nodes[i / 7];
    switch (i % 7) {
      case 0: return std::exchange(n.defer, false) || std::exchange(n.attempts_max, 1) > 1;
      case 1: return !std::exchange(n.reads, {}).empty();
      case 2: return std::exchange(n.body.questions, 0) != 0;
      case 3: return std::exchange(n.body.fails, 0) != 0;
      case 4:
        if (n.body.variants.empty())
          return false;
        n.body.variants.pop_back();
        return true;
      case 5:
        if (n.body.variants.empty() || n.body.variants.back().empty())
          return false;
        n.body.variants.back().pop_back();
        return true;
      default:
        for (auto& v : n.body.variants)
          for (auto& p : v) {
            if (!p.writes.empty()) {
              p.writes.pop_back();
              return true;
            }
            if (!p.targets.empty()) {
              p.targets.pop_back();
              return true;
            }
          }
        return false;
    }
  }

  static bool shorter(graph_design& g, std::size_t i) {
    auto& r = g.routes[i / 4];
    switch (i % 4) {
      case 0: return std::exchange(r.fails, 0) != 0;
      case 1: return std::exchange(r.labelled, false);
      case 2:
        if (r.options.size() < 2)
          return false;
        r.options.pop_back();
        return true;
      default:
        for (auto& option : r.options)
          if (!option.empty()) {
            option.pop_back();
            return true;
          }
        return false;
    }
  }

  static bool without_options(graph_design& g, std::size_t i) {
    switch (i) {
      case 0: return !std::exchange(g.inputs, {}).empty();
      case 1: return !std::exchange(g.outputs, {}).empty();
      case 2: return !std::exchange(g.before, {}).empty();
      default: return !std::exchange(g.after, {}).empty();
    }
  }

  plan best_;
  std::string kind_;
  clock::time_point begin_ = clock::now();
};

} // namespace

plan shrink(plan p) {
  return shrinker{std::move(p)}.run();
}

} // namespace troupe::fuzz
