// thread_hub: numbering, keeping and telling.
#include "server/protocol/thread_hub.hpp"

#include "graph/plain_json.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

// Whether a thread is known to have been created before another one of its id.
bool is_older(std::int64_t created_at, std::int64_t other) noexcept {
  return created_at != 0 && created_at < other;
}

// A segment without a task's id stands for all tasks of its node.
bool fits_segment(std::string_view wanted, std::string_view segment) noexcept {
  return segment.starts_with(wanted)
         && (segment.size() == wanted.size()
             || (segment[wanted.size()] == ':' && wanted.find(':') == wanted.npos));
}

} // namespace

bool wants(const subscription& what, const protocol_event& event) {
  auto channel = channel_of(event);
  if (std::ranges::find(what.channels, channel) == what.channels.end())
    return false;
  if (what.namespaces.empty()) // the depth is counted from a namespace
    return true;
  return std::ranges::any_of(what.namespaces, [&](const std::vector<std::string>& prefix) {
    return prefix.size() <= event.ns.size()
           && std::equal(prefix.begin(), prefix.end(), event.ns.begin(), fits_segment)
           && (!what.depth || event.ns.size() - prefix.size() <= *what.depth);
  });
}

std::shared_ptr<void> thread_hub::subscribe(subscription what, thread_reader to,
                                            const std::function<void()>& begins) {
  auto one = std::make_shared<reader>(reader{std::move(what), std::move(to)});
  std::lock_guard lock{mutex_};
  begin_thread(one->what.thread_created_at);
  begins();
  if (is_older(one->what.thread_created_at, thread_created_at_) && one->to.replaced) {
    one->to.replaced();
    return one;
  }
  for (const auto& event : kept_)
    if (event.seq > one->what.since && wants(one->what, event.event))
      one->to.take(event);
  std::erase_if(readers_, [](const auto& weak) { return weak.expired(); });
  readers_.push_back(one);
  return one;
}

std::uint64_t thread_hub::last_seq() const {
  std::lock_guard lock{mutex_};
  return last_seq_;
}

bool thread_hub::has_subscribers() const {
  std::lock_guard lock{mutex_};
  return std::ranges::any_of(readers_, [](const auto& weak) { return !weak.expired(); });
}

// Events and runs from before are those of a removed thread.
void thread_hub::begin_thread(std::int64_t created_at) {
  if (created_at <= thread_created_at_)
    return;
  auto before = std::exchange(thread_created_at_, created_at);
  if (before == 0) // the first thread that is known; its events may have come already
    return;
  kept_.clear();
  std::erase_if(runs_, [&](const auto& run) {
    return is_older(run.second.thread_created_at, created_at);
  });
  std::erase_if(readers_, [&](const auto& weak) {
    auto one = weak.lock();
    if (!one || !one->to.replaced || !is_older(one->what.thread_created_at, created_at))
      return !one;
    one->to.replaced();
    return true;
  });
}

void thread_hub::add(seen_run& run, run_translation::events events) {
  for (auto& event : events) {
    auto seq = run.next_seq++;
    if (!is_one_of_several_) // after a restart, the numbers go on
      seq = std::max(seq, last_seq_ + 1);
    last_seq_ = std::max(last_seq_, seq);
    auto time = now_() / 1000;
    auto whole = value::map(
      {{"type", "event"},
       {"event_id", event.id.empty() ? std::to_string(seq) : event.id},
       {"seq", seq},
       {"method", event.method},
       {"params", value::map({{"namespace", value::list({event.ns.begin(), event.ns.end()})},
                              {"timestamp", time},
                              {"data", event.data}})}});
    numbered_event numbered{seq, std::move(event), to_plain_json(whole)};
    for (const auto& weak : readers_)
      if (auto one = weak.lock(); one && wants(one->what, numbered.event))
        one->to.take(numbered);
    if (kept_.size() == limits::server_thread_events_max)
      kept_.pop_front();
    kept_.push_back(std::move(numbered));
  }
}

bool thread_hub::is_over(const std::string& run_id) const {
  return std::ranges::find(ended_, run_id) != ended_.end();
}

bool thread_hub::has_ended(const std::string& run_id) const {
  std::lock_guard lock{mutex_};
  return is_over(run_id);
}

void thread_hub::begin(const run_record& run) {
  if (is_over(run.run_id) || is_older(run.thread_created_at, thread_created_at_))
    return;
  auto [at, is_new] = runs_.try_emplace(run.run_id, seen_run{run_translation{run.graph_id}});
  if (!is_new)
    return;
  begin_thread(run.thread_created_at);
  at->second.next_seq = static_cast<std::uint64_t>(run.begun_at);
  at->second.thread_created_at = run.thread_created_at;
  auto events = at->second.translation.began();
  events.front().id = "synth:" + run.run_id + ":lc||running"; // clients read the run's id from it
  add(at->second, std::move(events));
}

// Each part once, whether it was stored, or told, or both.
void thread_hub::take(const run_record& run, const run_event& event) {
  begin(run);
  auto found = runs_.find(run.run_id);
  if (found == runs_.end() || !event.part || event.seq <= found->second.last_event)
    return;
  found->second.last_event = event.seq;
  add(found->second, found->second.translation.part(*event.part));
}

void thread_hub::end(const run_outcome& outcome) {
  auto found = runs_.find(outcome.run.run_id);
  if (found == runs_.end())
    return;
  add(found->second, found->second.translation.ended(outcome));
  runs_.erase(found);
  ended_.push_front(outcome.run.run_id);
  if (ended_.size() > limits::server_recent_ends_max)
    ended_.pop_back();
}

template <class... What>
void thread_hub::hear(void (thread_hub::*member)(const What&...), const What&... what) {
  std::lock_guard lock{mutex_};
  if (fills_ == 0)
    (this->*member)(what...);
  else
    waiting_.push_back([member, what...](thread_hub& hub) { (hub.*member)(what...); });
}

void thread_hub::fill(const std::function<void(const thread_observer&)>& replay) {
  auto at_once = [this](auto member) {
    return [this, member](const auto&... what) {
      std::lock_guard lock{mutex_};
      (this->*member)(what...);
    };
  };
  begin_fill();
  try {
    replay({at_once(&thread_hub::begin), at_once(&thread_hub::take), at_once(&thread_hub::end)});
  } catch (...) {
    end_fill();
    throw;
  }
  end_fill();
}

void thread_hub::begin_fill() {
  std::lock_guard lock{mutex_};
  ++fills_;
}

void thread_hub::end_fill() {
  std::lock_guard lock{mutex_};
  if (--fills_ == 0)
    for (const auto& what : std::exchange(waiting_, {}))
      what(*this);
}

thread_observer thread_hub::observer(std::weak_ptr<thread_hub> self) {
  auto to = [self](auto member) {
    return [self, member](const auto&... what) {
      if (auto hub = self.lock())
        hub->hear(member, what...);
    };
  };
  return {to(&thread_hub::begin), to(&thread_hub::take), to(&thread_hub::end)};
}

std::shared_ptr<thread_hub> thread_hubs::at(const std::string& thread_id) {
  std::lock_guard lock{mutex_};
  if (auto found = hubs_.find(thread_id); found != hubs_.end()) {
    order_.splice(order_.begin(), order_, found->second.place);
    return found->second.hub;
  }
  for (auto oldest = order_.end();
       hubs_.size() >= limits::server_threads_followed_max && oldest != order_.begin();) {
    --oldest;
    auto found = hubs_.find(*oldest);
    if (found->second.hub->has_subscribers())
      continue;
    hubs_.erase(found);
    oldest = order_.erase(oldest);
  }
  auto hub = std::make_shared<thread_hub>([&runs = runs_] { return runs.now(); },
                                          runs_.is_one_of_several());
  order_.push_front(thread_id);
  hubs_.emplace(thread_id,
                entry{hub, runs_.observe(thread_id, hub->observer(hub)), order_.begin()});
  return hub;
}

std::shared_ptr<void> thread_hubs::follow(const std::string& thread_id) {
  if (!runs_.is_one_of_several())
    return nullptr;
  auto hub = at(thread_id);
  std::shared_ptr<void> follows;
  hub->fill([&](const thread_observer& past) {
    follows = runs_.follow_thread(thread_id);
    runs_.replay_thread(
      thread_id, [&](const run_record& run) { return !hub->has_ended(run.run_id); }, past);
  });
  return follows;
}

} // namespace troupe::server
