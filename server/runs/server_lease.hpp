// server_lease: shows the servers of one database that this one lives, and finds those that do not.
//
// Invariants:
//  - a server lives while it has a document. Its runs name it as their owner, and it had a document
//    before its first run.
//  - the document of a dead server is removed by a commit that fails when the server showed a sign
//    of life. A server whose document is gone has lost all its runs. It continues under another id.
#pragma once

#include "server/documents/document_store.hpp"
#include "server/rules/lease_rules.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace troupe::server {

/// Shape:  `steady_now`: microseconds of a clock that does not jump. `has_thread`: false where a
///         test calls look() itself.
struct lease_options {
  std::string server_id;
  std::function<std::int64_t()> steady_now;
  bool has_thread = true;
};

/// Called by look(); short.
struct lease_callbacks {
  std::function<void()> lost; ///< this server's runs are other servers' now
  /// Runs may have lost their owner: a server is gone; also every limits::server_runs_look.
  std::function<void()> runs_may_be_free;
};

class server_lease {
public:
  /// Errors: throws error: storage codes.
  server_lease(std::shared_ptr<document_store> documents, lease_options options,
               lease_callbacks callbacks);
  server_lease(const server_lease&) = delete;
  server_lease& operator=(const server_lease&) = delete;
  ~server_lease();

  /// A server that lost its lease has another one.
  struct term {
    std::string id; ///< the owner of runs that the server begins
    std::uint64_t number = 0;
  };
  term current() const;
  /// The id of the current term. Thread: any.
  std::string id() const { return current().id; }
  /// Whether no other server can have found this one dead yet: its last sign of life is younger
  /// than limits::server_lease. Thread: any.
  bool is_held() const;
  /// The same, and the term is still that one. Thread: any.
  bool is_held_in(std::uint64_t term) const noexcept;
  /// One sign of life and one look at the others, as the thread makes every
  /// limits::server_lease_renewal. Not at the same time as another one.
  void look();
  /// No runs are left here: others need not wait for the end of the lease. Ends the thread.
  void leave();
  /// Ends the thread; the lease runs out.
  void stop();

private:
  void join_servers(const std::string& id);
  void renew();
  void bury_the_dead();
  void serve();

  const std::shared_ptr<document_store> documents_;
  const lease_options options_;
  const lease_callbacks callbacks_;
  std::map<std::string, seen_server> seen_;
  std::int64_t looked_at_ = 0; // at the others, by steady_now()
  std::uint64_t revision_ = 0; // of this server's document
  int looks_ = 0;

  std::atomic<std::int64_t> shown_at_ = 0; // the last sign of life, before its commit
  std::atomic<std::uint64_t> term_ = 0;    // changed before `shown_at_` is that of the next one
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stops_ = false;
  std::string id_;
  std::thread thread_; // the last member
};

} // namespace troupe::server
