// A service's agents: a graph and a handwritten agent, each with its own runner. The service shows
// sessions of two users, a question, and events as they come.
//
//   host
//
// Models are scripts, so the program needs no network. TROUPE_MODEL=provider:model uses a real one.
#include <troupe/agents.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

namespace {

troupe::chat_model_ptr model() {
  if (const char* name = std::getenv("TROUPE_MODEL"))
    return troupe::init_chat_model(name);
  auto weather = troupe::ai_message(
    "", {{.name = "weather", .args = troupe::value{{"city", "Paris"}}, .id = "call-1"}});
  return std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{weather, "Rain in Paris, take an umbrella."},
    troupe::scripted_options{.stream = true, .repeat = true});
}

troupe::compiled_graph forecaster() {
  troupe::tool weather{"weather", "The weather in a city",
                       [](troupe::arg<"city", std::string> city) { return "rain in " + *city; }};
  return troupe::create_agent({.model = model(), .tools = {weather}, .name = "forecaster"});
}

// An agent that is not a graph: a desk that asks about the question, and runs an expert.
class front_desk final : public troupe::session_agent {
public:
  explicit front_desk(troupe::session_agent_ptr expert) : expert_{std::move(expert)} {}
  std::string name() const override { return "desk"; }
  std::string description() const override { return "Brings people to who can help"; }

  troupe::coro<void> run(troupe::invocation& in) override {
    // Without an answer this leaves the body; with one, it begins again from its first line.
    auto choice = in.ask("Is this about the weather? yes or no");
    if (choice == "yes") {
      auto asked = in.run(expert_);
      co_await asked;
    } else {
      in.say("Then nobody here can help you, " + in.session().user + ".");
    }
  }

private:
  troupe::session_agent_ptr expert_;
};

// Prints events. A service would send troupe::to_json(event) to its client, a line each.
void print(troupe::event_stream events) {
  for (auto& e : events) {
    std::cout << "  " << to_string(e.kind) << " " << e.author;
    if (troupe::is_message(e.data))
      std::cout << ": " << troupe::message_text(e.data);
    else if (e.kind == troupe::event_kind::question)
      std::cout << ": " << e.data["value"].as_string();
    else if (!e.data.is_null())
      std::cout << ": " << troupe::to_json(e.data);
    std::cout << "\n";
  }
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}}; // .data_dir keeps sessions on disk
  auto expert = troupe::make_session_agent(forecaster());
  troupe::agent_runner weather{rt, expert, {.app = "weather"}};
  troupe::agent_runner desk{rt, std::make_shared<front_desk>(expert), {.app = "desk"}};

  troupe::session_ref ada{.user = "ada", .id = "1"}, bob{.user = "bob", .id = "1"};
  std::cout << "ada asks the forecaster\n";
  print(weather.run(ada, "Do I need an umbrella in Paris?"));
  std::cout << "bob asks the desk\n";
  print(desk.run(bob, "Do I need an umbrella in Paris?"));
  std::cout << "bob answers\n";
  print(desk.answer(bob, "yes"));
  std::cout << "ada asks the desk\n";
  print(desk.run(ada, "Who won?"));
  print(desk.answer(ada, "no"));

  for (const auto& session : desk.sessions())
    std::cout << "desk has a session of " << session.user << " with "
              << desk.session(session)->messages.size() << " messages\n";
}
