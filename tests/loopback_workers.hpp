// Workers without a network: placed tasks run in a second runtime of this process, and everything
// that would cross is written and read as bytes.
#pragma once

#include "actors/task_placer.hpp"
#include "cluster/guest_tasks.hpp"
#include "cluster/placed_tasks.hpp"
#include "coordinator/runtime_core.hpp"

#include <troupe/cluster.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe {

/// One thread that does what it is given, in order: the network.
class job_line {
public:
  job_line() : thread_{[this] { work(); }} {}
  job_line(const job_line&) = delete;
  job_line& operator=(const job_line&) = delete;
  ~job_line() { stop(); }

  /// What was given is done, what comes is dropped.
  void stop() {
    {
      std::lock_guard lock{mutex_};
      ended_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable())
      thread_.join();
  }

  void post(std::function<void()> job) {
    {
      std::lock_guard lock{mutex_};
      if (ended_)
        return;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_all();
  }

private:
  void work() {
    for (std::unique_lock lock{mutex_};;) {
      wake_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
      if (jobs_.empty())
        return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ended_ = false;
  std::thread thread_;
};

class loopback_workers : public worker_pool, public task_placer {
public:
  /// `name`: what results say of where they come from; empty: nothing.
  explicit loopback_workers(std::shared_ptr<node_cache> cache = nullptr, std::string name = {})
    : name_{std::move(name)},
      worker_{nullptr, {.cache = std::move(cache), .worker_threads = 2}},
      guests_{std::make_unique<cluster::guest_tasks>(worker_)} {}
  ~loopback_workers() override {
    line_.stop();
    guests_.reset(); // before the runtime it is in
  }

  std::uint16_t port() const override { return 0; }
  task_placer& placer() override { return *this; }

  std::function<void()> start(services& home, task_ptr task, std::function<void()> begun,
                              std::function<void()> then) override {
    auto placed = std::make_shared<cluster::placed_task>(home, task, std::move(begun),
                                                         std::move(then));
    auto facts = cluster::encode_run(*task->run);
    auto encoded = placed->encode();
    if (!facts || !encoded) {
      placed->fail(facts ? encoded.error() : facts.error());
      return {};
    }
    std::unique_lock lock{mutex_};
    auto issue = ++issues_;
    placed_.emplace(issue, placed);
    lock.unlock();
    cluster::task_order order{issue, 0, task->id, task->node->name, std::move(encoded->task)};
    line_.post([this, order = std::move(order), step = std::move(encoded->step),
                facts = std::move(*facts), plan = task->run->plan, placed] {
      auto run = cluster::decode_run(facts, plan);
      auto begun = run
                     ? guests_->start(std::make_shared<const cluster::remote_run>(std::move(*run)),
                                      order, step, way_home_, nullptr)
                     : result<void>{run.error()};
      if (!begun)
        placed->fail(begun.error());
    });
    return [this, issue, weak = std::weak_ptr{placed}] {
      if (auto there = weak.lock())
        there->give_up();
      line_.post([this, issue] { guests_->stop(issue); });
    };
  }

private:
  struct way_home : cluster::guest_listener {
    explicit way_home(loopback_workers& from) : workers{from} {}
    void said(cluster::message m) override { workers.to_home(std::move(m)); }
    loopback_workers& workers;
  };

  std::shared_ptr<cluster::placed_task> find(cluster::issue_number issue) {
    std::lock_guard lock{mutex_};
    auto found = placed_.find(issue);
    return found == placed_.end() ? nullptr : found->second;
  }

  void to_home(cluster::message m) {
    line_.post(
      [this, m = std::move(m)]() mutable { std::visit([this](auto& what) { heard(what); }, m); });
  }

  void to_worker(cluster::message m) {
    line_.post([this, m = std::move(m)]() mutable {
      if (auto* saved = std::get_if<cluster::save_answer>(&m))
        guests_->answered(std::move(*saved));
      else if (auto* called = std::get_if<cluster::call_answer>(&m))
        guests_->answered(std::move(*called));
      else if (auto* credit = std::get_if<cluster::part_credit>(&m))
        guests_->granted(*credit);
    });
  }

  cluster::placed_task::answer answer() {
    return [this](cluster::message m) { to_worker(std::move(m)); };
  }
  void heard(cluster::save_order& what) {
    if (auto placed = find(what.issue))
      placed->save(std::move(what), answer());
  }
  void heard(cluster::call_order& what) {
    if (auto placed = find(what.issue))
      placed->call(std::move(what), answer());
  }
  void heard(cluster::task_part& what) {
    if (auto placed = find(what.issue))
      placed->part(std::move(what), answer());
  }
  void heard(const cluster::task_sign& what) {
    if (auto placed = find(what.issue))
      placed->sign(what);
  }
  void heard(cluster::task_outcome& what) {
    if (auto placed = find(what.issue))
      placed->finish(std::move(what.outcome), name_);
  }
  void heard(const cluster::task_refused& what) {
    if (auto placed = find(what.issue))
      placed->fail({what.code, what.why});
  }
  template <class T> void heard(const T&) {}

  const std::string name_;
  runtime_core worker_;
  std::shared_ptr<way_home> way_home_ = std::make_shared<way_home>(*this);
  std::unique_ptr<cluster::guest_tasks> guests_;
  std::mutex mutex_;
  cluster::issue_number issues_ = 0;
  std::map<cluster::issue_number, std::shared_ptr<cluster::placed_task>> placed_;
  job_line line_;
};

} // namespace troupe
