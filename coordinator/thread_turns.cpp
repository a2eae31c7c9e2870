// thread_turns: turns and queues.
#include "coordinator/thread_turns.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool is_urgent(multitask_strategy how) noexcept {
  return how == multitask_strategy::interrupt || how == multitask_strategy::rollback;
}

error is_busy(const std::string& thread_id) {
  return {errc::conflict,
          "start a run on thread `" + thread_id
            + "`: another run is active (multitask_strategy::reject): try again when it has ended, "
              "or choose enqueue, interrupt, rollback or take_over"};
}

error too_many(const std::string& thread_id) {
  return {errc::overloaded, "queue a run on thread `" + thread_id + "`: queued_runs_max ("
                              + std::to_string(limits::queued_runs_max) + ") wait already"};
}

} // namespace

error runtime_is_stopping() {
  return {errc::runtime_stopped, "start a run: the runtime is stopping"};
}

// The destructor of a claim may end another turn, which takes the lock. So claims are destroyed
// after the lock is released.
struct thread_turns::afterwards {
  std::vector<std::pair<told, result<void>>> tell = {};
  std::vector<claim_ptr> cancel = {};
  std::vector<claim_ptr> let_go = {};

  void run() {
    for (auto& claim : cancel)
      claim->cancel();
    for (auto& [then, how] : tell)
      then(std::move(how));
  }
};

thread_turns::line& thread_turns::line_of(const std::string& thread_id) {
  constexpr std::size_t few = 1024;
  if (lines_.size() > std::max(few, 2 * lines_kept_)) {
    std::erase_if(lines_,
                  [](const auto& e) { return e.second.on.expired() && e.second.waiting.empty(); });
    lines_kept_ = lines_.size();
  }
  return lines_[thread_id];
}

bool thread_turns::watch(const std::string& thread_id, line& at, const claim_ptr& on) {
  if (on->over() || std::exchange(at.watched, true))
    return !on->over();
  return on->when_over([weak = weak_from_this(), thread_id] {
    if (auto self = weak.lock())
      self->turn_over(thread_id);
  });
}

result<bool> thread_turns::begin(const std::string& thread_id, const claim_ptr& claim,
                                 multitask_strategy how) {
  claim_ptr earlier;
  afterwards then;
  {
    std::lock_guard lock{mutex_};
    if (closed_)
      return runtime_is_stopping();
    auto& at = line_of(thread_id);
    earlier = at.on.lock();
    bool free = (!earlier || earlier->over()) && at.waiting.empty();
    bool ends = !free && at.waiting.empty() && earlier->ended(); // only its saves are open
    if (!free && (how != multitask_strategy::take_over || ends)) {
      if (how == multitask_strategy::reject && !ends)
        return is_busy(thread_id);
      return false;
    }
    if (earlier)
      earlier->revoked = true;
    at.on = claim;
    at.watched = false;
    if (!at.waiting.empty()) {
      watch(thread_id, at, claim); // only this thread has the claim, so it is not over
      press(at, claim, then);
    }
  }
  then.run();
  return true;
}

void thread_turns::wait(const std::string& thread_id, claim_ptr claim, multitask_strategy how,
                        told then) {
  claim_ptr on;
  afterwards later;
  {
    std::lock_guard lock{mutex_};
    auto& at = line_of(thread_id);
    if (closed_) {
      later.tell.emplace_back(std::move(then), runtime_is_stopping());
    } else if (at.waiting.size() >= limits::queued_runs_max) {
      later.tell.emplace_back(std::move(then), too_many(thread_id));
    } else {
      auto place = at.waiting.end();
      if (is_urgent(how))
        place = std::find_if(at.waiting.begin(), at.waiting.end(),
                             [](const waiter& w) { return !is_urgent(w.how); });
      at.waiting.insert(place, {std::move(claim), how, std::move(then)});
      on = at.on.lock();
      if (on && watch(thread_id, at, on))
        press(at, on, later);
      else
        hand_on(thread_id, at, later);
    }
  }
  later.run();
}

void thread_turns::leave(const std::string& thread_id, const held_claim* claim, error why) {
  claim_ptr on;
  afterwards later;
  {
    std::lock_guard lock{mutex_};
    auto found = lines_.find(thread_id);
    if (found == lines_.end())
      return;
    auto& at = found->second;
    auto who = std::find_if(at.waiting.begin(), at.waiting.end(),
                            [claim](const waiter& w) { return w.claim.get() == claim; });
    if (who == at.waiting.end())
      return;
    later.let_go.push_back(std::move(who->claim));
    later.tell.emplace_back(std::move(who->then), std::move(why));
    at.waiting.erase(who);
    if (on = at.on.lock(); on)
      press(at, on, later);
  }
  later.run();
}

// Cancels the current run when the first waiting one interrupts.
void thread_turns::press(line& at, const claim_ptr& on, afterwards& then) {
  if (at.waiting.empty() || !is_urgent(at.waiting.front().how) || on->ended())
    return;
  auto& front = at.waiting.front();
  if (front.how == multitask_strategy::rollback) {
    then.let_go.push_back(std::move(front.claim->undo_first));
    front.claim->undo_first = on;
  }
  then.cancel.push_back(on);
}

void thread_turns::hand_on(const std::string& thread_id, line& at, afterwards& then) {
  if (at.waiting.empty())
    return;
  auto next = std::move(at.waiting.front());
  at.waiting.erase(at.waiting.begin());
  at.on = next.claim;
  at.watched = false;
  if (!at.waiting.empty()) {
    watch(thread_id, at, next.claim);
    press(at, next.claim, then);
  }
  then.let_go.push_back(std::move(next.claim));
  then.tell.emplace_back(std::move(next.then), result<void>{});
}

void thread_turns::turn_over(const std::string& thread_id) {
  claim_ptr on;
  afterwards later;
  {
    std::lock_guard lock{mutex_};
    auto found = lines_.find(thread_id);
    if (found == lines_.end())
      return;
    on = found->second.on.lock();
    if (on && !on->over()) // another run took over meanwhile
      return;
    hand_on(thread_id, found->second, later);
  }
  later.run();
}

bool thread_turns::busy(const std::string& thread_id) {
  return waiting(thread_id) != 0 || [&] {
    claim_ptr on;
    std::lock_guard lock{mutex_};
    auto found = lines_.find(thread_id);
    if (found != lines_.end())
      on = found->second.on.lock();
    return on && !on->over();
  }();
}

std::size_t thread_turns::waiting(const std::string& thread_id) {
  std::lock_guard lock{mutex_};
  auto found = lines_.find(thread_id);
  return found == lines_.end() ? 0 : found->second.waiting.size();
}

void thread_turns::close() {
  afterwards later;
  {
    std::lock_guard lock{mutex_};
    closed_ = true;
    for (auto& [thread_id, at] : lines_) {
      for (auto& w : at.waiting) {
        later.let_go.push_back(std::move(w.claim));
        later.tell.emplace_back(std::move(w.then), runtime_is_stopping());
      }
      at.waiting.clear();
    }
  }
  later.run();
}

} // namespace troupe
