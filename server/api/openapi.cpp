// openapi: notes of routes as an OpenAPI document.
#include "server/api/openapi.hpp"

#include "graph/plain_json.hpp"
#include "server/api/route_notes.hpp"

#include <troupe/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <memory>
#include <utility>

namespace troupe::server {
namespace {

struct named_kind {
  std::string_view name;
  std::string_view type;
  std::string_view format = {};
};
constexpr std::array named_kinds{named_kind{"text", "string"},
                                 named_kind{"uuid", "string", "uuid"},
                                 named_kind{"time", "string", "date-time"},
                                 named_kind{"uri", "string", "uri"},
                                 named_kind{"int", "integer"},
                                 named_kind{"number", "number"},
                                 named_kind{"bool", "boolean"},
                                 named_kind{"map", "object"},
                                 named_kind{"null", "null"}};

value reference_to(std::string_view where, std::string_view name) {
  return value::map({{"$ref", std::string{"#/components/"}.append(where).append(name)}});
}

value one_of_texts(std::string_view texts) {
  std::vector<value> out;
  for (;;) {
    auto end = texts.find('|');
    out.emplace_back(texts.substr(0, end));
    if (end == texts.npos)
      return value::map({{"type", "string"}, {"enum", value::list(std::move(out))}});
    texts.remove_prefix(end + 1);
  }
}

value or_null(const value& schema) {
  if (schema.empty())
    return schema; // any value
  if (schema["type"].is_string() && !schema.contains("enum"))
    return schema.with("type", value::list({schema["type"], value("null")}));
  return value::map({{"anyOf", value::list({schema, value::map({{"type", "null"}})})}});
}

bool is_required(const member_note& note) {
  return note.kind.ends_with('!');
}

value member_schema(const member_note& note) {
  auto schema = kind_schema(note.kind);
  return note.about.empty() ? schema : schema.with("description", note.about);
}

std::string part_name(std::string_view schema) {
  return std::string{schema} + "Part";
}

// Whether an answer has any of the members alone.
bool is_used_in_part(const schema_note& note) {
  auto kind = std::string{note.name} + '~';
  return std::ranges::any_of(route_notes(), [&kind](const route_note& one) {
    return one.answer.find(kind) != one.answer.npos;
  });
}

value object_schema(const schema_note& note) {
  auto members = value::map();
  std::vector<value> required;
  for (const auto& one : note.members) {
    members = members.with(one.name, member_schema(one));
    if (is_required(one))
      required.emplace_back(one.name);
  }
  auto out = value::map({{"type", "object"}, {"title", note.name}, {"properties", members}});
  if (!note.about.empty())
    out = out.with("description", note.about);
  return required.empty() ? out : out.with("required", value::list(std::move(required)));
}

value content_of_kind(std::string_view media, std::string_view kind) {
  return value::map({{std::string{media}, value::map({{"schema", kind_schema(kind)}})}});
}

// The parameters of a pattern and of a query.
value parameters_of(std::string_view pattern, const route_note& note) {
  std::vector<value> out;
  for (auto at = pattern.find('{'); at != pattern.npos; at = pattern.find('{', at + 1)) {
    auto name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
    // An assistant may be named by its graph, and a namespace is a name.
    auto kind = name.ends_with("_id") && name != "assistant_id" ? "uuid" : "text";
    out.push_back(value::map(
      {{"name", name}, {"in", "path"}, {"required", true}, {"schema", kind_schema(kind)}}));
  }
  for (const auto& one : note.query) {
    auto parameter = value::map({{"name", one.name},
                                 {"in", "query"},
                                 {"required", is_required(one)},
                                 {"schema", kind_schema(one.kind)}});
    out.push_back(one.about.empty() ? parameter : parameter.with("description", one.about));
  }
  return value::list(std::move(out));
}

value answer_of_kind(std::string_view about, std::string_view kind, std::string_view media) {
  auto out = value::map({{"description", about}});
  return kind.empty() ? out : out.with("content", content_of_kind(media, kind));
}

value answers_of(const route_note& note) {
  const std::string_view good = note.status == 101 ? "A WebSocket" : "Success";
  auto out =
    value::map({{std::to_string(note.status), answer_of_kind(good, note.answer, note.media)},
                {"default", reference_to("responses/", "Error")}});
  for (const auto& one : note.more) {
    auto status = one.status == 0 ? std::string{"default"} : std::to_string(one.status);
    auto more = answer_of_kind(one.status == 0 ? "A refusal" : good, one.kind, one.media);
    if (one.status == note.status) // in another medium
      more = more.with("content",
                       out[status]["content"].with(one.media, more["content"][one.media]));
    out = out.with(status, more);
  }
  return out;
}

std::string operation_id(const route& one) {
  std::string out;
  auto text = std::string{one.method}.append(one.pattern);
  for (auto c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '_' && c != '}')
      out += '_';
  return out;
}

value operation_of(const route& one, const route_note& note) {
  auto out = value::map({{"operationId", operation_id(one)},
                         {"summary", note.summary},
                         {"parameters", parameters_of(one.pattern, note)},
                         {"responses", answers_of(note)}});
  if (!note.tag.empty())
    out = out.with("tags", value::list({value(note.tag)}));
  if (!note.body.empty())
    out = out.with("requestBody",
                   value::map({{"required", one.method != "DELETE"},
                               {"content", content_of_kind("application/json", note.body)}}));
  return one.is_public ? out.with("security", value::list()) : out;
}

route_note note_of(const route& one) {
  for (const auto& note : route_notes())
    if (note.method == one.method && note.pattern == one.pattern)
      return note;
  return {.method = one.method, .pattern = one.pattern, .tag = {}, .summary = one.pattern};
}

value tags_of_notes() {
  std::vector<value> out;
  for (const auto& note : route_notes())
    if (auto tag = value::map({{"name", note.tag}}); std::ranges::find(out, tag) == out.end())
      out.push_back(std::move(tag));
  return value::list(std::move(out));
}

value components_of_notes() {
  auto schemas = value::map();
  for (const auto& one : schema_notes()) {
    auto schema = object_schema(one);
    schemas = schemas.with(one.name, schema);
    if (is_used_in_part(one))
      schemas = schemas.with(part_name(one.name),
                             schema.without("required").with("title", part_name(one.name)));
  }
  auto error = value::map(
    {{"description", "A refusal"}, {"content", content_of_kind("application/json", "Error")}});
  return value::map(
    {{"schemas", schemas},
     {"responses", value::map({{"Error", error}})},
     {"securitySchemes",
      value::map(
        {{"key", value::map({{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}})},
         {"token", value::map({{"type", "http"}, {"scheme", "bearer"}})}})}});
}

} // namespace

value kind_schema(std::string_view kind) {
  if (kind.ends_with('!'))
    kind.remove_suffix(1);
  if (kind.ends_with('?'))
    return or_null(kind_schema(kind.substr(0, kind.size() - 1)));
  auto inner = kind.size() > 2 ? kind.substr(1, kind.size() - 2) : std::string_view{};
  if (kind.starts_with('[') && kind.ends_with(']'))
    return value::map({{"type", "array"}, {"items", kind_schema(inner)}});
  if (kind.starts_with('{') && kind.ends_with('}'))
    return value::map({{"type", "object"}, {"additionalProperties", kind_schema(inner)}});
  if (kind.find('|') != kind.npos)
    return one_of_texts(kind);
  if (kind == "any")
    return value::map();
  if (!kind.empty() && kind.front() >= 'A' && kind.front() <= 'Z')
    return reference_to("schemas/",
                        kind.ends_with('~') ? part_name(kind.substr(0, kind.size() - 1)) : kind);
  for (const auto& one : named_kinds)
    if (one.name == kind) {
      auto out = value::map({{"type", one.type}});
      return one.format.empty() ? out : out.with("format", one.format);
    }
  throw error{errc::invalid_value, "describe a route: unknown kind: " + std::string{kind}};
}

value openapi_document(const std::vector<route>& routes) {
  auto paths = value::map();
  for (const auto& one : routes) {
    std::string method{one.method};
    std::ranges::transform(method, method.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto path = paths.contains(one.pattern) ? paths[one.pattern] : value::map();
    paths = paths.with(one.pattern, path.with(method, operation_of(one, note_of(one))));
  }
  return value::map(
    {{"openapi", "3.1.0"},
     {"info", value::map({{"title", "troupe"},
                          {"version", TROUPE_VERSION},
                          {"description", "Graphs over HTTP, with the API of LangGraph's Agent "
                                          "Server."}})},
     {"tags", tags_of_notes()},
     {"paths", paths},
     {"components", components_of_notes()},
     {"security", value::list({value::map(), value::map({{"key", value::list()}}),
                               value::map({{"token", value::list()}})})}});
}

void add_documentation(router& to) {
  auto json = std::make_shared<std::string>();
  auto page = std::make_shared<std::string>();
  auto sends = [](const char* media, const std::shared_ptr<std::string>& what) {
    return [media, what](const api_call&, const http_responder& responder) {
      responder.send(
        {.headers = {{"Content-Type", media},
                     {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"}},
         .body = *what});
    };
  };
  to.add({"GET", "/openapi.json", sends("application/json", json), {}, true});
  to.add({"GET", "/docs", sends("text/html; charset=utf-8", page), {}, true});
  auto document = openapi_document(to.routes()); // with these two
  *json = to_plain_json(document);
  *page = docs_page(document);
}

} // namespace troupe::server
