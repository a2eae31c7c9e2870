// The writer thread against a sink that can be made to fail, without LMDB.
#include "persistence/group_commit.hpp"

#include "tests/fixtures/savers.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <latch>
#include <new>
#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::require_error;
using texts = std::vector<std::string>;

// Notes what happens; the jobs differ by their thread. `block_begin` holds the writer.
class recording_sink final : public commit_sink {
public:
  result<void> begin() override {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !is_held_; });
    if (begins_to_fail > 0 && begins_to_fail-- > 0)
      return full("begin");
    open_.clear();
    return {};
  }
  write_outcome write(const commit_job& job) override {
    const auto& id = job.request.ref.thread_id;
    if (id.starts_with("refused"))
      return {.answer = troupe::error{errc::invalid_value, id}};
    if (id.starts_with("no memory"))
      throw std::bad_alloc{};
    if (id.starts_with("breaks"))
      return {.answer = full(id), .transaction_stands = false};
    if (id == "1breaks" && !std::exchange(has_broken_, true))
      return {.answer = full(id), .transaction_stands = false};
    open_.push_back(id);
    return {.answer = {}, .bytes = id == "big" ? limits::commit_bytes_max : 1};
  }
  result<void> commit() override {
    at_commit();
    if (commits_to_fail > 0 && commits_to_fail-- > 0)
      return full("commit");
    if (has_no_memory.exchange(false))
      throw std::bad_alloc{};
    std::scoped_lock lock{mutex_};
    committed_.push_back(std::exchange(open_, {}));
    return {};
  }
  void abort() override { open_.clear(); }
  bool foresee(std::span<const commit_job>) override { return keeps_together; }
  bool may_repeat() const override { return repeats; }

  void hold(bool held) {
    {
      std::scoped_lock lock{mutex_};
      is_held_ = held;
    }
    changed_.notify_all();
  }
  std::vector<texts> committed() {
    std::scoped_lock lock{mutex_};
    return committed_;
  }

  std::function<void()> at_commit = [] {}; // on the thread that writes; set while none does
  std::atomic<int> begins_to_fail = 0;
  std::atomic<int> commits_to_fail = 0;
  std::atomic<bool> has_no_memory = false; // at the next commit
  std::atomic<bool> keeps_together = false;
  std::atomic<bool> repeats = false;

private:
  static troupe::error full(std::string what) { return {errc::storage_full, std::move(what)}; }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool has_broken_ = false;
  texts open_;
  std::vector<texts> committed_;
};

commit_job job_of(std::string thread_id) {
  commit_job job;
  job.request.ref.thread_id = std::move(thread_id);
  job.request.writes.push_back({"task", "", {}});
  return job;
}

using commit_answer = std::future<result<void>>;

commit_answer answer_of(commit_job& job, save_ack when) {
  auto promise = std::make_shared<std::promise<result<void>>>();
  job.when = when;
  job.done = [promise](result<void> r) { promise->set_value(std::move(r)); };
  return promise->get_future();
}

commit_answer submit(group_commit& to, commit_job job, save_ack when) {
  auto answer = answer_of(job, when);
  to.submit(std::move(job));
  return answer;
}

commit_answer accepted(group_commit& to, std::string id) {
  return submit(to, job_of(std::move(id)), save_ack::accepted);
}
commit_answer durable(group_commit& to, std::string id) {
  return submit(to, job_of(std::move(id)), save_ack::durable);
}

// Calls `body` with 0, 1 ... on as many threads, which begin together.
template <class Fn> void on_threads(int threads, Fn body) {
  std::latch start{threads};
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&start, &body, t] {
      start.arrive_and_wait();
      body(t);
    });
}

// The ids are "thread:number"; each thread's numbers grow by one up to `jobs`.
void require_order(const std::vector<texts>& committed, int threads, int jobs) {
  std::vector<int> next(static_cast<std::size_t>(threads));
  for (const auto& batch : committed)
    for (const auto& id : batch)
      BOOST_REQUIRE(std::stoi(id.substr(2)) == next.at(static_cast<std::size_t>(id[0] - '0'))++);
  for (auto n : next)
    BOOST_TEST(n == jobs);
}

struct group_commit_fixture {
  recording_sink sink;
  group_commit commits{sink, 1h}; // nothing is committed because of its age
};

// A thread that waits for its answers, and writes what is left to it.
struct waiter_fixture : group_commit_fixture {
  struct submitted {
    bool left = false;
    commit_answer answer;
  };
  submitted submit_or_leave(std::string id, save_ack when = save_ack::durable) {
    auto job = job_of(std::move(id));
    auto answer = answer_of(job, when);
    auto left = commits.submit_or_leave(std::move(job));
    return {left, std::move(answer)};
  }
  // Submits until the writer thread sleeps: it does so soon after it has written.
  commit_answer left_job(const std::string& id) {
    while (true) {
      auto [left, answer] = submit_or_leave(id);
      if (left)
        return std::move(answer);
      answer.get().value();
    }
  }
  static bool has_come(const commit_answer& answer) {
    return answer.wait_for(0s) == std::future_status::ready;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_group_commit, group_commit_fixture)

BOOST_AUTO_TEST_CASE(what_waits_together_is_committed_together_in_order) {
  sink.hold(true);
  std::vector<commit_answer> answers;
  texts ids;
  for (int i = 0; i < 100; ++i) {
    ids.push_back(std::to_string(i));
    answers.push_back(durable(commits, ids.back()));
  }
  sink.hold(false);
  for (auto& a : answers)
    a.get().value();
  BOOST_TEST(sink.committed().size() <= 2u); // the first may have been taken alone
  texts all;
  for (const auto& batch : sink.committed())
    all.insert(all.end(), batch.begin(), batch.end());
  BOOST_TEST(all == ids, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_sink_that_wants_it_gets_what_waits_together_however_old_it_is) {
  sink.keeps_together = true;
  group_commit hurried{sink, 0ms};
  sink.hold(true);
  std::vector<commit_answer> answers;
  for (int i = 0; i < 100; ++i)
    answers.push_back(accepted(hurried, std::to_string(i)));
  sink.hold(false);
  for (auto& a : answers)
    a.get().value();
  hurried.flush("");
  BOOST_TEST(sink.committed().size() <= 2u); // the first may have been taken alone
}

BOOST_AUTO_TEST_CASE(a_batch_that_may_be_repeated_is_written_once_more_when_its_commit_fails) {
  sink.repeats = true;
  for (auto fails : {1, 2}) {
    sink.commits_to_fail = fails;
    accepted(commits, "a").get().value();
    accepted(commits, "b").get().value();
    auto last = durable(commits, "c").get();
    BOOST_TEST(last.has_value() == (fails == 1));
  }
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "b", "c"}}));
  require_error(durable(commits, "a").get(), errc::storage_full); // of the second round
}

BOOST_AUTO_TEST_CASE(accepted_is_answered_before_the_commit_and_durable_after_it) {
  accepted(commits, "a").get().value();
  accepted(commits, "b").get().value();
  BOOST_TEST(sink.committed().empty());
  durable(commits, "c").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "b", "c"}}));
}

BOOST_AUTO_TEST_CASE(a_durable_job_without_hurry_is_committed_with_the_next_that_hurries) {
  auto first = job_of("a");
  first.hurries = false;
  auto answered = submit(commits, std::move(first), save_ack::durable);
  accepted(commits, "b").get().value(); // so "a" is written
  BOOST_TEST((answered.wait_for(0s) == std::future_status::timeout));
  BOOST_TEST(sink.committed().empty());
  durable(commits, "c").get().value();
  answered.get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "b", "c"}}));
}

BOOST_AUTO_TEST_CASE(an_empty_durable_job_waits_for_what_came_before) {
  accepted(commits, "a").get().value();
  submit(commits, {}, save_ack::accepted).get().value();
  BOOST_TEST(sink.committed().empty());
  submit(commits, {}, save_ack::durable).get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}}));
  submit(commits, {}, save_ack::durable).get().value();
  BOOST_TEST(sink.committed().size() == 1u);
}

BOOST_AUTO_TEST_CASE(flush_commits_only_for_a_thread_that_has_something_accepted) {
  accepted(commits, "a").get().value();
  commits.flush("b");
  BOOST_TEST(sink.committed().empty());
  commits.flush("a");
  BOOST_TEST(sink.committed().size() == 1u);
  accepted(commits, "a").get().value();
  commits.flush("");
  BOOST_TEST(sink.committed().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_large_transaction_is_committed_unasked) {
  accepted(commits, "a").get().value();
  accepted(commits, "big").get().value();
  accepted(commits, "b").get().value(); // taken after the commit
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "big"}}));
}

BOOST_AUTO_TEST_CASE(destruction_commits_and_answers_everything) {
  recording_sink other;
  std::vector<commit_answer> answers;
  {
    group_commit short_lived{other, 1h};
    other.hold(true);
    for (int i = 0; i < 10; ++i)
      answers.push_back(i % 2 == 0 ? accepted(short_lived, "a") : durable(short_lived, "b"));
    other.hold(false);
  }
  for (auto& a : answers)
    a.get().value();
  std::size_t count = 0;
  for (const auto& batch : other.committed())
    count += batch.size();
  BOOST_TEST(count == 10u);
}

BOOST_AUTO_TEST_CASE(a_refused_job_fails_alone) {
  sink.hold(true);
  auto a = accepted(commits, "a");
  auto bad = durable(commits, "refused");
  auto b = durable(commits, "b");
  sink.hold(false);
  a.get().value();
  require_error(bad.get(), errc::invalid_value);
  b.get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "b"}}));
}

BOOST_AUTO_TEST_CASE(a_job_that_breaks_the_transaction_takes_none_along) {
  accepted(commits, "a").get().value();
  require_error(durable(commits, "breaks").get(), errc::storage_full);
  durable(commits, "a").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}, {"a"}}));
}

BOOST_AUTO_TEST_CASE(a_job_that_breaks_the_transaction_is_tried_once_more_alone) {
  accepted(commits, "a").get().value();
  durable(commits, "1breaks").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}, {"1breaks"}}));
}

BOOST_AUTO_TEST_CASE(a_failed_commit_is_told_to_all_and_work_goes_on) {
  accepted(commits, "a").get().value();
  accepted(commits, "b").get().value();
  sink.commits_to_fail = 1;
  require_error(durable(commits, "b").get(), errc::storage_full); // b knows by this answer
  durable(commits, "b").get().value();
  require_error(accepted(commits, "a").get(), errc::storage_full); // a by its next request
  durable(commits, "a").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"b"}, {"a"}}));
}

BOOST_AUTO_TEST_CASE(a_commit_of_one_job_is_tried_twice) {
  sink.commits_to_fail = 1;
  durable(commits, "a").get().value();
  sink.commits_to_fail = 2;
  require_error(durable(commits, "a").get(), errc::storage_full);
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}}));
}

BOOST_AUTO_TEST_CASE(what_cannot_begin_is_answered) {
  sink.begins_to_fail = 1;
  require_error(accepted(commits, "a").get(), errc::storage_full);
  durable(commits, "a").get().value();
}

BOOST_AUTO_TEST_CASE(a_lost_request_is_told_once_and_forgotten_when_the_thread_is_deleted) {
  sink.commits_to_fail = 2;
  accepted(commits, "a").get().value();
  commits.flush("a");
  auto deletion = job_of("a");
  deletion.delete_thread = true;
  submit(commits, std::move(deletion), save_ack::durable).get().value();
  durable(commits, "a").get().value();
}

BOOST_AUTO_TEST_CASE(memory_that_runs_out_in_a_write_loses_the_transaction_and_is_told) {
  accepted(commits, "a").get().value();
  require_error(durable(commits, "no memory").get(), errc::storage_failed);
  require_error(durable(commits, "a").get(), errc::storage_failed); // which lost one
  durable(commits, "b").get().value();
  durable(commits, "a").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"b"}, {"a"}}));
}

BOOST_AUTO_TEST_CASE(memory_that_runs_out_in_a_commit_is_an_answer_and_not_the_end) {
  sink.has_no_memory = true;
  require_error(durable(commits, "a").get(), errc::storage_failed);
  durable(commits, "a").get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}}));
}

BOOST_AUTO_TEST_CASE(a_callback_may_submit) {
  std::promise<void> done;
  auto second = job_of("b");
  second.done = [&done](result<void> r) {
    if (r)
      done.set_value();
  };
  auto first = job_of("a");
  first.when = save_ack::accepted;
  first.done = [&](result<void>) { commits.submit(std::move(second)); };
  commits.submit(std::move(first));
  done.get_future().get();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a", "b"}}));
}

BOOST_AUTO_TEST_CASE(many_threads_keep_each_its_order) {
  constexpr int threads = 4;
  constexpr int jobs = 500;
  on_threads(threads, [this](int t) {
    for (int i = 0; i < jobs; ++i) {
      auto when = i % 100 == 99 ? save_ack::durable : save_ack::accepted;
      submit(commits, job_of(std::to_string(t) + ":" + std::to_string(i)), when).get().value();
    }
  });
  require_order(sink.committed(), threads, jobs);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(persistence_group_commit_window)

BOOST_AUTO_TEST_CASE(an_idle_writer_commits_what_is_as_old_as_the_window) {
  recording_sink sink;
  std::promise<void> committed;
  group_commit commits{sink, 1ms};
  accepted(commits, "a").get().value();
  // The window's end is the only thing that can bring this about.
  while (sink.committed().empty())
    std::this_thread::yield();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}}));
  auto unhurried = job_of("b");
  unhurried.hurries = false;
  submit(commits, std::move(unhurried), save_ack::durable).get().value();
  BOOST_TEST((sink.committed() == std::vector<texts>{{"a"}, {"b"}}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(persistence_group_commit_waiter, waiter_fixture)

BOOST_AUTO_TEST_CASE(a_waiter_writes_what_was_left_to_it) {
  auto first = left_job("a");
  auto second = submit_or_leave("b", save_ack::accepted);
  BOOST_TEST(second.left);
  BOOST_TEST((!has_come(first) && !has_come(second.answer)));
  auto written_by = std::thread::id{};
  sink.at_commit = [&] { written_by = std::this_thread::get_id(); };
  BOOST_TEST(commits.write_left());
  BOOST_TEST((written_by == std::this_thread::get_id()));
  BOOST_REQUIRE((has_come(first) && has_come(second.answer)));
  first.get().value();
  second.answer.get().value();
  BOOST_TEST((sink.committed().back() == texts{"a", "b"}));
  BOOST_TEST(!commits.write_left()); // nothing is left
}

BOOST_AUTO_TEST_CASE(a_waiter_leaves_no_transaction_open) {
  left_job("a");
  BOOST_TEST(commits.write_left());
  auto only_accepted = submit_or_leave("b", save_ack::accepted);
  if (only_accepted.left)
    BOOST_TEST(commits.write_left());
  only_accepted.answer.get().value();
  durable(commits, "c").get().value();
  BOOST_TEST((sink.committed().back() == texts{"c"}));
}

BOOST_AUTO_TEST_CASE(the_writer_thread_writes_when_it_is_called) {
  auto answer = left_job("a");
  commits.call_writer();
  answer.get().value();
  commits.call_writer(); // nothing waits
  durable(commits, "b").get().value();
}

BOOST_AUTO_TEST_CASE(another_job_wakes_the_writer_for_both) {
  auto answer = left_job("a");
  auto other = durable(commits, "b");
  answer.get().value();
  other.get().value();
  BOOST_TEST(!commits.write_left());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_to_a_waiter_while_a_transaction_is_open) {
  left_job("a");
  BOOST_TEST(commits.write_left());
  accepted(commits, "b").get().value(); // opens one
  auto [left, answer] = submit_or_leave("c");
  BOOST_TEST(!left);
  answer.get().value();
  BOOST_TEST((sink.committed().back() == texts{"b", "c"}));
}

BOOST_AUTO_TEST_CASE(what_comes_at_the_end_of_a_waiters_turn_goes_to_the_writer_thread) {
  auto first = left_job("a");
  commit_answer second;
  sink.at_commit = [&] {
    if (!second.valid())
      second = durable(commits, "b");
  };
  BOOST_TEST(commits.write_left());
  first.get().value();
  second.get().value();
  BOOST_TEST((sink.committed().back() == texts{"b"}));
}

BOOST_AUTO_TEST_CASE(one_waiter_writes_at_a_time) {
  auto first = left_job("a");
  sink.hold(true);
  auto writes = std::async(std::launch::async, [this] { return commits.write_left(); });
  while (true) { // until that thread has its turn
    auto [left, answer] = submit_or_leave("b");
    if (!left)
      break;
  }
  BOOST_TEST(!commits.write_left());
  sink.hold(false);
  BOOST_TEST(writes.get());
  first.get().value();
}

BOOST_AUTO_TEST_CASE(a_waiters_failures_are_answers) {
  auto refused = left_job("a");
  sink.commits_to_fail = 2;
  BOOST_TEST(commits.write_left());
  require_error(refused.get(), errc::storage_full);
  auto without_memory = left_job("b");
  sink.has_no_memory = true;
  BOOST_TEST(commits.write_left());
  require_error(without_memory.get(), errc::storage_failed);
  auto stored = left_job("c");
  BOOST_TEST(commits.write_left());
  stored.get().value();
}

BOOST_AUTO_TEST_CASE(signals_wait_while_a_waiter_writes_and_that_of_a_file_too_large_is_dropped) {
  static volatile std::sig_atomic_t seen = 0;
  auto before = std::signal(SIGUSR1, [](int) { seen = 1; });
  left_job("a");
  sink.at_commit = [] {
    pthread_kill(pthread_self(), SIGXFSZ); // would end the process
    pthread_kill(pthread_self(), SIGUSR1);
    BOOST_TEST(seen == 0);
  };
  BOOST_TEST(commits.write_left());
  BOOST_TEST(seen == 1);
  std::signal(SIGUSR1, before);
}

BOOST_AUTO_TEST_CASE(waiters_and_others_keep_each_their_order) {
  constexpr int threads = 4;
  constexpr int jobs = 300;
  on_threads(threads, [this](int t) {
    for (int i = 0; i < jobs; ++i) {
      auto id = std::to_string(t) + ":" + std::to_string(i);
      if (t == 0) {
        durable(commits, id).get().value();
        continue;
      }
      auto [left, answer] = submit_or_leave(id);
      if (left && i % 3 == 0)
        commits.call_writer();
      else if (left)
        commits.write_left();
      answer.get().value();
    }
  });
  require_order(sink.committed(), threads, jobs);
}

BOOST_AUTO_TEST_CASE(the_end_commits_what_was_left) {
  commit_answer answer;
  {
    waiter_fixture other;
    answer = other.left_job("a");
  }
  answer.get().value();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
