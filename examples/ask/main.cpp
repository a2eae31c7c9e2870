// A question to a model, with its answer word by word:
//
//   ask
//   ask MODEL QUESTION [OTHER…]
//
// MODEL is anthropic:NAME, openai:NAME, or echo, which needs no network. The key is in
// ANTHROPIC_API_KEY or OPENAI_API_KEY; OPENAI_BASE_URL may be a local server's. When a model fails,
// the next of the others is asked. If the last one fails, the program ends with code 1.
#include <troupe/agents.hpp>

#include <iostream>
#include <vector>

int main(int argc, char** argv) try {
  const std::string name = argc > 1 ? argv[1] : "echo";
  const std::string question = argc > 2 ? argv[2] : "What is a graph?";

  auto model = troupe::init_chat_model(name, {.max_tokens = 1000});
  auto limiter = std::make_shared<troupe::rate_limiter>(2.0, 5.0); // two a second, five at once
  model = troupe::with_rate_limit(model, limiter);
  std::vector<troupe::chat_model_ptr> others;
  for (int i = 3; i < argc; ++i)
    others.push_back(troupe::init_chat_model(argv[i]));
  model = troupe::with_fallbacks(model, others);

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
