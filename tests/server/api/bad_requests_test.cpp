// Every route with all that can be wrong of its path, its query and its body. Each is refused with
// a status and a text, or answered; none fails inside.
#include "server/api/filtered_routes.hpp"
#include "tests/server/served_rooms.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace troupe::server::test {
namespace {

using troupe::test::raw_client;

std::string nested(std::size_t levels, const std::string& open, const std::string& close) {
  std::string out;
  for (std::size_t i = 0; i < levels; ++i)
    out += open;
  out += '1';
  for (std::size_t i = 0; i < levels; ++i)
    out += close;
  return out;
}

// Ids of documents that are there, by the names of parameters.
std::map<std::string, std::string> make_documents(const served_rooms& server) {
  auto id_of = [](const heard_answer& made, const char* name) {
    BOOST_REQUIRE_MESSAGE(made.status == 200, made.body);
    return made.json()[name].as<std::string>();
  };
  auto thread = id_of(server.post("/threads", value::map()), "thread_id");
  auto run = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  auto made = id_of(server.post("/threads/" + thread + "/runs", run), "run_id");
  server.ask("GET", "/threads/" + thread + "/runs/" + made + "/join");
  auto assistant = server.post("/assistants", value::map({{"graph_id", "plain"}}));
  auto cron = server.post("/runs/crons", run.with("schedule", "0 0 1 1 *"));
  auto state = server.ask("GET", "/threads/" + thread + "/state").json();
  return {{"thread_id", thread},
          {"run_id", made},
          {"assistant_id", id_of(assistant, "assistant_id")},
          {"cron_id", id_of(cron, "cron_id")},
          {"checkpoint_id", state["checkpoint_id"].as<std::string>()},
          {"namespace", "inner"}};
}

// The pattern with these parameters; all of them are `instead` when it is not empty.
std::string path_of(std::string_view pattern, const std::map<std::string, std::string>& known,
                    const std::string& instead = {}) {
  std::string out;
  while (!pattern.empty()) {
    auto open = std::min(pattern.find('{'), pattern.size());
    out += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty())
      break;
    auto close = pattern.find('}');
    out += instead.empty() ? known.at(std::string{pattern.substr(1, close - 1)}) : instead;
    pattern.remove_prefix(close + 1);
  }
  return out;
}

// The head of an answer, and the body unless it is a stream of events.
heard_answer ask_briefly(std::uint16_t port, const std::string& bytes) {
  raw_client client{port};
  client.say(bytes);
  heard_answer out;
  out.head = client.hear("\r\n\r\n");
  out.status = std::stoi(out.head.substr(9, 3));
  if (!out.has_header("text/event-stream"))
    out.body = client.hear_all();
  return out;
}

void check_answer(const heard_answer& heard, const std::string& asked) {
  auto what = asked.substr(0, 300) + " → " + heard.head.substr(0, 20) + heard.body.substr(0, 200);
  BOOST_TEST(heard.status >= 200, what);
  BOOST_TEST(heard.status < 500, what);
  BOOST_TEST(heard.has_header("x-request-id: "), what);
  if (heard.status < 400 || asked.starts_with("HEAD "))
    return;
  bool is_bare = heard.body.empty() && asked.find("/mcp ") != asked.npos; // as its specification
  auto body = from_json(heard.body, json_form::plain);
  BOOST_TEST((is_bare || (body && (body->contains("detail") || body->contains("error")))), what);
}

// ---- bodies from the served document

// The schemas that a body may consist of: its own and those of its members.
value schema_at(const value& document, const value& reference) {
  auto path = reference["$ref"].is_string() ? reference["$ref"].as<std::string>() : std::string{};
  auto name = path.substr(path.rfind('/') + 1);
  return document["components"]["schemas"][name];
}

const std::map<std::string, const char*>& usual_members() {
  static const std::map<std::string, const char*> all{{"assistant_id", R"("plain")"},
                                                      {"graph_id", R"("plain")"},
                                                      {"schedule", R"("0 0 1 1 *")"},
                                                      {"namespace", R"(["a"])"},
                                                      {"key", R"("k")"},
                                                      {"value", "{}"},
                                                      {"thread_ids", "[]"},
                                                      {"version", "1"},
                                                      {"checkpoint", "{}"},
                                                      {"channels", R"(["values"])"},
                                                      {"id", "1"},
                                                      {"method", R"("state.get")"},
                                                      {"namespace_prefix", R"(["a"])"},
                                                      {"jsonrpc", R"("2.0")"},
                                                      {"ttl", "5"}};
  return all;
}

// The members that a body of this schema needs, so that the others are read, too.
value needed_members(const value& schema) {
  auto out = value::map();
  for (const auto& name : schema["required"].items()) {
    auto usual = usual_members().find(name.as<std::string>());
    if (usual != usual_members().end())
      out = out.with(usual->first, from_json(usual->second, json_form::plain).value());
  }
  return schema["properties"].contains("input") ? out.with("input", value::map()) : out;
}

const std::vector<std::string>& wrong_values() {
  static const std::vector<std::string> all{"null",
                                            "true",
                                            "0",
                                            "-1",
                                            "1e308",
                                            "9223372036854775807",
                                            "123456789012345678901234567890",
                                            "\"\"",
                                            "\"x\"",
                                            R"("a\u0000b")",
                                            '"' + std::string(3000, 'y') + '"',
                                            "[]",
                                            "[null]",
                                            R"([["x",{}],{"":[]}])",
                                            "{}",
                                            R"({"":null,"$eq":[],"a":{"b":1}})",
                                            nested(100, "[", "]"),
                                            nested(limits::value_depth_max - 2, "[", "]"),
                                            nested(limits::value_depth_max - 1, "[", "]"),
                                            nested(40, R"({"a":)", "}")};
  return all;
}

// Bodies with one wrong member each, also one level below.
std::vector<std::string> wrong_bodies(const value& document, const value& schema,
                                      std::size_t step) {
  std::vector<std::string> out;
  const auto needed = needed_members(schema);
  auto add = [&](const std::string& name, const std::string& text) {
    auto base = to_json(needed.without(name));
    base.pop_back();
    out.push_back(base + (base.size() > 1 ? "," : "") + '"' + name + "\":" + text + '}');
  };
  std::size_t turn = 0;
  for (const auto& member : schema["properties"].entries()) {
    std::string name{member.key()};
    for (std::size_t i = turn++ % step; i < wrong_values().size(); i += step)
      add(name, wrong_values()[i]);
    auto inner = member.val["anyOf"].empty() ? member.val : member.val["anyOf"][0];
    auto below = schema_at(document, inner);
    for (const auto& one : below["properties"].entries())
      for (std::size_t i = turn++ % step; i < wrong_values().size(); i += step)
        add(name, "{\"" + std::string{one.key()} + "\":" + wrong_values()[i] + '}');
  }
  return out;
}

std::string text_for(const served_rooms& server, std::string_view method, const std::string& path,
                     const std::string& body) {
  return server.text_of(std::string{method}, path, body, "Content-Type: application/json\r\n");
}

const std::vector<std::string>& wrong_wholes() {
  static const std::vector<std::string> all{"",
                                            "x",
                                            "\"x\"",
                                            "[]",
                                            "[[]]",
                                            "null",
                                            "1",
                                            "{",
                                            "{}",
                                            "{\"a\":\"\xff\"}",
                                            "\xef\xbb\xbf{}",
                                            R"({"a":"\ud800"})",
                                            nested(100'000, "[", "]"),
                                            nested(100'000, R"({"metadata":)", "}"),
                                            nested(100'000, "[", "")};
  return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_bad_requests)

BOOST_AUTO_TEST_CASE(every_route_refuses_a_body_that_is_not_its_own) {
  served_rooms server;
  auto known = make_documents(server);
  for (const auto& route : server.all_routes)
    for (const auto& body : wrong_wholes()) {
      auto asked = text_for(server, route.method, path_of(route.pattern, known), body);
      check_answer(ask_briefly(server.edge->port(), asked), asked);
      if (route.method == "DELETE")
        known = make_documents(server);
    }
  BOOST_TEST(server.log() == "");
}

BOOST_AUTO_TEST_CASE(every_member_of_every_body_may_be_wrong) {
  served_rooms server;
  auto document = server.ask("GET", "/openapi.json").json();
  auto known = make_documents(server);
  std::set<std::string> tried;
  for (const auto& route : server.all_routes) {
    std::string method{route.method};
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
    auto body = document["paths"][route.pattern][method]["requestBody"]["content"]
                        ["application/json"]["schema"];
    bool is_list = body["items"].is_map();
    auto schema = schema_at(document, is_list ? body["items"] : body);
    if (schema.is_null())
      continue;
    // All values where a schema is met first; a few of them in further routes.
    bool is_first = tried.insert(schema["title"].as<std::string>()).second;
    for (const auto& one : wrong_bodies(document, schema, is_first ? 1 : 7)) {
      auto asked = text_for(server, route.method, path_of(route.pattern, known),
                            is_list ? '[' + one + ']' : one);
      check_answer(ask_briefly(server.edge->port(), asked), asked);
    }
  }
  BOOST_TEST(tried.size() > 15u);
  BOOST_TEST(server.log() == "");
}

BOOST_AUTO_TEST_CASE(every_parameter_of_every_path_may_be_wrong) {
  served_rooms server;
  const std::string overlong = "%c0%ae%c0%ae%c0%af";
  for (const auto& route : server.all_routes) {
    if (route.pattern.find('{') == route.pattern.npos)
      continue;
    for (const std::string& id :
         {std::string{"x"}, std::string{"%00"}, std::string{"%2F"}, std::string{"a%2Fb"},
          std::string{"%2e%2e"}, std::string{".."}, std::string{"%2e%2e%2fetc"}, overlong,
          std::string{"%ff"}, std::string{"%"}, std::string{"%zz"}, std::string{"a;b"},
          std::string{"%E2%80%AE"}, std::string(300, 'a'),
          std::string{"00000000-0000-0000-0000-000000000000"}}) {
      auto asked = text_for(server, route.method, path_of(route.pattern, {}, id), "{}");
      auto heard = ask_briefly(server.edge->port(), asked);
      check_answer(heard, asked);
      bool is_undecodable = id == "%00" || id == overlong || id == "%ff" || id == "%"
                            || id == "%zz";
      if (is_undecodable)
        BOOST_TEST(heard.status == 404, asked.substr(0, 100));
    }
  }
  BOOST_TEST(server.log() == "");
}

BOOST_AUTO_TEST_CASE(paths_are_never_normalised) {
  served_rooms server;
  for (const char* path :
       {"//ok", "/ok//", "/./ok", "/x/../ok", "/%2e/ok", "/x/%2e%2e/ok", "/threads//search",
        "/ok%00", "/ok%2F", "/..%2fok", "/%c0%af", "/OK", "http://here//ok", "http://here/x/../ok",
        "*", "/threads/%2e%2e/assistants"}) {
    auto asked = text_for(server, "GET", path, "");
    auto heard = ask_briefly(server.edge->port(), asked);
    BOOST_TEST((heard.status == 404 || heard.status == 405 || heard.status == 422),
               path << std::string{" "} << heard.status);
  }
}

BOOST_AUTO_TEST_CASE(every_parameter_of_every_query_may_be_wrong) {
  served_rooms server;
  auto known = make_documents(server);
  auto document = server.ask("GET", "/openapi.json").json();
  for (const auto& route : server.all_routes) {
    std::string method{route.method};
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
    auto parameters = document["paths"][route.pattern][method]["parameters"];
    for (const auto& parameter : parameters.items()) {
      if (parameter["in"] != value("query"))
        continue;
      auto name = parameter["name"].as<std::string>();
      for (const char* wrong :
           {"", "%", "%zz", "%00", "-1", "1e3", "99999999999999999999", "%5B", "[]", "[1]", "a..b.",
            "%ff%fe", "x&%5B=&=&&", "true", "00000000-0000-0000-0000-000000000000"}) {
        auto path = path_of(route.pattern, known) + '?' + name + '=' + wrong;
        auto asked = text_for(server, route.method, path, "");
        check_answer(ask_briefly(server.edge->port(), asked), asked);
        if (route.method == "DELETE")
          known = make_documents(server);
      }
    }
  }
  BOOST_TEST(server.log() == "");
}

BOOST_AUTO_TEST_CASE(a_filter_of_the_authoriser_meets_the_same_bodies) {
  served_rooms server;
  auto known = make_documents(server);
  auto options = server.logging();
  options.authorise = [](const access_question& asked) -> access_verdict {
    const auto& resource = asked.what.resource;
    if (resource != "threads" && resource != "assistants" && resource != "crons")
      return {}; // a filter has no effect on others
    return {.filter = value::map({{"owner", "ann"}})};
  };
  router routes;
  for (const auto& one : server.all_routes)
    routes.add(one);
  http_edge edge{options, with_filters(routes, server.with)};
  for (const auto& route : server.all_routes) {
    if (route.pattern.starts_with("/mcp") || route.pattern.starts_with("/a2a"))
      continue; // filters are refused there
    for (const auto& body :
         {std::string{}, std::string{"[]"}, std::string{"7"}, std::string{"{"},
          std::string{R"({"metadata":7,"assistant_id":[],"thread_id":{},"input":[]})"},
          std::string{R"({"metadata":{"owner":"bob"},"assistant_id":"plain","run_ids":[7]})"},
          nested(100'000, "[", "]")}) {
      auto asked = text_for(server, route.method, path_of(route.pattern, known), body);
      auto heard = ask_briefly(edge.port(), asked);
      check_answer(heard, asked);
      if (route.pattern.starts_with("/threads/{"))
        BOOST_TEST(heard.status >= 400, asked.substr(0, 200)); // the thread is of nobody
    }
  }
  BOOST_TEST(server.log() == "");
}

BOOST_AUTO_TEST_CASE(a_cron_that_cannot_be_is_refused) {
  served_rooms server;
  auto body = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  auto status = [&](const char* member, const char* text) {
    return server.post("/runs/crons", body.with("schedule", "* * * * *").with(member, text)).status;
  };
  for (const char* line : {"", "* * * *", "* * * * * *", "60 * * * *", "0 0 30 2 *", "0 0 31 4,6 *",
                           "*/0 * * * *", "5-1 * * * *", "@reboot", "a b c d e"})
    BOOST_TEST(status("schedule", line) == 422, line);
  for (const char* zone : {"", "Mars/Phobos", "file:/usr/share/zoneinfo/UTC", "../zoneinfo/UTC",
                           "/usr/share/zoneinfo/UTC", "libc:localtime", "Europe"})
    BOOST_TEST(status("timezone", zone) == 422, zone);
  BOOST_TEST(status("end_time", "tomorrow") == 422);
  auto made = server.post("/runs/crons", body.with("schedule", "0 0 29 2 *"));
  BOOST_TEST(made.status == 200);
  auto path = "/runs/crons/" + made.json()["cron_id"].as<std::string>();
  for (const char* change : {R"({"schedule":"0 0 30 2 *"})", R"({"stream_mode":7})",
                             R"({"multitask_strategy":"never"})", R"({"timezone":"Mars/Phobos"})"})
    BOOST_TEST(server.ask("PATCH", path, change).status == 422, change);
  BOOST_TEST((server.ask("GET", path).json() == made.json()));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_thread_changes_nothing) {
  served_rooms server;
  auto one = make_documents(server), other = make_documents(server);
  auto path = "/threads/" + one.at("thread_id");
  auto before = server.ask("GET", path + "/state").body;
  auto body = value::map({{"values", value::map({{"count", 5}})}});
  auto place = value::map({{"checkpoint_id", other.at("checkpoint_id")}});
  for (const auto& named :
       {body.with("checkpoint_id", other.at("checkpoint_id")), body.with("checkpoint", place),
        body.with("checkpoint", place.with("thread_id", other.at("thread_id")))}) {
    auto heard = server.post(path + "/state", named);
    BOOST_TEST((heard.status == 404 || heard.status == 422), heard.body);
    BOOST_TEST(heard.body.find("{\"detail\":") == 0u, heard.body);
  }
  BOOST_TEST(server.ask("GET", path + "/state").body == before);
}

BOOST_AUTO_TEST_CASE(a_run_from_a_checkpoint_that_is_no_uuid_is_refused) {
  served_rooms server;
  auto made = make_documents(server);
  auto path = "/threads/" + made.at("thread_id");
  auto before = server.ask("GET", path + "/state").body;
  auto body = value::map({{"assistant_id", "plain"}, {"input", value::map()}});
  for (const auto& named :
       {body.with("checkpoint_id", "zz"),
        body.with("checkpoint", value::map({{"checkpoint_id", made.at("checkpoint_id") + "0"}}))})
    BOOST_TEST(server.post(path + "/runs/wait", named).status == 422);
  BOOST_TEST(server.ask("GET", path + "/state").body == before);
  auto right = body.with("checkpoint_id", made.at("checkpoint_id"));
  BOOST_TEST(server.post(path + "/runs/wait", right).status == 200);
}

BOOST_AUTO_TEST_CASE(a_change_of_a_cron_adds_to_its_metadata) {
  served_rooms server;
  auto body = value::map({{"assistant_id", "plain"},
                          {"schedule", "@daily"},
                          {"metadata", value::map({{"a", 1}, {"b", 1}})}});
  auto path = "/runs/crons/" + server.post("/runs/crons", body).json()["cron_id"].as<std::string>();
  auto changed = server.ask("PATCH", path, R"({"metadata":{"b":2,"c":3}})").json();
  auto all = value::map({{"a", 1}, {"b", 2}, {"c", 3}});
  BOOST_TEST((changed["metadata"] == all));
  BOOST_TEST((server.ask("GET", path).json()["payload"]["metadata"] == all));
}

BOOST_AUTO_TEST_CASE(a_change_of_an_assistant_keeps_the_context_that_it_does_not_name) {
  served_rooms server;
  auto body = value::map({{"graph_id", "plain"}, {"context", value::map({{"user", "ada"}})}});
  auto path = "/assistants/"
              + server.post("/assistants", body).json()["assistant_id"].as<std::string>();
  auto after = [&](const char* change) {
    auto changed = server.ask("PATCH", path, change).json();
    return to_json(changed["config"]) + ' ' + to_json(changed["context"]);
  };
  BOOST_TEST(after(R"({"config":{"tags":["x"]}})") == R"({"tags":["x"]} {"user":"ada"})");
  BOOST_TEST(after(R"({"config":{}})") == R"({"tags":["x"]} {"user":"ada"})");
  BOOST_TEST(after(R"({"config":{"configurable":{"user":"eve"}}})")
             == R"({"configurable":{"user":"eve"}} {"user":"eve"})");
  BOOST_TEST(after(R"({"context":{}})") == R"({"configurable":{"user":"eve"}} {})");
  BOOST_TEST(after(R"({"context":{"user":"bob"}})")
             == R"({"configurable":{"user":"bob"}} {"user":"bob"})");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
