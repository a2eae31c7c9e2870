// reading (section C): reading the state and the history of a thread of 1,000 steps.

#include "bench/graphs.hpp"

#include <memory>
#include <optional>

namespace troupe::bench {

namespace {

constexpr std::int64_t steps = 1000;

/// A thread with every checkpoint, in memory or in a file.
class long_thread {
public:
  long_thread(bool append, bool file) {
    std::shared_ptr<saver> store;
    if (file) {
      dir_.emplace();
      store = open_lmdb_saver(dir_->path() / "data").value();
    } else {
      store = make_memory_saver();
    }
    machine_ = std::make_unique<runtime>(with_saver(store));
    graph_ = machine_->load(append ? append_loop(steps) : counter_loop(steps));
    at_ = new_run(durability::async);
    last_ = graph_->invoke(append ? no_items() : zero(), at_).value();
    checkpoints_ = stored_checkpoints(*store);
    expect(checkpoints_ == steps + 1 || checkpoints_ == steps + 2, "the number of checkpoints");
  }

  state_snapshot state() const { return graph_->get_state(at_); }
  std::vector<state_snapshot> history(std::optional<std::size_t> limit) const {
    return graph_->get_state_history(at_, {.limit = limit});
  }

  std::size_t checkpoints() const { return checkpoints_; }
  void expect_last(const state_snapshot& snapshot) const {
    expect(snapshot.values == last_, "the values");
    expect(snapshot.next.empty() && snapshot.config.thread_id == at_.thread_id, "the snapshot");
    expect(snapshot.metadata["step"] == value(steps), "the metadata");
  }

private:
  std::optional<scratch_dir> dir_; // outlives the store in it
  std::unique_ptr<runtime> machine_;
  std::optional<app<>> graph_;
  run_config at_;
  value last_;
  std::size_t checkpoints_ = 0;
};

figure read_state(const sampler& sample, const long_thread& thread) {
  state_snapshot snapshot;
  return sample.batches([&] { snapshot = thread.state(); },
                        [&] {
                          thread.expect_last(snapshot);
                          note_result(snapshot.values);
                        });
}

figure read_history(const sampler& sample, const long_thread& thread,
                    std::optional<std::size_t> limit) {
  std::size_t count = 0;
  auto run = [&] { count = thread.history(limit).size(); };
  auto newest = thread.history(1);
  expect(newest.size() == 1, "the newest snapshot");
  thread.expect_last(newest[0]);
  note_result(newest[0].values);
  return sample.batches(run, [&] {
    expect(count == limit.value_or(thread.checkpoints()), "the number of snapshots");
  });
}

} // namespace

void add_reading(workloads& all) {
  for (bool append : {false, true})
    for (bool file : {false, true}) {
      auto ending = std::string{append ? "append1000" : "counter1000"}
                    + (file ? "_file" : "_memory");
      all.push_back({"get_state_" + ending, [append, file](const sampler& sample) {
                       return read_state(sample, long_thread{append, file});
                     }});
      all.push_back({"get_state_history10_" + ending, [append, file](const sampler& sample) {
                       return read_history(sample, long_thread{append, file}, 10);
                     }});
      all.push_back({"get_state_history_" + ending, [append, file](const sampler& sample) {
                       return read_history(sample, long_thread{append, file}, std::nullopt);
                     }});
    }
}

} // namespace troupe::bench
