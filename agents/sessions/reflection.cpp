// reflection: runs that start after a delay, unless they are replaced before.
//
// Invariants:
//  - a submission is in `waiting_` until it is replaced, cancelled or begun; the side that takes it
//    out answers its promise.
#include <troupe/agents/reflection.hpp>

#include <troupe/state_graph.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using reflection_result = result<run_result>;
using reflection_promise = std::shared_ptr<std::promise<reflection_result>>;

constexpr const char* delay_key = "delay_ms";

// A graph whose only node waits.
compiled_graph delay_graph() {
  state_graph<> g{{{delay_key, last_value}}};
  g.add_node("wait", [](const state_view& state, context& ctx) -> coro<value> {
    auto pause = ctx.sleep_for(std::chrono::milliseconds{state[delay_key].as_int()});
    co_await pause;
    co_return value{};
  });
  g.add_edge(START, "wait");
  return g.compile({.name = "reflection_delay", .checkpointer = checkpointing::none});
}

reflection_result dropped() {
  return error{errc::cancelled, "reflect: the reflection was replaced or cancelled"};
}

void require_delay(std::chrono::milliseconds after) {
  if (after.count() < 0)
    throw error{errc::invalid_config, "reflect: the delay must not be negative"};
}

} // namespace

struct reflection_executor::book : std::enable_shared_from_this<book> {
  struct submission {
    std::uint64_t ticket;
    run_control delay;
    reflection_promise promise;
    run_input input;
    run_config config;
  };

  book(runtime& rt, const compiled_graph& graph)
    : reflector_{rt.load(graph)},
      delay_{rt.load(delay_graph())} {}

  std::shared_future<reflection_result> submit(run_input input, reflection_options options) {
    auto promise = std::make_shared<std::promise<reflection_result>>();
    run_control control;
    std::string key;
    std::uint64_t ticket = 0;
    std::optional<submission> old;
    {
      std::lock_guard guard{mutex_};
      if (stopped_)
        throw error{errc::runtime_stopped, "reflect: the executor was shut down"};
      ticket = ++tickets_;
      key = options.key.empty() ? '\0' + std::to_string(ticket) : options.key;
      old = take(key, std::nullopt);
      waiting_.emplace(key, submission{ticket, control, promise, std::move(input),
                                       std::move(options.config)});
    }
    drop(old);
    auto future = promise->get_future().share();
    auto pause = value::map({{delay_key, static_cast<std::int64_t>(options.after.count())}});
    delay_.start(pause, {.control = control})
      .when_done([self = shared_from_this(), key, ticket](const reflection_result& how) {
        self->begin(key, ticket, how);
      });
    return future;
  }

  bool cancel(const std::string& key) {
    std::optional<submission> old;
    {
      std::lock_guard guard{mutex_};
      old = take(key, std::nullopt);
    }
    drop(old);
    return old.has_value();
  }

  std::size_t waiting() const {
    std::lock_guard guard{mutex_};
    return waiting_.size();
  }

  void shutdown(bool wait) {
    std::map<std::string, submission> all;
    {
      std::lock_guard guard{mutex_};
      stopped_ = true;
      all = std::exchange(waiting_, {});
    }
    for (auto& [key, one] : all)
      drop(std::move(one));
    std::unique_lock lock{mutex_};
    if (wait)
      ended_.wait(lock, [this] { return running_ == 0; });
  }

private:
  // Takes a waiting submission out; with a ticket, only that one. The lock is held.
  std::optional<submission> take(const std::string& key, std::optional<std::uint64_t> ticket) {
    auto at = waiting_.find(key);
    if (at == waiting_.end() || (ticket && at->second.ticket != *ticket))
      return std::nullopt;
    auto out = std::move(at->second);
    waiting_.erase(at);
    return out;
  }

  static void drop(const std::optional<submission>& one) {
    if (!one)
      return;
    one->promise->set_value(dropped());
    auto control = one->delay;
    control.cancel();
  }

  // The end of a delay.
  void begin(const std::string& key, std::uint64_t ticket, const reflection_result& how) {
    std::optional<submission> due;
    {
      std::lock_guard guard{mutex_};
      due = take(key, ticket);
      running_ += due && how ? 1 : 0;
    }
    if (!due)
      return;
    if (!how)
      return due->promise->set_value(how.error());
    reflector_.start(due->input, due->config)
      .when_done([self = shared_from_this(), promise = due->promise](const reflection_result& end) {
        promise->set_value(end);
        std::lock_guard guard{self->mutex_};
        --self->running_;
        self->ended_.notify_all();
      });
  }

  app<> reflector_;
  app<> delay_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, submission> waiting_; // by key
  std::uint64_t tickets_ = 0;
  std::size_t running_ = 0;
  bool stopped_ = false;
};

reflection_executor::reflection_executor(runtime& rt, const compiled_graph& reflector)
  : book_{std::make_shared<book>(rt, reflector)} {}

reflection_executor::~reflection_executor() {
  book_->shutdown(false);
}

std::shared_future<result<run_result>> reflection_executor::submit(run_input input,
                                                                   reflection_options options) {
  require_delay(options.after);
  return book_->submit(std::move(input), std::move(options));
}

bool reflection_executor::cancel(const std::string& key) {
  return book_->cancel(key);
}

std::size_t reflection_executor::waiting() const {
  return book_->waiting();
}

void reflection_executor::shutdown(bool wait) {
  book_->shutdown(wait);
}

middleware reflect_later(std::shared_ptr<reflection_executor> executor,
                         std::chrono::milliseconds after, run_config config) {
  if (!executor)
    throw error{errc::invalid_config, "reflect later: the executor is missing"};
  require_delay(after);
  middleware out;
  out.name = "reflect_later";
  out.after_agent = [executor = std::move(executor), after,
                     config = std::move(config)](const state_view& state, context& ctx) {
    executor->submit(value::map({{"messages", state["messages"]}}),
                     {.key = ctx.thread_id(), .after = after, .config = config});
    return value{};
  };
  return out;
}

} // namespace troupe
