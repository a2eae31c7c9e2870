// The document of the routes, and its page.
#include "server/api/route_notes.hpp"
#include "tests/server/served_rooms.hpp"

#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cctype>
#include <set>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

// All values of a member, at any depth.
void collect(const value& v, std::string_view member, std::vector<value>& out) {
  for (const auto& item : v.items())
    collect(item, member, out);
  for (const auto& e : v.entries()) {
    if (e.key() == member)
      out.push_back(e.val);
    collect(e.val, member, out);
  }
}

value at_reference(const value& document, const value& reference) {
  auto path = reference.as<std::string>().substr(2);
  auto at = document;
  for (std::size_t begin = 0; begin <= path.size();) {
    auto end = std::min(path.find('/', begin), path.size());
    at = value(at[path.substr(begin, end - begin)]);
    begin = end + 1;
  }
  return at;
}

struct kind_case {
  const char* kind;
  const char* schema;
};
std::ostream& operator<<(std::ostream& out, const kind_case& c) {
  return out << c.kind;
}
const std::vector<kind_case> kinds{
  {"text!", R"({"type":"string"})"},
  {"uuid?", R"({"format":"uuid","type":["string","null"]})"},
  {"[int]", R"({"items":{"type":"integer"},"type":"array"})"},
  {"{[Run]}!",
   R"({"additionalProperties":{"items":{"$ref":"#/components/schemas/Run"},"type":"array"},)"
   R"("type":"object"})"},
  {"a|b", R"({"enum":["a","b"],"type":"string"})"},
  {"[Run~]", R"({"items":{"$ref":"#/components/schemas/RunPart"},"type":"array"})"},
  {"Run?", R"({"anyOf":[{"$ref":"#/components/schemas/Run"},{"type":"null"}]})"},
  {"any?", "{}"}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_openapi)

BOOST_DATA_TEST_CASE(a_kind_is_a_schema, data::make(kinds), one) {
  BOOST_TEST((kind_schema(one.kind) == from_json(one.schema, json_form::plain).value()));
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_is_refused) {
  BOOST_CHECK_THROW(kind_schema("txt"), error);
  BOOST_CHECK_THROW(kind_schema(""), error);
}

BOOST_AUTO_TEST_CASE(every_route_is_described_and_every_note_has_its_route) {
  served_rooms server;
  auto answer = server.ask("GET", "/openapi.json");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.has_header("Content-Type: application/json\r\n"));
  auto document = answer.json();
  std::set<std::string> described;
  for (const auto& path : document["paths"].entries())
    for (const auto& operation : path.val.entries()) {
      auto name = std::string{operation.key()} + ' ' + std::string{path.key()};
      BOOST_TEST(!operation.val["tags"].empty(), name);
      described.insert(name);
    }
  std::set<std::string> noted;
  for (const auto& note : route_notes()) {
    std::string method{note.method};
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
    BOOST_TEST(noted.insert(method + ' ' + std::string{note.pattern}).second, note.pattern);
  }
  BOOST_TEST(described == noted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_reference_leads_somewhere_and_every_object_is_used) {
  auto document = openapi_document({});
  for (const auto& note : route_notes())
    for (auto kind : {note.body, note.answer})
      if (!kind.empty())
        BOOST_CHECK_NO_THROW(kind_schema(kind));
  served_rooms server;
  document = server.ask("GET", "/openapi.json").json();
  std::vector<value> references;
  collect(document, "$ref", references);
  std::set<std::string> used;
  for (const auto& one : references) {
    BOOST_TEST(at_reference(document, one).is_map(), to_json(one));
    used.insert(one.as<std::string>());
  }
  for (const auto& e : document["components"]["schemas"].entries())
    BOOST_TEST(used.contains("#/components/schemas/" + std::string{e.key()}), e.key());
}

BOOST_AUTO_TEST_CASE(ids_of_operations_are_unique) {
  served_rooms server;
  std::vector<value> ids;
  collect(server.ask("GET", "/openapi.json").json()["paths"], "operationId", ids);
  std::set<std::string> unique;
  for (const auto& one : ids)
    BOOST_TEST(unique.insert(one.as<std::string>()).second, to_json(one));
}

BOOST_AUTO_TEST_CASE(an_operation_has_its_parameters_body_and_answers) {
  served_rooms server;
  auto paths = server.ask("GET", "/openapi.json").json()["paths"];
  auto cancel = paths["/threads/{thread_id}/runs/{run_id}/cancel"]["post"];
  BOOST_TEST(cancel["parameters"].size() == 4u);
  BOOST_TEST(cancel["parameters"][0]["name"] == value("thread_id"));
  BOOST_TEST(cancel["parameters"][0]["in"] == value("path"));
  BOOST_TEST(cancel["parameters"][2]["in"] == value("query"));
  BOOST_TEST(cancel["responses"].contains("202"));
  BOOST_TEST(cancel["responses"].contains("200")); // of one that waits
  auto metrics = paths["/metrics"]["get"]["responses"]["200"]["content"];
  BOOST_TEST(metrics.contains("text/plain"));
  BOOST_TEST(metrics.contains("application/json"));
  auto refused = paths["/mcp"]["post"]["responses"]["default"]["content"]["application/json"];
  BOOST_TEST(refused["schema"]["$ref"] == value("#/components/schemas/ProtocolError"));
  auto stream = paths["/threads/{thread_id}/runs/stream"]["post"];
  BOOST_TEST(stream["responses"]["200"]["content"].contains("text/event-stream"));
  BOOST_TEST(stream["requestBody"]["content"]["application/json"]["schema"]["$ref"]
             == value("#/components/schemas/RunCreate"));
  BOOST_TEST(paths["/ok"]["get"]["security"].is_list()); // needs no key
  BOOST_TEST(!stream.contains("security"));
}

BOOST_AUTO_TEST_CASE(the_page_lists_all_routes_and_loads_nothing) {
  served_rooms server;
  auto answer = server.ask("GET", "/docs");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.has_header("Content-Type: text/html; charset=utf-8\r\n"));
  BOOST_TEST(answer.has_header("Content-Security-Policy: default-src 'none'"));
  for (const auto& note : route_notes())
    BOOST_TEST(answer.body.find("<code>" + std::string{note.pattern} + "</code>")
                 != answer.body.npos,
               note.pattern);
  for (const char* outside : {"<script", "http://", "https://", "<link", "<img"})
    BOOST_TEST(answer.body.find(outside) == answer.body.npos, outside);
}

BOOST_AUTO_TEST_CASE(a_page_shows_texts_as_they_are) {
  auto document = value::map(
    {{"info", value::map({{"title", "<b>&\"x\""}, {"version", "1"}, {"description", "d"}})},
     {"tags", value::list()},
     {"paths", value::map({{"/<i>", value::map({{"get", value::map({{"summary", "<s>"}})}})}})}});
  auto page = docs_page(document);
  BOOST_TEST(page.find("&lt;b&gt;&amp;&quot;x&quot;") != page.npos);
  BOOST_TEST(page.find("/&lt;i&gt;") != page.npos);
  BOOST_TEST(page.find("&lt;s&gt;") != page.npos);
  BOOST_TEST(page.find("<i>") == page.npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
