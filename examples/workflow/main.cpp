// Workflows: graphs written as functions. Calls of tasks run side by side, and are retried when
//         they fail. They are not repeated when the workflow resumes after a question.
//
//   workflow
#include <troupe/troupe.hpp>

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

// A task, whose result is stored. One airline is hard to reach. A coroutine takes its arguments by
// value, since it outlives the call.
auto quote_task() {
  auto quote = [](std::string airline, troupe::context& ctx) -> troupe::coro<std::int64_t> {
    co_await ctx.sleep_for(20ms);
    if (airline == "Albatross" && ctx.node_attempt() < 3)
      throw troupe::node_error{"ConnectionError", "line engaged"};
    auto euros = 100 + 10 * std::ssize(airline);
    std::cout << "  " + airline + " wants " + std::to_string(euros) + ", attempt "
                   + std::to_string(ctx.node_attempt()) + "\n";
    co_return euros;
  };
  troupe::retry_policy retry{.initial_interval = 10ms, .max_attempts = 3, .jitter = false};
  return troupe::task("quote", quote, {.retry_policy = retry});
}

// A coroutine: waits with co_await, and holds no thread meanwhile.
troupe::compiled_graph trip() {
  using booking = troupe::final_value<std::string, std::int64_t>;
  auto body = [quote = quote_task()](const std::vector<std::string>& airlines,
                                     troupe::context& ctx) -> troupe::coro<booking> {
    std::vector<troupe::future<std::int64_t>> quotes;
    for (const auto& airline : airlines)
      quotes.push_back(quote(ctx, airline)); // all of them start here
    auto best = std::numeric_limits<std::int64_t>::max();
    for (auto& q : quotes)
      best = std::min(best, co_await q);

    auto question = "Book for " + std::to_string(best) + " EUR?";
    if (!ctx.previous().is_null())
      question += " The last one cost " + troupe::to_json(ctx.previous()) + ".";
    auto answer = ctx.interrupt(question);
    booking out{answer == "yes" ? "booked" : "not booked", best}; // the result, and `previous`
    co_return out;
  };
  return troupe::entrypoint("trip", body);
}

// A plain function: waits with get(), on a thread of the blocking lane.
troupe::compiled_graph total() {
  auto words = troupe::task("words", [](const std::string& line) {
    return std::int64_t{1} + std::count(line.begin(), line.end(), ' ');
  });
  auto body = [words](const std::vector<std::string>& lines, troupe::context& ctx) {
    std::vector<troupe::future<std::int64_t>> counts;
    for (const auto& line : lines)
      counts.push_back(words(ctx, line));
    std::int64_t sum = 0;
    for (const auto& count : counts)
      sum += count.get();
    return sum;
  };
  return troupe::entrypoint("total", body);
}

void fly(const troupe::app<>& app, const std::vector<std::string>& airlines) {
  troupe::run_config config{.thread_id = "ada"};
  auto run = app.invoke(troupe::value::of(airlines), config);
  std::cout << run.interrupts().at(0).value.as_string() << "\n";
  // The body runs again from its first line, but no airline is asked twice.
  run = app.invoke(troupe::command{.resume = "yes"}, config);
  std::cout << run.value().as_string() << "\n";
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(trip());
  fly(app, {"Albatross", "Condor", "Gull"});
  fly(app, {"Heron"}); // the same thread: the body knows the price of the last flight

  auto lines = troupe::value::of(std::vector<std::string>{"side by side", "and by get"});
  auto sum = rt.load(total()).invoke(lines, {.thread_id = "words"}).value();
  std::cout << sum << " words\n";
}
