// run_group: entering, leaving and stopping.
#include "coordinator/run_group.hpp"

#include "actors/protocol.hpp"
#include "actors/tell.hpp"
#include "engine/run_loop.hpp"

#include <utility>

namespace troupe {

run_group::run_group(caf::actor coordinator, card_ptr card, lent_thread* lent) noexcept
  : unit{lent},
    coordinator_{std::move(coordinator)},
    card_{std::move(card)} {}

std::uint64_t run_group::enter(run_completion& end, const std::string& thread_id) {
  std::lock_guard lock{mutex()};
  card_->group->thread = thread_id; // its memory stays, so most runs allocate none
  on_ = &end;
  return ++runs_;
}

void run_group::leave() {
  std::lock_guard lock{mutex()};
  card_->group->thread.clear();
  on_ = nullptr;
  if (awaited_)
    left_.notify_all();
}

void run_group::stop_this(error why) {
  if (!on_)
    return;
  // The message comes first: a run that its reader holds is let go after it, and finds it.
  tell(coordinator_, *card_, nullptr, stop_run{runs_, std::move(why)});
  on_->stopping();
}

void run_group::stop(std::uint64_t run, error why) {
  std::lock_guard lock{mutex()};
  if (run == runs_)
    stop_this(std::move(why));
}

void run_group::stop(error why) {
  std::lock_guard lock{mutex()};
  stop_this(std::move(why));
}

std::function<void()> run_group::canceller(std::shared_ptr<run_group> group, std::uint64_t run) {
  return [group = std::move(group), run] { group->stop(run, {errc::cancelled, "run: cancelled"}); };
}

void run_group::wait_until_left() {
  std::unique_lock lock{mutex()};
  awaited_ = true;
  left_.wait(lock, [this] { return on_ == nullptr; });
}

void tell_to_begin(const run_group& group, std::uint64_t number,
                   std::shared_ptr<run_request> request,
                   std::shared_ptr<run_completion> completion) {
  auto* home = request->shared->home;
  tell(group.coordinator(), group.card(), home,
       begin_run{std::move(request), std::move(completion), number});
}

cancel_hook::cancel_hook(run_control control, group_ptr group, std::uint64_t run)
  : control_{std::move(control)} {
  control_hooks::add(control_, this, run_group::canceller(std::move(group), run));
}

} // namespace troupe
