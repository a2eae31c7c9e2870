#include "tests/fuzz/loop.hpp"

#include "tests/fuzz/known_differences.hpp"

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

// ---- entry ----------------------------------------------------------------------------------

const checkpoint_model* loop::load() {
  if (!set_.stored)
    return nullptr;
  auto& thread = world_.thread;
  auto* newest = thread.latest(set_.ns);
  if (set_.at) {
    addressed_ = true;
    auto* found = thread.find(set_.ns, *set_.at);
    superseded_ = found && found != newest;
    return found;
  }
  if (!set_.replay)
    return newest;
  addressed_ = true;
  set_.resuming.reset();
  auto place = set_.ns.substr(0, set_.ns.rfind(':'));
  return set_.replay->visited.insert(place).second
           ? thread.latest_before(set_.ns, set_.replay->bound)
           : newest;
}

void loop::enter() {
  const auto* saved = load();
  state_ = fresh_state(graph_);
  if (saved) {
    id_ = saved_id_ = saved->id;
    parent_ = saved->parent;
    source_ = saved->source;
    step_ = saved->step + 1;
    state_ = saved->state;
    pending_ = saved->pending;
    current_ = *saved;
  } else
    id_ = world_.next_id();
  stop_ = step_ + set_.limit + 1;

  bool told = set_.resuming.value_or(false);
  resuming_ = !state_.versions.empty()
              && (set_.resuming ? told : !set_.nested && (!set_.input || set_.commanded));
  bool answering = set_.answer || set_.answers;
  travelling_ = addressed_ && !((set_.commanded && answering) || told);
  replaying_ = travelling_ || superseded_;
  forks_ = resuming_ && travelling_ && ((source_ != "update" && source_ != "fork") || superseded_);
  if (!set_.nested) {
    set_.resuming = resuming_;
    set_.plain = std::make_shared<plain_answer>();
    if (travelling_) {
      set_.replay = std::make_shared<replay_model>();
      set_.replay->bound = source_ == "update" || source_ == "fork" ? parent_ : id_;
    }
  }
  if (travelling_) {
    pending_.answer.reset();
    for (auto& [id, task] : pending_.tasks)
      task.answers.clear();
  }
  if (set_.commanded)
    take_command();
  if (known::some_answers_are_used_again && pending_.taken_unseen && !set_.commanded && !travelling_
      && !set_.nested)
    throw no_answer{"a used answer that troupe offers again"};
  if (!set_.nested) {
    if (!known::command_hides_a_stored_answer || !set_.commanded || set_.answer)
      set_.plain->waiting = pending_.answer;
    set_.plain->stored_at = id_;
  }
  if (!pending_.outside.empty()) {
    auto updated = apply(graph_, state_, {outside_task(pending_.outside)}, true);
    if (state_.updated)
      state_.updated->insert(updated.begin(), updated.end());
  }
  if (resuming_)
    resume();
  else if (set_.input || set_.commanded)
    start();
  else
    throw fails("EmptyInputError");
}

void loop::check_answers() const {
  auto waiting = pending_.waiting();
  bool strict = set_.strict && (known::strict_at_superseded_checkpoints || !superseded_);
  if (set_.answer && waiting.size() > 1)
    throw fails(strict ? "UnknownInterruptError" : "RuntimeError");
  if (!set_.answers || !strict)
    return;
  auto waits = [&waiting](const auto& a) {
    return std::any_of(waiting.begin(), waiting.end(), [&a](auto& q) { return q.id == a.first; });
  };
  if (set_.answers->empty() || !std::all_of(set_.answers->begin(), set_.answers->end(), waits))
    throw fails("UnknownInterruptError");
}

void loop::take_command() {
  if (current_.id.empty() && (set_.answer || set_.answers))
    throw fails("EmptyInputError"); // troupe: nothing waits on a thread that does not exist
  check_answers();
  write_list writes;
  if (state_.versions.empty()) // a fresh thread: START goes there, besides its edges
    entry_ = set_.goto_;
  else
    for (const auto& node : set_.goto_)
      writes.emplace_back(branch_to(node), value(START));
  for (const auto& [key, v] : set_.update.entries())
    writes.emplace_back(key, v);
  if (writes.empty() && entry_.empty() && !set_.answer && !set_.answers)
    throw fails("EmptyInputError");
  if (known::fresh_command_goes_nowhere && !entry_.empty())
    throw no_answer{"a command that goes somewhere on a fresh thread"};
  pending_.outside.insert(pending_.outside.end(), writes.begin(), writes.end());
  if (set_.answer)
    pending_.answer = set_.answer;
  else if (!writes.empty())
    pending_.answer.reset();
  if (forks_ || (writes.empty() && !set_.answer))
    return;
  outside_dirty_ = true;
  auto* kept = world_.thread.find(set_.ns, id_);
  if (!kept || set_.durability == durability::exit)
    return;
  kept->pending.outside = persisted(graph_, {.output = pending_.outside}).output;
  if (set_.answer)
    kept->pending.answer = set_.answer;
}

void loop::resume() {
  state_.seen[interrupt_key] = state_.versions;
  if (forks_) {
    for (auto& [id, task] : pending_.tasks)
      task.questions.clear();
    put("fork", false);
    if (known::fork_forgets_what_was_updated)
      state_.updated.reset();
  }
  last_values_ = read(graph_, state_, graph_.outputs);
}

void loop::start() {
  // What waited is given up: its triggers count as seen.
  auto tasks = prepare(world_, graph_, state_, id_, set_.ns, step_, false);
  // A command on a fresh thread was applied already; the entry edges follow.
  auto input = set_.input.value_or(value::map());
  tasks.push_back(outside_task({{START, input}}));
  state_.updated = apply(graph_, state_, tasks, true);
  put("input");
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
      avoid_crash();
      throw fails("GraphRecursionError");
    }
    if (tasks_.empty()) {
      bool now = known::output_is_the_state_at_the_end && !last_values_.is_null();
      return {.output = now ? read(graph_, state_, graph_.outputs) : last_values_};
    }
    if (!replaying_)
      for (auto& t : tasks_)
        if (auto stored = pending_.tasks.find(t.id);
            stored != pending_.tasks.end() && stored->second.finished()) {
          t.writes = stored->second.output;
          t.finished = true;
        }
    if (stops(set_.before, tasks_)) {
      avoid_crash();
      return pause({});
    }
    if (auto o = step())
      return *o;
  }
}

void loop::avoid_crash() const {
  if (known::end_behind_an_inline_step_crashes && put_ && tasks_.size() > 1
      && (!set_.stored || set_.durability != durability::sync))
    throw no_answer{"a place where troupe crashes"};
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
    tasks_ = prepare(world_, graph_, state_, id_, set_.ns, step_, true);
    avoid_crash();
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
    if (known::exit_stores_half_a_refused_step && set_.durability == durability::exit)
      throw no_answer{"a refused step under durability exit"};
    throw;
  }
  state_ = std::move(after);
  return *state_.updated;
}

// How the step goes on: a failure counts before a command for the parent, that before questions.
loop::done_with loop::run_tasks() {
  done_with out;
  if (!set_.nested)
    world_.counts.ran_twice();
  std::size_t came = 0;
  bool one_answer = set_.plain->waiting.has_value();
  for (auto& t : tasks_) {
    if (t.finished)
      continue;
    auto a = answers_of(t);
    auto before = set_.plain->asked_for;
    auto how = execute(t, a);
    came += set_.plain->asked_for > before;
    commit(t, how, a);
    if (how.how == outcome::paused) {
      if (out.how == outcome::done)
        out.how = outcome::paused;
      out.questions.insert(out.questions.end(), how.questions.begin(), how.questions.end());
    } else if ((how.how == outcome::failed && out.how != outcome::failed)
               || (how.how == outcome::to_parent
                   && (out.how == outcome::done || out.how == outcome::paused))) {
      how.questions = out.questions;
      out = how;
    }
  }
  if (one_answer && came > 1)
    throw no_answer{"two tasks came for one answer"};
  if (!set_.nested && world_.counts.ran_twice())
    throw no_answer{"which of two tasks fails is chance"};
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
  if (auto* kept = world_.thread.find("", set_.plain->stored_at); kept && a.used && !set_.nested)
    kept->pending.taken_unseen = false;
  if (set_.durability == durability::exit)
    return;
  if (auto* kept = set_.stored ? world_.thread.find(set_.ns, id_) : nullptr)
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
  if (!set_.nested && set_.plain->waiting) {
    set_.plain->waiting.reset();
    set_.plain->stale = true;
  }
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
  if (known::output_is_the_state_at_the_end || shows(updated, finished))
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
