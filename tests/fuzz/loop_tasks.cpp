// The tasks of a step: which there are, and what becomes of one.
#include "tests/fuzz/loop.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

constexpr std::size_t tasks_max = 60;        // of a step
constexpr std::size_t executions_max = 2000; // of a plan

struct asked {
  question what;
};
struct gone_to_parent {
  command what;
};

bool triggered(const state_model& s, const graph_model& g, const node_model& n) {
  auto seen = s.seen.find(n.name);
  return std::any_of(n.triggers.begin(), n.triggers.end(), [&](const auto& channel) {
    if (!s.cells[g.place(channel)].available())
      return false;
    if (seen == s.seen.end())
      return true;
    auto version = s.versions.find(channel);
    auto last = seen->second.find(channel);
    return (version == s.versions.end() ? 0 : version->second)
           > (last == seen->second.end() ? 0 : last->second);
  });
}

std::vector<std::string> candidates(const graph_model& g, const state_model& s, bool by_updates) {
  std::vector<std::string> out;
  if (by_updates && s.updated && !s.updated->empty()) {
    std::set<std::string> names;
    for (const auto& channel : *s.updated)
      if (auto nodes = g.triggered.find(channel); nodes != g.triggered.end())
        names.insert(nodes->second.begin(), nodes->second.end());
    out.assign(names.begin(), names.end());
  } else if (!s.versions.empty())
    for (const auto& n : g.nodes)
      out.push_back(n.name);
  return out;
}

// A list of Python's has the same form whether it is a map's items or a command's.
bool is_map(const std::vector<part>& parts) {
  return parts.size() == 1 && std::holds_alternative<state_update>(parts.front());
}

void add_update(write_list& out, const node_model& n, const state_update& update) {
  for (const auto& [key, v] : update.entries())
    if (std::find(n.writes.begin(), n.writes.end(), key) != n.writes.end())
      out.emplace_back(key, v);
}

void add_target(write_list& out, const destination& d) {
  if (const auto* packet = std::get_if<send>(&d))
    out.emplace_back(tasks_channel, value::of(*packet));
  else if (const auto& node = std::get<std::string>(d); node != END)
    out.emplace_back(branch_to(node), value{});
}

// A graph within is given the keys it shares with the one around.
value shared_keys(const value& input, const graph_model& inner) {
  auto out = input;
  for (const auto& e : input.entries())
    if (std::find(inner.keys.begin(), inner.keys.end(), e.key()) == inner.keys.end())
      out = out.without(e.key());
  return out;
}

} // namespace

std::string loop::task_ns(const std::string& ns, const task_model& t) {
  return (ns.empty() ? "" : ns + "|") + t.node->name + ":" + t.id;
}

std::string loop::inner_ns(const graph_model& inner, const std::string& task_ns) {
  if (inner.design->keeps != checkpointing::per_thread)
    return task_ns;
  std::string out;
  bool id = false;
  for (char c : task_ns) {
    id = c == ':' || (id && c != '|');
    if (!id)
      out += c;
  }
  return out;
}

std::vector<task_model> loop::prepare(world& w, const graph_model& g, const state_model& s,
                                      const std::string& checkpoint, const std::string& ns,
                                      std::int64_t step, bool by_updates) {
  std::vector<task_model> out;
  auto id = [&](const task_model& t) {
    return w.task_id(checkpoint + " " + ns + " " + std::to_string(step) + " " + t.node->name + " "
                     + t.path());
  };
  if (const auto& packets = s.cells[g.place(tasks_channel)]; packets.available())
    for (std::size_t i = 0; i < packets.get().size(); ++i) {
      auto packet = packets.get()[i].as<send>();
      task_model t{.node = g.node(packet.node), .pushed = i, .triggers = {push_trigger}};
      if (!t.node)
        continue;
      t.id = id(t);
      t.input = packet.arg;
      out.push_back(std::move(t));
    }
  for (const auto& name : candidates(g, s, by_updates)) {
    task_model t{.node = g.node(name)};
    if (!triggered(s, g, *t.node))
      continue;
    t.triggers = t.node->triggers;
    t.id = id(t);
    t.input = t.node->design ? read(g, s, t.node->reads) : s.cells[g.place(START)].get();
    out.push_back(std::move(t));
  }
  if (out.size() > tasks_max)
    throw no_answer{"too many tasks"};
  return out;
}

write_list loop::written(world& w, const graph_model& g, const state_model& s, const task_model& t,
                         const std::vector<part>& parts, const value& raw) {
  const auto& n = *t.node;
  write_list out;
  for (const auto& p : parts)
    if (const auto* update = std::get_if<state_update>(&p))
      add_update(out, n, *update);
    else if (const auto& c = std::get<command>(p); c.graph.empty() && c.update)
      add_update(out, n, *c.update);
  for (const auto& p : parts)
    if (const auto* c = std::get_if<command>(&p)) {
      w.seen.saw(c->graph.empty() ? feature::commands : feature::parent_commands);
      if (!c->graph.empty())
        throw gone_to_parent{*c};
      for (const auto& d : c->goto_.list())
        add_target(out, d);
    }
  for (const auto& to : n.edges)
    out.emplace_back(branch_to(to), value{});
  for (const auto& join : n.joins)
    out.emplace_back(join, value(n.name));
  if (n.routes.empty())
    return out;

  // The state for a route, with this task's own writes.
  auto fresh = s;
  std::map<std::string, std::vector<value>> own;
  for (const auto& [channel, v] : out)
    if (std::find(n.reads.begin(), n.reads.end(), channel) != n.reads.end())
      own[channel].push_back(v);
  for (std::size_t i = 0; i < fresh.cells.size(); ++i)
    fresh.cells[i].update(own[g.channels[i].first]);
  auto seen = read(g, fresh, n.reads);
  if (is_map(parts))
    for (const auto& e : raw.entries())
      if (!seen.contains(e.key()))
        seen = seen.with(e.key(), e.val);
  write_list routed;
  w.seen.saw(feature::routes);
  for (const auto* r : n.routes)
    for (auto d : run_route(*g.design, *r, seen, w.counts, t.id)) {
      if (auto* label = std::get_if<std::string>(&d); label && r->labelled) {
        w.seen.saw(feature::path_maps);
        label->erase(0, label_of("").size());
      }
      add_target(routed, d);
    }
  out.insert(out.end(), routed.begin(), routed.end());
  return out;
}

// ---- one task -------------------------------------------------------------------------------

loop::asking loop::answers_of(const task_model& t) const {
  asking out;
  if (auto stored = pending_.tasks.find(t.id); stored != pending_.tasks.end())
    out.answers = stored->second.answers;
  if (!set_.answers)
    return out;
  for (auto k : {out.answers.size(), std::size_t{0}})
    if (auto a = set_.answers->find(question_id(task_ns(set_.ns, t), k));
        a != set_.answers->end()) {
      out.answers.push_back(a->second);
      break;
    }
  return out;
}

std::string loop::question_id(const std::string& task_ns, std::size_t k) {
  return task_ns + "?" + std::to_string(k);
}

value loop::ask(const task_model& t, asking& a, const value& q) {
  if (a.count < a.answers.size()) {
    world_.seen.saw(feature::answers);
    a.used = true;
    return a.answers[a.count++];
  }
  ++a.count;
  ++set_.plain->asked_for;
  world_.seen.saw(set_.nested ? feature::questions_in_subgraphs : feature::questions);
  if (!set_.plain->waiting)
    throw asked{{question_id(task_ns(set_.ns, t), a.answers.size()), q}};
  world_.seen.saw(feature::answers);
  a.answers.push_back(*set_.plain->waiting);
  a.used = true;
  set_.plain->waiting.reset();
  if (auto* kept = world_.thread.find("", set_.plain->stored_at)) {
    kept->pending.answer.reset(); // used once
  }
  return a.answers.back();
}

void loop::note(const task_model& t) {
  auto& seen = world_.seen;
  if (tasks_.size() > 1)
    seen.saw(feature::parallel_tasks);
  if (t.pushed)
    seen.saw(t.node->inner ? feature::sends_to_subgraphs : feature::sends);
  if (!t.node->design)
    return;
  if (t.node->design->defer)
    seen.saw(feature::deferred_nodes);
  if (!t.node->design->reads.empty())
    seen.saw(feature::node_schemas);
  for (const auto& channel : t.triggers)
    if (channel.starts_with("join:") && state_.cells[graph_.place(channel)].available())
      seen.saw(feature::joins);
  if (auto last = ran_.find(t.node->name); last != ran_.end() && last->second != step_)
    seen.saw(feature::rounds);
  ran_[t.node->name] = step_;
  if (!t.node->inner)
    return;
  seen.saw(set_.nested ? feature::subgraphs_two_deep : feature::subgraphs);
  auto keeps = t.node->inner->design->keeps;
  if (keeps != checkpointing::inherit)
    seen.saw(keeps == checkpointing::none ? feature::subgraphs_without_saver
                                          : feature::subgraphs_per_thread);
}

// The output of START: the input, or the targets of a command in its place.
std::vector<part> loop::entry_parts(const value& input) const {
  std::vector<part> out{state_update{input}};
  if (!entry_.empty()) {
    command c;
    c.goto_ = entry_;
    out.emplace_back(std::move(c));
  }
  return out;
}

// A task with a retry policy is tried again when its body or a route fails; its questions have the
// answers they had.
loop::done_with loop::execute(task_model& t, asking& a) {
  note(t);
  auto attempts_max = t.node->design ? t.node->design->attempts_max : 1;
  for (std::uint32_t n = 1;; ++n) {
    auto out = attempt(t, a, n > 1);
    if (out.how != outcome::failed || out.error.type != "ValueError" || n >= attempts_max)
      return out;
    world_.seen.saw(t.node->inner ? feature::retries_of_subgraphs : feature::retries);
    t.writes.clear();
    a.count = 0;
  }
}

loop::done_with loop::attempt(task_model& t, asking& a, bool again) {
  if (++world_.executions > executions_max)
    throw no_answer{"too many executions"};
  try {
    if (t.node->inner)
      return execute_inner(t, again);
    std::vector<part> parts;
    value raw; // START drops values that are not input, so its routes don't see them either
    if (!t.node->design)
      parts = entry_parts(t.input);
    else {
      parts = run_body(*graph_.design, *t.node->design, t.input, world_.counts, t.id,
                       [&](const value& q) { return ask(t, a, q); });
      if (is_map(parts))
        raw = std::get<state_update>(parts.front()).to_value();
    }
    t.writes = written(world_, graph_, state_, t, parts, raw);
    return {};
  } catch (const asked& e) {
    return {.how = outcome::paused, .questions = {e.what}};
  } catch (const gone_to_parent& e) {
    return {.how = outcome::to_parent, .parent = e.what};
  } catch (const node_error& e) {
    world_.seen.saw(set_.nested ? feature::failures_in_subgraphs : feature::failures);
    return {.how = outcome::failed, .error = {e.type(), e.what()}};
  } catch (const failure& e) {
    return {.how = outcome::failed, .error = e};
  }
}

// A repeated attempt resumes where it stopped: finished tasks stay finished.
loop::done_with loop::execute_inner(task_model& t, bool again) {
  const auto& inner = *t.node->inner;
  loop_setup s;
  s.stored = inner.design->keeps != checkpointing::none; // also within a graph that stores nothing
  s.ns = inner_ns(inner, task_ns(set_.ns, t));
  s.nested = true;
  s.durability = set_.durability;
  s.limit = set_.limit;
  s.before = inner.design->before;
  s.after = inner.design->after;
  s.input = shared_keys(t.input, inner);
  s.resuming = again ? std::optional{true} : set_.resuming;
  s.replay = set_.replay;
  s.answers = set_.answers;
  s.plain = set_.plain;
  auto o = loop{world_, inner, std::move(s)}.run();
  if (o.how == outcome::paused || o.how == outcome::failed)
    return {.how = o.how, .error = o.error, .questions = o.questions};
  std::vector<part> parts;
  if (o.how == outcome::to_parent) {
    o.parent.graph.clear();
    parts.emplace_back(o.parent);
  } else if (!o.output.is_null())
    parts.emplace_back(state_update{o.output});
  t.writes = written(world_, graph_, state_, t, parts, o.output);
  return {};
}

} // namespace troupe::fuzz
