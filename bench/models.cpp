// models (section H): chat models over HTTP, with the provider in another process, and server-sent
// events.

#include "bench/child.hpp"
#include "http/sse.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/model_providers.hpp>
#include <troupe/runtime.hpp>
#include <troupe/state_graph.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int calls = 1000;
constexpr milliseconds between_calls{2};
constexpr milliseconds between_words{100};
constexpr int words = 50; // so that all calls are under way for some seconds

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void allow_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

std::size_t thread_count() {
  auto tasks = fs::directory_iterator{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// ---- the provider -------------------------------------------------------------------------------

// A stream whose first word is the time of its writing, sent at once. Another word follows each
// tenth of a second.
test::raw_reply stamped(const test::seen_request&) {
  test::model_answer answer{.text = std::to_string(now_ns())};
  for (int i = 0; i < words; ++i)
    answer.text += " word";
  auto events = test::streamed_answer(test::model_format::openai, answer);
  test::http_reply reply{.headers = {{"Content-Type", "text/event-stream"}}, .chunked = true};
  reply.body.emplace_back(test::send_bytes{events[0] + events[1]}); // the role, the first word
  for (std::size_t i = 2; i < events.size(); ++i) {
    reply.body.emplace_back(test::wait_time{between_words});
    reply.body.emplace_back(test::send_bytes{events[i]});
  }
  return test::to_raw(std::move(reply));
}

// ---- the client ---------------------------------------------------------------------------------

// Times of the calls.
struct stream_times {
  std::mutex mutex;
  std::vector<double> first_us; ///< from the provider's writing to the reader's reading
  std::atomic<int> open{0};     ///< calls with a first word and without an end
};

compiled_graph streaming_graph(chat_model_ptr model, stream_times& times) {
  state_graph<> g{{{"answer", last_value}}};
  g.add_node("ask", [model, &times](const state_view&, context& ctx) -> coro<value> {
    model_request request{value::list({human_message("go")})};
    bool first = true;
    request.on_part = [&](const value& part) {
      std::int64_t sent = 0;
      auto text = message_text(part);
      if (!first || std::from_chars(text.data(), text.data() + text.size(), sent).ec != std::errc{})
        return;
      first = false;
      auto us = static_cast<double>(now_ns() - sent) / 1000.0;
      std::scoped_lock lock{times.mutex};
      times.first_us.push_back(us);
      ++times.open;
    };
    auto call = model->invoke(std::move(request), ctx);
    auto answer = co_await call;
    --times.open;
    auto update = value{{"answer", message_text(answer)}};
    co_return update;
  });
  g.add_edge(START, "ask");
  g.add_edge("ask", END);
  return g.compile();
}

double quantile(std::vector<double> all, double q) {
  std::ranges::sort(all);
  return all.at(static_cast<std::size_t>(q * static_cast<double>(all.size() - 1)));
}

figure time_streams(const sampler&) {
  auto numbers = numbers_from_child(std::string{model_streams_job}, 4);
  return {
    {numbers[0]},
    "us",
    {{"first_word_p99_us", numbers[1]}, {"bytes_above_idle", numbers[2]}, {"threads", numbers[3]}}};
}

figure decode_events(const sampler& sample) {
  test::model_answer answer;
  for (int i = 0; i < 20'000; ++i)
    answer.text += "token ";
  std::string bytes;
  for (const auto& event : test::streamed_answer(test::model_format::anthropic, answer))
    bytes += event;
  auto out = sample.each([&bytes] {
    constexpr std::size_t piece = 16 * 1024; // as libcurl delivers them
    sse_decoder decoder;
    std::vector<sse_event> events;
    std::size_t count = 0;
    auto us = time_us([&] {
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        events.clear();
        decoder.feed(std::string_view{bytes}.substr(at, piece), events).value();
        count += events.size();
      }
    });
    expect(count > 20'000, "the events");
    return us;
  });
  out.further = {{"mb_per_s", static_cast<double>(bytes.size()) / median(out.samples)}};
  return out;
}

} // namespace

void be_a_provider() {
  allow_many_files();
  test::fake_provider provider;
  provider.remember(false);
  provider.always(stamped);
  std::printf("%d\n", provider.port());
  std::fflush(stdout);
  for (;;)
    pause();
}

void print_model_streams() {
  allow_many_files();
  child provider{std::string{provider_job}};
  auto url = "http://127.0.0.1:" + std::to_string(provider.number()) + "/v1";
  stream_times times;
  runtime machine;
  auto app = machine.load(streaming_graph(init_chat_model("openai:m", {.base_url = url}), times));
  const run_input nothing{value{{"answer", nullptr}}};
  expect(app.try_invoke(nothing).has_value(), "the first answer");
  times.first_us.clear();
  auto idle = memory_now();
  std::vector<run_handle> runs;
  runs.reserve(calls);
  for (int i = 0; i < calls; ++i) {
    runs.push_back(app.start(nothing));
    std::this_thread::sleep_for(between_calls);
  }
  while (times.open < calls && times.open > 0)
    std::this_thread::sleep_for(milliseconds{10});
  expect(times.open == calls, "all calls at once");
  auto busy = memory_now();
  auto busy_threads = thread_count();
  for (auto& run : runs)
    expect(run.get().has_value(), "an answer");
  std::printf("%.1f\n%.1f\n%.0f\n%.0f\n", quantile(times.first_us, 0.5),
              quantile(times.first_us, 0.99), busy.anonymous - idle.anonymous,
              static_cast<double>(busy_threads));
}

void add_models(workloads& all) {
  all.push_back({"sse_decode", decode_events});
  all.push_back({"model_streams_1000_first_word", time_streams});
}

} // namespace troupe::bench
