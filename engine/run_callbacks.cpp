// run_loop, callbacks: what a run reports to the callbacks of its config.
#include "engine/run_loop.hpp"

#include <utility>

namespace troupe {

lifecycle_callbacks::event run_loop::lifecycle(std::string status) {
  return {shared_->config.thread_id,  checkpoint_id(),     shared_->ns,
          std::move(status),          progress_.questions, shared_->run_id(),
          {shared_, &shared_->config}};
}

lifecycle_callbacks::task_event run_loop::task_lifecycle(const step_slot& s, bool cached) {
  name_tasks();
  return {s.node->name,
          s.plan.id,
          step_.namespace_of(s, shared_->ns),
          at_.step,
          detail::task_metadata(shared_->config.metadata, plan(), *s.node),
          shared_->run_id(),
          cached};
}

void run_loop::notify(const char* name, run_callback which, std::string status) {
  if (!shared_->config.callbacks)
    return;
  auto what = lifecycle(std::move(status));
  host_.call_back(name, [&](lifecycle_callbacks& to) { (to.*which)(what); });
}

void run_loop::notify_end(const run_end& how) {
  if (!shared_->config.callbacks || nested())
    return;
  if (how.how)
    return notify("on_run_end", &lifecycle_callbacks::on_run_end);
  auto what = lifecycle({});
  host_.call_back("on_run_error",
                  [&](lifecycle_callbacks& to) { to.on_run_error(what, how.how.error()); });
}

void run_loop::notify_begin(const step_slot& s) {
  if (!shared_->config.callbacks || s.plan.node == 0)
    return;
  auto what = task_lifecycle(s, false);
  host_.call_back("on_begin", [&](lifecycle_callbacks& to) {
    s.call ? to.on_task_begin(what) : to.on_node_begin(what);
  });
}

void run_loop::notify_end(const step_slot& s, bool cached) {
  if (!shared_->config.callbacks || s.plan.node == 0 || s.status == task_status::interrupted)
    return;
  auto what = task_lifecycle(s, cached);
  host_.call_back("on_end", [&](lifecycle_callbacks& to) {
    if (s.failure)
      s.call ? to.on_task_error(what, *s.failure) : to.on_node_error(what, *s.failure);
    else
      s.call ? to.on_task_end(what) : to.on_node_end(what);
  });
}

} // namespace troupe
