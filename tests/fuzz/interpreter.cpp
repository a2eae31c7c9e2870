#include "tests/fuzz/interpreter.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

failure refused() {
  return {"InvalidUpdateError", ""};
}

std::vector<value> asked_of(const std::vector<question>& questions) {
  std::vector<value> out;
  for (const auto& q : questions)
    out.push_back(q.asked);
  return out;
}

// The writes of a task to the state: several writes to one channel as a list.
value result_of(const graph_model& g, const write_list& writes) {
  std::map<std::string, std::vector<value>> by_key;
  for (const auto& [channel, v] : writes)
    if (std::find(g.keys.begin(), g.keys.end(), channel) != g.keys.end())
      by_key[channel].push_back(v);
  std::vector<value::map_init> out;
  for (const auto& [key, values] : by_key)
    out.emplace_back(key, values.size() == 1 ? values.front()
                                             : value::map({{"$writes", value::list(values)}}));
  return value::map(std::move(out));
}

} // namespace

interpreter::interpreter(std::shared_ptr<const graph_design> g)
  : graph_{std::make_shared<graph_model>(std::move(g))} {}

std::string interpreter::id_at(std::uint32_t place) const {
  auto all = world_.thread.history("");
  return place < all.size() ? all[all.size() - 1 - place]->id : "";
}

std::int64_t interpreter::place_of(const std::string& id) const {
  auto all = world_.thread.history("");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]->id == id)
      return static_cast<std::int64_t>(all.size() - 1 - i);
  return -1;
}

answer interpreter::make(const call& c) {
  answer out;
  world_.counts.take();
  try {
    if (c.kind == call_kind::look)
      out.seen = look(c.at);
    else if (c.kind >= call_kind::update)
      update(c);
    else
      run(c, out);
  } catch (const failure& e) {
    out.error = e.type;
    out.error_text = e.text;
  } catch (const node_error& e) { // a route of a node that an update stands for
    out.error = e.type();
    out.error_text = e.what();
  }
  out.executions = world_.counts.take();
  out.state = look(std::nullopt);
  for (const auto* checkpoint : world_.thread.history(""))
    out.history.push_back(shown(*graph_, "", *checkpoint, false, false));
  return out;
}

// ---- runs -----------------------------------------------------------------------------------

void interpreter::run(const call& c, answer& out) {
  loop_setup s;
  if (c.at)
    s.at = id_at(*c.at);
  s.durability = c.durability;
  s.limit = c.recursion_limit;
  s.strict = c.strict;
  s.before = c.before.empty() ? graph_->design->before : c.before;
  s.after = c.after.empty() ? graph_->design->after : c.after;
  s.commanded = c.kind != call_kind::invoke && c.kind != call_kind::go_on;
  if (c.kind == call_kind::invoke)
    s.input = c.input;
  if (s.commanded && !c.input.is_null())
    s.update = state_update{c.input};
  s.goto_ = c.goto_;
  if (c.kind == call_kind::answer)
    s.answer = c.plain;
  if (c.kind == call_kind::answer_by_id) {
    auto questions = waiting(c.at);
    answer_map answers;
    for (const auto& [which, v] : c.answers)
      answers[which < questions.size() ? questions[which].id : "unknown"] = v;
    s.answers = std::make_shared<answer_map>(std::move(answers));
  }
  auto o = loop{world_, *graph_, std::move(s)}.run();
  if (o.how == outcome::failed)
    throw o.error;
  out.output = o.output;
  out.paused = o.how == outcome::paused;
  out.questions = asked_of(o.questions);
  out.next = o.next;
}

// ---- reading --------------------------------------------------------------------------------

std::vector<question> interpreter::waiting(const std::optional<std::uint32_t>& at) const {
  auto* c = at ? world_.thread.find("", id_at(*at)) : world_.thread.latest("");
  std::vector<question> out;
  if (!c)
    return out;
  for (const auto& t : loop::prepare(world_, *graph_, c->state, c->id, "", c->step + 1, false))
    if (auto stored = c->pending.tasks.find(t.id); stored != c->pending.tasks.end())
      for (const auto& q : at ? stored->second.questions : stored->second.waiting())
        out.push_back(q);
  return out;
}

state_answer interpreter::look(const std::optional<std::uint32_t>& at) const {
  auto* c = at ? world_.thread.find("", id_at(*at)) : world_.thread.latest("");
  return c ? shown(*graph_, "", *c, !at, !at) : state_answer{.values = value::map()};
}

// `live`: with what the finished tasks wrote. `inner`: with the state of graphs within.
state_answer interpreter::shown(const graph_model& g, const std::string& ns,
                                const checkpoint_model& c, bool live, bool inner) const {
  state_answer out;
  out.step = c.step;
  out.source = c.source;
  if (ns.empty()) {
    out.place = place_of(c.id);
    out.parent = place_of(c.parent);
  }
  auto tasks = loop::prepare(world_, g, c.state, c.id, ns, c.step + 1, false);
  auto s = c.state;
  try {
    auto after = s;
    if (!c.pending.outside.empty())
      loop::apply(g, after, {loop::outside_task(c.pending.outside)}, false);
    s = std::move(after);
  } catch (const failure&) {
    // commands that do not go together
  }
  std::vector<task_model> finished;
  for (auto& t : tasks) {
    task_answer shown_task{.name = t.node->name};
    auto stored = c.pending.tasks.find(t.id);
    if (stored != c.pending.tasks.end()) {
      const auto& r = stored->second;
      if (r.error)
        shown_task.error = r.error->text;
      if (r.finished())
        shown_task.result = result_of(g, r.output);
      shown_task.questions = asked_of(live ? r.waiting() : r.questions);
    }
    if (live && shown_task.result) {
      t.writes = stored->second.output;
      finished.push_back(t);
    } else
      out.next.push_back(t.node->name);
    out.questions.insert(out.questions.end(), shown_task.questions.begin(),
                         shown_task.questions.end());
    if (inner && t.node->inner && t.node->inner->design->keeps != checkpointing::none) {
      auto place = loop::inner_ns(*t.node->inner, loop::task_ns(ns, t));
      const auto* latest = world_.thread.latest(place);
      shown_task.inner =
        std::make_shared<state_answer>(latest ? shown(*t.node->inner, place, *latest, true, true)
                                              : state_answer{.values = value::map()});
    }
    out.tasks.push_back(std::move(shown_task));
  }
  if (!finished.empty())
    try {
      auto after = s;
      loop::apply(g, after, finished, false);
      s = std::move(after);
    } catch (const failure&) {
      // Two finished tasks that do not go together: what they wrote stays pending.
      out.next.clear();
      for (const auto& t : tasks)
        out.next.push_back(t.node->name);
    }
  out.values = loop::read(g, s, g.keys);
  return out;
}

// ---- updates from outside -------------------------------------------------------------------

// The node whose last run is the newest.
std::string interpreter::acting_node(const checkpoint_model* saved) const {
  std::vector<std::pair<std::int64_t, std::string>> seen;
  bool any = false;
  if (saved)
    for (const auto& [node, versions] : saved->state.seen)
      for (const auto& [channel, v] : versions) {
        any = any || v > 0;
        if (graph_->node(node))
          seen.emplace_back(v, node);
      }
  if (!any)
    return START;
  std::sort(seen.begin(), seen.end());
  if (seen.empty() || (seen.size() > 1 && seen[seen.size() - 2].first == seen.back().first))
    throw refused();
  return seen.back().second;
}

void interpreter::put_update(const checkpoint_model* saved, state_model s,
                             const std::string& source, std::string parent, std::int64_t step) {
  checkpoint_model c;
  c.id = world_.next_id();
  c.parent = std::move(parent);
  c.step = step;
  c.source = source;
  s.updated.reset();
  c.state = source == "fork" && saved ? saved->state : loop::storable(*graph_, s);
  c.state.updated.reset();
  world_.thread.put("", std::move(c));
}

void interpreter::update(const call& c) {
  auto* saved = c.at ? world_.thread.find("", id_at(*c.at)) : world_.thread.latest("");
  auto s = saved ? saved->state : loop::fresh_state(*graph_);
  auto parent = saved ? saved->id : "";
  auto step = saved ? saved->step : -1;
  switch (c.kind) {
    case call_kind::clear: {
      if (saved) {
        auto tasks = loop::prepare(world_, *graph_, s, saved->id, "", saved->step + 1, false);
        if (!saved->pending.outside.empty())
          loop::apply(*graph_, s, {loop::outside_task(saved->pending.outside)}, true);
        for (auto& t : tasks)
          if (auto r = saved->pending.tasks.find(t.id);
              r != saved->pending.tasks.end() && r->second.finished())
            t.writes = r->second.output;
        loop::apply(*graph_, s, tasks, true);
      }
      put_update(saved, s, "update", parent, step + 1);
      return;
    }
    case call_kind::input_update: {
      loop::apply(*graph_, s, {loop::outside_task({{START, c.input}})}, true);
      put_update(saved, s, "input", parent, saved ? step + 1 : -1);
      return;
    }
    case call_kind::copy:
      if (!saved)
        throw refused();
      put_update(saved, s, "fork", saved->parent, step + 1);
      return;
    default:
      update_as(c, saved, s, c.as_node.empty() ? acting_node(saved) : c.as_node);
      put_update(saved, s, "update", parent, step + 1);
  }
}

// The task an update stands for: one that waits, or one of its own.
std::string interpreter::updating_task(const checkpoint_model* saved, const std::string& node) {
  if (saved)
    for (const auto& waiting :
         loop::prepare(world_, *graph_, saved->state, saved->id, "", saved->step + 1, false))
      if (waiting.node->name == node)
        return waiting.id;
  return world_.task_id("update " + (saved ? saved->id : world_.next_id()));
}

void interpreter::update_as(const call& c, const checkpoint_model* saved, state_model& s,
                            const std::string& name) {
  const auto* node = graph_->node(name);
  if (!node)
    throw refused();
  task_model t{.node = node, .triggers = {interrupt_key}};
  std::vector<part> parts;
  if (!c.input.is_null())
    parts.emplace_back(state_update{c.input});
  t.id = updating_task(saved, name);
  t.writes = loop::written(world_, *graph_, s, t, parts, node->design ? c.input : value{});
  bool superseded = c.at && saved != world_.thread.latest("");
  if (saved && !superseded) {
    auto r = loop::persisted(*graph_, {.output = t.writes});
    thread_model::store(world_.thread.find("", saved->id)->pending, t.id, r, true);
  }
  loop::apply(*graph_, s, {t}, true);
}

} // namespace troupe::fuzz
