#include "tests/fuzz/body.hpp"

namespace troupe::fuzz {
namespace {

constexpr const char* depth_key = "depth"; // of what is sent: sends one after another

struct situation {
  const graph_design& graph;
  std::string name; // of the body or route
  std::uint64_t hash;
  std::int64_t rounds;
  bool sent;

  situation(const graph_design& g, std::string who, const value& input, const std::string& text)
    : graph{g},
      name{std::move(who)},
      hash{hash_of(name + text)},
      rounds{input.contains(depth_key)   ? input[depth_key].as_int()
             : input[g.counter].is_int() ? input[g.counter].as_int()
                                         : 0},
      sent{input.contains(depth_key)} {}

  bool another_round() const { return sent ? rounds < 2 : rounds % 7 < 3; }
  std::string label() const { return name + "#" + std::to_string(hash % 1000); }
};

value written(content holds, const situation& s, std::uint32_t salt) {
  auto n = static_cast<std::int64_t>((s.hash >> (salt % 16)) % 40);
  switch (holds) {
    case content::number: return n;
    case content::list:
      return salt == 0 ? value::list() : value::list({value(s.label()), value(n)});
    case content::map:
      return value::map(
        {{"k" + std::to_string(n % 3), value(s.label())}, {"k" + std::to_string(salt), value(n)}});
  }
  return {};
}

// The channels of a name hold the same kind of thing in all graphs, which the name's letter
// determines.
content holding(const std::string& channel) {
  return channel[0] == 'l' ? content::list : channel[0] == 'm' ? content::map : content::number;
}

bool counts_rounds(const std::string& channel) {
  return channel[0] == 'c';
}

state_update update_of(const part_design& p, const situation& s) {
  state_update out;
  for (const auto& w : p.writes) {
    auto v = counts_rounds(w.channel) ? value(1) : written(holding(w.channel), s, w.salt);
    out.set(w.channel, w.overwrite ? overwrite(std::move(v)) : std::move(v));
  }
  return out;
}

value argument(const situation& s, std::size_t index) {
  auto n = static_cast<std::int64_t>(s.hash % 100);
  std::vector<value::map_init> out{{"from", value(s.name)},
                                   {"hash", value(n)},
                                   {"index", value(static_cast<std::int64_t>(index))},
                                   {depth_key, value(s.sent ? s.rounds + 1 : 1)}};
  for (const auto& c : s.graph.channels)
    if (!counts_rounds(c.name) && (hash_of(c.name) + s.hash) % 3 == 0)
      out.emplace_back(c.name, written(c.holds, s, 3));
  return value::map(std::move(out));
}

std::vector<destination> destinations_of(const std::vector<target_design>& targets,
                                         const situation& s, bool labelled) {
  std::vector<destination> out;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto& t = targets[i];
    if ((t.back || (t.send && s.sent)) && !s.another_round())
      continue;
    if (t.send)
      out.emplace_back(send{t.node, argument(s, i)});
    else
      out.emplace_back(labelled ? label_of(t.node) : t.node);
  }
  return out;
}

void fail_if(std::uint32_t bits, std::uint32_t execution, const situation& s) {
  if (execution < 32 && ((bits >> execution) & 1))
    throw node_error{"ValueError", s.label() + " fails"};
}

} // namespace

run_counts::run_counts(const run_counts& other) {
  *this = other;
}

run_counts& run_counts::operator=(const run_counts& other) {
  if (this != &other) {
    std::scoped_lock guard{mutex_, other.mutex_};
    by_task_ = other.by_task_;
    by_node_ = other.by_node_;
  }
  return *this;
}

std::uint32_t run_counts::count(const std::string& name, const std::string& task) {
  std::lock_guard guard{mutex_};
  ++by_node_[name];
  return by_task_[name + " " + task]++;
}

std::map<std::string, std::uint32_t> run_counts::take() {
  std::lock_guard guard{mutex_};
  return std::exchange(by_node_, {});
}

std::string label_of(const std::string& node) {
  return "to " + node;
}

std::vector<part> run_body(const graph_design& g, const node_design& n, const value& input,
                           run_counts& counts, const std::string& task,
                           const std::function<value(const value&)>& ask) {
  auto text = to_json(input);
  auto execution = counts.count(n.name, task);
  situation before{g, n.name, input, text};
  if (!n.body.fails_behind)
    fail_if(n.body.fails, execution, before);
  if (before.hash % n.body.asks_of == 0)
    for (std::uint32_t k = 0; k < n.body.questions; ++k)
      text += to_json(ask(value::map({{"who", value(before.label())}, {"k", value(k)}})));
  situation s{g, n.name, input, text};
  if (n.body.fails_behind)
    fail_if(n.body.fails, execution, s);
  std::vector<part> out;
  if (n.body.variants.empty())
    return out;
  for (const auto& p : n.body.variants[s.hash % n.body.variants.size()]) {
    auto update = update_of(p, s);
    if (!p.command) {
      out.emplace_back(std::move(update));
      continue;
    }
    command c;
    if (!update.empty())
      c.update = std::move(update);
    c.goto_ = destinations_of(p.targets, s, false);
    if (p.to_parent)
      c.graph = command::PARENT;
    out.emplace_back(std::move(c));
  }
  return out;
}

std::vector<destination> run_route(const graph_design& g, const route_design& r, const value& state,
                                   run_counts& counts, const std::string& task) {
  auto text = to_json(state);
  auto execution = counts.count(r.name, task);
  situation s{g, r.name, state, text};
  fail_if(r.fails, execution, s);
  return destinations_of(r.options[s.hash % r.options.size()], s, r.labelled);
}

} // namespace troupe::fuzz
