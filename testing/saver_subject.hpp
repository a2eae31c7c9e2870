// saver_subject: the saver under check, with short forms of its calls, and threads to fill it with.
#pragma once

#include "testing/expect.hpp"
#include "testing/made_checkpoints.hpp"

#include <troupe/testing/saver_conformance.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace troupe::testing {

/// A submitted request, and its answer, which may come on any thread.
class submitted {
public:
  submitted(saver& to, save_request request, save_ack when, std::chrono::milliseconds patience);

  /// Waits for the answer. The check fails when none comes.
  result<void> answer();
  /// How often the saver has answered.
  int answers() const;

private:
  struct state {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<result<void>> first;
    int answers = 0;
  };
  std::shared_ptr<state> state_;
  std::chrono::milliseconds patience_;
};

class saver_subject {
public:
  saver_subject(saver_factory open, conformance_options options);

  /// Another subject, with a fresh saver.
  saver_subject fresh() const { return {open_, options_}; }
  saver& operator*() const noexcept { return *saver_; }
  saver* operator->() const noexcept { return saver_.get(); }

  // Each fails the check when the call fails.
  void put(const checkpoint_ref& ref, const checkpoint_put& p) { saver_->put(ref, p).value(); }
  void put_writes(const checkpoint_ref& ref, const task_writes& w) {
    saver_->put_writes(ref, w).value();
  }
  /// The checkpoint, which must be there.
  checkpoint_tuple get(const checkpoint_ref& ref);
  bool has(const checkpoint_ref& ref) { return saver_->get_tuple(ref).value().has_value(); }
  /// The value of a channel, or "absent".
  value stored(const checkpoint_ref& ref, const std::string& channel);
  /// Pending writes as "path/task/channel=value", in order.
  texts writes(const checkpoint_ref& ref);
  std::vector<checkpoint_tuple> list(const list_query& query) {
    return saver_->list(query).value();
  }
  texts ids(const list_query& query) { return ids_of(list(query)); }
  std::vector<checkpoint_tuple> all_of(const std::string& thread_id,
                                       std::optional<std::string> ns = std::nullopt) {
    return list({.thread_id = thread_id, .checkpoint_ns = std::move(ns)});
  }
  /// The steps in the metadata of a namespace's checkpoints, newest first.
  texts steps_of(const std::string& thread_id, const std::string& ns = "");

  submitted begin_submit(save_request request, save_ack when) {
    return {*saver_, std::move(request), when, options_.answer_wait};
  }
  std::chrono::milliseconds answer_wait() const noexcept { return options_.answer_wait; }
  result<void> submit(save_request request, save_ack when = save_ack::durable) {
    return begin_submit(std::move(request), when).answer();
  }
  /// Stores a request that need not be durable yet: for long threads.
  void store(save_request request) { submit(std::move(request), save_ack::accepted).value(); }

private:
  saver_factory open_;
  conformance_options options_;
  std::shared_ptr<saver> saver_;
};

/// Two threads: t with two namespaces of three checkpoints, u with one checkpoint.
void fill(saver_subject& t);

/// Where put_step() and put_line() put, and with which metadata.
struct checkpoint_place {
  std::string thread_id = "t";
  std::string ns = {};
  std::string run_id = "run 1";
  value parents = value::map({});
};

/// Puts a checkpoint of step `n` below that of step `parent` (0: none), with one write after it.
/// Channel n differs at each step, and s is the same in all.
void put_step(saver_subject& t, const checkpoint_place& by, unsigned n, unsigned parent);
/// Puts the steps 1 … `count`, each below the one before.
void put_line(saver_subject& t, const checkpoint_place& by, unsigned count);

/// The checks of each file.
std::vector<saver_check> put_checks();
std::vector<saver_check> put_writes_checks();
std::vector<saver_check> get_tuple_checks();
std::vector<saver_check> list_checks();
std::vector<saver_check> delete_thread_checks();
std::vector<saver_check> delete_for_runs_checks();
std::vector<saver_check> copy_thread_checks();
std::vector<saver_check> prune_checks();
std::vector<saver_check> delta_checks();
std::vector<saver_check> submit_checks();
std::vector<saver_check> claim_checks();
std::vector<saver_check> rewind_checks();

} // namespace troupe::testing
