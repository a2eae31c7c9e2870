#include "tests/fuzz/loop.hpp"

#include <algorithm>
#include <cstdlib>

namespace troupe::fuzz {
namespace {

bool too_large(const value& v) {
  return v.size() > 400 || (v.is_int() && std::abs(v.as_int()) > std::int64_t{1} << 40);
}

failure fails(std::string type) {
  return {std::move(type), ""};
}

} // namespace

std::string world::next_id() {
  auto n = std::to_string(++ids);
  return "c" + std::string(8 - n.size(), '0') + n;
}

std::string world::task_id(const std::string& key) {
  return task_ids.emplace(key, "t" + std::to_string(task_ids.size())).first->second;
}

// ---- steps ----------------------------------------------------------------------------------

outcome loop::run() {
  try {
    enter();
    auto o = go();
    leave(o.how != outcome::done);
    return o;
  } catch (const failure& e) {
    leave(true);
    return {.how = outcome::failed, .error = e};
  }
}

outcome loop::go() {
  for (;;) {
    tasks_ = prepare(world_, graph_, state_, id_, set_.ns, step_, true);
    if (step_ > stop_) {
      world_.seen.saw(feature::recursion_limits);
      throw fails("GraphRecursionError");
    }
    if (tasks_.empty())
      return {.output = last_values_};
    if (!replaying_)
      for (auto& t : tasks_)
        if (auto stored = pending_.tasks.find(t.id);
            stored != pending_.tasks.end() && stored->second.finished()) {
          t.writes = stored->second.output;
          t.finished = true;
        }
    if (stops(set_.before, tasks_)) {
      world_.seen.saw(feature::breakpoints);
      return pause({});
    }
    if (auto o = step())
      return *o;
  }
}

std::optional<outcome> loop::step() {
  auto how = run_tasks();
  if (how.how == outcome::failed)
    throw how.error;
  if (how.how == outcome::to_parent) {
    if (!set_.nested)
      throw fails("ParentCommand");
    return outcome{.how = outcome::to_parent, .parent = how.parent};
  }
  if (how.how == outcome::paused)
    return pause(how.questions);
  auto updated = apply_step();
  for (const auto& c : state_.cells)
    if (c.available() && too_large(c.get()))
      throw no_answer{"too large a value"};
  if (shows(updated, tasks_))
    last_values_ = read(graph_, state_, graph_.outputs);
  replaying_ = false;
  put("loop");
  if (stops(set_.after, tasks_)) {
    world_.seen.saw(feature::breakpoints);
    tasks_ = prepare(world_, graph_, state_, id_, set_.ns, step_, true);
    return pause({});
  }
  set_.resuming.reset();
  return std::nullopt;
}

// All or nothing.
std::set<std::string> loop::apply_step() {
  auto after = state_;
  try {
    after.updated = apply(graph_, after, tasks_, true);
  } catch (const failure&) {
    world_.seen.saw(feature::refused_writes);
    throw;
  }
  state_ = std::move(after);
  return *state_.updated;
}

// The outcome of the step: a failure counts before a command for the parent, that before questions.
loop::done_with loop::run_tasks() {
  done_with out;
  std::size_t came = 0;
  bool one_answer = set_.plain->waiting.has_value();
  std::set<const node_model*> sent;
  for (auto& t : tasks_) {
    if (t.finished)
      continue;
    if (t.pushed && !sent.insert(t.node).second)
      world_.seen.saw(feature::sends_of_one_node);
    auto a = answers_of(t);
    auto before = set_.plain->asked_for;
    auto how = execute(t, a);
    came += set_.plain->asked_for > before;
    commit(t, how, a);
    if (how.how == outcome::paused) {
      if (out.how == outcome::done)
        out.how = outcome::paused;
      out.questions.insert(out.questions.end(), how.questions.begin(), how.questions.end());
      if (out.questions.size() > 1)
        world_.seen.saw(feature::two_questions_at_once);
    } else if ((how.how == outcome::failed && out.how != outcome::failed)
               || (how.how == outcome::to_parent
                   && (out.how == outcome::done || out.how == outcome::paused))) {
      how.questions = out.questions;
      out = how;
    }
  }
  if (one_answer && came > 1)
    throw no_answer{"two tasks came for one answer"};
  return out;
}

void loop::commit(task_model& t, const done_with& how, const asking& a) {
  task_record r;
  if (a.used)
    r.answers = {a.answers.begin(),
                 a.answers.begin()
                   + static_cast<std::ptrdiff_t>(std::min(a.count, a.answers.size()))};
  switch (how.how) {
    case outcome::done:
      r.output = t.writes;
      r.first = a.used ? 1 : 0;
      if (r.output.empty())
        r.output.emplace_back(no_writes, value{});
      t.finished = true;
      break;
    case outcome::paused:
      if (how.questions.empty() && r.answers.empty())
        return;
      r.questions = how.questions;
      break;
    case outcome::failed: r.error = how.error; break;
    case outcome::to_parent: return;
  }
  auto& stored = pending_.tasks[t.id];
  auto answers = r.answers.empty() ? stored.answers : r.answers;
  stored = r;
  stored.answers = answers;
  dirty_.insert(t.id);
  if (set_.durability == durability::exit)
    return;
  auto* kept = set_.stored ? world_.thread.find(set_.ns, id_) : nullptr;
  if (kept)
    thread_model::store(kept->pending, t.id, persisted(graph_, r));
}

void loop::put(const std::string& source, bool with_updated) {
  checkpoint_model c;
  c.id = world_.next_id();
  c.parent = id_.empty() || (saved_id_.empty() && !put_) ? "" : id_;
  if (set_.durability == durability::exit)
    c.parent = saved_id_;
  c.step = step_;
  c.source = source;
  c.state = storable(graph_, state_);
  if (!with_updated)
    c.state.updated.reset();
  parent_ = c.parent;
  id_ = c.id;
  current_ = std::move(c);
  pending_ = {};
  if (!set_.nested)
    set_.plain->waiting.reset(); // it was for the questions of this step
  dirty_.clear();
  outside_dirty_ = false;
  put_ = true;
  ++step_;
  if (set_.stored && set_.durability != durability::exit)
    world_.thread.put(set_.ns, current_);
}

bool loop::stops(const std::vector<std::string>& nodes,
                 const std::vector<task_model>& tasks) const {
  auto seen = state_.seen.find(interrupt_key);
  bool moved = std::any_of(state_.versions.begin(), state_.versions.end(), [&](const auto& v) {
    if (seen == state_.seen.end())
      return v.second > 0;
    auto last = seen->second.find(v.first);
    return v.second > (last == seen->second.end() ? 0 : last->second);
  });
  bool all = nodes == std::vector<std::string>{"*"};
  return moved && std::any_of(tasks.begin(), tasks.end(), [&](const auto& t) {
           return all ? t.node->design != nullptr
                      : std::find(nodes.begin(), nodes.end(), t.node->name) != nodes.end();
         });
}

// Whether a step shows: it wrote an output channel, and one counts as updated.
bool loop::shows(const std::set<std::string>& updated, const std::vector<task_model>& tasks) const {
  auto is_output = [this](const std::string& key) {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), key) != graph_.outputs.end();
  };
  return std::any_of(updated.begin(), updated.end(), is_output)
         && std::any_of(tasks.begin(), tasks.end(), [&](const auto& t) {
              return std::any_of(t.writes.begin(), t.writes.end(),
                                 [&](const auto& w) { return is_output(w.first); });
            });
}

// ---- the end --------------------------------------------------------------------------------

// Before the tasks of tasks_ that did not finish; what the others wrote shows already.
outcome loop::pause(std::vector<question> questions) {
  outcome out{.how = outcome::paused,
              .output = read(graph_, state_, graph_.outputs),
              .questions = std::move(questions)};
  if (out.questions.empty() && !last_values_.is_null())
    out.output = last_values_; // a breakpoint shows nothing new
  std::vector<task_model> finished;
  for (const auto& t : tasks_)
    if (t.finished)
      finished.push_back(t);
    else
      out.next.push_back(t.node->name);
  if (set_.nested || finished.empty())
    return out;
  auto after = state_;
  auto updated = apply(graph_, after, finished, true);
  if (shows(updated, finished))
    out.output = read(graph_, after, graph_.outputs);
  return out;
}

void loop::leave(bool raised) {
  if (!set_.stored || set_.durability != durability::exit)
    return;
  bool own = set_.ns.find(':') == std::string::npos; // the root, or a state of its own
  if (!own && !raised)
    return;
  if (put_ && id_ != saved_id_)
    world_.thread.put(set_.ns, current_);
  auto* kept = world_.thread.find(set_.ns, id_);
  if (!kept)
    return;
  for (const auto& id : dirty_)
    thread_model::store(kept->pending, id, persisted(graph_, pending_.tasks[id]));
  if (outside_dirty_) {
    kept->pending.outside = persisted(graph_, {.output = pending_.outside}).output;
    if (set_.answer)
      kept->pending.answer = set_.plain->waiting;
  }
}

} // namespace troupe::fuzz
