// How a remote graph is asked, and what its events mean.
#include "client/bodies.hpp"
#include "client/remote_rules.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/client/remote_graph.hpp>
#include <troupe/uuid.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

using texts = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(client_remote_rules)

BOOST_AUTO_TEST_CASE(values_and_updates_are_always_asked_for) {
  BOOST_TEST((wire_modes_for({}) == texts{"values", "updates"}));
  BOOST_TEST((wire_modes_for({stream_mode::messages, stream_mode::values, stream_mode::custom})
              == texts{"values", "updates", "messages-tuple", "custom"}));
  BOOST_TEST((mode_of_event("messages") == stream_mode::messages));
  BOOST_TEST(!mode_of_event("metadata"));
  BOOST_TEST(!mode_of_event("messages/partial"));
}

BOOST_AUTO_TEST_CASE(a_config_goes_without_what_is_not_json_or_belongs_to_the_engine) {
  run_config config;
  config.tags = {"a"};
  config.recursion_limit = 7;
  config.metadata = value::map({{"k", 1}, {"bytes", value::bytes({})}, {"nothing", nullptr}});
  config.configurable =
    value::map({{"thread_id", "t"},
                {"checkpoint_id", "c"},
                {"checkpoint_ns", "n"},
                {"checkpoint_map", value::map()},
                {"__pregel_task_id", "x"},
                {"user", value::map({{"name", "ann"}, {"raw", value::bytes({})}})},
                {"list", value::list({1, nullptr, "two"})}});
  BOOST_TEST((config_for_server(config)
              == value::map({{"recursion_limit", 7},
                             {"tags", value::list({"a"})},
                             {"metadata", value::map({{"k", 1}})},
                             {"configurable", value::map({{"user", value::map({{"name", "ann"}})},
                                                          {"list", value::list({1, "two"})}})}})));
  BOOST_TEST((config_for_server({}) == value::map()));
}

BOOST_AUTO_TEST_CASE(a_run_can_be_joined_again_and_makes_its_thread) {
  run_config config;
  config.context = value::map({{"who", "me"}});
  config.interrupt_before = {"*"};
  config.multitask = multitask_strategy::reject;
  config.durability = durability::exit;
  config.checkpoint_id = "c";
  auto body = run_body_of(run_request_for("agent", value::map({{"n", 1}}), config, {}));
  BOOST_TEST((body["assistant_id"] == value("agent")));
  BOOST_TEST((body["input"] == value::map({{"n", 1}})));
  BOOST_TEST((body["stream_resumable"] == value(true)));
  BOOST_TEST((body["if_not_exists"] == value("create")));
  BOOST_TEST((body["context"] == config.context));
  BOOST_TEST((body["interrupt_before"] == value("*")));
  BOOST_TEST((body["multitask_strategy"] == value("reject")));
  BOOST_TEST((body["durability"] == value("exit")));
  BOOST_TEST((body["checkpoint"]["checkpoint_id"] == value("c")));
  config.configurable = value::map({{"k", 1}});
  BOOST_TEST(!run_body_of(run_request_for("agent", nullptr, config, {})).contains("context"));
  BOOST_TEST(!run_body_of(run_request_for("agent", nullptr, config, {})).contains("input"));
}

BOOST_AUTO_TEST_CASE(a_command_has_the_form_of_the_api_and_comes_back) {
  command given{.update = {{"n", 1}, {"n", 2}},
                .goto_ = std::vector<destination>{"a", send{"b", value::map({{"x", 1}})}},
                .resume = value("yes")};
  auto body = command_body(given);
  BOOST_TEST((body["update"] == value::list({value::list({"n", 1}), value::list({"n", 2})})));
  BOOST_TEST((body["goto"][1] == value::map({{"node", "b"}, {"input", value::map({{"x", 1}})}})));
  BOOST_TEST((body["resume"] == value("yes")));
  BOOST_TEST((command_body({}) == value::map()));
  auto back = command_of_event(body.with("graph", command::PARENT));
  BOOST_TEST((back.update->entries() == given.update->entries()));
  BOOST_TEST((back.goto_.list() == given.goto_.list()));
  BOOST_TEST(back.graph == command::PARENT);
  auto other = command_of_event(value::map({{"update", value::map({{"n", 3}})}, {"goto", "a"}}));
  BOOST_TEST((other.update->to_value() == value::map({{"n", 3}})));
  BOOST_TEST((other.goto_.list() == std::vector<destination>{"a"}));
}

BOOST_AUTO_TEST_CASE(parts_have_questions_and_messages) {
  auto question = value::map({{"id", "q"}, {"value", "Pay?"}, {"response_schema", nullptr}});
  auto chunk = value::map({{"n", 1}, {"__interrupt__", value::list({question})}});
  BOOST_TEST((questions_in(chunk) == std::vector<interrupt>{{"q", "Pay?", {}}}));
  BOOST_TEST(!questions_in(value::map({{"n", 1}})));
  BOOST_TEST(questions_in(value::map({{"__interrupt__", value::list()}}))->empty());
  auto data = part_data_of(stream_mode::values, chunk);
  BOOST_TEST((data["__interrupt__"][0].as<interrupt>() == interrupt{"q", "Pay?", {}}));
  auto part = part_data_of(
    stream_mode::messages,
    value::list({value::map({{"type", "AIMessageChunk"}, {"content", "Hel"}, {"id", "m"}}),
                 value::map({{"langgraph_node", "talk"}})}));
  BOOST_TEST(is_message(part[0]));
  BOOST_TEST(message_text(part[0]) == "Hel");
  BOOST_TEST((part[1]["langgraph_node"] == value("talk")));
  auto odd = value::list({value::map({{"type", 7}}), value::map()});
  BOOST_TEST((part_data_of(stream_mode::messages, odd) == odd));
}

BOOST_AUTO_TEST_CASE(a_resumed_node_answers_asks_proceeds_or_starts) {
  using kind = resumed_call::kind;
  state_snapshot remote;
  BOOST_TEST((call_to_resume(remote, {}, std::nullopt).what == kind::start));
  remote.next = {"b"};
  BOOST_TEST((call_to_resume(remote, {}, value("x")).what == kind::proceed));
  remote.interrupts = {{"q1", "?", {}}, {"q2", "?", {}}};
  BOOST_TEST((call_to_resume(remote, {}, std::nullopt).what == kind::ask));
  auto other = value::map({{"q9", "no"}});
  BOOST_TEST((call_to_resume(remote, other, std::nullopt).what == kind::ask));
  auto mine = call_to_resume(remote, other.with("q2", "yes"), std::nullopt);
  BOOST_TEST((mine.what == kind::answer));
  BOOST_TEST((mine.resume == value::map({{"q2", "yes"}})));
  auto plain = call_to_resume(remote, {}, value("yes"));
  BOOST_TEST((plain.what == kind::answer));
  BOOST_TEST((plain.resume == value("yes")));
}

BOOST_AUTO_TEST_CASE(a_thread_has_the_same_uuid_each_time) {
  auto id = remote_graph::thread_of("t1");
  BOOST_TEST(read_uuid(id).has_value());
  BOOST_TEST(id == remote_graph::thread_of("t1"));
  BOOST_TEST(id != remote_graph::thread_of("t2"));
  BOOST_TEST(remote_graph::thread_of(id) == id);
  BOOST_TEST(remote_graph::thread_of("").empty());
}

BOOST_AUTO_TEST_CASE(a_drawn_graph_has_the_nodes_and_edges_of_the_remote_one) {
  auto node = [](const char* id) { return value::map({{"id", id}, {"type", "runnable"}}); };
  auto edge = [](const char* from, const char* to) {
    return value::map({{"source", from}, {"target", to}});
  };
  auto graph = graph_to_draw(value::map(
    {{"nodes", value::list({node("__start__"), node("a"), node("sub:b"), node("__end__")})},
     {"edges", value::list({edge("__start__", "a"),
                            edge("a", "sub:b").with("conditional", true).with("data", "yes"),
                            edge("a", "__end__").with("conditional", true),
                            edge("sub:b", "__end__"), edge("a", "nowhere")})}}));
  BOOST_TEST((graph.nodes() == texts{"a", "sub.b"}));
  auto edges = graph.edges();
  BOOST_REQUIRE(edges.size() == 4u);
  BOOST_TEST(
    (edges[1] == compiled_graph::edge{"a", "__end__", "", true} || edges[1].to == "__end__"));
  BOOST_TEST(graph.draw_mermaid().find("yes") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
