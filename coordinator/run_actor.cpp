// run_actor: the coordinator of a group.
#include "coordinator/run_actor.hpp"

#include "actors/channel_actor.hpp"
#include "actors/log.hpp"
#include "actors/node_actor.hpp"
#include "actors/save_lane.hpp"
#include "actors/saver_actor.hpp"
#include "actors/tell.hpp"
#include "coordinator/pending_run.hpp"
#include "coordinator/runtime_core.hpp"
#include "persistence/prompt_saver.hpp"
#include "tasks/execute_body.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::chrono::microseconds short_graph{100}; // shorter ones are cheaper here than on
                                                      // another thread
constexpr int inline_tasks_max = 64;  // of a turn; then the coordinator looks into its mailbox
constexpr int watched_tasks_max = 16; // the same while a reader waits for parts
constexpr std::uint32_t updates_per_reading = 16; // of a channel here, between two that are timed

// Calls the caller's code on the coordinator's turn: an exception must not end this actor.
template <class F> void without_throwing(const char* what, F&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    log_warning(std::string{what} + ": " + e.what());
  } catch (...) {
    log_warning(std::string{what} + ": an exception of an unknown type");
  }
}

class coordinator_port : public call_port {
public:
  coordinator_port(caf::actor coordinator, card_ptr card)
    : coordinator_{std::move(coordinator)},
      card_{std::move(card)} {}
  void call(task_call_ptr call) override {
    auto* home = call->caller->run->home;
    std::shared_ptr<void> gone{nullptr, [call](void*) { call->message_gone(); }};
    tell(coordinator_, *card_, home, start_call{std::move(call), std::move(gone)});
  }

private:
  caf::actor coordinator_;
  card_ptr card_;
};

} // namespace

run_actor::run_actor(caf::actor_config& cfg, std::shared_ptr<const group_context> group,
                     card_ptr card)
  : caf::event_based_actor(cfg),
    group_{std::move(group)},
    card_{std::move(card)},
    loop_{*this},
    nodes_(group_->plan->nodes.size()),
    channels_(group_->plan->channels.size()) {}

caf::behavior run_actor::make_behavior() {
  set_down_handler([this](caf::down_msg& down) { child_died(down); });
  return {
    [this](task_done& done) {
      turn_begins();
      task_came_back(std::move(done.task));
    },
    [this](channel_updated& done) {
      turn_begins();
      channel_came_back(done);
    },
    [this](save_done& done) {
      turn_begins();
      --saves_under_way_;
      loop_.saved(done.ticket, done.failure ? result<void>{*done.failure} : result<void>{});
    },
    [this](begin_run& order) {
      turn_begins();
      begin(order);
    },
    [this](next_turn&) {
      turn_begins();
      loop_.go_on();
    },
    [this](start_call& order) {
      turn_begins();
      order.call->taken = true;
      loop_.call_started(order.call);
    },
    [this](step_deadline& deadline) {
      turn_begins();
      loop_.timed_out(deadline.epoch);
    },
    [this](run_deadline& deadline) {
      turn_begins();
      if (deadline.run == runs_)
        loop_.out_of_time();
    },
    [this](stop_run& order) {
      turn_begins();
      if (order.run > runs_)
        stopped_early_ = std::move(order);
      else if (order.run == runs_)
        loop_.abort(std::move(order.why));
    },
  };
}

// One message is taken from the mailbox.
void run_actor::turn_begins() {
  taken(*card_);
  inline_left_ = inline_tasks();
  clock_ = {};
}

int run_actor::inline_tasks() const {
  return shared_ && shared_->sink ? watched_tasks_max : inline_tasks_max;
}

bool run_actor::turn_is_over() {
  if (inline_left_ > 0)
    return false;
  tell(caf::actor_cast<caf::actor>(this), *card_, home(), next_turn{});
  return true;
}

void run_actor::begin(begin_run& order) {
  runs_ = order.run;
  completion_ = std::move(order.completion);
  shared_ = order.request->shared;
  inline_left_ = inline_tasks(); // now that it is known whether somebody reads
  home_ = shared_->home;
  if (auto early = std::exchange(stopped_early_, {}); early && early->run == runs_)
    return ended({std::move(early->why)});
  if (!port_)
    port_ = std::make_shared<coordinator_port>(caf::actor_cast<caf::actor>(this), card_);
  shared_->calls = port_;
  if (auto bound = shared_->config.run_timeout; bound.count() > 0)
    group_->shared->clock.after(bound, [self = caf::actor_cast<caf::actor>(this), card = card_,
                                        home = home_, run = runs_] {
      tell(self, *card, home, run_deadline{run});
    });
  card_->running.store(true, std::memory_order_relaxed);
  lane_ = nullptr;
  if (const auto& to = shared_->saver;
      to && to->writer && shared_->config.durability == durability::async)
    lane_ = std::make_shared<save_lane>(*to->writer, to->spent, answer_to_run());
  loop_.begin(std::move(*order.request));
}

run_actor::node_children& run_actor::children_of(const detail::task_scope& task) {
  if (!task.call)
    return nodes_[task.index];
  auto& children = called_[task.node];
  children.task = task.call->node;
  return children;
}

run_actor::node_child& run_actor::idle_child(detail::task_scope& task) {
  auto& children = children_of(task);
  if (children.idle.empty()) {
    auto card = group_->shared->actors.add("node", task.node->name, card_->group);
    auto child = spawn<node_actor, caf::hidden + caf::lazy_init>(
      *group_->shared, card, caf::actor_cast<caf::actor>(this), card_);
    monitor(child);
    children.idle.push_back(static_cast<std::uint32_t>(children.all.size()));
    children.all.push_back({std::move(child), std::move(card), nullptr});
  }
  task.child = children.idle.back();
  children.idle.pop_back();
  return children.all[task.child];
}

bool run_actor::placed(const detail::task_scope& task) const {
  return group_->shared->elsewhere && !task.node->settings->placement.local();
}

bool run_actor::runs_inline(const detail::task_scope& task) const {
  const auto& node = *task.node;
  const auto& body = node.body;
  if (body.coroutine() || body.graph() || task.call || node.lane != lane::standard || placed(task)
      || node.settings->retry.given() || node.settings->guard || task.timeout.given()
      || shared_->config.step_timeout.count() > 0 || shared_->wants(stream_mode::custom)
      || shared_->wants(stream_mode::messages))
    return false;
  bool no_user_code = !body.plain() && node.routes.empty();
  return no_user_code || group_->times->runs_here(task.index);
}

// Runs a task here because it is known to be short: two messages would cost more. The end of one
// task counts as the beginning of the next, since a reading of the clock costs as much as an
// update.
void run_actor::run_inline(detail::task_scope& task) {
  --inline_left_;
  const auto& children = nodes_[task.index].all;
  auto* card = children.empty() ? nullptr : children[0].card.get();
  if (card)
    card->running.store(true, std::memory_order_relaxed);
  task.began = clock_;
  execute_body(task);
  clock_ = task.began + task.took;
  if (card)
    card->running.store(false, std::memory_order_relaxed);
  group_->times->add_here(task.index, task.took);
}

bool run_actor::run(const task_ptr& task, bool alone) {
  if (runs_inline(*task)) {
    run_inline(*task);
    return true;
  }
  auto& child = idle_child(*task);
  child.task = task;
  const auto& body = task->node->body;
  if (body.graph())
    task->spread = !alone && !group_->times->below(task->index, short_graph);
  // Tasks that could run side by side go to the scheduler.
  bool here = alone || body.coroutine() || body.graph() || task->node->lane == lane::blocking
              || (!task->call && group_->times->trivial(task->index));
  tell(child.actor, *child.card, here ? home() : nullptr, run_task{task});
  return false;
}

void run_actor::task_came_back(task_ptr task) {
  auto& children = children_of(*task);
  if (auto& child = children.all[task->child]; child.task) {
    child.task.reset();
    children.idle.push_back(task->child);
  }
  if (!task->call) {
    group_->times->add(task->index, task->took);
    if (task->node->lane == lane::standard && !task->node->body.graph() && !placed(*task)
        && group_->times->report_slow(task->index, task->took))
      log_warning("node `" + task->node->name + "` held a thread for "
                  + std::to_string(task->took.count() / 1'000'000)
                  + " ms: give it lane::blocking, or make it a coroutine");
  }
  loop_.task_finished(std::move(task));
}

run_actor::channel_child& run_actor::child_of(channel_index channel) {
  auto& child = channels_[channel];
  if (!child.actor) {
    child.card = group_->shared->actors.add("channel", group_->plan->channels[channel].name,
                                            card_->group);
    child.actor = spawn<channel_actor, caf::hidden + caf::lazy_init>(
      group_->shared->actors, child.card, group_->plan, channel, caf::actor_cast<caf::actor>(this),
      card_);
    monitor(child.actor);
  }
  return child;
}

// The actor of a channel takes its writes, unless its updates are known to be so short that two
// messages would cost more.
void run_actor::change(std::uint64_t epoch, channel_change& change, const channel_cell& before) {
  auto& child = child_of(change.channel);
  if (is_trivial(child.mean_ns))
    return change_inline(child, epoch, change, before);
  apply_writes order{epoch, std::nullopt, std::move(change.writes)};
  // The consume and finish of a definition change the contents here, not in the actor.
  bool defined = group_->plan->channels[change.channel].spec.definition != nullptr;
  if (child.run != runs_ || defined) {
    child.run = runs_;
    order.base = before;
  }
  tell(child.actor, *child.card, home(), std::move(order));
}

void run_actor::change_inline(channel_child& child, std::uint64_t epoch,
                              const channel_change& change, channel_cell cell) {
  child.run = 0; // its actor's contents are old from now on
  const auto& channel = group_->plan->channels[change.channel];
  bool timed = child.inlined++ % updates_per_reading == 0;
  auto began = timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
  auto changed = update_channel(channel.spec, channel.name, cell, change.writes);
  if (timed)
    child.mean_ns = mean_duration(child.mean_ns, std::chrono::steady_clock::now() - began);
  if (changed)
    loop_.settled(epoch, change.channel, std::move(cell), *changed);
  else
    loop_.refused(epoch, change.channel, changed.error());
}

void run_actor::channel_came_back(channel_updated& done) {
  auto& mean = channels_[done.channel].mean_ns;
  mean = mean_duration(mean, done.took);
  if (done.refused)
    loop_.refused(done.epoch, done.channel, *done.refused);
  else
    loop_.settled(done.epoch, done.channel, std::move(done.cell), done.changed);
}

// A request comes after those that are on their way, or the run would miss the failure of one.
bool run_actor::save(save_request& request, save_ack when, std::uint64_t ticket) {
  if (!save_begins(ticket))
    return false;
  auto& to = *shared_->saver;
  if (saves_at_once())
    return stored_here(ticket, store_here(request, shared_->claim.get(),
                                          [&] { return to.prompt->store(request); }));
  ++saves_under_way_;
  if (lane_) {
    auto has_checkpoint = request.put.has_value();
    lane_->enter(std::move(request), when, shared_->claim, ticket);
    if (auto spent = has_checkpoint ? to.spent->take() : std::nullopt)
      request = std::move(*spent);
    return false;
  }
  tell(to.actor, *to.card, home(),
       save_order{std::make_shared<save_request>(std::move(request)), when, ticket,
                  caf::actor_cast<caf::actor>(this), card_, home_, shared_->claim});
  return false;
}

save_lane::answer run_actor::answer_to_run() {
  return [to = caf::actor_cast<caf::actor>(this), card = card_,
          home = home_](std::uint64_t ticket, const result<void>& how) {
    tell_answer(to, *card, home, ticket, how);
  };
}

bool run_actor::save_numbered(const save_request& request, numbered_put& put, numbered_names& names,
                              std::uint64_t ticket) {
  if (!save_begins(ticket))
    return false;
  return stored_here(ticket, store_here(request, shared_->claim.get(), [&] {
                       return shared_->saver->prompt->store(request, put, names);
                     }));
}

// Whether a request may leave; if not, its answer is on the way.
bool run_actor::save_begins(std::uint64_t ticket) {
  if (!shared_->claim || shared_->claim->save_begins())
    return true;
  answer_save(ticket, // the turn of the root run is over
              {errc::cancelled, "store a step: the run around it has ended"});
  return false;
}

bool run_actor::stored_here(std::uint64_t ticket, const result<void>& how) {
  if (!how)
    answer_save(ticket, how.error());
  return static_cast<bool>(how);
}

// A failure comes as a message, so that the run ends in a turn of its own.
void run_actor::answer_save(std::uint64_t ticket, error why) {
  ++saves_under_way_;
  tell(caf::actor_cast<caf::actor>(this), *card_, home(), save_done{ticket, std::move(why)});
}

void run_actor::emit(stream_part part) {
  if (shared_->sink)
    shared_->sink->emit(std::move(part));
}

void run_actor::next_checkpoint_id(std::int64_t step, std::string& into) {
  shared_->saw_id(group_->ids->next_checkpoint_id(step, shared_->newest_id(), into));
}

void run_actor::timestamp(std::string& into) {
  now_text(into);
}

std::chrono::nanoseconds run_actor::now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void run_actor::step_opened(std::uint64_t epoch) {
  end_step_after(shared_->config.step_timeout, epoch);
}

void run_actor::sibling_failed(std::uint64_t epoch) {
  end_step_after(shared_->config.sibling_timeout, epoch);
}

void run_actor::end_step_after(std::chrono::milliseconds delay, std::uint64_t epoch) {
  if (delay.count() <= 0)
    return;
  group_->shared->clock.after(delay,
                              [self = caf::actor_cast<caf::actor>(this), card = card_, home = home_,
                               epoch] { tell(self, *card, home, step_deadline{epoch}); });
}

// A failing cache does not fail the run: the task runs.
std::optional<value> run_actor::cached(const cache_key& key) {
  std::optional<value> out;
  without_throwing("the cache can't be read",
                   [&] { out = shared_->cache->get(key, node_cache::clock::now()).value(); });
  return out;
}

void run_actor::cache(const cache_key& key, const value& v,
                      const std::optional<std::chrono::nanoseconds>& ttl) {
  std::optional<node_cache::clock::time_point> until;
  constexpr std::chrono::hours for_good{24 * 365 * 100};
  if (ttl && *ttl < for_good)
    until = node_cache::clock::now()
            + std::chrono::duration_cast<node_cache::clock::duration>(*ttl);
  without_throwing("the cache can't be written",
                   [&] { shared_->cache->set(key, v, until).value(); });
}

void run_actor::give_up_tasks() {
  auto give_up = [this](node_children& children) {
    for (auto& c : children.all)
      if (c.actor && c.task)
        tell(c.actor, *c.card, home(), abandon_task{c.task->id(), c.task->epoch});
  };
  for (auto& children : nodes_)
    give_up(children);
  for (auto& [node, children] : called_)
    give_up(children);
}

void run_actor::call_back(const char* name, const std::function<void(lifecycle_callbacks&)>& call) {
  without_throwing(name, [&] { call(*shared_->config.callbacks); });
}

void run_actor::ended(run_end how) {
  card_->running.store(false, std::memory_order_relaxed);
  if (shared_->claim && !shared_->above)
    shared_->claim->run_ended();
  shared_.reset();
  lane_.reset();
  auto completion = std::move(completion_);
  completion->finish(std::move(how));
}

bool run_actor::lost_child(node_children& children, const caf::down_msg& down,
                           const std::string& why) {
  for (std::uint32_t i = 0; i < children.all.size(); ++i)
    if (auto& c = children.all[i]; c.actor && c.actor.address() == down.source) {
      auto task = std::move(c.task);
      c = {};
      std::erase(children.idle, i);
      if (task)
        loop_.task_lost(task, why);
      return true;
    }
  return false;
}

void run_actor::child_died(const caf::down_msg& down) {
  auto why = system().render(down.reason);
  for (auto& children : nodes_)
    if (lost_child(children, down, why))
      return;
  for (auto& [node, children] : called_)
    if (lost_child(children, down, why))
      return;
  for (auto& c : channels_)
    if (c.actor && c.actor.address() == down.source) {
      auto name = c.card->name;
      c = {};
      loop_.abort({errc::node_lost, "channel `" + name + "`: its actor died: " + why});
      return;
    }
}

void run_actor::on_exit() {
  card_->group->gone = true; // before the owner hears of the run's end and gives the group back
  loop_.abort({errc::runtime_stopped, "run: the runtime was stopped"});
  for (auto& children : nodes_)
    for (auto& c : children.all)
      if (c.actor)
        caf::anon_send_exit(c.actor, caf::exit_reason::user_shutdown);
  for (auto& c : channels_)
    if (c.actor)
      caf::anon_send_exit(c.actor, caf::exit_reason::user_shutdown);
  for (auto& [node, children] : called_)
    for (auto& c : children.all)
      if (c.actor)
        caf::anon_send_exit(c.actor, caf::exit_reason::user_shutdown);
  nodes_.clear();
  called_.clear();
  channels_.clear();
  port_.reset();
  lane_.reset();
  group_->shared->actors.remove(*card_);
}

} // namespace troupe
