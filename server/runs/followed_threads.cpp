// followed_threads: documents of followers, and what is known of them.
#include "server/runs/followed_threads.hpp"

#include "actors/log.hpp"
#include "server/runs/document_changes.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>
#include <utility>

namespace troupe::server {

namespace {

std::string follower_document_id(const std::string& thread_id, const std::string& server_id) {
  return thread_id + '/' + server_id;
}

} // namespace

followed_threads::followed_threads(std::shared_ptr<document_store> documents,
                                   follower_options options)
  : documents_{std::move(documents)},
    options_{std::move(options)} {
  for (const auto& one : documents_->search({.kind = document_kind::follower}).value().documents)
    stored_[first_of_id(one.id)].insert(second_of_id(one.id));
}

std::shared_ptr<void> followed_threads::follow(const std::string& thread_id, std::string now_text) {
  bool is_new = false;
  {
    std::lock_guard lock{state_->mutex};
    auto& here = state_->here[thread_id];
    ++here.holders;
    if (here.since.empty())
      here.since = std::move(now_text);
    is_new = here.stored_as.empty();
  }
  std::shared_ptr<void> handle{nullptr, [weak = std::weak_ptr{state_}, thread_id,
                                         clock = options_.steady_now](void*) {
                                 auto state = weak.lock();
                                 if (!state)
                                   return;
                                 std::lock_guard lock{state->mutex};
                                 auto& here = state->here[thread_id];
                                 if (--here.holders == 0)
                                   here.left_at = clock();
                               }};
  if (is_new)
    store(thread_id);
  return handle;
}

bool followed_threads::is_followed_here(const std::string& thread_id) const {
  std::lock_guard lock{state_->mutex};
  return state_->here.contains(thread_id);
}

bool followed_threads::is_followed_elsewhere(const std::string& thread_id) const {
  std::lock_guard lock{mutex_};
  auto found = stored_.find(thread_id);
  if (found == stored_.end())
    return false;
  auto own = options_.own_id();
  return std::ranges::any_of(found->second, [&](const auto& server) { return server != own; });
}

bool followed_threads::is_news(const std::string& thread_id, const std::string& run_id,
                               std::string_view ended_at) const {
  std::lock_guard lock{state_->mutex};
  auto found = state_->here.find(thread_id);
  return found != state_->here.end() && ended_at >= found->second.since
         && std::ranges::find(found->second.told, run_id) == found->second.told.end();
}

std::string followed_threads::note_told(const std::string& thread_id, const std::string& run_id) {
  std::lock_guard lock{state_->mutex};
  auto found = state_->here.find(thread_id);
  if (found == state_->here.end())
    return {};
  auto& told = found->second.told;
  auto before = told.empty() ? std::string{} : told.front();
  told.push_front(run_id);
  if (told.size() > limits::server_recent_ends_max)
    told.pop_back();
  return before;
}

void followed_threads::learn(const std::vector<std::string>& document_ids) {
  std::lock_guard reading{reading_};
  for (const auto& id : document_ids) {
    auto is_there = documents_->get(document_kind::follower, id).value().has_value();
    std::lock_guard lock{mutex_};
    auto& servers = stored_[first_of_id(id)];
    if (is_there)
      servers.insert(second_of_id(id));
    else
      servers.erase(second_of_id(id));
    if (servers.empty())
      stored_.erase(first_of_id(id));
  }
}

void followed_threads::store(const std::string& thread_id) {
  auto own = options_.own_id();
  auto made = documents_->commit_and_wait(
    {condition_of(document_kind::server, own),
     change_to(document_kind::follower, follower_document_id(thread_id, own), value::map())});
  if (!made)
    return log_warning("follow the runs of thread " + thread_id
                       + " on other servers: " + made.error().message());
  std::lock_guard lock{state_->mutex};
  if (auto found = state_->here.find(thread_id); found != state_->here.end())
    found->second.stored_as = own;
}

void followed_threads::tidy() {
  drop_left();
  drop_dead();
  auto own = options_.own_id();
  std::vector<std::string> missing;
  {
    std::lock_guard lock{state_->mutex};
    for (const auto& [thread_id, here] : state_->here)
      if (here.stored_as != own)
        missing.push_back(thread_id);
  }
  for (const auto& thread_id : missing)
    store(thread_id);
}

// A follower that comes meanwhile stores its document after the removal: the order of the commits
// is that of the lock.
void followed_threads::drop_left() {
  constexpr auto kept = std::chrono::microseconds{limits::server_follower_kept}.count();
  auto now = options_.steady_now();
  std::vector<document_change> removals;
  std::lock_guard lock{state_->mutex};
  std::erase_if(state_->here, [&](const auto& one) {
    const auto& [thread_id, here] = one;
    if (here.holders > 0 || now - here.left_at < kept)
      return false;
    if (!here.stored_as.empty())
      removals.push_back(
        removal_of(document_kind::follower, follower_document_id(thread_id, here.stored_as)));
    return true;
  });
  if (!removals.empty())
    documents_->commit(std::move(removals), [](const result<void>& gone) {
      if (!gone)
        log_warning("end following threads: " + gone.error().message());
    });
}

void followed_threads::drop_dead() {
  std::vector<std::pair<std::string, std::string>> others; // document, server
  {
    auto own = options_.own_id();
    std::lock_guard lock{mutex_};
    for (const auto& [thread_id, servers] : stored_)
      for (const auto& server : servers)
        if (server != own)
          others.emplace_back(follower_document_id(thread_id, server), server);
  }
  if (others.empty())
    return;
  std::set<std::string> living;
  for (const auto& one : documents_->search({.kind = document_kind::server}).value().documents)
    living.insert(one.id);
  std::vector<document_change> removals;
  for (auto& [document, server] : others)
    if (!living.contains(server))
      removals.push_back(removal_of(document_kind::follower, std::move(document)));
  if (!removals.empty())
    commit_all(*documents_, std::move(removals));
}

} // namespace troupe::server
