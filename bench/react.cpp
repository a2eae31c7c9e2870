// react (section A): the tool-calling loop with a model that answers at once, and its bytes on
// disk.

#include "bench/fresh_store.hpp"

#include <troupe/agents/react_agent.hpp>

#include <mutex>
#include <random>

namespace troupe::bench {

namespace {

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

std::string uuid(std::minstd_rand& random) {
  static const char* const digits = "0123456789abcdef";
  std::string out = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (auto& c : out)
    if (c == 'x')
      c = digits[random() % 16];
  return out;
}

/// Asks for a tool `rounds` times, then answers, then starts over.
class fake_model final : public chat_model {
public:
  explicit fake_model(int rounds) : rounds_{rounds} {}

  std::string name() const override { return "fake"; }

  coro<value> invoke(model_request /*request*/, context& /*ctx*/) override {
    std::scoped_lock lock{mutex_};
    if (asked_ == rounds_) {
      asked_ = 0;
      co_return ai_message(repeat("answer", 100), {}, uuid(random_));
    }
    ++asked_;
    tool_call call{.name = "search",
                   .args = value::map({{"query", repeat(uuid(random_), 100)}}),
                   .id = uuid(random_)};
    co_return ai_message("", {call}, uuid(random_));
  }

private:
  std::mutex mutex_;
  int rounds_;
  int asked_ = 0;
  std::minstd_rand random_{1}; // repeats the same conversation
};

tool search() {
  return {"search",
          "Searches",
          [](arg<"query", std::string> query) { return repeat("result for query: " + *query, 10); },
          {.lane = lane::standard}};
}

/// The agent that is stored uses "v1", with one task a round for its calls. With "v2" a send of a
/// call carries the whole state, as in the reference, so stored bytes would grow with the square of
/// the rounds.
compiled_graph react_agent(int rounds, const char* version = "v2") {
  return create_react_agent(
    {.model = std::make_shared<fake_model>(rounds), .tools = {search()}, .version = version});
}

run_input question() {
  return value::map({{"messages", value::list({human_message("hi?")})}});
}

/// Notes the texts and calls of a conversation; the ids of its messages differ from run to run.
void note_conversation(const value& messages) {
  std::vector<value> texts;
  for (const auto& message : messages.items())
    texts.push_back(value::list({message.payload()["type"], message.payload()["content"]}));
  note_result(value::list(std::move(texts)));
}

void expect_conversation(const value& state, int rounds) {
  const auto& messages = state["messages"];
  expect(messages.size() == 2 * static_cast<std::size_t>(rounds) + 2, "the number of messages");
  for (std::size_t i = 0; i < messages.size(); ++i)
    expect(messages[i].payload()["id"].size() == 36, "the id of a message");
  expect(messages[2].payload()["content"].size() == 36'180, "the tool's result");
  expect(messages[messages.size() - 1].payload()["content"].size() == 600, "the answer");
  note_conversation(messages);
}

figure drain_react(const sampler& sample, int rounds, std::shared_ptr<saver> store) {
  runtime machine{with_saver(std::move(store))};
  auto graph = machine.load(react_agent(rounds));
  expect_conversation(graph.invoke(question(), new_run(durability::exit)).value(), rounds);
  auto input = question();
  return sample.each([&] {
    auto config = new_run(durability::exit);
    int events = 0;
    auto us = time_us([&] {
      auto parts = graph.stream(input, config);
      while (parts.next())
        ++events;
    });
    expect(events == 2 * rounds + 1, "the number of events");
    return us;
  });
}

struct stored_run {
  double us;
  double stored_bytes;
  double state_bytes; // of the final state, encoded
};

/// One run with a checkpoint each step, in a new store.
stored_run store_react(int rounds, medium where) {
  fresh_store store{where};
  auto graph = store.load(react_agent(rounds, "v1"));
  run_result result;
  auto config = new_run(durability::async);
  auto us = time_us([&] { result = graph.invoke(question(), config); });
  expect_conversation(result.value(), rounds);
  auto checkpoints = store.checkpoints();
  expect(checkpoints >= 2 * static_cast<std::size_t>(rounds) + 2, "the number of checkpoints");
  auto state_bytes = static_cast<double>(to_msgpack(result.value()).value().size());
  return {us, static_cast<double>(store.close()), state_bytes};
}

figure time_stored_react(const sampler& sample, int rounds, medium where) {
  return sample.each([rounds, where] { return store_react(rounds, where).us; });
}

figure measure_stored_react(const sampler& sample, int rounds, medium where) {
  double state_bytes = 0;
  auto one = [&state_bytes, rounds, where] {
    auto stored = store_react(rounds, where);
    state_bytes = stored.state_bytes;
    return stored.stored_bytes;
  };
  auto out = sample.exactly(runs_min, one, "bytes");
  out.further = {{"final_state_bytes", state_bytes}, {"ratio", median(out.samples) / state_bytes}};
  return out;
}

} // namespace

void add_react(workloads& all) {
  for (int rounds : {10, 100}) {
    auto name = "react_agent_" + std::to_string(rounds) + "x";
    all.push_back({name, [rounds](const sampler& s) { return drain_react(s, rounds, nullptr); }});
    all.push_back({name + "_checkpoint", [rounds](const sampler& s) {
                     return drain_react(s, rounds, make_memory_saver());
                   }});
    // A checkpoint each step. The texts repeat themselves, so compression hides repeated storage.
    for (auto [ending, where] :
         {std::pair{"_file_async", medium::file},
          std::pair{"_file_async_uncompressed", medium::uncompressed_file}}) {
      all.push_back({name + ending, [rounds, where = where](const sampler& s) {
                       return time_stored_react(s, rounds, where);
                     }});
      all.push_back({name + ending + "_bytes", [rounds, where = where](const sampler& s) {
                       return measure_stored_react(s, rounds, where);
                     }});
    }
  }
}

} // namespace troupe::bench
