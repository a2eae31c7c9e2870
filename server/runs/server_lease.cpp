// server_lease: signs of life.
#include "server/runs/server_lease.hpp"

#include "actors/log.hpp"
#include "server/rules/ids.hpp"
#include "server/runs/document_changes.hpp"

#include <troupe/server/limits.hpp>

#include <utility>

namespace troupe::server {

namespace {
constexpr std::int64_t lease_micros = std::chrono::microseconds{limits::server_lease}.count();
constexpr int looks_between = limits::server_runs_look / limits::server_lease_renewal;
} // namespace

server_lease::server_lease(std::shared_ptr<document_store> documents, lease_options options,
                           lease_callbacks callbacks)
  : documents_{std::move(documents)},
    options_{std::move(options)},
    callbacks_{std::move(callbacks)} {
  join_servers(options_.server_id);
  if (options_.has_thread)
    thread_ = std::thread{[this] { serve(); }};
}

server_lease::~server_lease() {
  stop();
}

server_lease::term server_lease::current() const {
  std::lock_guard lock{mutex_};
  return {id_, term_};
}

bool server_lease::is_held() const {
  return options_.steady_now() - shown_at_ < lease_micros;
}

bool server_lease::is_held_in(std::uint64_t term) const noexcept {
  bool is_held_now = is_held(); // first: a later term may be held
  return is_held_now && term_ == term;
}

void server_lease::join_servers(const std::string& id) {
  auto now = options_.steady_now();
  commit_all(*documents_,
             {change_to(document_kind::server, id, value::map({{"server_id", id}}), 0)});
  revision_ = 1;
  {
    std::lock_guard lock{mutex_};
    id_ = id;
    ++term_;
  }
  shown_at_ = now;
}

void server_lease::look() {
  renew();
  bury_the_dead();
}

// After a commit whose end is not known, the document may have the next revision already.
void server_lease::renew() {
  auto mine = id();
  auto now = options_.steady_now();
  auto sign = change_to(document_kind::server, mine, value::map({{"server_id", mine}}), revision_);
  auto stored = documents_->commit_and_wait({sign});
  if (stored) {
    ++revision_;
    shown_at_ = now;
    return;
  }
  if (stored.error().code() != errc::conflict)
    throw stored.error();
  if (auto found = documents_->get(document_kind::server, mine).value()) {
    revision_ = found->revision;
    return;
  }
  join_servers(new_id(options_.steady_now()));
  log_warning("server " + mine
              + ": other servers took its runs over, since it showed no sign of "
                "life for "
              + std::to_string(limits::server_lease.count()) + " ms (server_lease)");
  callbacks_.lost();
}

void server_lease::bury_the_dead() {
  std::vector<server_sign> there;
  for (const auto& one : documents_->search({.kind = document_kind::server}).value().documents)
    if (one.id != id())
      there.push_back({one.id, one.revision});
  auto now = options_.steady_now();
  auto silence = counted_silence(now - std::exchange(looked_at_, now));
  auto found = look_at_servers(seen_, there, silence, lease_micros);
  seen_ = std::move(found.seen);
  bool is_one_gone = found.is_one_gone;
  for (const auto& dead : found.dead) {
    auto removed = documents_->commit_and_wait(
      {removal_of(document_kind::server, dead.server_id, dead.revision)});
    if (removed)
      log_warning("server " + dead.server_id + ": it shows no sign of life; its runs are taken up");
    else if (removed.error().code() != errc::conflict) // else it lives, or another server was first
      throw removed.error();
    if (removed)
      seen_.erase(dead.server_id);
    is_one_gone = is_one_gone || bool(removed);
  }
  if (is_one_gone || ++looks_ % looks_between == 0)
    callbacks_.runs_may_be_free();
}

void server_lease::leave() {
  stop();
  ++term_;
  auto gone = documents_->commit_and_wait({removal_of(document_kind::server, id())});
  if (!gone)
    log_warning("leave the servers of the database: " + gone.error().message());
}

void server_lease::stop() {
  {
    std::lock_guard lock{mutex_};
    stops_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void server_lease::serve() {
  bool fails = false; // each change of it is logged once
  std::unique_lock lock{mutex_};
  while (!stopped_.wait_for(lock, limits::server_lease_renewal, [this] { return stops_; })) {
    lock.unlock();
    try {
      look();
      if (std::exchange(fails, false))
        log_info("the server shows again that it lives");
    } catch (const std::exception& e) {
      if (!std::exchange(fails, true))
        log_warning(std::string{"show that the server lives, until it can: "} + e.what());
    }
    lock.lock();
  }
}

} // namespace troupe::server
