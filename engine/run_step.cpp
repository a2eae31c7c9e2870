// The open step of a run: which slot begins, which one decides, and in which order writes count.
#include "engine/run_step.hpp"

#include "graph/names.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

bool ends_the_run(errc code) noexcept {
  return code == errc::graph_drained || code == errc::cancelled || code == errc::runtime_stopped
         || (code >= errc::checkpoint_missing && code <= errc::conflict)
         || code == errc::key_missing;
}

bool step_slot::bubbles() const {
  return (failure && ends_the_run(failure->code()))
         || (status == task_status::interrupted && questions.empty());
}

bool step_slot::wants_handler() const {
  return status == task_status::failed && failure && !handled && node->handler != no_index
         && !ends_the_run(failure->code());
}

// A new member needs a line here.
void step_slot::renew() {
  plan.node = 0;
  plan.push = false;
  plan.index = 0;
  plan.id.clear();
  plan.arg = {};
  plan.timeout.reset();
  node = nullptr;
  call.reset();
  caller.reset();
  handles = no_index;
  handled = ended = false;
  status = task_status::done;
  scope.reset();
  writes.clear();
  failure.reset();
  questions.clear();
  upward.reset();
  worker.reset();
}

step_slot& step_slots::add() {
  if (used_ == all_.size())
    all_.emplace_back();
  return all_[used_++];
}

void step_slots::clear() {
  if (all_.size() > kept_max)
    all_.erase(all_.begin() + kept_max, all_.end());
  for (std::size_t i = 0; i < std::min(used_, kept_max); ++i)
    all_[i].renew();
  used_ = 0;
}

void run_step::clear() {
  slots.clear();
  running = next = unfinished = unsettled = 0;
  asked_to_end_ = false;
  refused.reset();
  before.reset();
}

void run_step::plan(const graph_plan& graph, std::span<planned_task> tasks) {
  slots.clear();
  named_ = 0;
  slots.reserve(tasks.size());
  for (auto& t : tasks) {
    auto& s = add();
    s.node = &graph.nodes[t.node];
    s.plan = std::move(t);
  }
}

void run_step::name(const plan_context& at, const graph_plan& graph) {
  for (; named_ < slots.size(); ++named_)
    if (auto& s = slots[named_]; s.plan.id.empty())
      s.plan.id = id_of(at, graph, s.plan);
}

step_slot* run_step::launch(std::size_t bound) {
  while (next < slots.size() && running < bound) {
    auto& s = slots[next++];
    if (s.ended || s.call) // a started task runs already
      continue;
    ++running;
    return &s;
  }
  return nullptr;
}

// They have nothing to store, and run on resume.
// Source: langgraph/pregel/_runner.py, _should_stop_others.
void run_step::leave_rest() {
  for (; next < slots.size(); ++next) {
    auto& s = slots[next];
    if (s.ended || s.call)
      continue;
    s.scope.reset();
    --unfinished;
  }
}

bool run_step::ask_to_end() {
  for (auto& s : slots)
    if (s.scope && !s.ended)
      s.scope->should_end.store(true, std::memory_order_relaxed);
  return !std::exchange(asked_to_end_, true);
}

const step_slot* run_step::failed() const {
  const step_slot* found = nullptr;
  for (const auto& s : slots)
    if (s.failure && !s.handled && !s.call
        && (!found
            || (found->status == task_status::parent_command && s.status == task_status::failed)))
      found = &s;
  return found;
}

const plan_node* run_step::shared_state() const {
  std::vector<const plan_node*> seen;
  for (const auto& s : slots) {
    const auto& graph = s.node->body.graph();
    if (s.call || !graph || graph->options.checkpointer.mode() != checkpointing::per_thread)
      continue;
    if (std::ranges::find(seen, s.node) != seen.end())
      return s.node;
    seen.push_back(s.node);
  }
  return nullptr;
}

bool run_step::paused() const {
  return std::any_of(slots.begin(), slots.end(), [](const step_slot& s) {
    return s.status == task_status::interrupted && !s.call;
  });
}

bool run_step::has_done() const {
  return std::any_of(slots.begin(), slots.end(),
                     [](const step_slot& s) { return s.status == task_status::done && !s.call; });
}

std::vector<interrupt> run_step::questions() const {
  std::vector<interrupt> out;
  for (const auto& s : slots)
    if (s.status == task_status::interrupted && !s.call)
      out.insert(out.end(), s.questions.begin(), s.questions.end());
  return out;
}

std::vector<std::string> run_step::waiting_nodes() const {
  std::vector<std::string> out;
  for (const auto& s : slots)
    if (!s.ended)
      out.push_back(s.node->name);
  return out;
}

std::vector<std::string> run_step::asking_nodes(const graph_plan& graph) {
  std::vector<std::string> out;
  for (const auto* s : in_task_order(graph))
    if (s->status == task_status::interrupted)
      out.push_back(s->handles == no_index ? s->node->name : slots[s->handles].node->name);
  return out;
}

std::vector<planned_task> run_step::planned() const {
  std::vector<planned_task> out;
  for (const auto& s : slots)
    out.push_back(s.plan);
  return out;
}

std::vector<planned_task> run_step::ran() const {
  std::vector<planned_task> out;
  for (const auto& s : slots)
    if (!s.call)
      out.push_back(s.plan);
  return out;
}

const std::vector<const step_slot*>& run_step::in_task_order(const graph_plan& graph) {
  ordered_.clear();
  ordered_.reserve(slots.size());
  for (bool push : {false, true}) // as planned, a step has its sends first
    for (const auto& s : slots)
      if (!s.call && s.plan.push == push)
        ordered_.push_back(&s);
  auto base = [this](const step_slot* s) -> const planned_task& {
    return s->handles == no_index ? s->plan : slots[s->handles].plan;
  };
  auto before = [&](const step_slot* a, const step_slot* b) {
    return task_order{}(graph, base(a), base(b));
  };
  if (!std::is_sorted(ordered_.begin(), ordered_.end(), before))
    std::stable_sort(ordered_.begin(), ordered_.end(), before);
  return ordered_;
}

const std::vector<applied_task>& run_step::applied(const graph_plan& graph) {
  applied_.clear();
  for (const auto* s : in_task_order(graph))
    applied_.push_back(
      {s->plan.push || s->handles != no_index ? applied_task::kind::push : applied_task::kind::pull,
       s->plan.node, &s->writes});
  return applied_;
}

std::string run_step::path_of(const step_slot& s) const {
  std::string out;
  path_of(s, out);
  return out;
}

void run_step::path_of(const step_slot& s, std::string& into) const {
  if (s.call)
    into = call_path_str(s.caller->path, s.caller->number);
  else if (s.handles != no_index)
    into = handler_path_str(path_of(slots[s.handles]));
  else if (s.plan.push)
    into = task_path_str(push_path(s.plan.index));
  else
    pull_path_str(s.node->name, into);
}

std::string run_step::namespace_of(const step_slot& s, const std::string& run_ns) const {
  if (s.handles != no_index)
    return task_namespace(namespace_of(slots[s.handles], run_ns), s.node->name, s.plan.id);
  return task_namespace(s.call ? s.caller->ns : run_ns, s.node->name, s.plan.id);
}

value run_step::workers() const {
  std::vector<value::map_init> out;
  for (const auto& s : slots)
    if (s.worker)
      out.emplace_back(s.plan.id, *s.worker);
  return out.empty() || out.size() > limits::metadata_workers_max ? value{}
                                                                  : value::map(std::move(out));
}

} // namespace troupe
