// Middleware for tools: which tools a model sees, and a tool for the agent's list of things to do.
#include <troupe/agents/middleware.hpp>

#include "agents/agent_model.hpp"
#include "agents/messages/failure.hpp"
#include "agents/messages/history.hpp"
#include "agents/messages/json_text.hpp"
#include "agents/messages/message_lists.hpp"

#include <algorithm>

namespace troupe {
namespace {

// ---- selection ------------------------------------------------------------------------------

bool runs_here(const value& definition) {
  return definition.contains("parameters");
}

bool holds(const std::vector<std::string>& names, const value& name) {
  return name.is_string() && std::ranges::find(names, name.as_string()) != names.end();
}

value selection_schema(const value& tools, const selection_options& options) {
  std::vector<value> names;
  for (const auto& t : tools.items())
    if (runs_here(t) && !holds(options.always, t["name"]))
      names.push_back(value::map({{"const", t["name"]}, {"description", t["description"]}}));
  auto choice = value::map({{"anyOf", value::list(std::move(names))}});
  return value::map(
    {{"title", "ToolSelectionResponse"},
     {"type", "object"},
     {"properties",
      value::map({{"tools", value::map({{"type", "array"}, {"items", std::move(choice)}})}})},
     {"required", value::list({"tools"})}});
}

std::string selection_prompt(const selection_options& options) {
  std::string out =
    "Your goal is to select the most relevant tools for answering the user's query.";
  if (options.tools_max > 0)
    out += "\nIMPORTANT: List the tool names in order of relevance, with the most relevant first. "
           "If you exceed the maximum number of tools, only the first "
           + std::to_string(options.tools_max) + " will be used.";
  return out;
}

value last_question(const value& messages) {
  auto all = messages.items();
  auto last = std::ranges::find_if(all.rbegin(), all.rend(),
                                   [](const value& m) { return message_role(m) == "user"; });
  if (last == all.rend())
    throw node_error{"AssertionError", "No user message found in request messages"};
  return *last;
}

// The chosen tools in their order, then those that are always shown, then the provider's.
value chosen_tools(const value& tools, const value& names, const selection_options& options) {
  std::vector<std::string> chosen;
  for (const auto& name : names.items())
    if (options.tools_max == 0 || chosen.size() < options.tools_max)
      chosen.push_back(text_in(name));
  std::vector<value> out;
  auto add = [&](auto fits) {
    for (const auto& t : tools.items())
      if (fits(t))
        out.push_back(t);
  };
  auto always = [&](const value& t) { return holds(options.always, t["name"]); };
  add([&](const value& t) { return runs_here(t) && !always(t) && holds(chosen, t["name"]); });
  add([&](const value& t) { return runs_here(t) && always(t); });
  add([](const value& t) { return !runs_here(t); });
  return value::list(std::move(out));
}

struct selector {
  chat_model_ptr model;
  selection_options options;
};

void require_shown(const value& tools, const std::vector<std::string>& always) {
  std::string missing;
  for (const auto& name : always)
    if (std::ranges::none_of(tools.items(), [&name](const value& t) {
          return t["name"] == value(name) && runs_here(t);
        }))
      missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    throw value_error("Tools in always_include not found in request: " + missing);
}

coro<model_response> select(std::shared_ptr<const selector> by, model_call call,
                            model_executor run) {
  auto tools = call.request.tools;
  require_shown(tools, by->options.always);
  auto schema = selection_schema(tools, by->options);
  if (!schema["properties"]["tools"]["items"]["anyOf"].empty()) {
    model_request request{value::list(
      {system_message(selection_prompt(by->options)), last_question(call.request.messages)})};
    request.response_schema = schema;
    auto asked = ask_structured(*by->model, std::move(request), call.ctx());
    auto chosen = co_await asked;
    call.request.tools = chosen_tools(tools, chosen["tools"], by->options);
  }
  auto asked = run(std::move(call));
  auto response = co_await asked;
  co_return response;
}

// ---- a provider's search --------------------------------------------------------------------

// The provider's own search tool; null for a provider without one.
value search_tool_of(const chat_model& model) {
  auto provider = provider_of(model);
  if (provider == "anthropic")
    return value::map(
      {{"type", "tool_search_tool_bm25_20251119"}, {"name", "tool_search_tool_bm25"}});
  return provider == "openai" ? value::map({{"type", "tool_search"}}) : value{};
}

value deferred_tools(const value& tools, const std::vector<std::string>& searchable) {
  std::vector<value> out;
  for (const auto& t : tools.items()) {
    bool deferred = runs_here(t) && (searchable.empty() || holds(searchable, t["name"]));
    out.push_back(deferred ? t.with("defer_loading", true) : t);
  }
  return value::list(std::move(out));
}

// ---- things to do ---------------------------------------------------------------------------

constexpr const char* write_todos = "write_todos";
constexpr const char* todo_prompt =
  "## `write_todos`\n\nYou have a tool `write_todos` to plan and track work that takes several "
  "steps. Use it for complex tasks, not for simple ones. Mark a step completed as soon as it is "
  "done, and revise the list when you learn something. Never call it several times in parallel.";
constexpr const char* todo_twice =
  "Error: The `write_todos` tool should never be called multiple times in parallel. Please call it "
  "only once per model invocation to update the todo list.";

value todo_schema() {
  auto text = value::map({{"type", "string"}});
  auto status = value::map(
    {{"type", "string"}, {"enum", value::list({"pending", "in_progress", "completed"})}});
  auto item = value::map({{"type", "object"},
                          {"properties", value::map({{"content", text}, {"status", status}})},
                          {"required", value::list({"content", "status"})}});
  auto todos = value::map({{"type", "array"}, {"items", item}});
  return value::map({{"type", "object"},
                     {"properties", value::map({{"todos", todos}})},
                     {"required", value::list({"todos"})}});
}

tool todo_tool() {
  tool_body body;
  body.plain = [](const value& args, tool_runtime& runtime) -> tool_output {
    auto done = tool_message("Updated todo list to " + spaced_json(args["todos"]),
                             runtime.tool_call_id());
    return command{
      .update = state_update{}.set("todos", args["todos"]).set("messages", value::list({done})),
      .goto_ = {},
      .resume = std::nullopt,
      .graph = {}};
  };
  tool_options options;
  options.lane = lane::standard;
  return {write_todos, "Creates and updates the list of things to do.", todo_schema(),
          std::move(body), std::move(options)};
}

// When one answer writes several lists, all are refused.
value refuse_several(const state_view& state) {
  std::vector<value> refused;
  for (const auto& call : unanswered_calls(state["messages"]))
    if (call["name"] == value(write_todos))
      refused.push_back(tool_message(todo_twice, text_in(call["id"]), {}, "error"));
  if (refused.size() < 2)
    return {};
  return value::map({{"messages", value::list(std::move(refused))}});
}

} // namespace

middleware tool_selector(chat_model_ptr model, selection_options options) {
  auto by = std::make_shared<const selector>(selector{std::move(model), std::move(options)});
  middleware out;
  out.name = "tool_selector";
  out.wrap_model_call = [by](model_call call, model_executor run) {
    return select(by, std::move(call), std::move(run));
  };
  return out;
}

middleware provider_tool_search(std::vector<std::string> tools) {
  middleware out;
  out.name = "provider_tool_search";
  out.wrap_model_call = [tools = std::move(tools)](model_call call, model_executor run) {
    if (auto search = search_tool_of(*call.model); !search.is_null())
      call.request.tools = deferred_tools(call.request.tools, tools).append(search);
    return run(std::move(call));
  };
  return out;
}

middleware todo_list() {
  middleware out;
  out.name = "todo_list";
  out.state = {{"todos", last_value}};
  out.tools = {todo_tool()};
  out.wrap_model_call = [](model_call call, model_executor run) {
    call.system_message = with_section(call.system_message, todo_prompt);
    return run(std::move(call));
  };
  out.after_model = [](const state_view& state) { return refuse_several(state); };
  return out;
}

} // namespace troupe
