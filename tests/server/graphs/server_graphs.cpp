// server_graphs: the graphs that the recorded exchanges of tests/server were made with.
#include <troupe/agents.hpp>
#include <troupe/graph_library.hpp>
#include <troupe/troupe.hpp>

namespace troupe {
namespace {

schema plain_schema() {
  return {{"count", sum}, {"log", append}};
}

state_update counted(std::int64_t n, const char* name) {
  return {{"count", n}, {"log", value::list({name})}};
}

schema approval_schema() {
  return {{"draft", last_value}, {"approved", last_value}, {"log", append}};
}

state_update log_of(const char* name) {
  return {{"log", value::list({name})}};
}

state_update ask_reviewer(const state_view& s, context& ctx) {
  auto answer = ctx.interrupt(value::map({{"question", "approve?"}, {"draft", s["draft"]}}));
  return {{"approved", answer}, {"log", value::list({"review"})}};
}

state_update write_draft() {
  return {{"draft", "hello"}, {"log", value::list({"write"})}};
}

schema slow_schema() {
  return {{"n", sum}, {"ms", last_value}};
}

coro<state_update> wait_a_while(const state_view& s, context& ctx) {
  auto ms = s["ms"].is_number() && s["ms"].as_double() > 0 ? s["ms"].as_double() : 1500.0;
  co_await ctx.sleep_for(std::chrono::nanoseconds{static_cast<std::int64_t>(ms * 1e6)});
  co_return state_update{{"n", 1}};
}

compiled_graph inner_graph() {
  state_graph<> g{plain_schema()};
  g.add_node("inner1", [] { return counted(100, "inner1"); });
  g.add_node("inner2", [] { return counted(1000, "inner2"); });
  g.add_edge(START, "inner1");
  g.add_edge("inner1", "inner2");
  g.add_edge("inner2", END);
  return g.compile({.name = "inner"});
}

compiled_graph review_graph() {
  state_graph<> g{approval_schema()};
  g.add_node("review", ask_reviewer);
  g.add_edge(START, "review");
  g.add_edge("review", END);
  return g.compile({.name = "ainner"});
}

struct typed_all {
  std::string topic;
  std::int64_t n = 0;
  std::vector<std::string> tags;
  TROUPE_STATE(typed_all, topic, n, tags)
};
struct typed_input {
  std::string topic;
  TROUPE_STATE(typed_input, topic)
};
struct typed_output {
  std::int64_t n = 0;
  TROUPE_STATE(typed_output, n)
};
struct typed_context {
  std::optional<std::string> userId;
  TROUPE_STATE(typed_context, userId)
};

} // namespace

TROUPE_GRAPH(plain) {
  state_graph<> g{plain_schema()};
  g.add_node("a", [](context& ctx) {
    ctx.write(value::map({{"progress", "a-started"}}));
    return counted(1, "a");
  });
  g.add_node("b", [] { return counted(10, "b"); });
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", END);
  return g.compile({.name = "plain"});
}

TROUPE_GRAPH(approval) {
  state_graph<> g{approval_schema()};
  g.add_node("write", write_draft);
  g.add_node("review", ask_reviewer);
  g.add_node("publish", [] { return log_of("publish"); });
  g.add_edge(START, "write");
  g.add_edge("write", "review");
  g.add_edge("review", "publish");
  g.add_edge("publish", END);
  return g.compile({.name = "approval"});
}

TROUPE_GRAPH(fanout) {
  auto items = reduce(
    "newest", [](const value&, const value& written) { return written; }, value::list());
  state_graph<> g{{{"items", items}, {"results", append}}};
  g.add_node("plan", [] { return state_update{}; });
  g.add_node("work", [](const state_view& s) {
    return state_update{{"results", value::list({"done:" + std::string{s["item"].as_string()}})}};
  });
  g.add_node("join", [] { return state_update{}; });
  g.add_edge(START, "plan");
  g.add_conditional_edges("plan",
                          [](const state_view& s) {
                            destinations out;
                            for (const auto& item : s["items"].items())
                              out.add(send{"work", value::map({{"item", item}})});
                            return out;
                          },
                          {"work"});
  g.add_edge("work", "join");
  g.add_edge("join", END);
  return g.compile({.name = "fanout"});
}

compiled_graph chat_graph(const char* name, std::chrono::milliseconds pace) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("model", [pace](context& ctx) -> coro<state_update> {
    for (const char* piece : {"Hel", "lo ", "there"}) {
      co_await ctx.sleep_for(pace);
      ctx.stream_message(value::extension(
        value_kind::message,
        value::map(
          {{"role", "assistant"}, {"content", piece}, {"id", "ai-fixed-1"}, {"chunk", true}})));
    }
    co_return state_update{
      {"messages",
       value::list({value::extension(
         value_kind::message,
         value::map({{"role", "assistant"}, {"content", "Hello there"}, {"id", "ai-fixed-1"}}))})}};
  });
  g.add_edge(START, "model");
  g.add_edge("model", END);
  return g.compile({.name = name});
}

TROUPE_GRAPH(chat) {
  return chat_graph("chat", std::chrono::milliseconds{5});
}

// As chat, at the pace of a real model. JavaScript's SDK asks for the messages of a run in a
// request after the run's start, and drops them when it hears of the run's end first. No recorded
// exchange asks it.
TROUPE_GRAPH(paced_chat) {
  return chat_graph("paced_chat", std::chrono::milliseconds{400});
}

// As chat, but each answer is a message of its own. No recorded exchange asks it.
TROUPE_GRAPH(talk) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("model", [] {
    auto answer = value::map({{"role", "assistant"}, {"content", "Hello there"}});
    return state_update{
      {"messages", value::list({value::extension(value_kind::message, std::move(answer))})}};
  });
  g.add_edge(START, "model");
  g.add_edge("model", END);
  return g.compile({.name = "talk"});
}

TROUPE_GRAPH(nested) {
  state_graph<> g{plain_schema()};
  g.add_node("outer", [] { return counted(1, "outer"); });
  g.add_node("sub", inner_graph());
  g.add_edge(START, "outer");
  g.add_edge("outer", "sub");
  g.add_edge("sub", END);
  return g.compile({.name = "nested"});
}

TROUPE_GRAPH(slow) {
  state_graph<> g{slow_schema()};
  g.add_node("s1", wait_a_while);
  g.add_node("s2", wait_a_while);
  g.add_edge(START, "s1");
  g.add_edge("s1", "s2");
  g.add_edge("s2", END);
  return g.compile({.name = "slow"});
}

TROUPE_GRAPH(fail) {
  state_graph<> g{slow_schema()};
  g.add_node("ok", [] { return state_update{{"n", 1}}; });
  g.add_node("boom", []() -> state_update { throw node_error{"ValueError", "boom happened"}; });
  g.add_edge(START, "ok");
  g.add_edge("ok", "boom");
  g.add_edge("boom", END);
  return g.compile({.name = "fail"});
}

TROUPE_GRAPH(typed) {
  state_graph<typed_all> inner;
  inner.add_node("i", [] { return set(&typed_all::n, std::int64_t{2}); });
  inner.add_edge(START, "i");
  inner.add_edge("i", END);
  state_graph<typed_all> g;
  g.input_schema(schema_of<typed_input>());
  g.output_schema(schema_of<typed_output>());
  g.context_schema<typed_context>();
  g.add_node("x", [] { return set(&typed_all::n, std::int64_t{1}); });
  g.add_node("sub", inner.compile({.name = "zinner"}));
  g.add_edge(START, "x");
  g.add_edge("x", "sub");
  g.add_edge("sub", END);
  return g.compile({.name = "typed"});
}

// Two questions in one step.
TROUPE_GRAPH(double) {
  state_graph<> g{{{"left", last_value}, {"right", last_value}, {"log", append}}};
  g.add_node("l", [](context& ctx) {
    return state_update{{"left", ctx.interrupt(value::map({{"ask", "left"}}))},
                        {"log", value::list({"l"})}};
  });
  g.add_node("r", [](context& ctx) {
    return state_update{{"right", ctx.interrupt(value::map({{"ask", "right"}}))},
                        {"log", value::list({"r"})}};
  });
  g.add_node("end", [] { return log_of("end"); });
  g.add_edge(START, "l");
  g.add_edge(START, "r");
  g.add_edge({"l", "r"}, "end");
  g.add_edge("end", END);
  return g.compile({.name = "double"});
}

TROUPE_GRAPH(subapproval) {
  state_graph<> g{approval_schema()};
  g.add_node("write", write_draft);
  g.add_node("sub", review_graph());
  g.add_edge(START, "write");
  g.add_edge("write", "sub");
  g.add_edge("sub", END);
  return g.compile({.name = "subapproval"});
}

// Says what it is run with, and remembers in the store.
TROUPE_GRAPH(ctx) {
  state_graph<> g{{{"who", last_value}, {"flavour", last_value}, {"seen", last_value}}};
  g.context_schema(
    value::map({{"type", "object"},
                {"title", "Ctx"},
                {"properties", value::map({{"userId", value::map({{"type", "string"}})}})}}),
    [](const value& /*any*/) {});
  g.add_node("c", [](context& ctx) {
    auto who = ctx.run_context()["userId"];
    value seen;
    if (who.is_string()) {
      std::string name{who.as_string()};
      auto item = ctx.store()->get({"ctx"}, name).value();
      seen = (item ? item->value["n"].as_int() : 0) + 1;
      ctx.store()->put({"ctx"}, name, value::map({{"n", seen}})).value();
    }
    return state_update{{"who", who}, {"flavour", ctx.configurable()["flavour"]}, {"seen", seen}};
  });
  g.add_edge(START, "c");
  g.add_edge("c", END);
  return g.compile({.name = "ctx"});
}

} // namespace troupe
