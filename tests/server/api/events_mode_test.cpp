// The stream mode `events`.
#include "tests/server/served_rooms.hpp"

#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

// The frames of a stream, a line each: the event of a tracer and its name, or the frame's own name.
std::string told(const heard_answer& answer) {
  std::string out, name;
  for (std::size_t at = 0; at < answer.body.size();) {
    auto line = answer.body.substr(at, answer.body.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("event: "))
      name = line.substr(7);
    if (!line.starts_with("data: "))
      continue;
    auto data = from_json(line.substr(6), json_form::plain).value();
    if (name == "events")
      out += data["event"].as<std::string>().substr(3) + ' ' + data["name"].as<std::string>()
             + '\n';
    else
      out += name + '\n';
  }
  return out;
}

value run_of(const char* graph, const value& input, const value& modes) {
  return value::map({{"assistant_id", graph}, {"input", input}, {"stream_mode", modes}});
}

value heard_by_chat(const char* text) {
  auto message = value::map({{"role", "user"}, {"content", text}});
  return value::map({{"messages", value::list({message})}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_events_mode)

BOOST_AUTO_TEST_CASE(events_show_graphs_nodes_and_models_and_no_part_of_another_mode) {
  served_rooms server;
  auto answer = server.post("/runs/stream", run_of("chat", heard_by_chat("hi"), "events"));
  BOOST_TEST(told(answer)
             == "metadata\n"
                "chain_start chat\n"
                "chain_start listen\nchain_stream listen\nchain_end listen\n"
                "chain_start answer\n"
                "chat_model_start ChatModel\n"
                "chat_model_stream ChatModel\nchat_model_stream ChatModel\n"
                "chat_model_end ChatModel\n"
                "chain_stream answer\nchain_end answer\n"
                "chain_end chat\n");
}

BOOST_AUTO_TEST_CASE(events_stand_beside_other_modes) {
  served_rooms server;
  auto modes = value::list({"updates", "events", "messages-tuple"});
  auto answer = server.post("/runs/stream", run_of("chat", heard_by_chat("hi"), modes));
  std::string own;
  auto all = told(answer);
  for (std::size_t at = 0; at < all.size();) {
    auto line = all.substr(at, all.find('\n', at) - at);
    at += line.size() + 1;
    if (line.find(' ') == std::string::npos)
      own += line + ' ';
  }
  BOOST_TEST(own == "metadata updates messages messages updates ");
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_has_an_error_instead_of_an_end) {
  served_rooms server;
  auto answer = server.post("/runs/stream", run_of("fail", value::map({{"n", 1}}), "events"));
  BOOST_TEST(told(answer) == "metadata\nchain_start fail\nchain_start boom\nerror\n");
}

BOOST_AUTO_TEST_CASE(a_run_that_asks_ends_without_its_asking_task) {
  served_rooms server;
  auto answer = server.post("/runs/stream", run_of("chat", heard_by_chat("ask"), "events"));
  BOOST_TEST(told(answer) == "metadata\nchain_start chat\nchain_start listen\nchain_end chat\n");
  BOOST_TEST(answer.body.find("__interrupt__") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
