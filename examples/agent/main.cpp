// An agent: a model that calls a tool, asks a person, and answers. The model is a script, so the
// program needs no network. A real one is init_chat_model("provider:model").
#include <troupe/agents.hpp>

#include <iostream>

namespace {

// A model with ready answers to "Rain in Oslo?".
std::shared_ptr<troupe::scripted_model> scripted_weather_model() {
  using troupe::ai_message;
  return std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{
      ai_message("", {{.name = "weather", .args = {{"city", "Oslo"}}, .id = "1"}}),
      ai_message("", {{.name = "book", .args = {{"what", "an umbrella"}}, .id = "2"}}),
      "It rains in Oslo, and an umbrella is yours."},
    troupe::scripted_options{.stream = true});
}

troupe::compiled_graph weather_agent() {
  auto weather = troupe::tool("weather", "The weather in a city",
                              [](troupe::arg<"city", std::string, "Name of the city"> city) {
                                return "rain in " + *city;
                              });
  auto book = troupe::tool("book", "Books something, if a person agrees",
                           [](troupe::arg<"what", std::string> what, troupe::tool_runtime& run) {
                             auto answer = run.interrupt("Book " + *what + "?");
                             return answer == troupe::value("yes") ? "booked" : "refused";
                           });
  return troupe::create_react_agent(
    {.model = scripted_weather_model(), .tools = {weather, book}, .prompt = "You are brief."});
}

} // namespace

int main() {
  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(weather_agent());
  auto out = app.invoke({{"messages", {{"user", "Rain in Oslo?"}}}}, {.thread_id = "t1"});
  for (const auto& question : out.interrupts())
    std::cout << question.value.as_string() << " yes\n";

  // Resumes with the answer, and prints the model's tokens as they come.
  for (auto& part : app.stream(troupe::command{.resume = "yes"}, {.thread_id = "t1"},
                               {troupe::stream_mode::messages}))
    if (troupe::message_role(part.data[0]) == "assistant")
      std::cout << troupe::message_text(part.data[0]) << std::flush;
  std::cout << "\n";
}
