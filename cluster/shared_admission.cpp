// shared_admission: a worker's admission under a mutex, with the errands of its actor.
#include "cluster/shared_admission.hpp"

#include "actors/log.hpp"
#include "cluster/process_look.hpp"
#include "tasks/run_shared.hpp"

#include <algorithm>

namespace troupe::cluster {

namespace {

// Asks the lease before a body begins. The process may still be stopped before the body's first
// instruction.
class lease_gate : public begin_gate {
public:
  lease_gate(std::shared_ptr<lease_end> until, std::shared_ptr<const shared_admission::owner> clock)
    : until_{std::move(until)},
      clock_{std::move(clock)} {}
  bool may_begin() noexcept override { return !until_->is_over(clock_->now()); }
  error not_begun(const std::string& what) const override {
    return {errc::cancelled, what
                               + ": not started: the lease of its worker has expired, and the task "
                                 "runs on another worker"};
  }

private:
  const std::shared_ptr<lease_end> until_;
  const std::shared_ptr<const shared_admission::owner> clock_;
};

} // namespace

shared_admission::shared_admission(admission_options options, graph_shelf graphs,
                                   guest_tasks& guests, std::unique_ptr<owner> of)
  : admission_{*this, std::move(options)},
    graphs_{std::move(graphs)},
    guests_{guests},
    owner_{std::move(of)} {}

void shared_admission::close() {
  std::lock_guard lock{mutex_};
  closed_ = true;
}

// -- messages of tasks

link_orders shared_admission::hear(message what) {
  return speak([&](task_admission&) { hand_over(std::move(what)); });
}

// The last reference to a task may be dropped on any thread, even within the admission. So this
// call must not lock.
void shared_admission::on_message(message what) {
  owner_->forward(std::move(what));
}

void shared_admission::on_body_end(message what) {
  std::lock_guard lock{mutex_};
  if (closed_)
    return;
  thread_is_free_ = true;
  hand_over(std::move(what));
  thread_is_free_ = false;
  settle();
  if (auto when = owner_->now(); are_due(when) && asked_for_ > when) {
    asked_for_ = when;
    owner_->hurry(nanoseconds{0});
  }
}

void shared_admission::hand_over(message what) {
  if (auto* outcome = std::get_if<task_outcome>(&what)) {
    admission_.finished(outcome->issue, std::move(outcome->outcome), owner_->now());
  } else if (auto* refused = std::get_if<task_refused>(&what)) {
    if (refused->code == errc::overloaded)
      admission_.given_back(refused->issue, owner_->now());
    else
      admission_.gone(refused->issue, refused->why, owner_->now());
  } else {
    auto task = std::visit(
      [](const auto& m) -> local_task {
        if constexpr (requires { m.issue; })
          return m.issue;
        return 0;
      },
      what);
    admission_.say(task, std::move(what));
  }
}

/// Reports tasks that could not begin as gone. The admission may then begin others.
void shared_admission::settle() {
  while (!not_begun_.empty())
    for (const auto& [task, why] : std::exchange(not_begun_, {}))
      admission_.gone(task, why, owner_->now());
}

// -- errands

/// Whether there are errands that can't wait. Otherwise the owner is asked to come when their time
/// is up.
bool shared_admission::are_due(instant now) {
  if (errands_.empty())
    return false;
  auto until = only_outcomes_ ? admission_.may_keep_outcomes(first_, taken_) : now;
  if (until <= now)
    return true;
  if (until < asked_for_) {
    asked_for_ = until;
    owner_->hurry(until - now);
  }
  return false;
}

link_orders shared_admission::due() {
  auto when = owner_->now();
  return are_due(when) ? give_errands(when) : link_orders{};
}

link_orders shared_admission::take_errands() {
  std::lock_guard lock{mutex_};
  asked_for_ = instant::max();
  return give_errands(owner_->now());
}

link_orders shared_admission::give_errands(instant now) {
  taken_ = now;
  only_outcomes_ = true;
  return std::exchange(errands_, {});
}

// -- admission_host

void shared_admission::send(link_number link, message what) {
  if (!std::holds_alternative<task_outcome>(what))
    only_outcomes_ = false;
  if (errands_.empty())
    first_ = owner_->now();
  errands_.messages.emplace_back(link, std::move(what));
}

void shared_admission::end_link(link_number link) {
  only_outcomes_ = false;
  errands_.ended.push_back(link);
}

void shared_admission::session_over(home_number home, const error& why) {
  only_outcomes_ = false;
  errands_.over.emplace_back(home, why);
}

void shared_admission::open_run(local_run run, home_number, run_opened what,
                                std::shared_ptr<lease_end> until) {
  auto plan = graphs_.find(what.graph);
  if (plan == graphs_.end())
    return; // the admission refuses its tasks
  auto read = decode_run(what.facts, plan->second);
  auto opened = read ? result<guest_run>{std::make_shared<const remote_run>(std::move(*read))}
                     : result<guest_run>{read.error()};
  runs_.insert_or_assign(run, open_run_of_home{std::move(opened), std::make_shared<lease_gate>(
                                                                    std::move(until), owner_)});
}

void shared_admission::close_run(local_run run) {
  runs_.erase(run);
}

void shared_admission::begin(local_task task, local_run run, task_order what, const bytes& step) {
  auto known = runs_.find(run);
  if (known == runs_.end()) {
    not_begun_.emplace_back(task, "run a task: its run is not known");
    return;
  }
  const auto& [opened, gate] = known->second;
  if (!opened) {
    not_begun_.emplace_back(task, opened.error().message());
    return;
  }
  what.issue = task;
  auto begun = guests_.start(*opened, what, step, shared_from_this(), gate,
                             std::exchange(thread_is_free_, false));
  if (!begun)
    not_begun_.emplace_back(task, begun.error().message());
}

void shared_admission::stop(local_task task) {
  guests_.stop(task);
}

void shared_admission::give_back(local_task task) {
  guests_.drain(task, "the worker drains", true);
}

void shared_admission::pass_on(local_task task, message what) {
  if (auto* saved = std::get_if<save_answer>(&what)) {
    saved->issue = task;
    guests_.answered(std::move(*saved));
  } else if (auto* called = std::get_if<call_answer>(&what)) {
    called->issue = task;
    guests_.answered(std::move(*called));
  } else if (auto* credit = std::get_if<part_credit>(&what)) {
    credit->issue = task;
    guests_.granted(*credit);
  } else if (auto* drains = std::get_if<task_drain>(&what)) {
    guests_.drain(task, drains->why, false);
  } else if (std::holds_alternative<step_failed>(what)) {
    guests_.step_failed(task);
  }
}

void shared_admission::report(cluster_event what) {
  auto text = "cluster: " + what.peer + ": " + what.text;
  is_trouble(what.kind) ? log_warning(text) : log_info(text);
}

std::optional<process_facts> shared_admission::look_at(std::uint32_t pid) {
  return look_at_process(pid);
}

void shared_admission::drained() {
  only_outcomes_ = false;
  errands_.drained = true;
}

} // namespace troupe::cluster
