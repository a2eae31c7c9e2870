// Messages of a run, put together from parts of a stream; parts as server-sent events.
#include "coordinator/message_book.hpp"
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
namespace {

value said(std::string_view members) {
  return value::extension(value_kind::message,
                          from_json(members).value().with("role", "assistant"));
}
value part_said(std::string_view members) {
  return value::extension(value_kind::message,
                          said(members).payload().with("chunk", true).with("id", "m"));
}

std::string shown_piece(const message_piece& piece) {
  using kind = message_piece::piece_kind;
  if (piece.kind == kind::tool_call)
    return "call " + std::to_string(piece.index) + " " + piece.id + " " + piece.name + " "
           + piece.text;
  return (piece.kind == kind::text ? "text " : "thought ") + piece.text;
}

std::vector<std::string> shown_pieces(message_state& state) {
  std::vector<std::string> out;
  while (auto piece = state.take_piece())
    out.push_back(shown_piece(*piece));
  return out;
}

/// One node that streams these, and one that returns a message after a removal, which no reader of
/// messages gets.
compiled_graph talker(std::vector<value> parts) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("talks", [parts](const state_view&, context& ctx) {
    for (const auto& part : parts)
      ctx.stream_message(part);
  });
  g.add_node("returns", [] {
    auto all = value::extension(value_kind::remove_message, "__remove_all__");
    return state_update{{"messages", value::list({all, said(R"({"content": "bye", "id": "z"})")})}};
  });
  g.add_edge(START, "talks");
  g.add_edge("talks", "returns");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_message_book)

BOOST_AUTO_TEST_CASE(parts_of_text_and_calls_add_up) {
  message_state state;
  state.add(part_said(R"({"content": "Hel"})"));
  state.add(part_said(R"({"content": "lo", "usage": {"input_tokens": 3}})"));
  state.add(part_said(R"({"content": "", "tool_call_chunks":
    [{"index": 0, "id": "c1", "name": "add", "args": "{\"a\""},
     {"index": 1, "id": "c2", "name": "stop", "args": ""}]})"));
  BOOST_TEST(!state.ended);
  state.add(part_said(R"({"content": "", "tool_call_chunks":
    [{"index": 0, "id": null, "name": null, "args": ": 1}"}],
    "usage": {"output_tokens": 4, "input_tokens": 1}, "chunk_position": "last"})"));
  BOOST_TEST(state.ended);
  BOOST_TEST(shown_pieces(state)
               == (std::vector<std::string>{"text Hel", "text lo", "call 0 c1 add {\"a\"",
                                            "call 1 c2 stop ", "call 0   : 1}"}),
             boost::test_tools::per_element());
  BOOST_TEST(state.whole() == said(R"({"content": "Hello", "id": "m", "tool_calls":
    [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"},
     {"name": "stop", "args": {}, "id": "c2", "type": "tool_call"}],
    "usage": {"input_tokens": 4, "output_tokens": 4}})"));
}

BOOST_AUTO_TEST_CASE(blocks_are_joined_by_their_index) {
  message_state state;
  state.add(part_said(R"({"content": [{"type": "thinking", "thinking": "hm", "index": 0}]})"));
  state.add(part_said(R"({"content": [{"type": "thinking", "thinking": "m", "index": 0}]})"));
  state.add(part_said(
    R"({"content": [{"type": "thinking", "thinking": "", "signature": "s", "index": 0}]})"));
  state.add(part_said(R"({"content": [{"type": "text", "text": "yes", "index": 1}]})"));
  BOOST_TEST(shown_pieces(state)
               == (std::vector<std::string>{"thought hm", "thought m", "text yes"}),
             boost::test_tools::per_element());
  BOOST_TEST(state.reasoning == "hmm");
  BOOST_TEST(state.text == "yes");
  BOOST_TEST(state.whole() == said(R"({"id": "m", "content":
    [{"type": "thinking", "thinking": "hmm", "signature": "s"}, {"type": "text", "text": "yes"}]})"));
}

BOOST_AUTO_TEST_CASE(arguments_that_are_not_an_object_are_an_invalid_call) {
  message_state state;
  state.add(part_said(
    R"({"content": "", "tool_call_chunks": [{"index": 0, "id": "c", "name": "f", "args": "{\"a"}]})"));
  BOOST_TEST(state.whole() == said(R"({"content": "", "id": "m", "invalid_tool_calls":
    [{"name": "f", "args": "{\"a", "id": "c", "type": "invalid_tool_call"}]})"));
}

BOOST_AUTO_TEST_CASE(broken_parts_of_messages_do_no_harm) {
  message_state state;
  state.add(part_said(R"({"content": 7, "usage": "none", "tool_call_chunks": 1,
    "additional_kwargs": []})"));
  state.add(part_said(R"({"content": [1, "a", {"text": 2}, {"index": -1, "text": "b"}],
    "tool_call_chunks": [null, {"index": -5, "args": {}}]})"));
  BOOST_TEST(state.text == "ab");
  BOOST_TEST(state.whole().is(value_kind::message));
}

BOOST_AUTO_TEST_CASE(a_message_that_comes_in_one_piece_is_given_as_it_was_sent) {
  message_state state;
  auto message =
    said(R"({"content": "x", "id": "m", "additional_kwargs": {"reasoning_content": "t"},
    "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]})");
  state.add(message);
  BOOST_TEST(state.ended);
  BOOST_TEST(state.whole() == message);
  BOOST_TEST(shown_pieces(state)
               == (std::vector<std::string>{"thought t", "text x", "call 0 c f {\"a\":1}"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_messages_of_a_run_come_one_after_the_other) {
  runtime rt;
  auto app =
    rt.load(talker({part_said(R"({"content": "one "})"), part_said(R"({"content": "two"})"),
                    said(R"({"content": "whole", "id": "w"})")}));
  auto run = app.stream_events({});
  auto messages = run.messages();
  auto first = messages.next();
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->id() == "m");
  BOOST_TEST(first->role() == "assistant");
  BOOST_TEST(first->node() == "talks");
  BOOST_TEST(first->ns().empty());
  BOOST_TEST(first->next()->text == "one ");
  BOOST_TEST(messages.next()->text() == "whole"); // read before the rest of the first one
  BOOST_TEST(first->next()->text == "two");
  BOOST_TEST(!first->next().has_value()); // ended by its task
  BOOST_TEST(first->text() == "one two");
  BOOST_TEST(first->tool_calls() == value::list());
  BOOST_TEST(first->usage().is_null());
  BOOST_TEST(messages.next()->text() == "bye");
  BOOST_TEST(!messages.next().has_value());
  BOOST_TEST(run.output()["messages"].size() == 1u);
}

BOOST_AUTO_TEST_CASE(messages_are_awaited_in_a_coroutine) {
  runtime rt;
  auto app =
    rt.load(talker({part_said(R"({"content": "one "})"), part_said(R"({"content": "two"})")}));
  auto body = [&app](context& ctx) -> coro<value> {
    auto run = app.stream_events({});
    auto messages = run.messages();
    std::vector<value> out;
    while (true) {
      auto coming = messages.next(ctx);
      auto message = co_await coming;
      if (!message)
        break;
      while (true) {
        auto reading = message->next(ctx);
        auto piece = co_await reading;
        if (!piece)
          break;
        out.push_back(value(piece->text));
      }
      auto ending = message->whole(ctx);
      auto whole = co_await ending;
      out.push_back(whole.payload()["content"]);
    }
    co_return value::list(std::move(out));
  };
  BOOST_TEST(test::try_body(rt, body).value() == words({"one ", "two", "one two", "bye", "bye"}));
}

BOOST_AUTO_TEST_CASE(a_message_that_a_failure_cuts_off_gives_its_pieces_and_the_error) {
  runtime rt;
  auto app = rt.load(chain_of({"n"}, "one", [](const std::string&, context& ctx) {
    ctx.stream_message(part_said(R"({"content": "half"})"));
    throw std::runtime_error{"cut"};
  }));
  auto run = app.stream_events({});
  auto messages = run.messages();
  auto message = messages.next();
  BOOST_TEST(message->next()->text == "half");
  BOOST_CHECK_THROW(messages.next(), error);
  BOOST_TEST((code_of(run.get()) == errc::node_failed));
}

// ---- server-sent events -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(parts_become_server_sent_events) {
  stream_part part;
  part.mode = stream_mode::updates;
  part.data = value::map({{"a", "two\nlines"}});
  part.seq = 7;
  BOOST_TEST(to_sse(part) == "event: updates\ndata: {\"a\":\"two\\nlines\"}\nid: 7\n\n");
  part.ns = {"sub:1", "in\nner:2"};
  part.data = nullptr;
  BOOST_TEST(to_sse(part) == "event: updates|sub:1|in ner:2\ndata: null\nid: 7\n\n");
}

BOOST_AUTO_TEST_CASE(messages_and_questions_have_the_servers_form) {
  auto data_of = [](value data) {
    stream_part part;
    part.data = std::move(data);
    auto text = to_sse(part);
    auto begin = text.find("data: ") + 6;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  BOOST_TEST(
    data_of(value::list({part_said(R"({"content": "x", "usage": {"input_tokens": 1}})")}))
    == R"([{"content":"x","id":"m","type":"AIMessageChunk","usage_metadata":{"input_tokens":1}}])");
  BOOST_TEST(data_of(value::of(message{"user", "hi", "u"}))
             == R"({"content":"hi","id":"u","type":"human"})");
  BOOST_TEST(data_of(value::extension(value_kind::remove_message, "u"))
             == R"({"content":"","id":"u","type":"remove"})");
  interrupt question;
  question.value = "sure?";
  question.id = "i";
  BOOST_TEST(data_of(value::map({{"__interrupt__", value::list({value::of(question)})}}))
             == R"({"__interrupt__":[{"id":"i","value":"sure?"}]})");
}

BOOST_AUTO_TEST_CASE(an_error_is_the_last_event) {
  BOOST_TEST(to_sse(error{errc::node_failed, "it\nbroke", "ValueError"})
             == "event: error\ndata: {\"error\":\"ValueError\",\"message\":\"it\\nbroke\"}\n\n");
  auto plain = to_sse(error{errc::overloaded, "busy"});
  BOOST_TEST(plain.find("\"error\":\"\"") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
