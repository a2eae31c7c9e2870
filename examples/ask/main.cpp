// A question to a model, its answer word by word: `ask`, or `ask MODEL QUESTION`, where MODEL is
// anthropic:NAME, openai:NAME (the key is in ANTHROPIC_API_KEY or OPENAI_API_KEY; OPENAI_BASE_URL
// may be a local server's), or echo, which needs no network.
#include <troupe/troupe.hpp>

#include <iostream>

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "echo";
  const std::string question = argc > 2 ? argv[2] : "What is a graph?";

  auto model = troupe::init_chat_model(name, {.max_tokens = 1000});
  auto limiter = std::make_shared<troupe::rate_limiter>(2.0, 5.0); // two a second, five at once
  model = troupe::with_rate_limit(model, limiter);
  model = troupe::with_fallbacks(model, {troupe::init_chat_model("echo")});

  troupe::runtime rt;
  auto agent = rt.load(troupe::create_react_agent({.model = model, .prompt = "You are brief."}));
  for (auto& part :
       agent.stream({{"messages", {{"user", question}}}}, {}, {troupe::stream_mode::messages}))
    std::cout << troupe::message_text(part.data[0]) << std::flush;
  std::cout << "\n";
} catch (const troupe::error& e) {
  std::cerr << "ask: " << e.what() << "\n";
  return 1;
}
