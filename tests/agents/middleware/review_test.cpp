// Reviews of tool calls: a decision holds for one call, and a wrong one can be corrected.
#include <troupe/agents/middleware.hpp>
#include <troupe/runtime.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr const char* review_thread = "t";

value write_call(const std::string& text, const std::string& tool = "write") {
  return ai_message("", {{.name = tool, .args = value{{"text", text}}, .id = "1"}});
}

value review_edit(const std::string& text, const std::string& tool = "write") {
  return value::map(
    {{"type", "edit"},
     {"edited_action", value::map({{"name", tool}, {"args", value{{"text", text}}}})}});
}

value review_decisions(std::vector<value> all) {
  return value::map({{"decisions", value::list(std::move(all))}});
}

// An agent whose tools `write` and `note` keep what they were called with.
struct writing_agent {
  std::shared_ptr<std::string> written = std::make_shared<std::string>();
  std::shared_ptr<scripted_model> model;
  runtime rt{{.saver = make_memory_saver()}};
  app<> agent;

  writing_agent(std::vector<scripted_model::answer> answers, review how = {},
                bool write_is_direct = false)
    : model{std::make_shared<scripted_model>(std::move(answers))},
      agent{
        rt.load(create_agent({.model = model,
                              .tools = {writing("write", write_is_direct), writing("note", false)},
                              .middleware = {human_in_the_loop({{"write", std::move(how)}})}}))} {}

  tool writing(std::string name, bool direct) {
    return {std::move(name),
            "Writes",
            [to = written](arg<"text", std::string> text) {
              *to += *text + ' ';
              return *text;
            },
            {.return_direct = direct, .lane = lane::standard}};
  }

  result<run_result> go(const run_input& input) {
    return agent.try_invoke(input, {.thread_id = review_thread});
  }
  result<run_result> say(const char* text) {
    return go(value{{"messages", value::list({human_message(text)})}});
  }
  result<run_result> answer(value with) { return go(command{.resume = std::move(with)}); }
  std::size_t open_questions() {
    return agent.get_state({.thread_id = review_thread}).interrupts.size();
  }
};

const value approved = value::map({{"type", "approve"}});

} // namespace

BOOST_AUTO_TEST_SUITE(agents_review)

BOOST_AUTO_TEST_CASE(an_edit_is_not_applied_to_a_later_call_with_the_same_id) {
  writing_agent a{{write_call("one"), write_call("two"), "done"}};
  BOOST_REQUIRE(a.say("hi")->paused());
  BOOST_REQUIRE(a.answer(review_decisions({review_edit("edited")}))->paused());
  BOOST_TEST(!a.answer(review_decisions({approved}))->paused());
  BOOST_TEST(*a.written == "edited two ");
}

BOOST_AUTO_TEST_CASE(an_edit_is_not_applied_to_a_call_that_nobody_reviews) {
  writing_agent a{{write_call("one"), write_call("two", "note"), "done"}};
  BOOST_REQUIRE(a.say("hi")->paused());
  BOOST_TEST(!a.answer(review_decisions({review_edit("edited")}))->paused());
  BOOST_TEST(*a.written == "edited two ");
}

BOOST_AUTO_TEST_CASE(an_edit_is_not_applied_to_the_next_question_of_the_user) {
  writing_agent a{{write_call("one"), "done", write_call("two"), "done"}};
  BOOST_REQUIRE(a.say("hi")->paused());
  BOOST_TEST(!a.answer(review_decisions({review_edit("edited")}))->paused());
  BOOST_TEST(a.say("again")->paused()); // it is reviewed again
  BOOST_TEST(!a.answer(review_decisions({approved}))->paused());
  BOOST_TEST(*a.written == "edited two ");
}

BOOST_AUTO_TEST_CASE(an_edit_is_not_applied_where_a_later_hook_skips_the_review) {
  middleware skips;
  skips.name = "skips";
  skips.after_model =
    agent_hook{[](const state_view& s) -> value {
                 return s["messages"].size() > 3 ? value{{"jump_to", "tools"}} : value{};
               },
               {"tools"}};
  auto written = std::make_shared<std::string>();
  tool write{"write",
             "Writes",
             [written](arg<"text", std::string> text) {
               *written += *text + ' ';
               return *text;
             },
             {.lane = lane::standard}};
  std::vector<scripted_model::answer> answers{write_call("one"), write_call("two"), "done"};
  runtime rt{{.saver = make_memory_saver()}};
  auto app =
    rt.load(create_agent({.model = std::make_shared<scripted_model>(std::move(answers)),
                          .tools = {write},
                          .middleware = {human_in_the_loop({{"write", review{}}}), skips}}));
  app.invoke(value{{"messages", value::list({human_message("hi")})}}, {.thread_id = "t"});
  (void)app.try_invoke(command{.resume = review_decisions({review_edit("edited")})},
                       {.thread_id = "t", .recursion_limit = 6});
  BOOST_TEST(*written == "edited two ");
}

BOOST_AUTO_TEST_CASE(the_agent_ends_by_the_tool_that_ran_after_an_edit) {
  for (bool to_direct : {true, false}) {
    auto asked = to_direct ? "note" : "write";
    auto ran = to_direct ? "write" : "note";
    std::vector<scripted_model::answer> answers{write_call("one", asked), "done"};
    auto model = std::make_shared<scripted_model>(std::move(answers));
    tool write{"write", "", [](arg<"text", std::string> t) { return *t; }, {.return_direct = true}};
    tool note{"note", "", [](arg<"text", std::string> t) { return *t; }};
    runtime rt{{.saver = make_memory_saver()}};
    auto app = rt.load(create_agent({.model = model,
                                     .tools = {write, note},
                                     .middleware = {human_in_the_loop({{asked, review{}}})}}));
    app.invoke(value{{"messages", value::list({human_message("hi")})}}, {.thread_id = "t"});
    app.invoke(command{.resume = review_decisions({review_edit("x", ran)})}, {.thread_id = "t"});
    BOOST_TEST(model->requests().size() == (to_direct ? 1u : 2u));
  }
}

// ---- answers that are not allowed -----------------------------------------------------------

struct wrong_answer {
  const char* answer;
  const char* why;
};

std::ostream& operator<<(std::ostream& out, const wrong_answer& w) {
  return out << w.answer;
}

const wrong_answer wrong_answers[] = {
  {R"("yes")", "Expected {\"decisions\": [...]}"},
  {R"({"type":"approve"})", "Expected {\"decisions\": [...]}"},
  {R"({"decisions":{"type":"approve"}})", "Expected {\"decisions\": [...]}"},
  {R"({"decisions":[]})", "Number of human decisions (0)"},
  {R"({"decisions":[{"type":"approve"}]})", "Number of human decisions (1)"},
  {R"({"decisions":[{"type":"approve"},{"type":"respond","message":"x"}]})",
   "Decision type 'respond' is not allowed for tool 'write'"},
  {R"({"decisions":[{"type":"approve"},"approve"]})", "Unexpected human decision: \"approve\""},
  {R"({"decisions":[{"type":"edit"},{"type":"approve"}]})", "needs `edited_action`"},
  {R"({"decisions":[{"type":"edit","edited_action":{"name":"write"}},{"type":"approve"}]})",
   "needs `edited_action`"},
  {R"({"decisions":[{"type":"reject","message":5},{"type":"approve"}]})", "needs `message`"},
};

value two_writes() {
  return ai_message("", {{.name = "write", .args = value{{"text", "one"}}, .id = "1"},
                         {.name = "write", .args = value{{"text", "two"}}, .id = "2"}});
}

BOOST_DATA_TEST_CASE(a_wrong_answer_leaves_the_question_open_and_says_why, wrong_answers, wrong) {
  for (bool by_id : {false, true}) {
    writing_agent a{{two_writes(), "done"}, {.decisions = {"approve", "edit", "reject"}}};
    auto id = a.say("hi")->interrupts().at(0).id;
    auto form = [&](value v) { return by_id ? value::map({{id, std::move(v)}}) : v; };
    for (int i = 0; i < 2; ++i) {
      auto refused = a.answer(form(from_json(wrong.answer).value()));
      BOOST_REQUIRE(!refused);
      BOOST_TEST((refused.error().code() == errc::invalid_resume));
      BOOST_TEST(reference_name(refused.error()) == "ValueError");
      BOOST_TEST(refused.error().message().find(wrong.why) != std::string::npos,
                 refused.error().message());
      BOOST_TEST(a.open_questions() == 1u);
      BOOST_TEST(a.written->empty());
    }
    auto out = a.answer(form(review_decisions({approved, value::map({{"type", "reject"}})})));
    BOOST_REQUIRE(out.has_value());
    BOOST_TEST(!out->paused());
    BOOST_TEST(*a.written == "one ");
  }
}

BOOST_AUTO_TEST_CASE(after_a_wrong_answer_a_new_input_gets_through) {
  writing_agent a{{two_writes(), "done"}, {.decisions = {"approve"}}};
  BOOST_REQUIRE(a.say("hi")->paused());
  BOOST_TEST(!a.answer(review_decisions({})).has_value());
  auto out = a.say("never mind");
  BOOST_REQUIRE(out.has_value());
  BOOST_TEST(!out->paused());
  BOOST_TEST(a.written->empty());
  BOOST_TEST(message_text(out->value()["messages"][out->value()["messages"].size() - 1]) == "done");
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
