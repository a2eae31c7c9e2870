// endurance: workloads that take minutes, such as a store of a million threads and a long run with
// a slow saver.

#include "bench/graphs.hpp"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <mutex>
#include <random>
#include <thread>

namespace troupe::bench {

namespace {

using namespace std::literals;

// ---- a million threads --------------------------------------------------------------------------

constexpr std::size_t threads = 1'000'000;

std::string thread_name(std::size_t number) {
  return "thread " + std::to_string(number);
}

compiled_graph waiting_chain() {
  return chain3({.interrupt_before = {"b"}});
}

/// The checkpoint of a thread that waits before b.
checkpoint_put waiting_checkpoint() {
  auto store = make_memory_saver();
  auto at = new_run(durability::sync);
  runtime machine{{.saver = store}};
  machine.load(waiting_chain()).invoke(zero(), at);
  auto tuple = store->get_tuple({at.thread_id, {}, {}}).value().value();
  checkpoint_put put{{}, std::move(tuple.checkpoint), std::move(tuple.metadata), {}};
  for (const auto& [channel, at_version] : put.checkpoint.channel_versions)
    put.new_versions.push_back(channel);
  return put;
}

/// Submits requests, and waits while too many have no answer.
class bulk_writer {
public:
  explicit bulk_writer(saver& store) : store_{store} {}
  ~bulk_writer() { wait_for(0); }

  void add(save_request request) {
    wait_for(waiting_max);
    {
      std::scoped_lock lock{mutex_};
      ++waiting_;
    }
    store_.submit(std::move(request), save_ack::accepted, [this](const result<void>& how) {
      std::scoped_lock lock{mutex_};
      failed_ = failed_ || !how;
      --waiting_;
      answered_.notify_all();
    });
  }
  bool failed() {
    wait_for(0);
    return failed_;
  }

private:
  static constexpr std::size_t waiting_max = 10'000;

  void wait_for(std::size_t at_most) {
    std::unique_lock lock{mutex_};
    answered_.wait(lock, [this, at_most] { return waiting_ <= at_most; });
  }

  saver& store_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::size_t waiting_ = 0;
  bool failed_ = false;
};

void make_threads(const std::filesystem::path& dir) {
  auto put = waiting_checkpoint();
  auto store = open_lmdb_saver(dir).value();
  bulk_writer writer{*store};
  for (std::size_t i = 0; i < threads; ++i)
    writer.add({{thread_name(i), {}, {}}, {}, put});
  expect(!writer.failed(), "the writing of threads");
}

figure open_many_threads(const sampler& sample) {
  scratch_dir dir;
  auto data = dir.path() / "data";
  auto made_us = time_us([&data] { make_threads(data); });
  auto graph = waiting_chain();
  std::minstd_rand random{1};
  std::uniform_int_distribution<std::size_t> any{0, threads - 1};
  std::vector<double> first_reads;
  std::vector<double> reads;
  auto one = [&] {
    std::shared_ptr<saver> store;
    auto us = time_us([&] { store = open_lmdb_saver(data).value(); });
    runtime machine{{.saver = store}};
    auto loaded = machine.load(graph);
    for (int i = 0; i < 100; ++i) {
      run_config at{.thread_id = thread_name(any(random))};
      state_snapshot snapshot;
      auto read_us = time_us([&] { snapshot = loaded.get_state(at); });
      expect(snapshot.values["counter"] == value(1) && snapshot.next.size() == 1, "a thread");
      (i == 0 ? first_reads : reads).push_back(read_us);
    }
    return us;
  };
  auto out = sample.exactly(10, one);
  out.further = {{"get_state_first_us", median(first_reads)},
                 {"get_state_us", median(reads)},
                 {"store_bytes", static_cast<double>(store_bytes(data))},
                 {"made_in_s", made_us / 1e6}};
  return out;
}

// ---- runs that were cut off ---------------------------------------------------------------------

constexpr std::size_t some_threads = 10'000;
constexpr std::size_t each_cut_off = 1000; // one of so many threads

/// Makes threads. Those that are not cut off are at rest.
void make_cut_off_threads(const std::filesystem::path& dir) {
  constexpr std::uint64_t gone_process = 7;
  auto put = waiting_checkpoint();
  auto store = open_lmdb_saver(dir).value();
  bulk_writer writer{*store};
  for (std::size_t i = 0; i < some_threads; ++i) {
    auto owner = gone_process | (i % each_cut_off == 0 ? 0 : thread_at_rest);
    writer.add({{thread_name(i), {}, {}}, {}, put, thread_claim{.owner = owner}});
  }
  expect(!writer.failed(), "the writing of threads");
}

/// Times the recovery, from opening the store to the end of the last run.
figure resume_cut_off_runs(const sampler& sample) {
  auto graph = chain3();
  std::vector<double> founds;
  auto out = sample.exactly(10, [&] {
    scratch_dir dir;
    auto data = dir.path() / "data";
    make_cut_off_threads(data);
    return time_us([&] {
      runtime machine{{.saver = open_lmdb_saver(data).value()}};
      auto loaded = machine.load(graph);
      std::vector<resumed_run> runs;
      founds.push_back(time_us([&] { runs = loaded.resume_unfinished(); }));
      expect(runs.size() == some_threads / each_cut_off, "the runs that were cut off");
      for (auto& one : runs)
        expect(one.run.get().value().value()["counter"] == value(3), "the counter");
    });
  });
  out.further = {{"found_in_us", median(founds)}};
  return out;
}

// ---- a slow saver -------------------------------------------------------------------------------

constexpr auto slow_commit = 50ms;
constexpr std::int64_t slow_steps_early = 500;
constexpr std::int64_t slow_steps = 5000;

/// A saver to a file that takes requests one by one, with a pause before each.
class slow_saver : public saver {
public:
  explicit slow_saver(std::shared_ptr<saver> file)
    : file_{std::move(file)},
      clerk_{[this](const std::stop_token& stop) { work(stop); }} {}

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    return file_->get_tuple(ref);
  }
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    return file_->list(query);
  }
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) override {
    return file_->put(ref, put);
  }
  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    return file_->put_writes(ref, writes);
  }
  result<void> delete_thread(const std::string& thread_id) override {
    return file_->delete_thread(thread_id);
  }
  result<std::vector<thread_info>> threads() override { return file_->threads(); }
  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    return file_->thread_owner(thread_id);
  }
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    std::scoped_lock lock{mutex_};
    waiting_.push_back({std::move(request), when, std::move(done)});
    filled_.notify_one();
  }

private:
  struct order {
    save_request request;
    save_ack when;
    std::function<void(result<void>)> done;
  };

  void work(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (filled_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      filled_.wait_for(lock, stop, slow_commit, [] { return false; });
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      file_->submit(std::move(next.request), next.when, std::move(next.done));
      lock.lock();
    }
  }

  std::shared_ptr<saver> file_;
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<order> waiting_;
  std::jthread clerk_; // the last member: it uses the others
};

compiled_graph noting_loop(memory_in_use& early) {
  state_graph<> graph{schema{{"counter", last_value}, {"text", last_value}}};
  graph.add_node("step", [&early](const state_view& state) {
    auto counter = state["counter"].as_int() + 1;
    if (counter == slow_steps_early)
      early = memory_now();
    return state_update{}.set("counter", counter).set("text", std::string(4096, 'x'));
  });
  graph.add_edge(START, "step");
  graph.add_conditional_edges("step",
                              [](const state_view& state) {
                                return state["counter"].as_int() < slow_steps ? "step" : END;
                              },
                              {"step", END});
  return graph.compile();
}

figure memory_behind_slow_saver(const sampler&) {
  auto numbers = numbers_from_child(std::string{slow_saver_job}, 4);
  return {{numbers[2]},
          "bytes",
          {{"bytes_at_500_steps", numbers[0]},
           {"anonymous_bytes_at_500_steps", numbers[1]},
           {"anonymous_bytes", numbers[3]}}};
}

} // namespace

void print_memory_behind_slow_saver() {
  scratch_dir dir;
  memory_in_use early;
  runtime machine{
    {.saver = std::make_shared<slow_saver>(open_lmdb_saver(dir.path() / "data").value())}};
  auto result = machine.load(noting_loop(early)).invoke(zero(), new_run(durability::async));
  auto late = memory_now();
  expect(result.value()["counter"] == value(slow_steps), "the counter");
  std::printf("%.0f %.0f %.0f %.0f\n", early.resident, early.anonymous, late.resident,
              late.anonymous);
}

void add_endurance(workloads& all) {
  all.push_back({"open_1000000_threads_file", open_many_threads, {}, true});
  all.push_back({"resume_10_of_10000_threads_file", resume_cut_off_runs, {}, true});
  all.push_back({"mem_async_5000_steps_saver_50ms", memory_behind_slow_saver, {}, true});
}

} // namespace troupe::bench
