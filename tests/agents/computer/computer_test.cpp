// Agents that use a computer: the loop, and what the model sees.
#include "tests/agents/computer/logging_computer.hpp"
#include "tests/provider/fake_provider.hpp"

#include <troupe/agents/model_providers.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using namespace cua_test;

} // namespace

BOOST_AUTO_TEST_SUITE(agents_computer)

// ---- the loop -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_action_reaches_the_computer) {
  bench b;
  log_lines actions{R"({"action":"screenshot"})",
                    R"({"action":"cursor_position"})",
                    R"({"action":"mouse_move","coordinate":[99,79]})",
                    R"({"action":"right_click","coordinate":[1,2]})",
                    R"({"action":"middle_click","text":"shift"})",
                    R"({"action":"double_click"})",
                    R"({"action":"triple_click","text":"ctrl+alt"})",
                    R"({"action":"left_click_drag","start_coordinate":[1,2],"coordinate":[3,4]})",
                    R"({"action":"left_mouse_down"})",
                    R"({"action":"left_mouse_up","coordinate":[0,0]})",
                    R"({"action":"scroll","scroll_direction":"left","scroll_amount":100})",
                    R"({"action":"type","text":"--help; $(x)\n\tß"})",
                    R"({"action":"key","text":"ctrl+s Return ctrl++ /"})",
                    R"({"action":"hold_key","text":"a","duration":0.25})",
                    R"({"action":"wait","duration":0})",
                    R"({"action":"zoom","region":[0,0,100,80]})"};
  auto options = b.options(script_of({acting(actions), "done"}));
  options.enable_zoom = true;
  options.screenshot_after_action = false;
  auto messages = worked(options);
  BOOST_TEST(b.done()
               == (log_lines{"begin pc-1", "move 99,79", "click 2*1 1,2", "click 1*1 shift",
                             "click 0*2", "click 0*3 ctrl+alt", "drag 1,2-3,4", "down", "move 0,0",
                             "up", "scroll 2*100", "type --help; $(x)\n\tß", "key ctrl+s",
                             "key Return", "key ctrl++", "key /", "hold a 250", "zoom 0,0-100,80"}),
             boost::test_tools::per_element());
  BOOST_TEST(message_text(result_of_call(messages, "c2")) == "X=3,Y=4");
  BOOST_TEST(images_in(messages) == 2u); // of the screenshot, and of the zoomed region
}

BOOST_AUTO_TEST_CASE(a_refused_action_is_told_to_the_model_and_nothing_is_done) {
  bench b;
  auto model = script_of({acting({R"({"action":"left_click","coordinate":[100,0]})"}), "sorry"});
  auto messages = worked(b.options(model));
  BOOST_TEST(is_failure(result_of_call(messages, "c1")));
  BOOST_TEST(b.done() == log_lines{"begin pc-1"}, boost::test_tools::per_element());
  BOOST_TEST(message_text(messages[3]) == "sorry");
}

BOOST_AUTO_TEST_CASE(actions_of_one_answer_are_done_in_their_order_each_in_a_step) {
  bench b;
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  b.room.prepare = [&](logging_computer& made) {
    made.on_click = [&] {
      most_at_once = std::max(most_at_once.load(), ++at_once);
      std::this_thread::yield();
      --at_once;
    };
  };
  log_lines actions;
  log_lines expected{"begin pc-1"};
  for (int i = 0; i < 20; ++i) {
    actions.push_back(R"({"action":"left_click","coordinate":[)" + std::to_string(i) + ",0]}");
    expected.push_back("click 0*1 " + std::to_string(i) + ",0");
  }
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(create_cua(b.options(script_of({acting(actions), "done"}))));
  auto out = app.invoke(told_to_work(), {.thread_id = "t"}).value();
  BOOST_TEST(b.done() == expected, boost::test_tools::per_element());
  BOOST_TEST(most_at_once == 1);
  BOOST_TEST(out["instance_id"] == value("pc-1"));
  BOOST_TEST(out["stream_url"] == value("http://watch/pc-1"));
  std::size_t results = 0;
  std::size_t steps_with_more = 0;
  for (const auto& m : out["messages"].items())
    results += message_role(m) == "tool" ? 1 : 0;
  BOOST_TEST(results == actions.size());
  std::size_t before = 0;
  auto history = app.get_state_history({.thread_id = "t"});
  for (auto at = history.rbegin(); at != history.rend(); ++at) {
    std::size_t now = 0;
    for (const auto& m : at->values["messages"].items())
      now += message_role(m) == "tool" ? 1 : 0;
    steps_with_more += now > before + 1 ? 1 : 0;
    before = now;
  }
  BOOST_TEST(steps_with_more == 0u);
}

BOOST_AUTO_TEST_CASE(other_tools_run_beside_the_computer) {
  for (bool more : {false, true}) {
    bench b;
    std::vector<tool_call> calls{{.name = "computer", .args = from_json(click).value(), .id = "c1"},
                                 {.name = "note", .args = value::map(), .id = "n1"},
                                 {.name = "note", .args = value::map(), .id = "n2"}};
    if (more)
      calls.push_back({.name = "computer", .args = from_json(look_at_it).value(), .id = "c2"});
    auto model = script_of({ai_message("", calls), "done"});
    auto options = b.options(model);
    options.tools = {tool{"note", "Notes", [] { return "noted"; }}};
    auto messages = worked(options);
    BOOST_TEST(message_text(result_of_call(messages, "n1")) == "noted");
    for (const auto& call : calls)
      BOOST_TEST(!is_failure(result_of_call(messages, call.id)), call.id);
    BOOST_TEST(messages.size() == 3 + calls.size());
    BOOST_TEST(message_text(messages[messages.size() - 1]) == "done");
    BOOST_TEST(model->requests().size() == 2u); // each answer is asked for once
  }
}

BOOST_AUTO_TEST_CASE(an_answer_without_actions_begins_no_computer) {
  bench b;
  worked(b.options(script_of({"nothing to do"})));
  BOOST_TEST(b.done().empty());
}

BOOST_AUTO_TEST_CASE(an_answer_with_more_actions_than_allowed_has_the_rest_refused) {
  bench b;
  auto messages = worked(
    b.options(script_of({acting(log_lines(limits::computer_actions_max + 2, click)), "done"})));
  BOOST_TEST(b.done().size() == 1 + limits::computer_actions_max);
  BOOST_TEST(is_failure(result_of_call(messages, "c66")));
  BOOST_TEST(!is_failure(result_of_call(messages, "c64")));
}

BOOST_AUTO_TEST_CASE(an_agent_without_end_stops_at_its_own_limit_unless_the_run_says_another) {
  bench b;
  auto forever = std::make_shared<scripted_model>(cua_script{acting({click})},
                                                  scripted_options{.repeat = true});
  auto options = b.options(forever);
  options.recursion_limit = 10;
  runtime rt;
  auto app = rt.load(create_cua(options));
  auto clicks_until_the_end = [&](const run_config& config) {
    auto before = b.done().size();
    auto how = app.try_invoke(told_to_work(), config);
    BOOST_TEST((!how && how.error().code() == errc::graph_recursion));
    return b.done().size() - before;
  };
  BOOST_TEST(clicks_until_the_end({}) == 4u); // with what was begun
  BOOST_TEST(clicks_until_the_end({.recursion_limit = 31}) == 11u);
  BOOST_TEST(cua_options{}.recursion_limit == limits::computer_recursion_limit);
}

// ---- what the model sees --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(anthropic_s_models_get_the_tool_the_beta_and_screenshots_as_they_want_them) {
  test::fake_provider server;
  server.then(test::strictly(test::says(
    {.calls = {{.id = "c1", .name = "computer", .arguments = R"({"action":"screenshot"})"},
               {.id = "c2", .name = "computer", .arguments = R"({"action":"format_disk"})"}}})));
  server.then(test::strictly(test::says({.text = "a grey screen"})));
  setenv("TROUPE_TEST_MODEL_KEY", "sk-test-0123456789", 1);
  bench b;
  auto options =
    b.options(init_chat_model("anthropic:m", {.base_url = server.url(),
                                              .api_key_variable = "TROUPE_TEST_MODEL_KEY",
                                              .headers = {{"Anthropic-Beta", "files-api"}}}));
  options.enable_zoom = true;
  auto messages = worked(options);
  unsetenv("TROUPE_TEST_MODEL_KEY");
  BOOST_TEST(message_text(messages[messages.size() - 1]) == "a grey screen");
  auto seen = server.requests();
  BOOST_REQUIRE(seen.size() == 2u);
  BOOST_TEST(seen[0].header_of("anthropic-beta") == "files-api,computer-use-2025-11-24");
  BOOST_TEST(to_json(seen[0].body["tools"])
             == R"([{"display_height_px":80,"display_width_px":100,"enable_zoom":true,)"
                R"("name":"computer","type":"computer_20251124"}])");
  const auto& results = seen[1].body["messages"][2]["content"];
  BOOST_TEST((results[0]["tool_use_id"] == value("c1")));
  BOOST_TEST((results[0]["is_error"] == value(false)));
  BOOST_TEST(to_json(results[0]["content"][0])
             == R"({"source":{"data":"iVBORw0KGgoAAAANSUhEUgAAAGQAAABQ","media_type":"image/png",)"
                R"("type":"base64"},"type":"image"})");
  BOOST_TEST((results[1]["is_error"] == value(true)));
  BOOST_TEST((results[1]["content"] == value("Invalid action: 'format_disk'")));
}

BOOST_AUTO_TEST_CASE(the_older_tool_and_its_beta_can_be_had) {
  test::fake_provider server;
  server.always(test::says({.text = "ok"}));
  bench b;
  auto options = b.options(init_chat_model("anthropic:m", {.base_url = server.url()}));
  options.version = computer_tool_version::computer_20250124;
  worked(options);
  auto seen = server.requests().at(0);
  BOOST_TEST(seen.header_of("anthropic-beta") == "computer-use-2025-01-24");
  BOOST_TEST((seen.body["tools"][0]["type"] == value("computer_20250124")));
  BOOST_TEST(!seen.body["tools"][0].contains("enable_zoom"));
}

BOOST_AUTO_TEST_CASE(models_of_others_get_a_function_with_a_schema) {
  bench b;
  auto model = script_of({"no"});
  worked(b.options(model));
  auto shown = model->requests()[0].tools[0];
  BOOST_TEST((shown["name"] == value("computer")));
  BOOST_TEST((shown["parameters"]["required"] == value::list({"action"})));
}

BOOST_AUTO_TEST_CASE(a_model_sees_the_last_screenshots_and_the_state_keeps_all) {
  bench b;
  constexpr int rounds = 12;
  cua_script all;
  for (int i = 1; i <= rounds; ++i)
    all.emplace_back(acting({click}, i));
  all.emplace_back("done");
  auto model = script_of(std::move(all));
  auto options = b.options(model);
  options.screenshots_max = 4;
  auto messages = worked(options);
  BOOST_TEST(images_in(messages) == static_cast<std::size_t>(rounds));
  auto seen = model->requests();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    BOOST_TEST(images_in(seen[i].messages) == (i <= 4 ? i : i % 2 == 0 ? 4 : 3));
    BOOST_TEST(seen[i].messages.size() == 1 + 2 * i); // none is left out
  }
  auto first = result_of_call(seen.back().messages, "c1");
  auto last = result_of_call(seen.back().messages, "c12");
  BOOST_TEST((message_member(first, "content")[0]["text"] == value("Done.")));
  BOOST_TEST(
    (message_member(first, "content")[1]["text"] == value("[An older screenshot was here.]")));
  BOOST_TEST(images_in(value::list({last})) == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_no_screenshot_of_the_display_is_an_error_to_the_model) {
  auto told = [](const std::string& png) {
    bench b;
    b.room.prepare = [&](logging_computer& made) { made.on_screenshot = [&] { return png; }; };
    auto message = result_of_call(worked(b.options(script_of({acting({look_at_it}), "ok"}))), "c1");
    return (is_failure(message) ? "error: " : "") + message_text(message);
  };
  auto of_size = [](std::size_t bytes) {
    auto begin = png_of(small_screen);
    return png_of(small_screen, bytes - begin.size());
  };
  BOOST_TEST(told("") == "error: The screenshot can't be shown: not a PNG image");
  BOOST_TEST(told("GIF89a and more, as long as a PNG") //
             == "error: The screenshot can't be shown: not a PNG image");
  BOOST_TEST(
    told(png_of({100, 81}))
    == "error: The screenshot can't be shown: it has 100 x 81 pixels, but the display has 100 "
       "x 80");
  BOOST_TEST(told(png_of({-1, 80})).starts_with("error: "));
  BOOST_TEST(told(of_size(limits::computer_screenshot_bytes_max)).empty());
  BOOST_TEST(told(of_size(limits::computer_screenshot_bytes_max + 1)).starts_with("error: "));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
