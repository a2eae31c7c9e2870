// The loop without a graph, and compaction.
#include <troupe/agents/tool_runner.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>

namespace troupe {
namespace {

using script = std::vector<scripted_model::answer>;

std::shared_ptr<scripted_model> answering(script answers) {
  return std::make_shared<scripted_model>(std::move(answers));
}

value asked(std::string id, std::string text = {}) {
  return ai_message(text, {{.name = "add", .args = value{{"a", 1}}, .id = id}});
}

value with(const value& message, std::string_view member, const value& v) {
  return value::extension(value_kind::message, message.payload().with(member, v));
}

value used(const value& message, std::int64_t tokens) {
  return with(message, "usage", value{{"input_tokens", tokens - 1}, {"output_tokens", 1}});
}

tool adding_tool() {
  return {"add", "", [](arg<"a", std::int64_t> a) { return *a + 1; }, {.lane = lane::standard}};
}

value question() {
  return value::list({human_message("hi")});
}

std::string lines_of(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += std::string{message_role(m)} + ": " + message_text(m) + "\n";
  return out;
}

// Runs `body` in a node, and gives what the runner holds then.
std::string conversation(tool_runner runner,
                         const std::function<coro<bool>(tool_runner&, context&)>& body) {
  state_graph<> g{{{"text", last_value}}};
  g.add_node("run", [&](const state_view&, context& ctx) -> coro<value> {
    auto running = body(runner, ctx);
    co_await running;
    co_return value{{"text", lines_of(runner.messages())}};
  });
  g.add_edge(START, "run");
  runtime rt;
  auto out = rt.load(g.compile()).try_invoke({});
  return out ? out->value()["text"].as<std::string>() : reference_name(out.error());
}

coro<bool> to_the_end(tool_runner& runner, context& ctx) {
  auto running = runner.until_done(ctx);
  co_await running;
  co_return true;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_runner)

BOOST_AUTO_TEST_CASE(a_runner_asks_until_no_tool_is_called_for) {
  tool_runner runner{answering({asked("1"), "done"}), {adding_tool()}, question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end)
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(a_runner_ends_after_so_many_answers_without_the_last_one_s_tools) {
  tool_runner runner{answering({asked("1"), asked("2"), "done"}),
                     {adding_tool()},
                     question(),
                     {.max_iterations = 2}};
  BOOST_TEST(conversation(std::move(runner), to_the_end) == "user: hi\nassistant: \ntool: 2\n");
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_cut_off_calls_for_nothing) {
  auto cut = with(asked("1", "half"), "response_metadata", value{{"stop_reason", "max_tokens"}});
  tool_runner runner{answering({cut, "never"}), {adding_tool()}, question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end) == "user: hi\nassistant: half\n");
}

BOOST_AUTO_TEST_CASE(who_adds_messages_between_turns_adds_the_answer_too) {
  tool_runner runner{answering({asked("1"), "done"}), {adding_tool()}, question()};
  auto own = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    auto answer = co_await turn;
    r.append_messages({*answer, tool_message("by hand", "1")});
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), own)
             == "user: hi\nassistant: \ntool: by hand\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(the_tools_of_a_turn_run_once) {
  int runs = 0;
  tool counting{
    "add", "", [&runs](arg<"a", std::int64_t>) { return ++runs; }, {.lane = lane::standard}};
  tool_runner runner{answering({asked("1"), "done"}), {counting}, question()};
  auto look = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    co_await turn;
    for (int i = 0; i < 2; ++i) {
      auto running = r.tool_response(ctx);
      auto results = co_await running;
      BOOST_TEST(lines_of(results) == "tool: 1\n");
    }
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), look)
             == "user: hi\nassistant: \ntool: 1\nassistant: done\n");
}

// ---- compaction -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_long_conversation_becomes_its_summary_with_what_the_last_answer_said) {
  auto writer = answering({"<summary>all</summary>"});
  auto compact = [&](std::int64_t tokens) {
    tool_runner_options options;
    options.compaction = {.enabled = true, .context_token_threshold = 10, .model = writer};
    return conversation(
      {answering({used(asked("1", "thinking"), tokens), used(ai_message("done"), 99)}),
       {adding_tool()},
       question(),
       options},
      to_the_end);
  };
  BOOST_TEST(compact(9) == "user: hi\nassistant: thinking\ntool: 2\nassistant: done\n");
  BOOST_TEST(compact(10) == "user: <summary>all</summary>\nassistant: done\n");
  auto asked = writer->requests()[0].messages;
  BOOST_REQUIRE(asked.size() == 3u);
  BOOST_TEST(message_text(asked[1]) == "thinking");
  BOOST_TEST(message_tool_calls(asked[1]).empty());
}

BOOST_AUTO_TEST_CASE(tokens_of_the_cache_count) {
  auto usage = value{{"input_tokens", 1},
                     {"cache_creation_input_tokens", 10},
                     {"cache_read_input_tokens", 100},
                     {"output_tokens", 1000}};
  BOOST_TEST(context_tokens(with(ai_message("x"), "usage", usage)) == 1111);
  BOOST_TEST(context_tokens(ai_message("x")) == 0);
}

BOOST_AUTO_TEST_CASE(
  a_summary_is_asked_for_in_five_parts_with_the_runner_s_own_length_and_no_tools) {
  auto model = answering({used(asked("1", "thinking"), 10), "<summary>all</summary>", "done"});
  tool_runner_options options;
  options.compaction = {.enabled = true, .context_token_threshold = 10};
  options.settings = value{{"max_tokens", 77}, {"temperature", 1}};
  BOOST_TEST(conversation({model, {adding_tool()}, question(), options}, to_the_end)
             == "user: <summary>all</summary>\nassistant: done\n");
  auto requests = model->requests();
  BOOST_REQUIRE(requests.size() == 3u);
  const auto& summary = requests[1];
  BOOST_TEST((summary.settings == value{{"max_tokens", 77}}));
  BOOST_TEST(summary.tools.empty());
  BOOST_REQUIRE(summary.headers.size() == 1u);
  BOOST_TEST(summary.headers[0].first == "X-Stainless-Helper");
  BOOST_TEST(summary.headers[0].second == "compaction");
  auto prompt = message_text(summary.messages[2]);
  std::size_t at = 0;
  for (const auto* part : {"1. Task Overview", "2. Current State", "3. Important Discoveries",
                           "4. Next Steps", "5. Context to Preserve", "<summary></summary>"}) {
    at = prompt.find(part, at);
    BOOST_TEST(at != std::string::npos, part);
  }
  BOOST_TEST(requests[2].headers.empty());
  BOOST_TEST(requests[2].tools.size() == 1u);
  const auto& first = requests[2].messages[0]; // the summary, in one block
  BOOST_TEST(
    (message_member(first, "content") == value::list({text_block("<summary>all</summary>")})));
  BOOST_TEST(requests[2].messages.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_summary_may_have_a_prompt_of_its_own) {
  auto model = answering({used(asked("1"), 10), "short", "done"});
  tool_runner_options options;
  options.compaction = {
    .enabled = true, .context_token_threshold = 10, .summary_prompt = "In one word!"};
  conversation({model, {adding_tool()}, question(), options}, to_the_end);
  auto shown = model->requests()[1].messages;
  BOOST_REQUIRE(shown.size() == 2u); // an answer that was nothing but calls is left out
  BOOST_TEST(message_text(shown[1]) == "In one word!");
}

BOOST_AUTO_TEST_CASE(
  calls_are_left_out_of_what_is_summed_up_also_as_blocks_and_answered_ones_stay) {
  auto blocks = value::list({text_block("look"), tool_use_block({.name = "add", .id = "2"})});
  auto last = ai_message(blocks, {{.name = "add", .id = "2"}});
  auto talk = value::list({human_message("hi"), asked("1"), tool_message("2", "1"), last});
  auto model = answering({"sum"});
  runtime rt;
  state_graph<> g{{{"text", last_value}}};
  g.add_node("sum", [&](const state_view&, context& ctx) -> coro<value> {
    auto compacting = compacted(*model, talk, "sum up", ctx);
    auto out = co_await compacting;
    co_return value{{"text", lines_of(out)}};
  });
  g.add_edge(START, "sum");
  auto said = rt.load(g.compile()).invoke({}).value();
  BOOST_TEST((said["text"] == value("user: sum\n")));
  auto shown = model->requests()[0].messages;
  BOOST_REQUIRE(shown.size() == 5u);
  BOOST_TEST(message_tool_calls(shown[1]).size() == 1u);
  BOOST_TEST((message_member(shown[3], "content") == value::list({text_block("look")})));
  BOOST_TEST(message_tool_calls(shown[3]).empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_summed_up_unless_it_is_enabled_and_never_the_last_answer) {
  auto run = [](compaction_control control) {
    tool_runner_options options;
    options.compaction = std::move(control);
    return conversation({answering({used(asked("1"), 99), used(ai_message("done"), 99)}),
                         {adding_tool()},
                         question(),
                         options},
                        to_the_end);
  };
  const std::string whole = "user: hi\nassistant: \ntool: 2\nassistant: done\n";
  BOOST_TEST(run({.enabled = false, .context_token_threshold = 10}) == whole);
  BOOST_TEST(run({.enabled = true}) == whole); // 100,000
  BOOST_TEST(compaction_control{}.context_token_threshold == 100'000);
}

BOOST_AUTO_TEST_CASE(a_summary_without_text_is_an_error) {
  tool_runner_options options;
  options.compaction = {.enabled = true, .context_token_threshold = 10};
  BOOST_TEST(conversation({answering({used(asked("1"), 10), ai_message("", {{.name = "x"}})}),
                           {adding_tool()},
                           question(),
                           options},
                          to_the_end)
             == "ValueError");
}

BOOST_AUTO_TEST_CASE(tools_do_not_run_in_a_turn_that_is_summed_up) {
  int runs = 0;
  tool counting{
    "add", "", [&runs](arg<"a", std::int64_t>) { return ++runs; }, {.lane = lane::standard}};
  tool_runner_options options;
  options.compaction = {.enabled = true, .context_token_threshold = 10};
  conversation({answering({used(asked("1"), 10), "sum", "done"}), {counting}, question(), options},
               to_the_end);
  BOOST_TEST(runs == 0);
}

// ---- why a model stopped --------------------------------------------------------------------

namespace {

struct stop_row {
  const char* name;
  const char* reason;
  const char* rest; // of the conversation, after the first answer
};
std::ostream& operator<<(std::ostream& out, const stop_row& row) {
  return out << row.reason;
}
const std::vector<stop_row> stop_rows{
  {"stop_reason", "tool_use", "tool: 2\nassistant: done\n"},
  {"stop_reason", "pause_turn", "assistant: done\n"},
  {"stop_reason", "max_tokens", ""},
  {"stop_reason", "refusal", ""},
  {"stop_reason", "end_turn", ""},
  {"finish_reason", "tool_calls", "tool: 2\nassistant: done\n"},
  {"finish_reason", "stop", "tool: 2\nassistant: done\n"}, // after a call it had to make
  {"finish_reason", "length", ""},
  {"finish_reason", "content_filter", ""},
};

} // namespace

BOOST_DATA_TEST_CASE(what_follows_an_answer_with_a_call_is_decided_by_why_the_model_stopped,
                     boost::unit_test::data::make(stop_rows), row) {
  auto answer = with(asked("1", "x"), "response_metadata", value::map({{row.name, row.reason}}));
  tool_runner runner{answering({answer, "done"}), {adding_tool()}, question()};
  BOOST_TEST(conversation(std::move(runner), to_the_end)
             == std::string{"user: hi\nassistant: x\n"} + row.rest);
}

// ---- the caller's hand ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(
  messages_that_are_replaced_between_turns_still_get_the_answer_and_its_results) {
  tool_runner runner{answering({asked("1"), "done"}), {adding_tool()}, question()};
  auto replace = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    co_await turn;
    r.set_messages(value::list({human_message("other")}));
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), replace)
             == "user: other\nassistant: \ntool: 2\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(appending_makes_the_results_anew_and_holds_for_one_turn) {
  int runs = 0;
  tool counting{
    "add", "", [&runs](arg<"a", std::int64_t>) { return ++runs; }, {.lane = lane::standard}};
  tool_runner runner{answering({asked("1"), asked("2"), "done"}), {counting}, question()};
  auto own = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    auto answer = co_await turn;
    auto first = r.tool_response(ctx);
    auto results = co_await first;
    std::vector<value> mine{*answer};
    mine.insert(mine.end(), results.items().begin(), results.items().end());
    r.append_messages(mine);
    auto second = r.tool_response(ctx); // the cache is empty
    co_await second;
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), own)
             == "user: hi\nassistant: \ntool: 1\nassistant: \ntool: 3\nassistant: done\n");
}

BOOST_AUTO_TEST_CASE(without_an_answer_until_done_fails_and_at_the_end_there_is_nothing_more) {
  auto model = answering({"done"});
  tool_runner runner{model, {adding_tool()}, question()};
  auto beyond = [](tool_runner& r, context& ctx) -> coro<bool> {
    auto all = r.until_done(ctx);
    co_await all;
    for (int i = 0; i < 2; ++i) {
      auto turn = r.next(ctx);
      auto answer = co_await turn;
      BOOST_TEST(!answer.has_value());
    }
    auto none = r.tool_response(ctx);
    auto results = co_await none;
    BOOST_TEST(results.empty());
    auto again = r.until_done(ctx);
    co_await again; // throws
    co_return true;
  };
  BOOST_TEST(conversation(std::move(runner), beyond) != "");
  BOOST_TEST(model->requests().size() == 1u);
}

// ---- changes between turns ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_model_and_its_settings_may_change_between_turns) {
  auto first = answering({asked("1")});
  auto second = answering({"done"});
  tool_runner runner{
    first, {adding_tool()}, question(), {.settings = value{{"max_tokens", 5}, {"temperature", 1}}}};
  BOOST_TEST(conversation(std::move(runner),
                          [&](tool_runner& r, context& ctx) -> coro<bool> {
                            auto turn = r.next(ctx);
                            co_await turn;
                            r.set_messages_params([&](tool_runner_params params) {
                              params.model = second;
                              params.settings = params.settings.with("max_tokens", 9);
                              params.tool_choice = "none";
                              return params;
                            });
                            auto rest = r.until_done(ctx);
                            co_await rest;
                            co_return true;
                          })
             == "user: hi\nassistant: \ntool: 2\nassistant: done\n");
  BOOST_TEST((first->requests().at(0).settings["max_tokens"] == value(5)));
  auto later = second->requests().at(0);
  BOOST_TEST((later.settings["max_tokens"] == value(9)));
  BOOST_TEST((later.settings["temperature"] == value(1)));
  BOOST_TEST((later.tool_choice == value("none")));
}

BOOST_AUTO_TEST_CASE(tools_are_added_and_removed_between_turns) {
  tool doubling{
    "double", "", [](arg<"a", std::int64_t> a) { return *a * 2; }, {.lane = lane::standard}};
  auto model = answering(
    {asked("1"), ai_message("", {{.name = "double", .args = value{{"a", 4}}, .id = "2"}}), "done"});
  tool_runner runner{model, {adding_tool()}, question()};
  auto talk = conversation(std::move(runner), [&](tool_runner& r, context& ctx) -> coro<bool> {
    auto turn = r.next(ctx);
    co_await turn;
    r.add_tools({doubling});
    r.remove_tools({"add"}); // the last answer calls it
    auto rest = r.until_done(ctx);
    co_await rest;
    co_return true;
  });
  BOOST_TEST(talk.find("add is not a valid tool, try one of [double]") != std::string::npos);
  BOOST_TEST(talk.find("tool: 8\nassistant: done\n") != std::string::npos);
  BOOST_TEST(model->requests().at(0).tools.size() == 1u);
  BOOST_TEST((model->requests().at(1).tools[0]["name"] == value("double")));
}

BOOST_AUTO_TEST_CASE(a_change_that_does_not_fit_leaves_the_runner_as_it_was) {
  tool_runner runner{answering({"done"}), {adding_tool()}, question()};
  BOOST_CHECK_THROW(runner.add_tools({adding_tool()}), error);
  BOOST_CHECK_THROW(runner.set_messages_params(tool_runner_params{}), error);
  BOOST_CHECK_EXCEPTION(runner.remove_tools({"add", "none"}), error, [](const error& e) {
    return e.code() == errc::missing_key && e.message().find("none") != std::string::npos;
  });
  BOOST_TEST(runner.params().tools.size() == 1u);
  BOOST_CHECK_THROW((tool_runner{nullptr, {}, question()}), error);
}

BOOST_DATA_TEST_CASE(a_reader_gets_the_parts_of_each_answer,
                     boost::unit_test::data::make({false, true}), streams) {
  auto model = std::make_shared<scripted_model>(script{asked("1"), "one two three"},
                                                scripted_options{.stream = streams});
  tool_runner runner{model, {adding_tool()}, question()};
  std::vector<value> parts;
  auto talk = conversation(std::move(runner), [&](tool_runner& r, context& ctx) -> coro<bool> {
    while (true) {
      parts.clear();
      auto turn = r.next(ctx, [&parts](const value& part) { parts.push_back(part); });
      auto answer = co_await turn;
      if (!answer)
        break;
      BOOST_TEST(message_text(join_chunks(parts)) == message_text(*answer));
      BOOST_TEST((parts.size() > 1) == (streams && !message_text(*answer).empty()));
    }
    co_return true;
  });
  BOOST_TEST(talk == "user: hi\nassistant: \ntool: 2\nassistant: one two three\n");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
