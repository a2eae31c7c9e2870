// docs_page: an OpenAPI document as HTML that needs no script.
#include "server/api/openapi.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {
namespace {

constexpr std::string_view page_style =
  "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
  "color:#222;background:#fff}"
  "code,pre{font-family:ui-monospace,monospace;font-size:13px}"
  "summary{cursor:pointer;padding:.25rem 0}summary b{display:inline-block;min-width:4rem}"
  "details{border-bottom:1px solid #ddd}details div{padding:0 0 .75rem 4rem}"
  "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.15rem 1rem "
  ".15rem 0}th{font-weight:600}"
  "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8bf}"
  "details{border-color:#444}}";

std::string escaped_html(std::string_view text) {
  std::string out;
  for (auto c : text)
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string html_of(const value& text) {
  return text.is_string() ? escaped_html(text.as_string()) : std::string{};
}

// A schema in a few words: the name of an object is a link.
std::string words_of(const value& schema) {
  if (const auto& ref = schema["$ref"]; ref.is_string()) {
    auto name = escaped_html(ref.as_string().substr(ref.as_string().rfind('/') + 1));
    return "<a href=\"#" + name + "\">" + name + "</a>";
  }
  auto listed = [](const value& all, const char* between, auto&& words) {
    std::string out;
    for (const auto& one : all.items())
      out += (out.empty() ? "" : between) + words(one);
    return out;
  };
  if (schema["anyOf"].is_list())
    return listed(schema["anyOf"], " or ", words_of);
  if (schema["enum"].is_list())
    return listed(schema["enum"], " | ", html_of);
  const auto& type = schema["type"];
  if (type == value("array"))
    return "list of " + words_of(schema["items"]);
  if (schema["additionalProperties"].is_map())
    return "map of " + words_of(schema["additionalProperties"]);
  auto out = type.is_list() ? listed(type, " or ", html_of) : html_of(type);
  if (schema["format"].is_string())
    out += " (" + html_of(schema["format"]) + ')';
  return out.empty() ? "any" : out;
}

std::string table_row(const std::string& name, const value& schema, bool required,
                      const value& about) {
  return "<tr><td><code>" + name + "</code></td><td>" + words_of(schema)
         + (required ? ", required" : "") + "</td><td>" + html_of(about) + "</td></tr>";
}

std::string content_line(const char* what, const value& content) {
  std::string out;
  for (const auto& e : content.entries())
    out += std::string{"<p>"} + what + ": " + words_of(e.val["schema"]) + " <code>"
           + escaped_html(e.key()) + "</code></p>";
  return out;
}

std::string operation_html(std::string_view method, std::string_view path, const value& of) {
  std::string name{method};
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  std::string out = "<details id=\"" + html_of(of["operationId"]) + "\"><summary><b>" + name
                    + "</b> <code>" + escaped_html(path) + "</code> " + html_of(of["summary"])
                    + "</summary><div>";
  if (!of["parameters"].empty()) {
    out += "<table>";
    for (const auto& one : of["parameters"].items())
      out += table_row(html_of(one["name"]) + (one["in"] == value("path") ? "" : "="),
                       one["schema"], one["required"] == value(true), one["description"]);
    out += "</table>";
  }
  out += content_line("Body", of["requestBody"]["content"]);
  for (const auto& e : of["responses"].entries())
    if (e.key() != "default")
      out += "<p>Status " + escaped_html(e.key()) + "</p>"
             + content_line("Answer", e.val["content"]);
  return out + "</div></details>\n";
}

bool has_tag(const value& operation, const value& tag) {
  const auto& tags = operation["tags"];
  return std::ranges::any_of(tags.items(), [&](const value& one) { return one == tag; });
}

std::string section_html(const value& document, const value& tag) {
  std::string out;
  for (const auto& path : document["paths"].entries())
    for (const auto& operation : path.val.entries())
      if (tag.is_null() ? operation.val["tags"].empty() : has_tag(operation.val, tag))
        out += operation_html(operation.key(), path.key(), operation.val);
  return out.empty() ? out : "<h2>" + (tag.is_null() ? "Others" : html_of(tag)) + "</h2>\n" + out;
}

std::string schema_html(std::string_view name, const value& schema) {
  std::string out = "<details id=\"" + escaped_html(name) + "\"><summary><b>" + escaped_html(name)
                    + "</b> " + html_of(schema["description"]) + "</summary><div><table>";
  const auto& required = schema["required"];
  for (const auto& e : schema["properties"].entries()) {
    bool is_required = std::ranges::any_of(required.items(),
                                           [&](const value& one) { return one == value(e.key()); });
    out += table_row(escaped_html(e.key()), e.val, is_required, e.val["description"]);
  }
  return out + "</table></div></details>\n";
}

} // namespace

std::string docs_page(const value& document) {
  auto title = html_of(document["info"]["title"]) + ' ' + html_of(document["info"]["version"]);
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"
                    + title
                    + "</title><meta name=\"viewport\" content=\"width=device-width\"><style>";
  out.append(page_style).append("</style></head><body>\n<h1>").append(title).append("</h1>\n<p>");
  out += html_of(document["info"]["description"])
         + " As data: <a href=\"openapi.json\">openapi.json</a>.</p>\n";
  for (const auto& tag : document["tags"].items())
    out += section_html(document, tag["name"]);
  out += section_html(document, {});
  out += "<h2>Objects</h2>\n";
  for (const auto& e : document["components"]["schemas"].entries())
    out += schema_html(e.key(), e.val);
  return out + "</body></html>\n";
}

} // namespace troupe::server
