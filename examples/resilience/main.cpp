// Failures: retries, gives up a node that hangs, has a plan B, repeats no work, and stops at a
//         step's end on request.
//
//   resilience
#include <troupe/troupe.hpp>

#include <atomic>
#include <iostream>
#include <string>

namespace {

using namespace std::chrono_literals;

struct report {
  std::string topic, page, summary, weather;
  TROUPE_STATE(report, topic, page, summary, weather)
};

// The input of `summarize`, and so the key of its cache: only the page.
struct page_only {
  std::string page;
  TROUPE_STATE(page_only, page)
};

std::atomic<int> outages{2};

// Fails at first; the retry policy waits 20 ms, then 40 ms.
troupe::update<report> fetch(const report& r, troupe::context& ctx) {
  std::cout << "fetch: attempt " + std::to_string(ctx.node_attempt()) + "\n";
  if (outages-- > 0)
    throw troupe::node_error{"ConnectionError", "connection reset"};
  return troupe::set(&report::page, r.topic + " share nothing, and send messages");
}

// Takes longer than its idle time-out, but shows progress regularly.
troupe::coro<troupe::update<report>> summarize(const page_only& p, troupe::context& ctx) {
  for (int page = 1; page <= 5; ++page) {
    co_await ctx.sleep_for(100ms);
    ctx.heartbeat();
  }
  std::cout << "summarize: done after 500 ms, none of them idle\n";
  co_return troupe::set(&report::summary, p.page.substr(0, p.page.find(',')));
}

// Hangs, without progress.
troupe::coro<void> ask_station(const report&, troupe::context& ctx) {
  co_await ctx.sleep_for(1h);
}

// Plan B, which runs in place of the failed node.
troupe::update<report> look_outside(const report&, troupe::context& ctx) {
  const auto& failure = *ctx.failure();
  std::cout << failure.node + ": " + failure.failure.message() + "\n";
  return troupe::set(&report::weather, "it seems to be dry");
}

troupe::typed_graph<report> build() {
  troupe::timeout_policy idle{0s, 400ms}; // no bound on the whole time
  troupe::state_graph<report> g;
  g.add_node("fetch", fetch,
             {.retry_policy = {.initial_interval = 20ms, .max_attempts = 3, .jitter = false}});
  g.add_node("summarize", summarize, {.timeout = idle, .cache_policy = {.ttl = 1h}});
  g.add_node("ask_station", ask_station, {.timeout = idle, .error_handler = look_outside});
  g.add_edge(troupe::START, "fetch");
  g.add_edge("fetch", "summarize");
  g.add_edge("summarize", "ask_station");
  return g.compile({.name = "report"});
}

// Reads the run, and asks it to stop after `fetch`, as a service does at its shutdown. A
// run_control may be used on any thread.
void run_until_drained(const troupe::app<report>& app, troupe::run_config config) {
  troupe::run_control control;
  config.control = control;
  try {
    for (auto& part : app.stream({{"topic", "actors"}}, config))
      if (part.data.contains("fetch"))
        control.request_drain("deployment");
  } catch (const troupe::error& why) {
    std::cout << to_string(why.code()) << ": " << why.message() << "\n";
  }
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver(), .cache = troupe::make_memory_cache()}};
  auto app = rt.load(build());

  run_until_drained(app, {.thread_id = "monday"});
  std::cout << "next: " << app.get_state({.thread_id = "monday"}).next.at(0) << "\n";
  auto monday = app.invoke(nullptr, {.thread_id = "monday"}).state();
  std::cout << monday.summary << "; " << monday.weather << "\n";

  std::cout << "-- the same page on another thread: no summary is made\n";
  auto tuesday = app.invoke({{"topic", "actors"}}, {.thread_id = "tuesday"}).state();
  std::cout << tuesday.summary << "; " << tuesday.weather << "\n";
}
