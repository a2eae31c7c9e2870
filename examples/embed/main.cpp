// A service with its own actor system. One of its actors sends each request to a graph, which is an
// actor like any other.
#include <troupe/actor.hpp>
#include <troupe/troupe.hpp>

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/sec.hpp>
#include <caf/typed_response_promise.hpp>

#include <cctype>
#include <iostream>

namespace {

// The graph: counts the words of a line, then judges it.
struct review {
  std::string text;
  std::int64_t words = 0;
  std::string verdict;
  TROUPE_STATE(review, text, words, verdict)
};

std::int64_t count_words(const std::string& text) {
  std::int64_t words = 0;
  bool inside = false;
  for (unsigned char c : text) {
    bool blank = std::isspace(c) != 0;
    words += inside || blank ? 0 : 1;
    inside = !blank;
  }
  return words;
}

troupe::typed_graph<review> review_graph() {
  troupe::state_graph<review> g;
  g.add_node("count",
             [](const review& s) { return troupe::set(&review::words, count_words(s.text)); });
  g.add_node("judge", [](const review& s) {
    return troupe::set(&review::verdict, s.words <= 6 ? "brief" : "too long");
  });
  g.add_edge(troupe::START, "count");
  g.add_edge("count", "judge");
  g.add_edge("judge", troupe::END);
  return g.compile({.name = "review"});
}

// The service: answers a line with a verdict. It never waits, since the graph's answer comes as a
// message.
using reply = caf::typed_response_promise<std::string>;

void answer(reply promise, const troupe::run_finished& done) {
  auto run = troupe::to_result(done);
  if (!run) {
    promise.deliver(caf::make_error(caf::sec::runtime_error, run.error().message()));
    return;
  }
  auto state = troupe::typed_result<review>{*run}.state();
  promise.deliver(std::to_string(state.words) + " words: " + state.verdict);
}

caf::behavior desk(caf::event_based_actor* self, const caf::actor& graph) {
  return {
    [self, graph](const std::string& line) {
      auto promise = self->make_response_promise<reply>();
      self->request(graph, caf::infinite, troupe::make_start_run("", {{"text", line}}))
        .then([promise](const troupe::run_finished& done) { answer(promise, done); },
              [promise](const caf::error& why) mutable { promise.deliver(why); });
      return promise;
    },
  };
}

// Sends lines to the desk and prints its answers. True when every line got an answer.
bool try_out(caf::actor_system& system, const caf::actor& graph) {
  caf::scoped_actor self{system};
  auto service = self->spawn(desk, graph);
  bool all = true;
  for (std::string line : {"Actors pass messages", "Nobody reads a line that goes on and on"})
    self->request(service, caf::infinite, line)
      .receive([&](const std::string& verdict) { std::cout << line << ": " << verdict << "\n"; },
               [&](const caf::error& why) {
                 std::cerr << line << ": " << system.render(why) << "\n";
                 all = false;
               });
  self->send_exit(service, caf::exit_reason::user_shutdown);
  self->wait_for(service);
  return all;
}

} // namespace

int main() {
  caf::actor_system_config config;
  troupe::add_message_types(config);
  caf::actor_system system{config};
  troupe::runtime rt{system}; // destroyed before the system, which it leaves unchanged
  return try_out(system, rt.load(review_graph()).handle()) ? 0 : 1;
}
