// mcp_readable: definitions and results of resources and prompts, and forms for questions.
#include "agents/mcp/mcp_readable.hpp"

#include "agents/mcp/mcp_offers.hpp"
#include "agents/mcp/mcp_uri_template.hpp"
#include "agents/messages/json_text.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

constexpr const char* form_answer = "answer"; // the member of a form with one plain answer

error not_readable(const std::string& what) {
  return {errc::invalid_config, "offer a resource or prompt: " + what};
}

std::string base64_bytes(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  auto size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

value with_member_text(const value& out, const char* member, const std::string& text) {
  return text.empty() ? out : out.with(member, text);
}

template <class R>
value readable_definition(const R& r, const char* member, const std::string& uri) {
  if (uri.empty() || uri.size() > limits::mcp_uri_bytes_max)
    throw not_readable("a URI must have 1 to " + std::to_string(limits::mcp_uri_bytes_max)
                       + " bytes: " + r.name);
  if (r.name.empty() || !r.read)
    throw not_readable("its name or function is missing: " + uri);
  auto out = value::map({{member, uri}, {"name", r.name}});
  out = with_member_text(out, "title", r.title);
  out = with_member_text(out, "description", r.description);
  return with_member_text(out, "mimeType", r.mime_type);
}

// Whether a form's field can show it: the protocol allows plain types and choices of texts.
bool is_plain_schema(const value& schema) {
  constexpr std::array plain{"string", "number", "integer", "boolean"};
  auto type = text_in(schema["type"]);
  return std::ranges::find(plain, type) != plain.end();
}

bool is_form(const value& schema) {
  if (schema["type"] != value("object") || !schema["properties"].is_map())
    return false;
  return std::ranges::all_of(schema["properties"].entries(),
                             [](const auto& e) { return is_plain_schema(e.val); });
}

} // namespace

value mcp_definition_of(const mcp_resource& r) {
  return readable_definition(r, "uri", r.uri);
}

value mcp_definition_of(const mcp_resource_template& t) {
  if (auto ok = check_uri_template(t.uri_template); !ok)
    throw ok.error();
  return readable_definition(t, "uriTemplate", t.uri_template);
}

value mcp_definition_of(const mcp_prompt& p) {
  if (p.name.empty() || !p.get)
    throw not_readable("the name or function of a prompt is missing: " + p.name);
  std::vector<value> arguments;
  for (const auto& a : p.arguments) {
    if (a.name.empty())
      throw not_readable("the name of an argument is missing: prompt " + p.name);
    auto shown = with_member_text(value::map({{"name", a.name}}), "description", a.description);
    arguments.push_back(a.required ? shown.with("required", true) : shown);
  }
  auto out = value::map({{"name", p.name}, {"arguments", value::list(std::move(arguments))}});
  return with_member_text(with_member_text(out, "title", p.title), "description", p.description);
}

value mcp_result_of_content(const std::string& uri, const std::string& mime_type,
                            const mcp_content& content) {
  auto out = value::map({{"uri", uri}});
  out = with_member_text(out, "mimeType",
                         content.mime_type.empty() ? mime_type : content.mime_type);
  value data{content.data}; // as JSON, bytes that are not UTF-8 are others
  auto read = from_json(to_json(data));
  bool is_text = !content.is_binary && read && *read == data;
  out = is_text ? out.with("text", content.data) : out.with("blob", base64_bytes(content.data));
  return value::map({{"contents", value::list({out})}});
}

value mcp_result_of_messages(const std::string& description, const std::vector<value>& messages) {
  std::vector<value> out;
  for (const auto& message : messages) {
    auto role = message_role(message);
    if (role != "user" && role != "assistant")
      throw error{errc::invalid_value,
                  "the prompt has a message of another role than user and assistant"};
    auto blocks = content_blocks(message);
    for (const auto& content : mcp_content_of(blocks)) // a message of the protocol has one block
      out.push_back(value::map({{"role", role}, {"content", content}}));
  }
  return with_member_text(value::map({{"messages", value::list(std::move(out))}}), "description",
                          description);
}

value mcp_elicitation_of(const interrupt& question) {
  const auto& schema = question.response_schema;
  value form;
  if (is_form(schema))
    form = schema;
  else if (schema.is_null() || is_plain_schema(schema))
    form = value::map(
      {{"type", "object"},
       {"properties",
        value::map({{form_answer, schema.is_null() ? value::map({{"type", "string"}}) : schema}})},
       {"required", value::list({form_answer})}});
  else
    return {};
  const auto& asked = question.value;
  auto text = asked.is_string() ? asked.as<std::string>() : spaced_json(mcp_plain(asked));
  return value::map({{"message", text}, {"requestedSchema", std::move(form)}});
}

result<value> answer_of_elicitation(const value& params, const value& elicited) {
  if (elicited["action"] != value("accept"))
    return error{errc::invalid_value, "the user did not answer"};
  const auto& form = params["requestedSchema"];
  const auto& content = elicited["content"];
  if (auto wrong = check_schema(form, content); !content.is_map() || !wrong.empty())
    return error{errc::invalid_value,
                 "the answer does not fit the form"
                   + (wrong.empty() ? "" : ": " + wrong[0].path + ": " + wrong[0].message)};
  bool is_wrapped = form["properties"].size() == 1 && form["properties"].contains(form_answer)
                    && form["required"] == value::list({form_answer});
  return is_wrapped ? content[form_answer] : content;
}

} // namespace troupe
