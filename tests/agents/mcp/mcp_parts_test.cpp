// Resources, prompts, progress, changes and questions of an MCP server, by clients in the same
// process and over HTTP.
#include "agents/mcp/mcp_protocol.hpp"
#include "agents/mcp/mcp_server_session.hpp"
#include "agents/mcp/mcp_uri_template.hpp"
#include "agents/messages/json_text.hpp"
#include "http/client.hpp"
#include "tests/agents/mcp/held_tool.hpp"
#include "tests/agents/mcp/http_waits.hpp"

#include <troupe/agents/mcp.hpp>
#include <troupe/agents/mcp_server.hpp>
#include <troupe/agents/tool_node.hpp>
#include <troupe/saver.hpp>
#include <troupe/state_graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace data = boost::unit_test::data;
using std::chrono::milliseconds;

// The changes that a client was notified of, to wait for.
class noted_changes {
public:
  void add(const mcp_change& change) {
    std::scoped_lock lock{mutex_};
    seen_.push_back(change);
    changed_.notify_all();
  }
  mcp_change next() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return at_ < seen_.size(); });
    return seen_[at_++];
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<mcp_change> seen_;
  std::size_t at_ = 0;
};

mcp_offer reading_offer() {
  mcp_resource readme{.uri = "file:///readme", .name = "readme", .read = [](const std::string&) {
                        return mcp_content{.data = "grüß"};
                      }};
  readme.mime_type = "text/plain";
  mcp_resource image{.uri = "file:///image", .name = "image", .read = [](const std::string&) {
                       return mcp_content{
                         .data = "hi", .mime_type = "image/png", .is_binary = true};
                     }};
  mcp_resource odd{.uri = "file:///odd", .name = "odd", .read = [](const std::string&) {
                     return mcp_content{.data = "\xff"};
                   }};
  mcp_resource gone{
    .uri = "file:///gone", .name = "gone", .read = [](const std::string&) -> mcp_content {
      throw std::runtime_error{"it is gone"};
    }};
  mcp_resource_template day{.uri_template = "log://{day}/{+rest}",
                            .name = "log",
                            .read = [](const std::string& uri, const value& parts) {
                              return mcp_content{.data = uri + ' ' + to_json(parts)};
                            }};
  mcp_prompt review{.name = "review",
                    .arguments = {{.name = "code", .description = "", .required = true}},
                    .get = [](const value& arguments) {
                      return std::vector<value>{
                        human_message("Review " + arguments["code"].as<std::string>()),
                        ai_message("Yes")};
                    }};
  review.description = "Asks for a review";
  return {.tools = {},
          .graphs = {},
          .resources = {readme, image, odd, gone},
          .resource_templates = {day},
          .prompts = {review}};
}

mcp_client connected_inside(const mcp_server& server, mcp_options options = {.name = "s"}) {
  return mcp_client::connect(server, std::move(options)).value();
}

std::string resource_text(const mcp_client& client, const char* uri) {
  auto read = client.read_resource_and_wait(uri);
  return read ? to_json((*read)[0]) : read.error().text();
}

compiled_graph name_asking(value schema) {
  state_graph<> g{{{"name", last_value}}};
  g.add_node("ask", [schema](const state_view&, context& ctx) -> value {
    auto name = ctx.interrupt("Your name?", schema);
    auto again = ctx.interrupt(value::map({{"sure", name}}));
    return {{"name", value::list({name, again})}};
  });
  g.add_edge(START, "ask");
  return g.compile({.name = "ask"});
}

// A tool node with the client's tools, whose runs are stored.
struct calling_agent {
  explicit calling_agent(const mcp_client& client) {
    state_graph<> g{{{"messages", add_messages}}};
    g.add_node("tools", tool_node{client.tools().value()});
    g.add_edge(START, "tools");
    loaded.emplace(rt.load(g.compile()));
  }
  result<run_result> call(const char* name) {
    auto asked = ai_message("", {{.name = name, .args = value::map(), .id = "c1"}}, "a");
    return loaded->try_invoke(value::map({{"messages", value::list({asked})}}), {.thread_id = "t"});
  }
  result<run_result> answer(value content) {
    return loaded->try_invoke(
      command{.resume = value::map({{"action", "accept"}, {"content", std::move(content)}})},
      {.thread_id = "t"});
  }
  runtime rt{{.saver = make_memory_saver()}};
  std::optional<app<>> loaded;
};

} // namespace

BOOST_AUTO_TEST_SUITE(agents_mcp_parts)

// ---- resources and prompts ------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(resources_are_listed_and_read) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  auto client = connected_inside(server);
  auto listed = client.resources().value();
  BOOST_TEST(listed.size() == 4u);
  BOOST_TEST(to_json(listed[0])
             == R"({"mimeType":"text/plain","name":"readme","uri":"file:///readme"})");
  BOOST_TEST(client.resource_templates().value().at(0)["uriTemplate"]
             == value("log://{day}/{+rest}"));
  BOOST_TEST(resource_text(client, "file:///readme")
             == R"({"mimeType":"text/plain","text":"grüß","uri":"file:///readme"})");
  BOOST_TEST(resource_text(client, "file:///image")
             == R"({"blob":"aGk=","mimeType":"image/png","uri":"file:///image"})");
  BOOST_TEST(resource_text(client, "file:///odd") == R"({"blob":"/w==","uri":"file:///odd"})");
  auto day = client.read_resource_and_wait("log://monday/a/b").value();
  BOOST_TEST(day[0]["text"] == value(R"(log://monday/a/b {"day":"monday","rest":"a/b"})"));
}

BOOST_AUTO_TEST_CASE(a_resource_that_cannot_be_read_is_an_error) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  auto client = connected_inside(server);
  BOOST_TEST(resource_text(client, "file:///gone").find("it is gone") != std::string::npos);
  BOOST_TEST(resource_text(client, "file:///no") == "Resource not found: file:///no (-32002)");
  BOOST_TEST(resource_text(client, "log://a/b/").find("log://a/b/") != std::string::npos);
  BOOST_TEST(resource_text(client, "log:///b") == "Resource not found: log:///b (-32002)");
  BOOST_TEST(resource_text(client, "").find("must have 1 to 8192 bytes") != std::string::npos);
  auto long_one = std::string(limits::mcp_uri_bytes_max + 1, 'x');
  BOOST_TEST(resource_text(client, long_one.c_str()).find("must have 1 to 8192 bytes")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(prompts_are_listed_and_give_messages) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  auto client = connected_inside(server);
  BOOST_TEST(to_json(client.prompts().value().at(0))
             == R"({"arguments":[{"name":"code","required":true}],)"
                R"("description":"Asks for a review","name":"review"})");
  auto messages = client.prompt_and_wait("review", {{"code", "main"}}).value();
  BOOST_REQUIRE(messages.size() == 2u);
  BOOST_TEST(message_role(messages[0]) == "user");
  BOOST_TEST(message_text(messages[0]) == "Review main");
  BOOST_TEST(message_role(messages[1]) == "assistant");
  auto why = [&](const char* name, const value& arguments) {
    return client.prompt_and_wait(name, arguments).error().text();
  };
  BOOST_TEST(why("review", {}) == "Invalid params: a required argument is missing: code (-32602)");
  BOOST_TEST(why("review", {{"code", 7}}) == "Invalid params: an argument is not a text (-32602)");
  BOOST_TEST(why("nobody", {}) == "Unknown prompt: nobody (-32602)");
}

BOOST_AUTO_TEST_CASE(bodies_read_without_holding_a_thread) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  auto client = connected_inside(server);
  state_graph<> g{{{"text", last_value}, {"count", last_value}}};
  g.add_node("read", [client](const state_view&, context& ctx) -> coro<value> {
    auto asked = client.read_resource("file:///readme", ctx);
    auto contents = co_await asked;
    auto prompted = client.prompt("review", {{"code", "x"}}, ctx);
    auto messages = co_await prompted;
    co_return value{{"text", contents[0]["text"]}, {"count", messages.size()}};
  });
  g.add_edge(START, "read");
  auto out = rt.load(g.compile()).invoke(value::map()).value();
  BOOST_TEST(out["text"] == value("grüß"));
  BOOST_TEST(out["count"] == value(2));
}

BOOST_AUTO_TEST_CASE(an_offer_that_makes_no_sense_is_refused) {
  runtime rt;
  auto why = [&](auto change) {
    auto offer = reading_offer();
    change(offer);
    try {
      mcp_server{rt, std::move(offer)};
      return std::string{};
    } catch (const error& e) {
      return e.message();
    }
  };
  BOOST_TEST(why([](auto&) {}).empty());
  BOOST_TEST(why([](auto& o) { o.resources.push_back(o.resources[0]); })
             == "make an MCP server: two resources have the same uri: file:///readme");
  BOOST_TEST(why([](auto& o) { o.prompts.push_back(o.prompts[0]); })
             == "make an MCP server: two prompts have the same name: review");
  BOOST_TEST(why([](auto& o) { o.resources[0].read = {}; }).find("is missing")
             != std::string::npos);
  BOOST_TEST(why([](auto& o) { o.resources[0].uri.clear(); }).find("a URI must have")
             != std::string::npos);
  BOOST_TEST(why([](auto& o) {
               o.resource_templates[0].uri_template = "a{b";
             }).find("not a template that is supported: `a{b`")
             != std::string::npos);
  BOOST_TEST(why([](auto& o) { o.prompts[0].get = {}; }).find("is missing") != std::string::npos);
}

struct template_case {
  const char* text;
  const char* uri;
  const char* found; // the parts; "-" when it does not fit, "!" for a template that is refused
};
std::ostream& operator<<(std::ostream& out, const template_case& c) {
  return out << c.text << ' ' << c.uri;
}
const std::vector<template_case> template_cases{
  {"a://{x}", "a://1", R"({"x":"1"})"},
  {"a://{x}", "a://", "-"},
  {"a://{x}", "a://1/2", "-"},
  {"a://{+x}", "a://1/2", R"({"x":"1/2"})"},
  {"a://{x}", "a://1?q", "-"},
  {"a://{x}/b", "a://1/b", R"({"x":"1"})"},
  {"a://{x}/b", "a://1/c", "-"},
  {"a://{x}-{y}", "a://1-2-3", R"({"x":"1","y":"2-3"})"},
  {"a://{x}.b", "a://1.b.b", R"({"x":"1.b"})"},
  {"a://{x}", "b://1", "-"},
  {"a://b", "a://b", "{}"},
  {"a://b", "a://bc", "-"},
  {"{x}{y}", "12", "!"},
  {"a{", "a", "!"},
  {"a}", "a", "!"},
  {"a{}", "a", "!"},
  {"a{x{y}}", "a", "!"},
  {"a://{x}", "a://..%2f", R"({"x":"..%2f"})"},
};
BOOST_DATA_TEST_CASE(a_uri_fits_a_template_or_does_not, data::make(template_cases), c) {
  bool is_valid = bool(check_uri_template(c.text));
  auto found = match_uri_template(c.text, c.uri);
  BOOST_TEST((!is_valid ? "!" : found ? to_json(*found) : "-") == c.found);
}

// ---- changes --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_replaced_offer_is_announced_and_tools_are_listed_again) {
  runtime rt;
  mcp_server server{rt, {.tools = {tool{"one", "", [] { return "1"; }}}}};
  auto noted = std::make_shared<noted_changes>();
  auto client = connected_inside(
    server, {.name = "s", .on_change = [noted](const mcp_change& c) { noted->add(c); }});
  BOOST_TEST(client.current_tools().value().size() == 1u);
  auto offer = reading_offer();
  offer.tools = {tool{"one", "", [] { return "1"; }}, tool{"two", "", [] { return "2"; }}};
  server.replace(offer);
  using kind = mcp_change::kind;
  BOOST_TEST((noted->next().what == kind::tools));
  BOOST_TEST((noted->next().what == kind::resources));
  BOOST_TEST((noted->next().what == kind::prompts));
  BOOST_TEST(client.tools_changed());
  BOOST_TEST(client.current_tools().value().size() == 2u);
  BOOST_TEST(!client.tools_changed());
  auto called = client.call_and_wait("two", value::map()).value();
  BOOST_TEST(called["content"][0]["text"] == value("2"));
  offer.tools.push_back(offer.tools[0]);
  BOOST_CHECK_THROW(server.replace(offer), error);
  BOOST_TEST(client.tools().value().size() == 2u); // the old offer stays
}

BOOST_AUTO_TEST_CASE(a_client_that_subscribed_is_notified_of_its_resource_alone) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  auto noted = std::make_shared<noted_changes>();
  auto client = connected_inside(
    server, {.name = "s", .on_change = [noted](const mcp_change& c) { noted->add(c); }});
  client.subscribe("file:///readme").value();
  client.subscribe("file:///image").value();
  client.unsubscribe("file:///image").value();
  server.resource_updated("file:///image");
  server.resource_updated("file:///readme");
  auto seen = noted->next();
  BOOST_TEST((seen.what == mcp_change::kind::resource));
  BOOST_TEST(seen.uri == "file:///readme");
  for (std::size_t i = 1; i < limits::mcp_subscriptions_max; ++i)
    client.subscribe("file:///" + std::to_string(i)).value();
  BOOST_TEST(client.subscribe("file:///more").error().text()
             == "Too many subscriptions: mcp_subscriptions_max (1024) (-32000)");
}

BOOST_AUTO_TEST_CASE(over_http_changes_come_on_the_server_s_own_stream) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  mcp_http_server http{server};
  auto noted = std::make_shared<noted_changes>();
  auto client =
    mcp_client::connect(mcp_endpoint{.url = http.url()},
                        {.name = "s", .on_change = [noted](const mcp_change& c) { noted->add(c); }})
      .value();
  client.subscribe("file:///readme").value();
  auto pushing = std::async(std::launch::async, [&] { return noted->next(); });
  while (pushing.wait_for(milliseconds{5}) != std::future_status::ready)
    server.resource_updated("file:///readme"); // until the stream is open
  BOOST_TEST(pushing.get().uri == "file:///readme");
  BOOST_TEST(http.drain(milliseconds{30'000})); // the stream does not hold it up
}

BOOST_AUTO_TEST_CASE(a_stream_of_a_server_needs_a_session_and_a_later_one_takes_its_place) {
  runtime rt;
  mcp_server server{rt, reading_offer()};
  mcp_http_server http{server};
  auto loop = http_loop::shared();
  auto get = [&](http_headers headers) {
    http_request out;
    out.url = http.url();
    out.headers = std::move(headers);
    return out;
  };
  BOOST_TEST(http_fetch_and_wait(get({{"Accept", "text/event-stream"}})).head.status == 400);
  BOOST_TEST(
    http_fetch_and_wait(get({{"Accept", "text/event-stream"}, {"Mcp-Session-Id", "x"}})).head.status
    == 404);
  http_request greeting;
  greeting.method = "POST";
  greeting.url = http.url();
  greeting.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  greeting.body = mcp_request(0, "initialize", mcp_greeting());
  std::string id{http_fetch_and_wait(greeting).head.header("mcp-session-id")};
  http_headers headers{{"Accept", "text/event-stream"}, {"Mcp-Session-Id", id}};
  auto first = started(*loop, get(headers));
  wait_until(*first, http_sign::head);
  auto later = started(*loop, get(headers));
  wait_until(*first, http_sign::end);
  BOOST_TEST(first->head().status == 200);
  BOOST_TEST(first->head().header("content-type") == "text/event-stream");
  wait_until(*later, http_sign::head);
  http.drain(milliseconds{30'000}); // ends it
  wait_until(*later, http_sign::end);
  BOOST_TEST(later->head().status == 200);
}

// ---- progress -------------------------------------------------------------------------------

std::vector<tool> reporting_tools() {
  return {tool{"works", "", [](tool_runtime& run) {
                 report_mcp_progress(run.info(), {.progress = 1, .total = 3, .message = "one"});
                 report_mcp_progress(run.info(), {.progress = 1}); // does not grow
                 report_mcp_progress(run.info(), {.progress = 2});
                 return "done";
               }}};
}

BOOST_AUTO_TEST_CASE(a_tool_reports_progress_to_a_client_that_wants_it) {
  runtime rt;
  mcp_server server{rt, {.tools = reporting_tools()}};
  mcp_http_server http{server};
  auto over_http = mcp_client::connect(mcp_endpoint{.url = http.url()}).value();
  for (const auto& client : {connected_inside(server), over_http}) {
    auto seen = std::make_shared<std::vector<mcp_progress>>();
    client
      .call_and_wait("works", value::map(), [seen](const mcp_progress& p) { seen->push_back(p); })
      .value();
    BOOST_REQUIRE(seen->size() == 2u);
    BOOST_TEST((*seen)[0].message == "one");
    BOOST_TEST((*seen)[0].total.value_or(0) == 3);
    BOOST_TEST((*seen)[1].progress == 2);
    BOOST_TEST(bool(client.call_and_wait("works", value::map()))); // without a listener
  }
}

BOOST_AUTO_TEST_CASE(progress_of_an_agent_s_tool_goes_to_the_custom_stream) {
  runtime rt;
  mcp_server server{rt, {.tools = reporting_tools()}};
  calling_agent agent{connected_inside(server)};
  auto asked = ai_message("", {{.name = "works", .args = value::map(), .id = "c1"}}, "a");
  std::vector<value> parts;
  for (auto& part : agent.loaded->stream(value::map({{"messages", value::list({asked})}}),
                                         {.thread_id = "t"}, {stream_mode::custom}))
    parts.push_back(part.data);
  BOOST_REQUIRE(!parts.empty()); // reports that come close together are one
  BOOST_TEST(parts.back()["type"] == value("mcp_progress"));
  BOOST_TEST(parts.back()["tool_call_id"] == value("c1"));
}

BOOST_AUTO_TEST_CASE(progress_notifications_of_a_call_have_a_bound) {
  auto listing = std::make_shared<mcp_listing>();
  listing->tools = {value::map({{"name", "t"}})};
  mcp_server_session session{listing};
  session.hear(mcp_request(0, "initialize", mcp_greeting()));
  auto call = session
                .hear(mcp_request(
                  1, "tools/call",
                  value::map({{"name", "t"}, {"_meta", value::map({{"progressToken", "p"}})}})))
                .call.value();
  std::size_t sent = 0;
  for (std::size_t i = 1; i <= limits::mcp_progress_max + 5; ++i)
    sent += session.progress(call.number, {.progress = static_cast<double>(i)}).empty() ? 0 : 1;
  BOOST_TEST(sent == limits::mcp_progress_max);
}

// ---- questions of a served graph --------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_served_graph_asks_the_user_of_a_client_that_can) {
  runtime rt{{.saver = make_memory_saver()}};
  auto graph = rt.load(name_asking(value::map({{"type", "string"}, {"minLength", 2}})));
  mcp_server server{rt, {.tools = {}, .graphs = {{.app = graph}}}};
  mcp_http_server http{server};
  mcp_options options{.name = "s", .elicitation = true};
  auto over_http = mcp_client::connect(mcp_endpoint{.url = http.url()}, options).value();
  for (const auto& client : {connected_inside(server, options), over_http}) {
    calling_agent agent{client};
    auto first = agent.call("ask").value();
    BOOST_REQUIRE(first.paused());
    const auto& question = first.interrupts()[0].value;
    BOOST_TEST(question["message"] == value("Your name?"));
    BOOST_TEST(question["requested_schema"]["properties"]["answer"]["minLength"] == value(2));
    auto second = agent.answer(value::map({{"answer", "Ada"}})).value();
    BOOST_REQUIRE(second.paused());
    BOOST_TEST(second.interrupts()[0].value["message"] == value(R"({"sure": "Ada"})"));
    auto done = agent.answer(value::map({{"answer", "yes"}})).value();
    BOOST_REQUIRE(!done.paused());
    BOOST_TEST(to_json(message_member(done.value()["messages"][1], "artifact"))
               == R"({"structured_content":{"name":["Ada","yes"]}})");
  }
}

BOOST_AUTO_TEST_CASE(a_user_who_declines_leaves_the_call_to_be_resumed_by_its_thread) {
  runtime rt{{.saver = make_memory_saver()}};
  mcp_server server{rt, {.tools = {}, .graphs = {{.app = rt.load(name_asking({}))}}}};
  calling_agent agent{connected_inside(server, {.name = "s", .elicitation = true})};
  agent.call("ask").value();
  auto declined = agent.loaded->try_invoke(command{.resume = value::map({{"action", "decline"}})},
                                           {.thread_id = "t"});
  auto message = declined.value().value()["messages"][1];
  BOOST_TEST(message_member(message, "status") == value("error"));
  BOOST_TEST(message_text(message).find("To resume it, call `ask` with {\"thread_id\"")
             != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_question_that_no_form_can_show_is_not_asked) {
  runtime rt{{.saver = make_memory_saver()}};
  auto nested = value::map(
    {{"type", "object"}, {"properties", value::map({{"a", value::map({{"type", "array"}})}})}});
  mcp_server server{rt, {.tools = {}, .graphs = {{.app = rt.load(name_asking(nested))}}}};
  calling_agent agent{connected_inside(server, {.name = "s", .elicitation = true})};
  auto run = agent.call("ask").value();
  BOOST_TEST(!run.paused());
  BOOST_TEST(message_text(run.value()["messages"][1]).find("To resume it") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
