// Middleware that decides about calls, agents that give tasks to others, and answers as they come.
#include "agents/middleware/pii_stream.hpp"

#include <troupe/agents/middleware.hpp>
#include <troupe/agents/teams.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

using call_script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> player(call_script answers, scripted_options options = {}) {
  return std::make_shared<scripted_model>(std::move(answers), std::move(options));
}

value one_call(std::string tool, std::string id, value args = value::map()) {
  return ai_message("", {{.name = std::move(tool), .args = std::move(args), .id = std::move(id)}});
}

tool counting(std::shared_ptr<int> count, std::string name = "count") {
  return {std::move(name), "Counts", [count] { return ++*count; }, {.lane = lane::standard}};
}

compiled_graph with_middleware(chat_model_ptr model, std::vector<tool> tools,
                               std::vector<middleware> around) {
  return create_agent(
    {.model = std::move(model), .tools = std::move(tools), .middleware = std::move(around)});
}

value spoken(const std::string& text) {
  return value{{"messages", value::list({human_message(text, "u")})}};
}

result<run_result> tried(const compiled_graph& graph, const value& input = spoken("hi")) {
  runtime rt;
  return rt.load(graph).try_invoke(input);
}

// The texts, one a line, or the class of the failure.
std::string heard(const compiled_graph& graph, const value& input = spoken("hi")) {
  auto out = tried(graph, input);
  if (!out)
    return reference_name(out.error());
  std::string text;
  for (const auto& m : out->value()["messages"].items())
    text += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return text;
}

// The parts of answers that readers of the stream get.
std::vector<std::string> streamed(const compiled_graph& graph) {
  runtime rt;
  auto parts = rt.load(graph).stream(spoken("hi"), {}, {stream_mode::messages});
  std::vector<std::string> out;
  while (auto part = parts.next())
    out.push_back(message_text(part->data[0]));
  return out;
}

std::string joined_parts(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts)
    out += part;
  return out;
}

std::shared_ptr<const pii_guard> email_guard(pii_strategy strategy = pii_strategy::redact) {
  pii_options options;
  options.strategy = strategy;
  return std::make_shared<const pii_guard>(pii_guard{"email", options, pii_finder_of("email")});
}

value answer_part(value content) {
  return value::extension(
    value_kind::message,
    value::map(
      {{"role", "assistant"}, {"content", std::move(content)}, {"id", "a"}, {"chunk", true}}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_calls)

// ---- policy ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_tool_that_is_disabled_is_not_shown_and_does_not_run) {
  auto count = std::make_shared<int>(0);
  auto model = player({one_call("count", "1"), "done"});
  tool_policy_options options;
  options.enabled = [](const std::string& tool, const value&) { return tool != "count"; };
  BOOST_TEST(heard(with_middleware(model, {counting(count), counting(count, "other")},
                                   {tool_policy(options)}))
             == "user: hi\nassistant: \ntool: Error: the call of tool 'count' is not allowed: the "
                "tool is disabled\nassistant: done\n");
  BOOST_TEST(*count == 0);
  BOOST_REQUIRE(model->requests()[0].tools.size() == 1u);
  BOOST_TEST(model->requests()[0].tools[0]["name"] == value("other"));
}

BOOST_AUTO_TEST_CASE(a_call_may_be_refused_by_its_arguments_and_the_state) {
  auto count = std::make_shared<int>(0);
  tool_policy_options options;
  options.refusal = [](const value& call, const value& state) -> std::optional<std::string> {
    if (call["id"] == value("1") && state["messages"].size() == 2)
      return "not the first";
    return std::nullopt;
  };
  BOOST_TEST(heard(with_middleware(player({one_call("count", "1"), one_call("count", "2"), "done"}),
                                   {counting(count)}, {tool_policy(options)}))
             == "user: hi\nassistant: \ntool: Error: the call of tool 'count' is not allowed: not "
                "the first\nassistant: \ntool: 1\nassistant: done\n");
}

// ---- in a tool's place ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_model_may_answer_for_a_tool_and_nobody_reads_along) {
  auto count = std::make_shared<int>(0);
  auto actor = player({"seven"});
  auto graph = [&] {
    return with_middleware(
      player({one_call("count", "1", value{{"n", 1}}), one_call("other", "2"), "done"}),
      {counting(count), counting(count, "other")}, {tool_emulator(actor, {"count"})});
  };
  BOOST_TEST(heard(graph())
             == "user: hi\nassistant: \ntool: seven\nassistant: \ntool: 1\nassistant: done\n");
  auto prompt = message_text(actor->requests()[0].messages[0]);
  BOOST_TEST(prompt.starts_with("You are emulating a tool call for testing purposes.\n\nTool: "
                                "count\nDescription: Counts\nArguments: {\"n\": 1}\n\n"));
  actor = player({"seven"}, {.stream = true});
  auto parts = streamed(graph());
  // The tool's message is streamed as such, once; not as an answer before.
  BOOST_TEST(std::ranges::count(parts, "seven") == 1);
}

BOOST_AUTO_TEST_CASE(what_tools_throw_may_be_told_to_the_model) {
  tool fails{"fails", "", []() -> int { throw node_error{"KeyError", "k"}; }};
  auto said = [](const error& e, const value& call) -> std::optional<std::string> {
    if (e.type() != "KeyError")
      return std::nullopt;
    return call["name"].as<std::string>() + " failed: " + e.text();
  };
  auto agent = [&](std::vector<std::string> tools) {
    return with_middleware(player({one_call("fails", "1"), "done"}), {fails},
                           {tool_error_messages(said, std::move(tools))});
  };
  BOOST_TEST(heard(agent({})) == "user: hi\nassistant: \ntool: fails failed: k\nassistant: done\n");
  BOOST_TEST(heard(agent({"other"})) == "KeyError");
  tool worse{"fails", "", []() -> int { throw node_error{"ValueError", "v"}; }};
  BOOST_TEST(
    heard(with_middleware(player({one_call("fails", "1")}), {worse}, {tool_error_messages(said)}))
    == "ValueError");
  BOOST_CHECK_THROW(tool_error_messages({}), error);
}

// ---- what tools give back -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_result_must_fit_the_schema_that_its_tool_names) {
  tool_options options;
  options.output = value{{"type", "object"}, {"required", value::list({"n"})}};
  auto gives = [&](value v) {
    return with_middleware(player({one_call("give", "1"), "done"}),
                           {tool{"give", "", [v] { return v; }, options}}, {});
  };
  BOOST_TEST(heard(gives(value{{"n", 1}}))
             == "user: hi\nassistant: \ntool: {\"n\": 1}\nassistant: done\n");
  auto refused = tried(gives(value{{"m", 1}}));
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().type() == "ToolOutputError");
  BOOST_TEST(refused.error().text() == "the result does not fit: n: Field required");
  options.output = value{{"pattern", "x"}};
  BOOST_CHECK_THROW((tool{"give", "", [] { return 1; }, options}), error);
}

BOOST_AUTO_TEST_CASE(calls_may_be_checked_and_not_run) {
  state_graph<> g{{{"messages", add_messages}}};
  auto count = std::make_shared<int>(0);
  tool adds{"add", "",
            [count](arg<"a", std::int64_t> a) { return *count += static_cast<int>(*a); }};
  g.add_node("check", validation_node{{adds}});
  g.add_edge(START, "check");
  auto checked = [&](value message) {
    return tried(g.compile(), value{{"messages", value::list({std::move(message)})}});
  };
  auto both = ai_message("", {{.name = "add", .args = value{{"a", 1}, {"b", 2}}, .id = "1"},
                              {.name = "add", .args = value{{"a", "x"}}, .id = "2"}});
  auto out = checked(both).value().value()["messages"];
  BOOST_TEST(message_text(out[1]) == "{\"a\":1}");
  BOOST_TEST(message_member(out[1], "additional_kwargs").is_null());
  BOOST_TEST(
    message_text(out[2])
    == "a: Input should be a valid integer\n\nRespond after fixing all validation errors.");
  BOOST_TEST(message_member(out[2], "additional_kwargs")["is_error"] == value(true));
  BOOST_TEST(message_member(out[2], "status") != value("error"));
  BOOST_TEST(*count == 0);
  BOOST_TEST(reference_name(checked(human_message("hi")).error()) == "ValueError");
  BOOST_TEST(reference_name(checked(one_call("fly", "1")).error()) == "KeyError");
  BOOST_CHECK_THROW((validation_node{{adds, adds}}), error);
}

BOOST_AUTO_TEST_CASE(an_agent_ends_when_all_calls_of_an_answer_were_of_tools_that_end_it) {
  auto count = std::make_shared<int>(0);
  tool last{"last", "", [] { return "that is it"; }, {.return_direct = true}};
  BOOST_TEST(heard(with_middleware(player({one_call("last", "1")}), {last}, {}))
             == "user: hi\nassistant: \ntool: that is it\n");
  auto both = ai_message("", {{.name = "last", .id = "1"}, {.name = "count", .id = "2"}});
  BOOST_TEST(heard(with_middleware(player({both, "done"}), {last, counting(count)}, {}))
             == "user: hi\nassistant: \ntool: that is it\ntool: 1\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(an_agent_stops_before_and_behind_the_nodes_one_names) {
  auto stops = [](bool prebuilt, bool before) {
    auto count = std::make_shared<int>(0);
    std::vector<std::string> names{"tools"}, none;
    auto model = player({one_call("count", "1"), "done"});
    auto graph = prebuilt ? create_react_agent({.model = model,
                                                .tools = {counting(count)},
                                                .interrupt_before = before ? names : none,
                                                .interrupt_after = before ? none : names})
                          : create_agent({.model = model,
                                          .tools = {counting(count)},
                                          .interrupt_before = before ? names : none,
                                          .interrupt_after = before ? none : names});
    runtime rt{{.saver = make_memory_saver()}};
    auto app = rt.load(graph);
    auto paused = app.invoke(spoken("hi"), {.thread_id = "t"});
    BOOST_TEST(paused.paused());
    auto ran = *count;
    auto out = app.invoke(run_input{nullptr}, {.thread_id = "t"});
    BOOST_TEST(message_text(out.value()["messages"][3]) == "done");
    return ran;
  };
  for (bool prebuilt : {false, true}) {
    BOOST_TEST(stops(prebuilt, true) == 0);
    BOOST_TEST(stops(prebuilt, false) == 1);
  }
}

// ---- agents that are given tasks ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agent_gives_tasks_to_others_and_readers_see_whose_they_are) {
  auto worker = player({"it is 3"});
  auto spare = player({"never"});
  auto boss = player(
    {one_call("task", "t1", value{{"description", "1 + 2?"}, {"subagent_type", "math"}}), "three"});
  auto team = create_agent(
    {.model = boss,
     .middleware = {subagents({{"math", "Does sums", create_react_agent({.model = worker})},
                               {"idle", "Does nothing", create_react_agent({.model = spare})}})},
     .name = "boss"});
  runtime rt;
  auto parts = rt.load(team).stream(spoken("hi"), {.subgraphs = true},
                                    {stream_mode::tasks, stream_mode::messages});
  std::string agents;
  std::string talkers;
  while (auto part = parts.next()) {
    if (part->mode == stream_mode::messages)
      talkers += part->data[1]["lc_agent_name"].as<std::string>() + ' ';
    else if (const auto& about = part->data["metadata"]; !about.is_null())
      agents +=
        part->data["name"].as<std::string>() + '(' + about["lc_agent_name"].as<std::string>() + ' '
        + (about["tool_call_id"].is_null() ? "" : about["tool_call_id"].as<std::string>()) + ") ";
  }
  BOOST_TEST(agents == "model(boss ) tools(boss ) agent(math t1) model(boss ) ");
  BOOST_TEST(talkers == "boss math boss boss ");
  const auto& out = parts.outcome()->value()["messages"];
  BOOST_TEST(message_text(out[2]) == "it is 3");
  auto told = boss->requests()[0];
  BOOST_TEST(message_text(told.messages[0]).ends_with("\n- math: Does sums\n- idle: Does nothing"));
  BOOST_TEST(told.tools[0]["parameters"]["properties"]["subagent_type"]["enum"]
             == value::list({"math", "idle"}));
  BOOST_TEST(message_text(worker->requests()[0].messages[0]) == "1 + 2?");
}

BOOST_AUTO_TEST_CASE(a_task_for_nobody_is_answered_and_teams_of_none_or_twins_are_refused) {
  auto worker = create_react_agent({.model = player({})});
  auto boss = player(
    {one_call("task", "t", value{{"description", "x"}, {"subagent_type", "nobody"}}), "done"});
  auto said = heard(with_middleware(boss, {}, {subagents({{"math", "", worker}})}));
  BOOST_TEST(said.find("subagent_type: Input should be 'math'") != std::string::npos);
  BOOST_CHECK_THROW(subagents({}), error);
  BOOST_CHECK_THROW(subagents({{"a", "", worker}, {"a", "", worker}}), error);
}

BOOST_AUTO_TEST_CASE(an_agent_as_a_tool_says_in_metadata_which_call_it_works_for) {
  auto inner = create_agent({.model = player({"it is 3"}), .name = "inner"});
  auto graph = with_middleware(player({one_call("math", "t7", value{{"task", "x"}}), "done"}),
                               {agent_as_tool(inner, "math", "")}, {});
  runtime rt;
  auto parts = rt.load(graph).stream(spoken("hi"), {.subgraphs = true}, {stream_mode::tasks});
  value seen;
  while (auto part = parts.next())
    if (const auto& about = part->data["metadata"]; !about.is_null())
      seen = about;
  BOOST_TEST(seen == (value{{"lc_agent_name", "math"}, {"tool_call_id", "t7"}}));
}

// ---- what goes along with requests ----------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_provider_may_search_tools_in_place_of_showing_them) {
  auto count = std::make_shared<int>(0);
  auto shown = [&](const char* name, std::vector<std::string> tools) {
    auto model = player({"done"}, {.name = name});
    heard(with_middleware(model, {counting(count, "a"), counting(count, "b")},
                          {provider_tool_search(std::move(tools))}));
    return model->requests()[0].tools;
  };
  auto tools = shown("anthropic:x", {"b"});
  BOOST_REQUIRE(tools.size() == 3u);
  BOOST_TEST(!tools[0].contains("defer_loading"));
  BOOST_TEST(tools[1]["defer_loading"] == value(true));
  BOOST_TEST(tools[2]["type"] == value("tool_search_tool_bm25_20251119"));
  tools = shown("openai:x", {});
  BOOST_TEST(tools[0]["defer_loading"] == value(true));
  BOOST_TEST(tools[2] == (value{{"type", "tool_search"}}));
  BOOST_TEST(shown("other:x", {}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_fallback_of_another_provider_is_not_told_of_the_first_one_s_cache) {
  auto fails = [](const char* name) {
    return player({scripted_model::function{[](const value&) -> value {
                    throw node_error{"ConnectionError", "x"};
                  }}},
                  {.name = name});
  };
  middleware caching;
  caching.name = "caching";
  caching.wrap_model_call = [](model_call call, model_executor run) {
    auto mark = value{{"type", "ephemeral"}};
    call.request.settings = value{{"cache_control", mark}, {"temperature", 1}};
    call.system_message =
      system_message(value::list({text_block("s").with("cache_control", mark)}));
    return run(std::move(call));
  };
  auto asked = [&](const char* second) {
    auto model = player({"done"}, {.name = second});
    heard(with_middleware(fails("anthropic:a"), {}, {caching, model_fallback({model})}));
    return model->requests()[0];
  };
  auto other = asked("openai:b");
  BOOST_TEST(other.settings == (value{{"temperature", 1}}));
  BOOST_TEST(!message_member(other.messages[0], "content")[0].contains("cache_control"));
  auto same = asked("anthropic:b");
  BOOST_TEST(same.settings.contains("cache_control"));
  BOOST_TEST(message_member(same.messages[0], "content")[0].contains("cache_control"));
}

BOOST_AUTO_TEST_CASE(a_tool_that_is_always_shown_must_be_there) {
  auto count = std::make_shared<int>(0);
  BOOST_TEST(heard(with_middleware(player({"done"}), {counting(count)},
                                   {tool_selector(player({}), {.always = {"gone"}})}))
             == "ValueError");
}

BOOST_AUTO_TEST_CASE(a_summary_may_need_all_of_its_triggers) {
  auto long_talk = [](std::size_t messages) {
    auto out = value::list();
    for (std::size_t i = 0; i < messages; ++i)
      out = out.append(human_message(std::string(400, 'x'), std::to_string(i)));
    return value{{"messages", out}};
  };
  summary_options options{.trigger_tokens = 300, .trigger_messages = 3, .keep_messages = 1};
  auto summarized = [&](std::size_t messages) {
    return heard(with_middleware(player({"done"}), {}, {summarization(player({"sum"}), options)}),
                 long_talk(messages))
             .find("Here is a summary")
           != std::string::npos;
  };
  BOOST_TEST(summarized(3));
  options.all_triggers = true;
  BOOST_TEST(summarized(3)); // about 310 tokens
  options.trigger_tokens = 400;
  BOOST_TEST(!summarized(3));
  BOOST_TEST(summarized(4));
  options.trigger_messages = 5;
  BOOST_TEST(!summarized(4));
}

BOOST_AUTO_TEST_CASE(tokens_are_smaller_for_models_of_anthropic) {
  auto summarized = [](const char* name) {
    auto writer = player({"sum"}, {.name = name});
    return heard(
             with_middleware(player({"done"}), {},
                             {summarization(writer, {.trigger_tokens = 115, .keep_messages = 1})}),
             value{{"messages",
                    value::list({human_message(std::string(400, 'x')), human_message("hi")})}})
             .find("Here is a summary")
           != std::string::npos;
  };
  BOOST_TEST(!summarized("openai:x")); // 400 / 4 and some
  BOOST_TEST(summarized("anthropic:x"));
}

BOOST_AUTO_TEST_CASE(results_are_cleared_until_enough_is_saved_with_the_arguments_of_their_calls) {
  auto model =
    player({one_call("count", "1", value{{"n", 1}}), one_call("count", "2", value{{"n", 2}}),
            one_call("count", "3", value{{"n", 3}}), "done"});
  tool wide{
    "count", "", [](arg<"n", int>) { return std::string(400, 'x'); }, {.lane = lane::standard}};
  clear_options options{
    .trigger_tokens = 0, .keep = 1, .clear_at_least = 50, .clear_tool_inputs = true};
  heard(with_middleware(model, {wide}, {context_editing(options)}));
  auto seen = model->requests()[3].messages;
  BOOST_TEST(message_text(seen[2]) == "[cleared]");
  BOOST_TEST(message_tool_calls(seen[1])[0]["args"] == value::map());
  BOOST_TEST(message_text(seen[4]).size() == 400u); // enough was saved
  BOOST_TEST(message_tool_calls(seen[3])[0]["args"] == (value{{"n", 2}}));
}

BOOST_AUTO_TEST_CASE(an_edit_may_go_without_a_notice_and_one_of_a_command_has_it) {
  tool says{"say", "", [](arg<"n", int> n, injected_tool_call_id id) {
              return command{.update = state_update{}.set(
                               "messages", value::list({tool_message(std::to_string(*n), *id)}))};
            }};
  auto result = [&](bool notice) {
    runtime rt{{.saver = make_memory_saver()}};
    auto app =
      rt.load(with_middleware(player({one_call("say", "1", value{{"n", 1}}), "done"}), {says},
                              {human_in_the_loop({{"say", {}}}, review_mode::batched, notice)}));
    (void)app.invoke(spoken("hi"), {.thread_id = "t"});
    auto decision = value{{"type", "edit"},
                          {"edited_action", value{{"name", "say"}, {"args", value{{"n", 2}}}}}};
    auto out = app.invoke(command{.resume = value{{"decisions", value::list({decision})}}},
                          {.thread_id = "t"});
    return message_text(out.value()["messages"][2]);
  };
  BOOST_TEST(result(false) == "2");
  BOOST_TEST(result(true).ends_with("Tool response:\n2"));
}

BOOST_AUTO_TEST_CASE(the_context_of_an_agent_s_run_must_be_what_it_says) {
  for (bool prebuilt : {false, true}) {
    auto graph = prebuilt ? create_react_agent(
                   {.model = player({"done"}), .context_schema = run_context_type::of<int>()})
                          : create_agent({.model = player({"done"}),
                                          .context_schema = run_context_type::of<int>()});
    runtime rt;
    auto app = rt.load(graph);
    auto refused = app.try_invoke(spoken("hi"), {.context = "me"});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code() == errc::invalid_config));
    BOOST_TEST(bool(app.try_invoke(spoken("hi"), {.context = 1})));
  }
}

// ---- personal data in answers as they come --------------------------------------------------

BOOST_AUTO_TEST_CASE(a_text_in_pieces_is_shown_clean_whatever_the_pieces) {
  std::string text = "Write to joe@mail.co.uk or, if he is away, to ann@mail.org. ";
  while (text.size() < 600)
    text += "Grüße und mehr. ";
  text += "The end: eve@x.yz";
  auto by = email_guard();
  auto whole = *by->clean(text);
  for (std::size_t size : {1U, 2U, 7U, 50U, 1000U}) {
    pii_text out;
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += size) {
      shown += out.take(*by, std::string_view{text}.substr(at, size));
      BOOST_TEST(shown.find('@') == std::string::npos);
      BOOST_TEST((shown.empty() || (static_cast<unsigned char>(shown.back()) & 0xc0) != 0xc0));
    }
    BOOST_TEST(shown.size() > 300u); // it is not all kept back
    shown += out.take(*by, {}, true);
    BOOST_TEST(shown == whole);
  }
}

BOOST_AUTO_TEST_CASE(a_long_match_is_kept_back_until_it_ends) {
  auto by = std::make_shared<const pii_guard>(pii_guard{"url", {}, pii_finder_of("url")});
  pii_text out;
  std::string shown = out.take(*by, "see https://x.y/");
  for (int i = 0; i < 100; ++i)
    shown += out.take(*by, "abcdefghij");
  BOOST_TEST(shown.find("http") == std::string::npos);
  shown += out.take(*by, " there", true);
  BOOST_TEST(shown == "see [REDACTED_URL] there");
}

BOOST_AUTO_TEST_CASE(what_is_kept_back_comes_before_the_last_part_and_blocks_stay_apart) {
  std::vector<value> parts;
  pii_stream stream{email_guard(), [&parts](const value& part) { parts.push_back(part); }};
  auto block = [](int index, const char* text) {
    return value::list({text_block(text).with("index", index)});
  };
  stream.part(answer_part(block(0, "me@")));
  stream.part(answer_part(block(1, "you@host.org")));
  stream.part(answer_part(block(0, "host.org")));
  auto last = answer_part(value::list());
  stream.part(value::extension(
    value_kind::message,
    last.payload().with("usage", value{{"total_tokens", 3}}).with("chunk_position", "last")));
  stream.finish();
  auto answer = join_chunks(parts);
  const auto& content = message_member(answer, "content");
  BOOST_REQUIRE(content.size() == 2u);
  BOOST_TEST(content[0]["text"] == value("[REDACTED_EMAIL]"));
  BOOST_TEST(content[1]["text"] == value("[REDACTED_EMAIL]"));
  BOOST_TEST(message_member(parts.back(), "chunk_position") == value("last"));
  BOOST_TEST(message_member(answer, "usage")["total_tokens"] == value(3));
}

BOOST_AUTO_TEST_CASE(readers_of_the_stream_see_no_personal_data_of_answers_and_results) {
  pii_options options;
  options.output = options.tool_results = true;
  tool leaky{"count", "", [] { return "root@host.org"; }};
  auto fails = player({scripted_model::function{[](const value&) -> value {
    throw node_error{"ConnectionError", "x"};
  }}});
  for (bool stream : {true, false}) {
    auto model = player({one_call("count", "1"), "it is me@host.org, you know"},
                        {.stream = stream});
    // The guard is around whatever model is asked in the end.
    auto graph = with_middleware(fails, {leaky},
                                 {pii("email", options), model_fallback({model, model})});
    auto parts = streamed(graph);
    auto text = joined_parts(parts);
    BOOST_TEST(text.find('@') == std::string::npos, text);
    BOOST_TEST(text.find("it is [REDACTED_EMAIL], you know") != std::string::npos, text);
    BOOST_TEST(text.find("[REDACTED_EMAIL]it is") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(no_update_has_personal_data_either) {
  pii_options options;
  options.output = options.tool_results = true;
  tool leaky{"count", "", [] { return "root@host.org"; }};
  auto graph = with_middleware(player({one_call("count", "1"), "me@host.org"}), {leaky},
                               {pii("email", options)});
  runtime rt;
  auto parts = rt.load(graph).stream(spoken("hi"), {}, {stream_mode::updates, stream_mode::values});
  std::string all;
  while (auto part = parts.next())
    all += to_json(part->data);
  BOOST_TEST(all.find("host.org") == std::string::npos);
  BOOST_TEST(all.find("[REDACTED_EMAIL]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_blocked_is_shown_no_further) {
  pii_options options;
  options.strategy = pii_strategy::block;
  options.input = false;
  options.output = true;
  std::string before(300, 'x');
  auto graph =
    with_middleware(player({before + " me@host.org and more" + before}, {.stream = true}), {},
                    {pii("email", options)});
  runtime rt;
  auto parts = rt.load(graph).stream(spoken("hi"), {}, {stream_mode::messages});
  std::string text;
  auto next = parts.try_next();
  for (; next && *next; next = parts.try_next())
    text += message_text((*next)->data[0]);
  BOOST_REQUIRE(!next);
  BOOST_TEST(reference_name(next.error()) == "PIIDetectionError");
  BOOST_TEST(text.find("host") == std::string::npos);
  BOOST_TEST(text.find("more") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
