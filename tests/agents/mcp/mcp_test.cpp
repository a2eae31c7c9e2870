// MCP's messages, and servers over stdin and stdout: good ones, and broken ones.
#include "agents/mcp/mcp_protocol.hpp"
#include "agents/mcp/mcp_tools.hpp"
#include "agents/mcp/mcp_transport.hpp"
#include "agents/messages/json_text.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/limits.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

// The log of a server, to wait for. Shared: a connection may outlive the test's body.
class heard_lines {
public:
  void add(std::string_view line) {
    std::scoped_lock lock{mutex_};
    lines_.emplace_back(line);
    changed_.notify_all();
  }
  // The first line that begins so.
  std::string wait_for(std::string_view begin) {
    std::unique_lock lock{mutex_};
    std::string found;
    changed_.wait(lock, [&] {
      auto at = std::ranges::find_if(lines_, [&](auto& l) { return l.starts_with(begin); });
      found = at == lines_.end() ? "" : *at;
      return at != lines_.end();
    });
    return found;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

mcp_program program_of(const char* mode) {
  return {.file = "/usr/bin/python3", // not one that somebody put before it
          .arguments = {TROUPE_SOURCE_DIR "/tests/mcp/scripted_server.py", mode},
          .stop_wait = milliseconds{0}};
}

mcp_client connected(const char* mode, mcp_options options = {}) {
  return mcp_client::connect(program_of(mode), std::move(options)).value();
}

std::string first_text(const result<value>& answer) {
  return answer ? text_in((*answer)["content"][0]["text"]) : answer.error().message();
}

std::string refusal(const result<value>& answer) {
  return answer ? "" : std::string{to_string(answer.error().code())} + ' ' + answer.error().text();
}

// Neither gone nor dead and waiting to be reaped.
bool is_running(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string number;
  std::string name;
  char state = 'Z';
  file >> number >> name >> state;
  return state != 'Z' && state != 'X';
}

// The message that a tool node makes of one call.
result<value> run_tool(std::vector<tool> tools, const char* name, value args,
                       const run_config& config = {}) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("tools", tool_node{std::move(tools)});
  g.add_edge(START, "tools");
  runtime rt;
  auto asked = ai_message("", {{.name = name, .args = std::move(args), .id = "c1"}}, "a");
  auto out =
    rt.load(g.compile()).try_invoke(value::map({{"messages", value::list({asked})}}), config);
  if (!out)
    return out.error();
  return out->value()["messages"][1];
}

value answers_to(std::vector<tool> tools, const char* name, value args = value::map()) {
  return run_tool(std::move(tools), name, std::move(args)).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp)

// ---- messages -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(tools_that_run_as_tasks_alone_are_not_offered) {
  auto page = from_json(R"({"tools": [{"name": "plain"},
    {"name": "both", "execution": {"taskSupport": "optional"}},
    {"name": "task", "execution": {"taskSupport": "required"}}]})");
  std::vector<mcp_definition> out;
  BOOST_REQUIRE(add_mcp_page(page.value(), "", out));
  BOOST_TEST(out.size() == 2u);
  BOOST_TEST(out[1].name == "both");
}

BOOST_AUTO_TEST_CASE(what_is_asked_is_one_line_and_keeps_dollar_members) {
  auto args = value::map({{"$bytes", "x\ny"}});
  BOOST_TEST(
    mcp_request(3, "tools/call", args)
    == R"({"id": 3, "jsonrpc": "2.0", "method": "tools/call", "params": {"$bytes": "x\ny"}})");
  BOOST_TEST(mcp_notification("n", value{}) == R"({"jsonrpc": "2.0", "method": "n"})");
  BOOST_TEST(mcp_cancellation(0).empty());
  BOOST_TEST(mcp_cancellation(1).find(R"("requestId": 1)") != std::string::npos);
}

struct answer_case {
  const char* text;
  const char* outcome; // of the question; "-" when it still waits
};
std::ostream& operator<<(std::ostream& out, const answer_case& c) {
  return out << c.text;
}
const std::vector<answer_case> answer_cases{
  {R"({"jsonrpc":"2.0","id":0,"result":{"a":1}})", R"({"a":1})"},
  {R"({"jsonrpc":"2.0","id":"0","result":{}})", "{}"},
  {R"({"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no such"}})", "no such (-32601)"},
  {R"({"jsonrpc":"2.0","id":0,"error":7})", "the server refused it"},
  {R"({"jsonrpc":"2.0","id":0,"result":[1]})", "its answer has neither a result nor an error"},
  {R"({"jsonrpc":"2.0","id":0})", "its answer has neither a result nor an error"},
  {R"({"jsonrpc":"2.0","id":1,"result":{}})", "-"},
  {R"({"jsonrpc":"2.0","id":-1,"result":{}})", "-"},
  {R"({"jsonrpc":"2.0","id":0.0,"result":{}})", "-"},
  {R"({"jsonrpc":"2.0","id":"0x","result":{}})", "-"},
  {R"({"jsonrpc":"2.0","id":null,"result":{}})", "-"},
  {R"({"jsonrpc":"1.0","id":0,"result":{}})", "-"},
  {R"([{"jsonrpc":"2.0","id":0,"result":{}}])", "-"},
  {R"({"jsonrpc":"2.0","id":0,"result":{})", "-"},
  {"", "-"},
};
BOOST_DATA_TEST_CASE(an_answer_ends_the_question_of_its_number, data::make(answer_cases), c) {
  mcp_session session;
  session.ask("tools/call", [](result<value>) {});
  auto heard = session.hear(c.text);
  auto outcome = !heard.with   ? "-"
                 : *heard.with ? to_json(**heard.with)
                               : heard.with->error().text();
  BOOST_TEST(outcome == c.outcome);
  BOOST_TEST(session.waiting() == (heard.with ? 0u : 1u));
  BOOST_TEST(heard.log.empty() == heard.with.has_value());
  BOOST_TEST(!session.hear(c.text).with); // said twice
}

BOOST_AUTO_TEST_CASE(a_question_that_was_given_up_has_no_answer) {
  mcp_session session;
  auto id = session.ask("tools/call", [](result<value>) {});
  BOOST_TEST(!!session.forget(id));
  BOOST_TEST(!session.forget(id));
  BOOST_TEST(!session.hear(R"({"jsonrpc":"2.0","id":0,"result":{}})").with);
}

struct page_case {
  const char* page;
  const char* outcome; // names, or why they are missing
};
std::ostream& operator<<(std::ostream& out, const page_case& c) {
  return out << c.page;
}
const std::vector<page_case> page_cases{
  {R"({"tools":[{"name":"a.b/ü"},{"name":"c"}]})", "x_a_b___ x_c "},
  {R"({"tools":[]})", ""},
  {R"({"tools":[{"description":"no name"}]})", "a tool without a name"},
  {R"({"tools":[7]})", "a tool without a name"},
  {R"({"tools":[{"name":"a.b"},{"name":"a/b"}]})",
   "list an MCP server's tools: two tools have the same name: x_a_b"},
  {R"({})", "its answer has no list of tools"},
};
BOOST_DATA_TEST_CASE(a_page_of_tools_is_read_or_refused, data::make(page_cases), c) {
  std::vector<mcp_definition> out;
  auto added = add_mcp_page(from_json(c.page, json_form::plain).value(), "x_", out);
  std::string names;
  for (const auto& d : out)
    names += d.tool + ' ';
  BOOST_TEST((added ? names : added.error().text()) == c.outcome);
}

// ---- a good server --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_server_is_greeted_and_lists_its_tools_page_by_page) {
  auto client = connected("good", {.name = "s", .prefix_tools = true});
  BOOST_TEST(client.server_info()["name"] == value("scripted"));
  BOOST_TEST(client.instructions() == mcp_version);
  BOOST_TEST(client.protocol_version() == "2025-06-18");
  BOOST_TEST(!!client.ping());
  auto tools = client.tools().value();
  BOOST_TEST(tools.size() == 11u);
  BOOST_TEST(tools[0].name() == "s_echo");
  BOOST_TEST(tools[0].description() == "Tool echo");
  BOOST_TEST(tools[0].parameters()["properties"]["s"]["pattern"] == value("x"));
  BOOST_TEST(tools[4].name() == "s_fails_empty");
}

BOOST_AUTO_TEST_CASE(a_call_gives_what_the_server_gave) {
  auto client = connected("good");
  auto args = value::map({{"$x", 1}, {"s", "ü\n"}});
  BOOST_TEST(first_text(client.call_and_wait("echo", args)) == R"({"$x": 1, "s": "\u00fc\n"})");
  BOOST_TEST(refusal(client.call_and_wait("nobody", {}))
             == "node_failed Unknown tool: nobody (-32602)");
}

BOOST_AUTO_TEST_CASE(a_tool_node_gives_the_model_blocks_and_keeps_what_is_structured) {
  auto tools = connected("good").tools().value(); // which keep the connection
  auto sum = answers_to(tools, "add", value::map({{"a", 1}, {"b", 2}}));
  BOOST_TEST(to_json(message_member(sum, "content"))
             == R"([{"text":"3","type":"text"},{"text":"!","type":"text"}])");
  BOOST_TEST(to_json(message_member(sum, "artifact")) == R"({"structured_content":{"sum":3}})");
  BOOST_TEST(message_member(sum, "status") != value("error"));
  BOOST_TEST(
    to_json(message_member(answers_to(tools, "media"), "content"))
    == R"([{"base64":"aGk=","mime_type":"image/png","type":"image"},)"
       R"({"mime_type":"application/pdf","type":"file","url":"file:///a.pdf"},)"
       R"({"mime_type":"image/png","type":"image","url":"http://x/a.png"},)"
       R"({"text":"inside","type":"text"},)"
       R"({"base64":"aGk=","mime_type":"image/gif","type":"image"},{"base64":"aGk=","type":"file"}])");
}

BOOST_AUTO_TEST_CASE(a_tool_node_makes_messages_of_failures_unless_they_are_to_be_raised) {
  auto client = connected("good");
  auto tools = client.tools().value();
  auto error_text = [&](const char* name) {
    auto m = answers_to(tools, name);
    BOOST_TEST(message_member(m, "status") == value("error"));
    return message_text(m);
  };
  BOOST_TEST(error_text("fails") == "it broke");
  BOOST_TEST(error_text("fails_empty") == "MCP tool returned an error with empty content.");
  BOOST_TEST(error_text("lies")
             == "Error: Invalid structured content returned by tool lies: sum: Input should be a "
                "valid integer");
  BOOST_TEST(error_text("odd")
             == "Error: content of a type that tool messages cannot hold: 'dance'");
  auto strict = connected("good", {.errors_to_model = false}).tools().value();
  BOOST_CHECK_EXCEPTION(answers_to(strict, "odd"), error,
                        [](const error& e) { return e.type() == "McpError"; });
}

BOOST_AUTO_TEST_CASE(a_program_gets_the_environment_it_is_given_and_nothing_else) {
  ::setenv("TROUPE_TEST_SECRET", "s3cret", 1);
  auto program = program_of("good");
  program.environment = {{"GIVEN", "yes"}, {"TERM", "none"}};
  program.directory = "/";
  auto client = mcp_client::connect(program).value();
  auto seen = from_json(first_text(client.call_and_wait("environment", value::map()))).value();
  for (const auto& name : seen["variables"].items())
    BOOST_TEST((std::ranges::count(program.inherited, name.as<std::string>()) == 1
                || name == value("GIVEN") || name == value("LC_CTYPE"))); // Python's own
  BOOST_TEST(seen["given"] == value("yes"));
  BOOST_TEST(seen["directory"] == value("/"));
  BOOST_TEST(seen["leads"].as_bool());
  BOOST_TEST(seen["blocked"].empty());
}

BOOST_AUTO_TEST_CASE(what_a_server_asks_is_answered) {
  auto client = connected("good");
  BOOST_TEST(first_text(client.call_and_wait("asks", value::map()))
             == R"([{"id": "q1", "jsonrpc": "2.0", "result": {}}, {"error": {"code": -32601, )"
                R"("message": "Method not found"}, "id": 7, "jsonrpc": "2.0"}])");
}

BOOST_AUTO_TEST_CASE(a_server_says_that_its_tools_have_changed_and_what_it_logs) {
  auto lines = std::make_shared<heard_lines>();
  auto client = connected("good", {.on_log = [lines](std::string_view l) { lines->add(l); }});
  client.tools().value();
  BOOST_TEST(!client.tools_changed());
  client.call_and_wait("changes", value::map()).value();
  lines->wait_for("changed");
  BOOST_TEST(client.tools_changed());
  client.tools().value();
  BOOST_TEST(!client.tools_changed());
}

BOOST_AUTO_TEST_CASE(a_call_that_is_late_fails_and_is_cancelled_at_the_server) {
  auto lines = std::make_shared<heard_lines>();
  auto client = connected("good", {.name = "s",
                                   .call_timeout = milliseconds{1},
                                   .on_log = [lines](std::string_view l) { lines->add(l); }});
  BOOST_TEST(refusal(client.call_and_wait("never", value::map()))
             == "node_timeout ask an MCP server: s: no answer within 1 ms");
  BOOST_TEST(lines->wait_for("cancelled") == "cancelled 1");
}

BOOST_AUTO_TEST_CASE(a_call_whose_run_is_cancelled_is_cancelled_at_the_server) {
  auto lines = std::make_shared<heard_lines>();
  run_control control;
  auto client = connected("good", {.on_log = [lines, control](std::string_view l) mutable {
                            lines->add(l);
                            if (l == "called")
                              control.cancel();
                          }});
  run_config config;
  config.control = control;
  auto ended = run_tool(client.tools().value(), "never", value::map(), config);
  BOOST_REQUIRE(!ended);
  BOOST_TEST((ended.error().code() == errc::cancelled));
  BOOST_TEST(lines->wait_for("cancelled") == "cancelled 3"); // greeting, two pages
}

// ---- broken servers -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(rubbish_wrong_numbers_and_doubled_answers_are_passed_over) {
  auto client = connected("garbage");
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(first_text(client.call_and_wait("echo", value::map({{"i", i}})))
               == "{\"i\": " + std::to_string(i) + '}');
}

BOOST_AUTO_TEST_CASE(a_server_that_never_stops_talking_holds_nobody_up) {
  auto client = connected("floods", {.name = "s", .call_timeout = milliseconds{50}});
  BOOST_TEST(refusal(client.call_and_wait("echo", value::map())).starts_with("node_timeout "));
}

// Asked directly, on no thread that waits.
std::vector<std::string> ask_without_waiting(const char* mode, const value& params,
                                             std::size_t times) {
  auto refusals = std::make_shared<std::vector<std::string>>();
  auto server = make_mcp_stdio(program_of(mode), {.name = "s"});
  auto greeted = std::make_shared<std::promise<void>>();
  server->ask("initialize", mcp_greeting(), milliseconds{30'000},
              [greeted](auto) { greeted->set_value(); });
  greeted->get_future().wait();
  for (std::size_t i = 0; i < times; ++i)
    server->ask("tools/call", params, milliseconds{30'000}, [refusals](result<value> r) {
      if (r.error().code() == errc::overloaded)
        refusals->push_back(r.error().text());
    });
  server.reset(); // the others fail here
  return *refusals;
}

BOOST_AUTO_TEST_CASE(calls_that_wait_and_bytes_that_nobody_reads_have_an_end) {
  auto never = value::map({{"name", "never"}});
  BOOST_TEST(ask_without_waiting("good", never, limits::mcp_calls_max).empty());
  auto refusals = ask_without_waiting("good", never, limits::mcp_calls_max + 1);
  BOOST_REQUIRE(refusals.size() == 1u);
  BOOST_TEST(refusals[0] == "ask an MCP server: s: 4096 calls wait (mcp_calls_max)");
  auto much = value::map({{"text", std::string(1 << 20, 'x')}});
  auto fits = limits::mcp_queue_bytes_max >> 20;
  BOOST_TEST(ask_without_waiting("deaf", much, fits - 1).empty());
  refusals = ask_without_waiting("deaf", much, fits + 2);
  BOOST_REQUIRE(!refusals.empty());
  BOOST_TEST(refusals[0] == "ask an MCP server: s: the server does not read its input");
}

BOOST_AUTO_TEST_CASE(an_answer_may_drop_the_last_reference_to_its_connection) {
  std::promise<void> left, dropped;
  auto server = make_mcp_stdio(program_of("good"), {.name = "s"});
  auto last = std::make_shared<std::shared_ptr<mcp_transport>>(server);
  server->ask("initialize", mcp_greeting(), milliseconds{30'000},
              [last, &left, &dropped](const auto&) {
                left.get_future().wait();
                last->reset();
                dropped.set_value();
              });
  server.reset();
  left.set_value();
  dropped.get_future().wait();
  BOOST_TEST(!*last);
}

BOOST_AUTO_TEST_CASE(a_line_of_a_log_is_cut) {
  auto lines = std::make_shared<heard_lines>();
  auto client = connected("good", {.on_log = [lines](std::string_view l) { lines->add(l); }});
  client.call_and_wait("logs", value::map()).value();
  BOOST_TEST(lines->wait_for("y") == std::string(limits::mcp_log_bytes_max, 'y'));
}

struct broken_case {
  const char* mode;
  const char* refusal;
};
std::ostream& operator<<(std::ostream& out, const broken_case& c) {
  return out << c.mode;
}
const std::vector<broken_case> no_greeting{
  {"mute", "node_timeout ask an MCP server: s: no answer within 300 ms"},
  {"old", "node_failed Unsupported protocol version from the server: '1999-01-01'"},
  {"refuses", "node_failed not you (-32602)"},
};
BOOST_DATA_TEST_CASE(a_server_that_is_not_greeted_is_no_client, data::make(no_greeting), c) {
  bool answers = std::string_view{c.mode} != "mute";
  auto client = mcp_client::connect(
    program_of(c.mode), {.name = "s", .connect_timeout = milliseconds{answers ? 60'000 : 300}});
  BOOST_REQUIRE(!client);
  BOOST_TEST(std::string{to_string(client.error().code())} + ' ' + client.error().text()
             == c.refusal);
}

const std::vector<broken_case> no_answer{
  {"huge", "node_failed s: a message of more than 16777216 bytes"},
  {"dies", "node_failed s: it has closed its stdout"},
};
BOOST_DATA_TEST_CASE(a_connection_that_ends_fails_the_calls_that_wait_and_all_later_ones,
                     data::make(no_answer), c) {
  auto program = program_of(c.mode);
  program.restarts_max = 0;
  auto client = mcp_client::connect(program, {.name = "s"}).value();
  auto tools = client.tools().value();
  BOOST_TEST(refusal(client.call_and_wait("echo", value::map())) == c.refusal);
  BOOST_TEST(!client.ping());
  auto message = answers_to(tools, "echo");
  BOOST_TEST(message_member(message, "status") == value("error"));
  BOOST_TEST(message_text(message).starts_with("Error: s: "));
}

const std::vector<broken_case> no_list{
  {"endless", "list an MCP server's tools: more than 1000 pages"},
  {"many", "list an MCP server's tools: more than 2048"},
  {"twins", "list an MCP server's tools: two tools have the same name: a_b"},
  {"bare", "its answer has no list of tools"},
};
BOOST_DATA_TEST_CASE(a_list_of_tools_without_measure_is_refused, data::make(no_list), c) {
  auto tools = connected(c.mode).tools();
  BOOST_REQUIRE(!tools);
  BOOST_TEST(tools.error().text() == c.refusal);
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_start_is_named) {
  auto start = [](mcp_program p) {
    auto client = mcp_client::connect(std::move(p));
    return client ? "" : client.error().message();
  };
  BOOST_TEST(start({.file = "/no/such/server"})
             == "start an MCP server: No such file or directory: /no/such/server");
  BOOST_TEST(start({.file = ""}) == "start an MCP server: the name of the program is empty: ");
  BOOST_TEST(mcp_client::connect(mcp_program{.file = "cat"}, {.name = "s", .call_timeout = {}})
               .error()
               .message()
             == "connect to an MCP server: s: a time-out must be above zero");
  BOOST_TEST(
    start({.file = "cat", .environment = {{"A=B", "c"}}})
    == "start an MCP server: the name or text of an environment variable is not valid: cat");
}

BOOST_AUTO_TEST_CASE(a_program_and_its_children_end_with_the_client_whatever_they_do) {
  auto lines = std::make_shared<heard_lines>();
  pid_t child = 0;
  {
    auto client = connected("stubborn", {.on_log = [lines](std::string_view l) { lines->add(l); }});
    child = std::stoi(lines->wait_for("child ").substr(6));
    BOOST_TEST(is_running(child));
  }
  while (is_running(child)) // its end is on its way
    std::this_thread::yield();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
