// mcp_offers: definitions, arguments and results of served tools and graphs.
#include "agents/mcp/mcp_offers.hpp"

#include "agents/mcp/mcp_server_session.hpp"
#include "agents/messages/json_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

constexpr const char* thread_argument = "thread_id";
constexpr const char* resume_argument = "resume";
constexpr const char* input_argument = "input"; // for a graph whose state is one bare value

bool is_object(const value& schema) {
  return schema["type"] == value("object");
}

value described(const std::string& name, const std::string& description, value input) {
  return value::map(
    {{"name", name}, {"description", description}, {"inputSchema", std::move(input)}});
}

// Checks that a result has the structured content that its definition promises; otherwise the call
// has failed.
value finished(const value& definition, value content, const value& structured) {
  const auto& promised = definition["outputSchema"];
  if (!promised.is_null()) {
    if (!structured.is_map())
      return mcp_text_result(
        "Error: structured content is missing, but the output schema requires it", true);
    auto wrong = check_schema(promised, structured);
    if (!wrong.empty())
      return mcp_text_result("Error: the result does not fit the output schema: " + wrong[0].path
                               + ": " + wrong[0].message,
                             true);
  }
  auto out = value::map({{"content", std::move(content)}, {"isError", false}});
  return structured.is_map() ? out.with("structuredContent", structured) : out;
}

// ---- content --------------------------------------------------------------------------------

value media_content(const value& block, const std::string& type, std::size_t place) {
  auto mime = text_in(block["mime_type"]);
  auto with_mime = [&mime](const value& v) { return mime.empty() ? v : v.with("mimeType", mime); };
  if (block["url"].is_string())
    return with_mime(
      value::map({{"type", "resource_link"}, {"uri", block["url"]}, {"name", block["url"]}}));
  const auto& data = block["base64"];
  if (!data.is_string())
    return text_block(spaced_json(block));
  if (type == "image" || type == "audio")
    return value::map(
      {{"type", type},
       {"data", data},
       {"mimeType", mime.empty() ? (type == "image" ? "image/png" : "audio/wav") : mime}});
  auto uri = "content:" + std::to_string(place); // used within this result only
  return value::map(
    {{"type", "resource"}, {"resource", with_mime(value::map({{"uri", uri}, {"blob", data}}))}});
}

value content_of_block(const value& block, std::size_t place) {
  constexpr std::array media{"image", "audio", "video", "file"};
  auto type = text_in(block["type"]);
  if ((type == "text" || type == "text-plain") && block["text"].is_string())
    return text_block(block["text"].as_string());
  if (std::ranges::find(media, type) != media.end())
    return media_content(block, type, place);
  return text_block(spaced_json(type == "non_standard" ? block["value"] : block));
}

// ---- arguments ------------------------------------------------------------------------------

error wrong_argument(const std::string& what) {
  return {errc::invalid_value, "invalid arguments: " + what};
}

value input_properties(const mcp_graph_tool& g) {
  return g.is_whole ? g.input["properties"] : value::map({{input_argument, g.input}});
}

// Adds the arguments besides the graph's input to its schema.
value with_thread_arguments(const value& schema) {
  auto thread =
    value::map({{"type", "string"},
                {"description", "The conversation to continue, or the name of a new one. Without "
                                "it, the conversation is forgotten when the call has ended."}});
  auto resume =
    value::map({{"description", "With thread_id and no other argument: the answer to the question "
                                "of the conversation; null resumes it where it stopped."}});
  auto properties = schema["properties"].is_map() ? schema["properties"] : value::map();
  return schema
    .with(
      "properties",
      properties.with(thread_argument, std::move(thread)).with(resume_argument, std::move(resume)))
    .without("required"); // a call that resumes gives nothing else
}

} // namespace

value mcp_plain(const value& v) {
  if (v.is(value_kind::message))
    return mcp_plain(v.payload());
  if (v.is_list()) {
    std::vector<value> items;
    std::ranges::transform(v.items(), std::back_inserter(items), mcp_plain);
    return value::list(std::move(items));
  }
  if (v.is_map()) {
    std::vector<value::map_init> members;
    for (const auto& e : v.entries())
      members.emplace_back(std::string{e.key()}, mcp_plain(e.val));
    return value::map(std::move(members));
  }
  if (v.is_null() || v.is_bool() || v.is_number() || v.is_string())
    return v;
  return from_json(to_json(v), json_form::plain).value();
}

std::vector<value> mcp_content_of(const value& blocks) {
  std::vector<value> out;
  for (const auto& block : blocks.items())
    out.push_back(content_of_block(mcp_plain(block), out.size()));
  return out;
}

bool is_mcp_tool_name(std::string_view name) noexcept {
  constexpr std::size_t bytes_max = 128;
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= bytes_max && std::ranges::all_of(name, fits);
}

// ---- tools ----------------------------------------------------------------------------------

value mcp_definition_of(const tool& t) {
  auto input = is_object(t.parameters()) ? t.parameters() : t.parameters().with("type", "object");
  auto out = described(t.name(), t.description(), std::move(input));
  return is_object(t.options().output) ? out.with("outputSchema", t.options().output) : out;
}

namespace {

tool_output structured_output(tool_output given) {
  const auto* v = std::get_if<value>(&given.parts().front());
  if (given.is_list() || !v || !v->is_map() || !given.artifact().is_null())
    return given;
  return tool_output::with_artifact(*v, value::map({{"structured_content", *v}}));
}

coro<tool_output> structured_later(tool t, value args, tool_runtime& runtime) {
  auto body = t.body().coroutine(std::move(args), runtime);
  auto given = co_await body;
  auto out = structured_output(std::move(given));
  co_return out;
}

} // namespace

tool with_structured_content(const tool& t) {
  tool_body body;
  if (t.body().coroutine)
    body.coroutine = [t](value args, tool_runtime& runtime) {
      return structured_later(t, std::move(args), runtime);
    };
  else
    body.plain = [t](const value& args, tool_runtime& runtime) {
      return structured_output(t.body().plain(args, runtime));
    };
  return {t.name(), t.description(), t.parameters(), std::move(body), t.options()};
}

value mcp_result_of_message(const value& definition, const value& message) {
  auto content = mcp_content_of(content_blocks(message));
  if (message_member(message, "status") == value("error"))
    return value::map({{"content", value::list(std::move(content))}, {"isError", true}});
  auto kept = mcp_plain(message_member(message, "artifact")["structured_content"]);
  return finished(definition, value::list(std::move(content)), kept);
}

// ---- graphs ---------------------------------------------------------------------------------

mcp_graph_tool mcp_graph_tool_of(const compiled_graph& graph, const std::string& name,
                                 const std::string& description, bool has_threads) {
  if (!is_mcp_tool_name(name))
    throw error{errc::invalid_config,
                "offer a graph: not a valid name of a tool (letters, digits, `_`, "
                "`-`, `.`; 128 at most): `"
                  + name + '`'};
  mcp_graph_tool out;
  out.input = graph.input_jsonschema();
  out.is_whole = is_object(out.input);
  out.has_threads = has_threads;
  auto shown = out.is_whole ? out.input
                            : value::map({{"type", "object"},
                                          {"properties", input_properties(out)},
                                          {"required", value::list({value(input_argument)})}});
  for (const char* own : {thread_argument, resume_argument})
    if (has_threads && shown["properties"].contains(own))
      throw error{errc::invalid_config,
                  "offer graph " + name + ": channel `" + own
                    + "` has the name of an argument of graphs with threads: rename it, or offer "
                      "the graph without threads (mcp_graph::threads)"};
  if (has_threads)
    shown = with_thread_arguments(shown);
  out.definition = described(name, description, std::move(shown));
  if (auto output = graph.output_jsonschema(); is_object(output))
    out.definition = out.definition.with("outputSchema", output);
  return out;
}

result<mcp_graph_call> read_graph_call(const mcp_graph_tool& called, const value& arguments) {
  mcp_graph_call out;
  auto given = arguments;
  if (called.has_threads) {
    const auto& thread = arguments[thread_argument];
    if (arguments.contains(thread_argument) && (!thread.is_string() || thread.empty()))
      return wrong_argument("thread_id: must be non-empty text");
    out.thread_id = text_in(thread);
    given = given.without(thread_argument).without(resume_argument);
  }
  if (called.has_threads && arguments.contains(resume_argument)) {
    if (out.thread_id.empty())
      return wrong_argument("resume: needs the thread_id of the conversation");
    if (!given.empty())
      return wrong_argument("resume: must have no other argument than thread_id");
    out.resumes = true;
    out.answer = arguments[resume_argument];
    out.input = out.answer.is_null() ? run_input{nullptr}
                                     : run_input{command{.resume = out.answer}};
    return out;
  }
  auto known = input_properties(called);
  for (const auto& e : given.entries())
    if (known.is_map() && !known.contains(e.key()))
      return wrong_argument(std::string{e.key()} + ": unknown argument");
  auto input = called.is_whole ? given : given[input_argument];
  if (auto wrong = check_schema(called.input, input); !wrong.empty())
    return wrong_argument((wrong[0].path.empty() ? "" : wrong[0].path + ": ") + wrong[0].message);
  out.input = run_input{std::move(input)};
  return out;
}

result<run_input> resuming_input(const mcp_graph_call& call, const state_snapshot& now) {
  auto thread = "thread_id `" + call.thread_id + '`';
  if (now.created_at.empty())
    return error{errc::missing_key, "resume: nothing is stored of " + thread
                                      + ": call it without `resume` to start it"};
  if (now.interrupts.empty() && (now.tasks.empty() || !call.answer.is_null()))
    return error{errc::unknown_interrupt,
                 "resume: " + thread + " waits for "
                   + (now.tasks.empty()
                        ? "nothing: its last call is finished, or its question was "
                          "answered by another call"
                        : "no answer: its question was answered by another call, or "
                          "its run was cut off; `resume`: null resumes it")};
  auto is_id = [&now](const auto& e) {
    return std::ranges::any_of(now.interrupts, [&e](const auto& q) { return q.id == e.key(); });
  };
  if (call.answer.is_null() || now.interrupts.size() != 1
      || (call.answer.is_map() && std::ranges::any_of(call.answer.entries(), is_id)))
    return call.input;
  return run_input{command{.resume = value::map({{now.interrupts[0].id, call.answer}})}};
}

value mcp_result_of_output(const mcp_graph_tool& called, const value& output) {
  bool nothing = output.is_null() && called.definition.contains("outputSchema");
  auto shown = nothing ? value::map() : mcp_plain(output);
  auto text = shown.is_string() ? shown.as<std::string>() : spaced_json(shown);
  return finished(called.definition, value::list({text_block(text)}), shown);
}

value mcp_result_of_pause(std::string_view name, const run_result& paused,
                          const std::string& thread_id) {
  const auto& questions = paused.interrupts();
  std::string text;
  if (questions.empty())
    text = "The run has stopped before `" + (paused.next().empty() ? "" : paused.next().front())
           + "`.";
  else if (questions.size() == 1)
    text = "The run waits for an answer to: " + spaced_json(mcp_plain(questions[0].value));
  else
    text = "The run waits for answers, by id:";
  if (questions.size() > 1)
    for (const auto& q : questions)
      text += '\n' + q.id + ": " + spaced_json(mcp_plain(q.value));
  if (thread_id.empty())
    return mcp_text_result(text + "\nIt cannot be resumed: nothing of it is stored here.", true);
  auto answer = questions.empty() ? "null" : questions.size() == 1 ? "ANSWER" : "{ID: ANSWER, …}";
  return mcp_text_result(text + "\nTo resume it, call `" + std::string{name}
                           + "` with {\"thread_id\": " + to_json(value(thread_id))
                           + ", \"resume\": " + answer + "}.",
                         true);
}

value mcp_result_of_failure(const error& why) {
  return mcp_text_result("Error: " + why.text(), true);
}

} // namespace troupe
