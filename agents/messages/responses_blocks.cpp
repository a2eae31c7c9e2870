// responses_blocks: reasoning, calls and results of OpenAI's Responses API.
#include "agents/messages/responses_blocks.hpp"

#include "agents/messages/content_blocks.hpp"
#include "agents/messages/json_text.hpp"

#include <string>
#include <utility>

namespace troupe {
namespace {

value map_of_arguments(const value& text) {
  auto read = read_arguments(text_in(text));
  return read && read->is_map() ? *read : value{};
}

// A summary in parts; the further members of the item are in the first one.
void add_reasoning(std::vector<value>& to, const value& block) {
  auto first = renamed_block{block}.as("reasoning").drop("summary").done();
  bool is_first = true;
  for (const auto& part : block["summary"].items()) {
    auto one = is_first ? first : value::map({{"type", "reasoning"}});
    for (const auto* name : {"id", "index"})
      if (!block[name].is_null())
        one = one.with(name, block[name]);
    to.push_back(one.with("reasoning", text_in(part["text"])));
    is_first = false;
  }
  if (is_first)
    to.push_back(first);
}

// The call of a function; the message's own calls replace its name and arguments.
value from_call(const value& block) {
  auto args = map_of_arguments(block["arguments"]);
  renamed_block out{block};
  out.as(args.is_null() ? "invalid_tool_call" : "tool_call")
    .take("name", "name")
    .take("call_id", "id")
    .drop("arguments")
    .drop("status")
    .drop("id")
    .put("args", args.is_null() ? block["arguments"] : args)
    .extra("item_id", block["id"]);
  return out.done();
}

value result_of(const value& block, const value& output) {
  auto out = value::map({{"type", "server_tool_result"}, {"tool_call_id", block["id"]}});
  if (!output.empty())
    out = out.with("output", output);
  const auto& status = block["status"];
  if (status == value("completed"))
    return out.with("status", "success");
  if (status == value("failed") || !block["error"].is_null())
    return out.with("status", "error");
  return status.is_string() ? out.with("extras", value::map({{"status", status}})) : out;
}

void add_server_call(std::vector<value>& to, const value& block, renamed_block call,
                     const value& output) {
  to.push_back(call.drop("status").drop("error").done());
  to.push_back(result_of(block, output));
}

renamed_block server_call(const value& block, const char* name, value args) {
  renamed_block out{block};
  out.as("server_tool_call").put("name", name).put("args", std::move(args));
  return out;
}

value sources_of(const value& action) {
  const auto& sources = action["sources"];
  return sources.empty() ? value{} : value::map({{"sources", sources}});
}

} // namespace

bool add_responses_blocks(std::vector<value>& to, const value& block) {
  auto type = block.is_map() ? text_in(block["type"]) : std::string{};
  if (type == "reasoning" && block["summary"].is_list()) {
    add_reasoning(to, block);
  } else if (type == "function_call" && block["call_id"].is_string()) {
    to.push_back(from_call(block));
  } else if (type == "web_search_call") {
    const auto& action = block["action"];
    auto args = action.is_map() ? action.without("sources") : value::map();
    add_server_call(to, block, server_call(block, "web_search", args).drop("action"),
                    sources_of(action));
  } else if (type == "file_search_call") {
    auto args = value::map({{"queries", block["queries"]}});
    add_server_call(to, block,
                    server_call(block, "file_search", args).drop("queries").drop("results"),
                    block["results"]);
  } else if (type == "code_interpreter_call") {
    auto args = value::map({{"code", block["code"]}});
    add_server_call(to, block,
                    server_call(block, "code_interpreter", args).drop("code").drop("outputs"),
                    block["outputs"]);
  } else if (type == "mcp_call") {
    auto args = map_of_arguments(block["arguments"]);
    auto call = server_call(block, "remote_mcp", args.is_null() ? value::map() : args);
    call.drop("name").drop("arguments").drop("output").extra("tool_name", block["name"]);
    add_server_call(to, block, std::move(call),
                    block["error"].is_null() ? block["output"] : block["error"]);
  } else if (type == "image_generation_call" && block["result"].is_string()) {
    renamed_block out{block};
    out.as("image").take("result", "base64");
    if (auto format = text_in(block["output_format"]); !format.empty())
      out.put("mime_type", "image/" + format);
    to.push_back(out.done());
  } else {
    return false;
  }
  return true;
}

value standard_annotations(const value& annotations) {
  std::vector<value> out;
  for (const auto& one : annotations.items()) {
    auto type = text_in(one["type"]);
    renamed_block standard{one};
    standard.as("citation");
    if (type == "url_citation")
      for (const auto* name : {"url", "title", "start_index", "end_index"})
        standard.take(name, name);
    else if (type == "file_citation")
      standard.take("filename", "title");
    out.push_back(type == "url_citation" || type == "file_citation" ? standard.done() : one);
  }
  return value::list(std::move(out));
}

} // namespace troupe
