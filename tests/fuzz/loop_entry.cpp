// How a run begins: what it finds stored, and what its input or command means there.
#include "tests/fuzz/loop.hpp"

#include <algorithm>

namespace troupe::fuzz {

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
  if (set_.answers && !set_.nested)
    world_.seen.saw(feature::answers_by_id);
  travelling_ = addressed_ && !((set_.commanded && answering) || told);
  replaying_ = travelling_ || superseded_;
  forks_ = resuming_ && travelling_ && ((source_ != "update" && source_ != "fork") || superseded_);
  if (travelling_)
    world_.seen.saw(feature::time_travels);
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
  if (!set_.nested) {
    // An answer counts for what asked for it: not in a run that brings others (H6 of design.md).
    if (!set_.commanded || set_.answer)
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
    throw failure{"EmptyInputError", ""};
}

void loop::check_answers() const {
  auto waiting = pending_.waiting();
  bool strict = set_.strict && !superseded_;
  if (set_.answer && waiting.size() > 1)
    throw failure{strict ? "UnknownInterruptError" : "RuntimeError", ""};
  if (!set_.answers || !strict)
    return;
  auto waits = [&waiting](const auto& a) {
    return std::any_of(waiting.begin(), waiting.end(), [&a](auto& q) { return q.id == a.first; });
  };
  if (set_.answers->empty() || !std::all_of(set_.answers->begin(), set_.answers->end(), waits))
    throw failure{"UnknownInterruptError", ""};
}

void loop::take_command() {
  if (current_.id.empty() && (set_.answer || set_.answers))
    throw failure{"EmptyInputError", ""}; // troupe: nothing waits on a thread that does not exist
  check_answers();
  write_list writes;
  if (state_.versions.empty()) // a fresh thread: START goes there, besides its edges
    entry_ = set_.goto_;
  for (const auto& node : set_.goto_)
    writes.emplace_back(branch_to(node), value(START));
  for (const auto& [key, v] : set_.update.entries())
    writes.emplace_back(key, v);
  if (writes.empty() && entry_.empty() && !set_.answer && !set_.answers)
    throw failure{"EmptyInputError", ""};
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
    world_.seen.saw(feature::forks);
    put("fork", false);
  }
  last_values_ = read(graph_, state_, graph_.outputs);
}

void loop::start() {
  // Waiting tasks are given up: their triggers count as seen.
  auto tasks = prepare(world_, graph_, state_, id_, set_.ns, step_, false);
  // A command on a fresh thread was applied already; the entry edges follow.
  auto input = set_.input.value_or(value::map());
  tasks.push_back(outside_task({{START, input}}));
  state_.updated = apply(graph_, state_, tasks, true);
  put("input");
}

} // namespace troupe::fuzz
