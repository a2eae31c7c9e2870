// floors_machine (section F): floors of the processor, the memory, the threads and the disk.

#include "bench/harness.hpp"

#include <troupe/limits.hpp>
#include <troupe/value.hpp>

#include <boost/circular_buffer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe::bench {

namespace {

figure copy_memory(const sampler& sample) {
  constexpr std::size_t size = 64u << 20;
  std::vector<char> from(size, 'x');
  std::vector<char> to(size);
  auto run = [&] {
    std::memcpy(to.data(), from.data(), size);
    keep(to.data());
  };
  return sample.batches(run, [&] { expect(to.back() == 'x', "the copy"); });
}

figure allocate(const sampler& sample) {
  return sample.batches([] {
    auto* block = std::malloc(64);
    keep(block);
    std::free(block);
  });
}

figure read_clock(const sampler& sample) {
  return sample.batches([] { keep(std::chrono::steady_clock::now()); });
}

figure call_functions(const sampler& sample) {
  using small_map = std::map<std::string, std::int64_t, std::less<>>;
  small_map state{{"counter", 0}};
  auto increment = [](small_map& s) {
    auto& counter = s.find("counter")->second;
    counter = counter + 1;
  };
  const std::function<void(small_map&)> chain[] = {increment, increment, increment};
  auto run = [&] {
    state.find("counter")->second = 0;
    for (const auto& call : chain)
      call(state);
    keep(state);
  };
  return sample.batches(run, [&] { expect(state.at("counter") == 3, "the counter"); });
}

/// A ball that two threads pass to each other. A thread sleeps while the other has the ball.
class court {
public:
  /// Waits for the ball, then gives it to the other side. Returns false when the game is over.
  bool pass(int side) {
    std::unique_lock lock{mutex_};
    changed_[side].wait(lock, [&] { return side_ == side || over_; });
    if (over_)
      return false;
    side_ = 1 - side;
    ++passes_;
    lock.unlock();
    changed_[1 - side].notify_one();
    return true;
  }
  void end() {
    std::lock_guard lock{mutex_};
    over_ = true;
    for (auto& side : changed_)
      side.notify_all();
  }
  std::size_t passes() {
    std::lock_guard lock{mutex_};
    return passes_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_[2];
  int side_ = 0;
  bool over_ = false;
  std::size_t passes_ = 0;
};

figure wake_thread(const sampler& sample) {
  constexpr std::size_t rounds = 2000;
  court game;
  std::thread other{[&game] {
    while (game.pass(1)) {}
  }};
  auto result = sample.each([&game] {
    auto before = game.passes();
    auto us = time_us([&game] {
      for (std::size_t i = 0; i < rounds; ++i)
        game.pass(0);
    });
    expect(game.passes() - before >= 2 * rounds - 2, "the passes");
    return us / (2 * rounds);
  });
  game.end();
  other.join();
  return result;
}

/// A list from one thread to another. The newest items are kept for later readers.
class shared_list {
public:
  void add(value item) {
    std::unique_lock lock{mutex_};
    kept_.push_back(item);
    items_.push_back(std::move(item));
    bool first = items_.size() == 1;
    lock.unlock();
    if (first)
      came_.notify_one();
  }
  /// Waits for items and puts them in the place of those in `into`.
  void take(std::vector<value>& into) {
    into.clear();
    std::unique_lock lock{mutex_};
    came_.wait(lock, [this] { return !items_.empty(); });
    into.swap(items_);
  }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<value> items_;
  boost::circular_buffer<value> kept_{limits::stream_log_parts_max};
};

// As stream_custom_10000, without a run around it.
figure hand_over(const sampler& sample) {
  static constexpr std::size_t items = 10'000;
  constexpr const char* token = "token-token-token-tok";
  return sample.each([&] {
    shared_list list;
    std::vector<value> received, batch;
    received.reserve(items);
    std::promise<void> begins;
    std::thread writer{[&list, begun = begins.get_future()] {
      begun.wait();
      for (std::size_t i = 0; i < items; ++i)
        list.add(token);
    }};
    auto us = time_us([&] {
      begins.set_value();
      while (received.size() < items) {
        list.take(batch);
        for (auto& item : batch)
          received.push_back(std::move(item));
      }
    });
    writer.join();
    expect(std::ranges::count(received, value(token)) == items, "the items");
    return us;
  });
}

class block_file {
public:
  explicit block_file(const std::filesystem::path& path)
    : handle_{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)},
      block_(4096, 'x') {
    if (handle_ < 0 || posix_fallocate(handle_, 0, 4096) != 0)
      throw std::runtime_error{"make a file: " + path.string()};
    overwrite();
    fsync(handle_);
  }
  block_file(const block_file&) = delete;
  block_file& operator=(const block_file&) = delete;
  ~block_file() { close(handle_); }

  void overwrite() {
    ++block_[0];
    if (pwrite(handle_, block_.data(), block_.size(), 0) != 4096 || fdatasync(handle_) != 0)
      throw std::runtime_error{"overwrite a block: " + std::string{std::strerror(errno)}};
  }

private:
  int handle_;
  std::vector<char> block_;
};

figure overwrite_block(const sampler& sample) {
  scratch_dir dir;
  block_file file{dir.path() / "block"};
  return sample.batches([&file] { file.overwrite(); });
}

} // namespace

void add_machine_floors(workloads& all) {
  all.push_back({"floor_memcpy_64MiB", copy_memory});
  all.push_back({"floor_malloc_free_64B", allocate});
  all.push_back({"floor_clock_now", read_clock});
  all.push_back({"floor_function_chain3", call_functions});
  all.push_back({"floor_thread_hop_condvar", wake_thread});
  all.push_back({"floor_locked_list_10000", hand_over});
  all.push_back({"floor_fdatasync_overwrite_4KiB", overwrite_block});
}

} // namespace troupe::bench
