// model_settings: the parts of requests to every provider: settings, definitions of tools, schemas.
#include "agents/messages/json_text.hpp"
#include "agents/models/model_wire.hpp"

namespace troupe {

value merged_settings(const chat_model_options& options, const model_request& asked) {
  auto out = value::map();
  for (const auto* some : {&options.settings, &asked.settings})
    for (const auto& e : some->entries())
      out = e.val.is_null() ? out.without(e.key()) : out.with(e.key(), e.val);
  return out;
}

tool_definition_parts read_definition(const value& definition) {
  tool_definition_parts out;
  bool openai = definition["type"] == value("function") && definition["function"].is_map();
  const auto& function = openai ? definition["function"] : definition;
  if (!function["parameters"].is_map())
    return out;
  out.is_function = true;
  out.name = function["name"];
  out.description = function["description"];
  out.parameters = function["parameters"];
  for (const auto& e : function.entries())
    if (e.key() != "name" && e.key() != "description" && e.key() != "parameters")
      out.extras = out.extras.with(e.key(), e.val);
  return out;
}

value closed_schema(const value& schema) {
  if (schema.is_list()) {
    std::vector<value> out;
    for (const auto& item : schema.items())
      out.push_back(closed_schema(item));
    return value::list(std::move(out));
  }
  if (!schema.is_map())
    return schema;
  auto out = schema;
  for (const auto& e : schema.entries())
    if (e.key() != "enum" && e.key() != "const" && e.key() != "default" && e.key() != "required")
      out = out.with(e.key(), closed_schema(e.val));
  if (schema["type"] == value("object") && !schema.contains("additionalProperties"))
    out = out.with("additionalProperties", false);
  return out;
}

} // namespace troupe
