// Graphs to talk with: their models are functions of the conversation, so that any process can
// resume it.
#include <troupe/agents.hpp>

#include <cstdio>
#include <filesystem>
#include <iostream>

namespace {

using namespace std::chrono_literals;
using troupe::value;

troupe::chat_model_ptr speaker(troupe::scripted_model::function says) {
  return std::make_shared<troupe::scripted_model>(
    std::vector<troupe::scripted_model::answer>{std::move(says)},
    troupe::scripted_options{.stream = true, .repeat = true});
}

value last_of(const value& messages) {
  return messages[messages.size() - 1];
}

std::string last_words_of_user(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    if (troupe::message_role(m) == "user")
      out = troupe::message_text(m);
  return out;
}

value call(const value& messages, const char* tool, value args) {
  return troupe::ai_message(
    "", {{.name = tool, .args = std::move(args), .id = "call" + std::to_string(messages.size())}});
}

value clerk_says(const value& messages) {
  auto last = last_of(messages);
  auto words = last_words_of_user(messages);
  if (troupe::message_role(last) != "tool")
    return call(messages, "lookup", {{"what", words}});
  if (troupe::message_member(last, "name") == value("lookup"))
    return call(messages, "send", {{"to", words}});
  return value("done: " + troupe::message_text(last));
}

value waiter_says(const value& messages) {
  for (const auto& m : messages.items())
    if (troupe::message_member(m, "status") == value("error"))
      return value("it was cancelled: " + troupe::message_text(m));
  auto last = last_of(messages);
  if (troupe::message_role(last) == "tool")
    return value(troupe::message_text(last));
  return call(messages, "wait", value::map());
}

} // namespace

namespace {

troupe::compiled_graph clerk_with(std::vector<troupe::middleware> around) {
  auto lookup = troupe::tool("lookup", "Looks up", [](troupe::arg<"what", std::string> what) {
    return "found " + *what;
  });
  auto send = troupe::tool("send", "Sends",
                           [](troupe::arg<"to", std::string> to) { return "sent to " + *to; });
  return troupe::create_agent({.model = speaker(clerk_says),
                               .tools = {lookup, send},
                               .middleware = std::move(around),
                               .name = "clerk"});
}

} // namespace

TROUPE_GRAPH(clerk) {
  return clerk_with({troupe::human_in_the_loop({{"send", {}}})});
}

TROUPE_GRAPH(clerk_by_call) {
  troupe::review only_approve;
  only_approve.decisions = {"approve"};
  return clerk_with(
    {troupe::human_in_the_loop({{"send", only_approve}}, troupe::review_mode::per_call)});
}

// Sends two letters in one answer, which may be approved or rejected.
TROUPE_GRAPH(careful) {
  auto says = [](const value& messages) {
    auto last = last_of(messages);
    auto words = last_words_of_user(messages);
    if (words == "hello" || troupe::message_role(last) == "tool")
      return value("so: " + troupe::message_text(last));
    return troupe::ai_message("", {{.name = "send", .args = value{{"to", words}}, .id = "1"},
                                   {.name = "send", .args = value{{"to", "Eve"}}, .id = "2"}});
  };
  auto send = troupe::tool("send", "Sends",
                           [](troupe::arg<"to", std::string> to) { return "sent to " + *to; });
  troupe::review how;
  how.decisions = {"approve", "reject"};
  return troupe::create_agent({.model = speaker(says),
                               .tools = {send},
                               .middleware = {troupe::human_in_the_loop({{"send", how}})},
                               .name = "careful"});
}

TROUPE_GRAPH(asker) {
  troupe::state_graph<> g{{{"messages", troupe::add_messages}}};
  g.add_node("ask", [](troupe::context& ctx) -> value {
    auto answer = ctx.interrupt("which?");
    return {{"messages", value::list({troupe::ai_message(troupe::to_json(answer))})}};
  });
  g.add_edge(troupe::START, "ask");
  return g.compile({.name = "asker"});
}

TROUPE_GRAPH(broken) {
  return troupe::create_agent({.model = speaker([](const value&) -> value {
                                 throw troupe::node_error{"OutError", "the model is out"};
                               }),
                               .name = "broken"});
}

// Says on stdout what nobody should hear, and asks stdin.
TROUPE_GRAPH(loud) {
  troupe::state_graph<> g{{{"secret", troupe::last_value}, {"read", troupe::last_value}}};
  g.add_node("shout", [](const troupe::state_view& s) -> value {
    if (s["secret"] == value("fail"))
      throw troupe::node_error{"OutError", "it is out"};
    std::cout << "on cout" << std::endl;
    std::printf("by printf\n");
    std::fflush(stdout);
    return {{"read", std::getchar()}};
  });
  g.add_edge(troupe::START, "shout");
  return g.compile({.name = "loud"});
}

TROUPE_GRAPH(slow) {
  auto wait = troupe::tool("wait", "Waits for the file go",
                           [](troupe::tool_runtime& run) -> troupe::coro<std::string> {
                             while (!std::filesystem::exists("go"))
                               co_await run.sleep_for(5ms);
                             co_return "waited";
                           });
  return troupe::create_agent({.model = speaker(waiter_says), .tools = {wait}, .name = "slow"});
}

// An answer that its token limit cut.
TROUPE_GRAPH(cut) {
  auto says = [](const value&) {
    auto half = troupe::ai_message("half an");
    auto about = value::map({{"finish_reason", "length"}});
    return value::extension(troupe::value_kind::message,
                            half.payload().with("response_metadata", about));
  };
  return troupe::create_agent({.model = speaker(says), .name = "cut"});
}
