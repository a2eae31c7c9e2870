// task_link: the way from a task on a worker to its home, for saves, calls and parts.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace troupe::cluster {

/// The link of one issue of a task. Thread: any.
class task_link {
public:
  /// `send` hands a message to the home. It is called on any thread, and must not block.
  task_link(issue_number issue, std::function<void(message)> send)
    : issue_{issue},
      send_{std::move(send)} {}
  task_link(const task_link&) = delete;
  task_link& operator=(const task_link&) = delete;

  issue_number issue() const noexcept { return issue_; }

  /// Stores a request. `done` is called once, on any thread or within the call.
  void save(const save_request& request, save_ack when, std::function<void(result<void>)> done);
  /// Asks the home. Returns its answer.
  /// Blocks: until it answered, or the link is closed.
  result<value> call(const value& what);
  /// Sends a part for the readers.
  /// Blocks: with `wait`, while remote_parts_max parts wait for them.
  void part(bytes encoded, bool wait);
  void sign();
  /// Whether the task has sent messages that its end must not overtake.
  bool has_sent();

  // -- messages of the home
  void answered(save_answer answer);
  void answered(call_answer answer);
  void granted(std::uint32_t parts);
  /// The home does not wait any more. Waiting calls end with `why`, and later ones are refused.
  void close(error why);

private:
  struct open_call {
    std::optional<result<value>> answer;
  };

  const issue_number issue_;
  const std::function<void(message)> send_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t ticket_ = 0;
  std::map<std::uint64_t, std::function<void(result<void>)>> saves_;
  std::map<std::uint64_t, open_call> calls_;
  std::uint32_t parts_ = 0; // sent, and not yet taken by readers
  bool has_sent_ = false;   // a message other than a sign
  std::optional<error> closed_;
};

/// The kind of a call: the first field of its bytes. The arguments follow.
enum class call_kind : std::uint8_t {
  get_tuple,     // a checkpoint_ref → a checkpoint_tuple, or null
  list,          // a list_query → tuples
  delta_history, // a checkpoint_ref, channels → histories
  store_batch,   // operations → answers
};

/// The home's saver, for a group on a worker. Stores and reads at the home. The home adds claims;
/// maintenance of the store is refused.
class remote_saver : public saver {
public:
  explicit remote_saver(std::shared_ptr<task_link> link) : link_{std::move(link)} {}

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override;
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override;
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) override;
  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override;
  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override;
  result<void> delete_thread(const std::string& thread_id) override;
  result<std::vector<thread_info>> threads() override;
  void submit(save_request request, save_ack when, std::function<void(result<void>)> done) override;

private:
  std::shared_ptr<task_link> link_;
};

/// The home's long-term store, for a body on a worker.
class remote_store : public store {
public:
  explicit remote_store(std::shared_ptr<task_link> link) : link_{std::move(link)} {}

  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override;
  result<std::size_t> sweep(std::size_t items_max) override;

private:
  std::shared_ptr<task_link> link_;
};

} // namespace troupe::cluster
