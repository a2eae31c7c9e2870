// followed_threads: which servers of a database have readers of all runs of a thread. Each of them
// has a document for the thread, so that the server that begins a run stores its events for them.
//
// Invariants:
//  - a document of a server is made by a commit that fails when the server is dead for the others.
//    So no document comes after the death of its server, and those that it left can be removed.
//  - this server has a document of a thread as long as somebody here follows the thread, and
//    limits::server_follower_kept longer: a client that comes back finds it there.
#pragma once

#include "server/documents/document_store.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe::server {

/// Shape:  `own_id`: the id of this server among those that live. `steady_now`: microseconds of a
///         clock that does not jump.
struct follower_options {
  std::function<std::string()> own_id;
  std::function<std::int64_t()> steady_now;
};

/// Thread: any.
class followed_threads {
public:
  /// Blocks: on reads. Errors: throws error: storage codes.
  followed_threads(std::shared_ptr<document_store> documents, follower_options options);

  /// The thread is followed here until the handle is dropped. `now_text`: the time, as records have
  /// it.
  /// Blocks: on a commit, unless the thread is followed already. A commit that fails is logged, and
  ///         made again by tidy().
  std::shared_ptr<void> follow(const std::string& thread_id, std::string now_text);
  bool is_followed_here(const std::string& thread_id) const;
  bool is_followed_elsewhere(const std::string& thread_id) const;

  /// Whether a run that is over is news here: its thread was followed before the end, and the run
  /// was not noted. Shape: `ended_at`: a time as in records.
  bool is_news(const std::string& thread_id, const std::string& run_id,
               std::string_view ended_at) const;
  /// Notes that followers of the thread here know of the run. Returns the run that was noted before
  /// it; empty without one, or where the thread is not followed. Call it once for each run.
  std::string note_told(const std::string& thread_id, const std::string& run_id);

  /// Reads changed documents of other servers. Blocks: on reads. Errors: throws error: storage
  /// codes.
  void learn(const std::vector<std::string>& document_ids);
  /// Makes this server's documents that are missing, and removes those that nobody needs: its own,
  /// and those of dead servers. Blocks: on reads and commits. Errors: throws error: storage codes.
  void tidy();

private:
  struct following {
    std::size_t holders = 0;
    std::int64_t left_at = 0; // by steady_now(), without holders
    std::string since;        // a time as in records
    std::string stored_as;    // the server's id in the document; empty: not stored
    std::deque<std::string> told;
  };
  struct shared_state { // handles outlive the service
    std::mutex mutex;
    std::unordered_map<std::string, following> here;
  };

  void store(const std::string& thread_id);
  void drop_left();
  void drop_dead();

  const std::shared_ptr<document_store> documents_;
  const follower_options options_;
  const std::shared_ptr<shared_state> state_ = std::make_shared<shared_state>();
  std::mutex reading_; // so that the newest read is the last one that counts
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> stored_; // by thread, ids of servers
};

} // namespace troupe::server
