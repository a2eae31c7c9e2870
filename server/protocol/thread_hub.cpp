// thread_hub: numbering, keeping and telling.
#include "server/protocol/thread_hub.hpp"

#include "graph/plain_json.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>

namespace troupe::server {

bool wants(const subscription& what, const protocol_event& event) {
  auto channel = channel_of(event);
  if (std::ranges::find(what.channels, channel) == what.channels.end())
    return false;
  if (what.namespaces.empty())
    return !what.depth || event.ns.size() <= *what.depth;
  return std::ranges::any_of(what.namespaces, [&](const std::vector<std::string>& prefix) {
    return prefix.size() <= event.ns.size()
           && std::equal(prefix.begin(), prefix.end(), event.ns.begin())
           && (!what.depth || event.ns.size() - prefix.size() <= *what.depth);
  });
}

std::shared_ptr<void> thread_hub::subscribe(subscription what,
                                            std::function<void(const numbered_event&)> take) {
  auto one = std::make_shared<reader>(reader{std::move(what), std::move(take)});
  std::lock_guard lock{mutex_};
  for (const auto& event : kept_)
    if (event.seq > one->what.since && wants(one->what, event.event))
      one->take(event);
  std::erase_if(readers_, [](const auto& weak) { return weak.expired(); });
  readers_.push_back(one);
  return one;
}

std::uint64_t thread_hub::last_seq() const {
  std::lock_guard lock{mutex_};
  return next_seq_ - 1;
}

bool thread_hub::has_subscribers() const {
  std::lock_guard lock{mutex_};
  return std::ranges::any_of(readers_, [](const auto& weak) { return !weak.expired(); });
}

std::optional<run_translation::events> thread_hub::translate(
  const std::string& run_id, const std::function<run_translation::events(run_translation&)>& how) {
  std::lock_guard lock{mutex_};
  auto found = runs_.find(run_id);
  return found == runs_.end() ? std::nullopt : std::optional{how(found->second)};
}

bool thread_hub::take_question(const std::string& interrupt_id) {
  std::lock_guard lock{mutex_};
  return std::ranges::any_of(runs_,
                             [&](auto& run) { return run.second.take_question(interrupt_id); });
}

bool thread_hub::take_questions() {
  std::lock_guard lock{mutex_};
  return std::ranges::any_of(runs_, [](auto& run) { return run.second.take_questions(); });
}

void thread_hub::add(run_translation::events events) {
  std::lock_guard lock{mutex_};
  for (auto& event : events) {
    auto seq = next_seq_++;
    auto time = now_() / 1000;
    auto whole = value::map(
      {{"type", "event"},
       {"event_id", std::to_string(seq)},
       {"seq", seq},
       {"method", event.method},
       {"params", value::map({{"namespace", value::list({event.ns.begin(), event.ns.end()})},
                              {"timestamp", time},
                              {"data", event.data}})}});
    numbered_event numbered{seq, std::move(event), to_plain_json(whole)};
    for (const auto& weak : readers_)
      if (auto one = weak.lock(); one && wants(one->what, numbered.event))
        one->take(numbered);
    if (kept_.size() == limits::server_thread_events_max)
      kept_.pop_front();
    kept_.push_back(std::move(numbered));
  }
}

thread_observer thread_hub::observer(std::weak_ptr<thread_hub> self) {
  return {.began =
            [self](const run_record& run) {
              auto hub = self.lock();
              if (!hub)
                return;
              {
                std::lock_guard lock{hub->mutex_};
                hub->runs_.insert_or_assign(run.run_id, run_translation{run.graph_id});
              }
              if (auto events = hub->translate(run.run_id, [](auto& t) { return t.began(); }))
                hub->add(std::move(*events));
            },
          .part =
            [self](const run_record& run, const stream_part& part) {
              if (auto hub = self.lock())
                if (auto events = hub->translate(run.run_id, [&](auto& t) { return t.part(part); }))
                  hub->add(std::move(*events));
            },
          .event = {},
          .ended =
            [self](const run_outcome& outcome) {
              auto hub = self.lock();
              if (!hub)
                return;
              if (auto events = hub->translate(outcome.run.run_id,
                                               [&](auto& t) { return t.ended(outcome); }))
                hub->add(std::move(*events));
              std::lock_guard lock{hub->mutex_};
              hub->runs_.erase(outcome.run.run_id);
            }};
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
  auto hub = std::make_shared<thread_hub>([this] { return runs_.now(); });
  order_.push_front(thread_id);
  hubs_.emplace(thread_id,
                entry{hub, runs_.observe(thread_id, hub->observer(hub)), order_.begin()});
  return hub;
}

} // namespace troupe::server
