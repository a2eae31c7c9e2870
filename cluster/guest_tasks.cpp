// guest_tasks: runs the tasks of homes on a worker.
#include "cluster/guest_tasks.hpp"

#include "actors/node_actor.hpp"
#include "actors/protocol.hpp"
#include "actors/tell.hpp"
#include "coordinator/runtime_core.hpp"
#include "tasks/execute_body.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace troupe::cluster {

namespace {

// Stands for the readers of the home's run.
class remote_sink : public part_sink {
public:
  remote_sink(std::uint32_t modes, std::shared_ptr<task_link> link)
    : modes_{modes},
      link_{std::move(link)} {}

  bool wants(stream_mode mode) const noexcept override {
    return (modes_ >> static_cast<unsigned>(mode) & 1U) != 0;
  }
  void emit(stream_part part) override { send(part, false); }
  void emit_custom(stream_part part) override { send(part, true); }

private:
  // Sends a part, unless it is too large to cross.
  void send(const stream_part& part, bool wait) {
    if (auto encoded = encode_part(part))
      link_->part(std::move(*encoded), wait);
  }

  const std::uint32_t modes_;
  const std::shared_ptr<task_link> link_;
};

// The run of one task. Its saver, store and readers stand for the home's.
struct guest_shared : run_shared {
  guest_shared(issue_number of, std::shared_ptr<guest_listener> to)
    : issue{of},
      listener{std::move(to)},
      link{std::make_shared<task_link>(
        of, [to = listener](message what) { to->on_message(std::move(what)); })},
      long_term{link} {}
  guest_shared(const guest_shared&) = delete;
  guest_shared& operator=(const guest_shared&) = delete;
  ~guest_shared() {
    if (saver)
      caf::anon_send_exit(saver->actor, caf::exit_reason::user_shutdown);
    if (stopped) // its body has left the thread or actor on which it ran
      listener->on_message(task_refused{issue, errc::cancelled, "the task was stopped"});
  }

  const issue_number issue;
  const std::shared_ptr<guest_listener> listener;
  std::atomic<bool> stopped{false};
  std::shared_ptr<task_link> link;
  remote_store long_term;
  std::shared_ptr<remote_saver> checkpoints;
};

void give_up(detail::task_scope& task) {
  task.given_up = true;
  task.stop_inner();
}

// Whether the body may run graphs, which need a saver.
bool may_run_graphs(const plan_node& node) {
  return node.body.graph() || node.body.coroutine() || node.lane == lane::blocking;
}

message outcome_of(detail::task_scope& task) {
  auto issue = task.epoch;
  bool left = task.failure && task.failure->code() == errc::graph_drained;
  if (left && control_hooks::leaves(task.run->control))
    return task_refused{issue, errc::overloaded, task.failure->message()};
  auto encoded = encode_outcome(task);
  if (!encoded) {
    task.status = task_status::failed;
    task.failure = error{encoded.error().code(), "node `" + task.node->name
                                                   + "`: its output cannot be sent to its home: "
                                                   + encoded.error().message()};
    task.writes.clear();
    task.early.clear();
    task.questions.clear();
    task.upward.reset();
    encoded = encode_outcome(task);
  }
  if (!encoded)
    return task_refused{issue, errc::invalid_value, encoded.error().message()};
  return task_outcome{issue, std::move(*encoded)};
}

} // namespace

// A node actor, for one task after the other. Making one for each task would cost more than a short
// body.
struct guest_tasks::seat {
  caf::actor actor;
  card_ptr card;
  std::atomic<issue_number> issue{0}; // the task that it has; 0: none
};

// The running tasks, by issue, and the node actors. An actor refers to the table until it ends.
class guest_tasks::task_table {
public:
  struct guest {
    std::shared_ptr<guest_shared> shared;
    task_ptr task;
    std::shared_ptr<seat> at = nullptr; // of a task that is not on the pool
    std::int64_t signed_ns = 0;         // the last sign of life that was sent
  };

  bool add(issue_number issue, guest who) {
    std::lock_guard lock{mutex_};
    return guests_.emplace(issue, std::make_shared<guest>(std::move(who))).second;
  }

  std::shared_ptr<guest> find(issue_number issue) const {
    std::lock_guard lock{mutex_};
    auto it = guests_.find(issue);
    return it == guests_.end() ? nullptr : it->second;
  }

  /// The task; null when it was taken before.
  std::shared_ptr<guest> take(issue_number issue) {
    std::lock_guard lock{mutex_};
    auto node = guests_.extract(issue);
    return node ? std::move(node.mapped()) : nullptr;
  }

  std::vector<std::shared_ptr<guest>> take_all() {
    std::map<issue_number, std::shared_ptr<guest>> all;
    {
      std::lock_guard lock{mutex_};
      all.swap(guests_);
    }
    std::vector<std::shared_ptr<guest>> out;
    for (auto& [issue, g] : all)
      out.push_back(std::move(g));
    return out;
  }

  std::vector<std::shared_ptr<task_link>> with_new_signs() {
    std::vector<std::shared_ptr<task_link>> out;
    std::lock_guard lock{mutex_};
    for (auto& [issue, g] : guests_)
      if (auto last = g->task->progress_ns.load(std::memory_order_relaxed);
          g->task->timeout.idle_timeout.count() > 0 && last != g->signed_ns) {
        g->signed_ns = last;
        out.push_back(g->shared->link);
      }
    return out;
  }

  // -- seats

  /// A free one for tasks of this node; null: make one.
  std::shared_ptr<seat> take_seat(const std::string& node) {
    std::lock_guard lock{mutex_};
    auto name_of = [](const auto& free) -> const std::string& { return free->card->name; };
    auto found = std::ranges::find(free_, node, name_of);
    if (found == free_.end())
      return nullptr;
    std::swap(*found, free_.back());
    auto out = std::move(free_.back());
    free_.pop_back();
    return out;
  }

  /// False when no tasks are taken any more.
  bool add_seat(const std::shared_ptr<seat>& made) {
    std::lock_guard lock{mutex_};
    return !closed_ && seats_.insert(made).second;
  }

  void give_back(const std::shared_ptr<seat>& at) {
    at->issue = 0;
    if (!keep_free(at))
      caf::anon_send_exit(at->actor, caf::exit_reason::user_shutdown);
  }

  void end_task(const std::shared_ptr<seat>& at, const task_ptr& task) {
    auto gone = take(task->epoch);
    auto end = gone ? std::optional{end_of(*gone, *task)} : std::nullopt;
    give_back(at);
    if (end)
      gone->shared->listener->on_message(std::move(*end));
  }

  void lose_seat(const std::shared_ptr<seat>& at, const std::string& why) {
    {
      std::lock_guard lock{mutex_};
      seats_.erase(at);
      std::erase(free_, at);
    }
    auto gone = take(at->issue);
    if (!gone)
      return;
    auto& task = *gone->task;
    task.status = task_status::failed;
    task.failure = error{errc::node_lost, "node `" + task.node->name + "`: its actor died: " + why};
    gone->shared->listener->on_message(end_of(*gone, task));
  }

  void close_seats() {
    std::unordered_set<std::shared_ptr<seat>> all;
    {
      std::lock_guard lock{mutex_};
      closed_ = true;
      free_.clear();
      all.swap(seats_);
    }
    for (const auto& one : all)
      caf::anon_send_exit(one->actor, caf::exit_reason::user_shutdown);
  }

  /// The last message of a task that was taken.
  static message end_of(const guest& gone, detail::task_scope& task) {
    auto out = outcome_of(task);
    gone.shared->link->close(
      {errc::cancelled, "node `" + task.node->name + "`: the task has ended"});
    return out;
  }

private:
  static constexpr std::size_t free_seats_max = 64;

  bool keep_free(const std::shared_ptr<seat>& at) {
    std::lock_guard lock{mutex_};
    if (closed_ || free_.size() >= free_seats_max)
      return false;
    free_.push_back(at);
    return true;
  }

  mutable std::mutex mutex_;
  std::map<issue_number, std::shared_ptr<guest>> guests_;
  std::unordered_set<std::shared_ptr<seat>> seats_; // all that live
  std::vector<std::shared_ptr<seat>> free_;
  bool closed_ = false;
};

guest_tasks::guest_tasks(runtime_core& runtime)
  : runtime_{runtime},
    tasks_{std::make_shared<task_table>()},
    group_{std::make_shared<group_card>()} {}

guest_tasks::~guest_tasks() {
  for (auto& g : tasks_->take_all()) {
    g->shared->stop = true;
    if (g->task->may_block)
      give_up(*g->task);
    g->shared->link->close(
      {errc::runtime_stopped, "run a task for another process: the worker ends"});
  }
  tasks_->close_seats();
}

std::shared_ptr<guest_tasks::seat> guest_tasks::seat_for(const std::string& node) {
  if (auto free = tasks_->take_seat(node))
    return free;
  auto made = std::make_shared<seat>();
  made->card = runtime_.shared().actors.add("node", node, group_);
  auto taker = [guests = tasks_, made](const task_ptr& task) { guests->end_task(made, task); };
  auto& system = runtime_.system();
  made->actor = system.spawn<node_actor, caf::hidden + caf::lazy_init>(runtime_.shared(),
                                                                       made->card, taker);
  made->actor->attach_functor([guests = tasks_, made, &system](const caf::error& why) {
    guests->lose_seat(made, system.render(why));
  });
  if (!tasks_->add_seat(made))
    caf::anon_send_exit(made->actor, caf::exit_reason::user_shutdown);
  return made;
}

result<void> guest_tasks::start(const guest_run& run, const task_order& order, const bytes& step,
                                const std::shared_ptr<guest_listener>& listener,
                                std::shared_ptr<begin_gate> gate, bool at_its_end) {
  auto shared = std::make_shared<guest_shared>(order.issue, listener);
  const auto& link = shared->link;
  auto decoded = decode_task(order, step, *run, shared);
  if (!decoded)
    return decoded.error();
  auto task = std::move(*decoded);
  if (run->modes != 0)
    shared->sink = std::make_shared<remote_sink>(run->modes, link);
  shared->graphs = &runtime_;
  shared->lease = std::move(gate);
  shared->memory = &shared->long_term;
  shared->cache = runtime_.cache().get();
  if (run->stored && may_run_graphs(*task->node)) {
    shared->checkpoints = std::make_shared<remote_saver>(link);
    shared->store = shared->checkpoints.get();
    shared->saver = runtime_.make_saver_link(shared->checkpoints);
  }
  auto at = needs_pool(*task) ? nullptr : seat_for(task->node->name);
  if (at)
    at->issue = order.issue;
  if (!tasks_->add(order.issue, {shared, task, at})) {
    if (at)
      tasks_->give_back(at);
    return error{errc::protocol_mismatch,
                 "run a task: issue " + std::to_string(order.issue) + " runs already"};
  }
  if (task->timeout.given())
    shared->link->sign(); // the task's time counts from here
  if (at)
    tell(at->actor, *at->card, nullptr, run_task{std::move(task)});
  else
    run_on_pool(std::move(task), at_its_end);
  return {};
}

// Runs a task without an actor. The home decides about attempts and time, and only the end of the
// task comes back.
void guest_tasks::run_on_pool(task_ptr task, bool at_its_end) {
  task->may_block = true;
  auto job = [guests = tasks_, task] {
    execute_body(*task);
    auto gone = guests->take(task->epoch);
    if (!gone)
      return;
    auto& listener = *gone->shared->listener;
    auto end = task_table::end_of(*gone, *task);
    if (gone->shared->link->has_sent())
      listener.on_message(std::move(end)); // after earlier messages
    else
      listener.on_body_end(std::move(end));
  };
  auto& pool = runtime_.shared().pool;
  if (at_its_end ? pool.submit_after_this(std::move(job)) : pool.submit(std::move(job)))
    return;
  task->status = task_status::failed;
  task->failure = pool_refused(*task);
  if (auto gone = tasks_->take(task->epoch))
    gone->shared->listener->on_message(task_table::end_of(*gone, *task));
}

void guest_tasks::stop(issue_number issue) {
  auto gone = tasks_->take(issue);
  if (!gone)
    return;
  gone->shared->stop = true;
  gone->shared->stopped = true;
  gone->shared->link->close(
    {errc::cancelled, "node `" + gone->task->node->name + "`: the task was given up"});
  if (gone->at)
    tell(gone->at->actor, *gone->at->card, nullptr, abandon_task{gone->task->id(), issue});
  else
    give_up(*gone->task);
}

void guest_tasks::drain(issue_number issue, const std::string& why, bool give_back) {
  auto found = tasks_->find(issue);
  if (!found || !found->task->node->body.graph())
    return;
  if (give_back)
    control_hooks::leave(found->shared->control, why);
  else
    found->shared->control.request_drain(why);
}

void guest_tasks::step_failed(issue_number issue) {
  if (auto found = tasks_->find(issue))
    found->task->should_end.store(true, std::memory_order_relaxed);
}

void guest_tasks::answered(save_answer answer) {
  if (auto found = tasks_->find(answer.issue))
    found->shared->link->answered(std::move(answer));
}

void guest_tasks::answered(call_answer answer) {
  if (auto found = tasks_->find(answer.issue))
    found->shared->link->answered(std::move(answer));
}

void guest_tasks::granted(const part_credit& credit) {
  if (auto found = tasks_->find(credit.issue))
    found->shared->link->granted(credit.parts);
}

void guest_tasks::send_signs() {
  for (const auto& link : tasks_->with_new_signs())
    link->sign();
}

} // namespace troupe::cluster
