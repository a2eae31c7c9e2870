// Agents that use a computer: what goes wrong, restarts, people, the end.
#include "tests/agents/computer/logging_computer.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace troupe {
namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;
using namespace cua_test;

} // namespace

BOOST_AUTO_TEST_SUITE(agents_computer_runs)

// ---- what goes wrong ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_computer_that_throws_fails_the_action_and_the_agent_goes_on) {
  bench b;
  b.room.prepare = [](logging_computer& made) {
    made.on_click = [] { throw std::runtime_error{"the mouse has no battery"}; };
  };
  auto messages = worked(b.options(script_of({acting({click, look_at_it}), "ok"})));
  BOOST_TEST(is_failure(result_of_call(messages, "c1")));
  BOOST_TEST(message_text(result_of_call(messages, "c1")) == "the mouse has no battery");
  BOOST_TEST(!is_failure(result_of_call(messages, "c2")));
}

BOOST_AUTO_TEST_CASE(an_action_that_hangs_is_given_up_and_its_computer_is_busy_meanwhile) {
  bench b;
  gate stuck;
  b.room.prepare = [&](logging_computer& made) { made.on_click = [&] { stuck.pass(); }; };
  auto third = [&](const value&) {
    stuck.open();
    return value("enough");
  };
  auto options = b.options(script_of({acting({click}), acting({look_at_it}, 2), third}));
  options.action_timeout = 50ms;
  auto messages = worked(options);
  stuck.open();
  BOOST_TEST(message_text(result_of_call(messages, "c1"))
             == "Error: tool 'computer' was given up after 50 ms.");
  BOOST_TEST(message_text(result_of_call(messages, "c2"))
             == "The computer is still busy with an action that was given up. Wait, then take a "
                "screenshot.");
  BOOST_TEST(message_text(messages[messages.size() - 1]) == "enough");
}

BOOST_AUTO_TEST_CASE(after_a_hanging_action_the_others_of_its_answer_are_done) {
  bench b;
  gate stuck;
  b.room.prepare = [&](logging_computer& made) { made.on_click = [&] { stuck.pass(); }; };
  auto wait = R"({"action":"wait","duration":0})";
  auto last = [&](const value&) {
    stuck.open();
    return value("enough");
  };
  auto options = b.options(script_of({acting({wait, click, wait}), last}));
  options.action_timeout = 50ms;
  options.screenshot_after_action = false;
  auto messages = worked(options);
  stuck.open();
  BOOST_TEST(message_text(result_of_call(messages, "c1")) == "Done.");
  BOOST_TEST(is_failure(result_of_call(messages, "c2")));
  BOOST_TEST(message_text(result_of_call(messages, "c3")) == "Done.");
  BOOST_TEST(message_text(messages[messages.size() - 1]) == "enough");
}

BOOST_AUTO_TEST_CASE(a_lost_computer_is_told_and_the_next_action_begins_another) {
  bench b;
  b.room.prepare = [&](logging_computer& made) {
    if (b.room.begun == 1)
      made.on_click = [] { throw computer_lost{"power failure"}; };
  };
  auto model = script_of({acting({click, look_at_it}), acting({click}, 3), "ok"});
  runtime rt;
  auto out = rt.load(create_cua(b.options(model))).invoke(told_to_work()).value();
  const auto& messages = out["messages"];
  BOOST_TEST(message_text(result_of_call(messages, "c1"))
             == "The computer was lost, with everything that was open on it: power failure. The "
                "next action starts a new one.");
  BOOST_TEST(is_failure(result_of_call(messages, "c1")));
  BOOST_TEST(is_failure(result_of_call(messages, "c2"))); // it was meant for the one that is lost
  BOOST_TEST(!is_failure(result_of_call(messages, "c3")));
  BOOST_TEST(b.done() == (log_lines{"begin pc-1", "click 0*1 1,2", "begin pc-2", "click 0*1 1,2"}),
             boost::test_tools::per_element());
  BOOST_TEST(out["instance_id"] == value("pc-2"));
}

BOOST_AUTO_TEST_CASE(a_computer_that_is_not_found_again_is_lost) {
  bench b;
  runtime rt;
  auto app = rt.load(create_cua(b.options(script_of({acting({click}), acting({click}, 2), "ok"}))));
  auto out = app.invoke(told_to_work().with("instance_id", "pc-of-yesterday")).value();
  BOOST_TEST(is_failure(result_of_call(out["messages"], "c1")));
  BOOST_TEST(!is_failure(result_of_call(out["messages"], "c2")));
  BOOST_TEST(out["instance_id"] == value("pc-1"));
}

BOOST_AUTO_TEST_CASE(a_computer_that_can_not_begin_or_does_not_fit_ends_the_run) {
  auto ends_with = [](const computer_factory& factory, screen_size display = small_screen) {
    bench b;
    auto options = b.options(script_of({acting({click}), "ok"}));
    options.computer = factory;
    options.display = display;
    runtime rt;
    auto how = rt.load(create_cua(options)).try_invoke(told_to_work());
    return how ? std::string{} : how.error().message();
  };
  auto log = std::make_shared<computer_log>();
  auto made = std::make_shared<logging_computer>(log);
  BOOST_TEST(ends_with([](const auto&) -> computer_instance {
               throw std::runtime_error{"no machine is free"};
             }).find("no machine is free")
             != std::string::npos);
  BOOST_TEST(ends_with([](const auto&) { return computer_instance{}; }).find("returned no computer")
             != std::string::npos);
  BOOST_TEST(ends_with([&](const auto&) {
               return computer_instance{made, ""};
             }).find("its id")
             != std::string::npos);
  BOOST_TEST(ends_with(
               [&](const auto&) {
                 return computer_instance{made, "a"};
               },
               {100, 81})
               .find("its display has 100 x 80")
             != std::string::npos);
  BOOST_TEST(log->read().empty());
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  auto refused = [](const std::function<void(cua_options&)>& change) {
    bench b;
    auto options = b.options(script_of({}));
    change(options);
    try {
      create_cua(options);
    } catch (const error& e) {
      return e.code() == errc::invalid_config;
    }
    return false;
  };
  BOOST_TEST(!refused([](cua_options&) {}));
  BOOST_TEST(refused([](cua_options& o) { o.computer = {}; }));
  BOOST_TEST(refused([](cua_options& o) { o.display.width = 0; }));
  BOOST_TEST(refused([](cua_options& o) { o.display.height = 8193; }));
  BOOST_TEST(refused([](cua_options& o) { o.screenshots_max = 0; }));
  BOOST_TEST(refused([](cua_options& o) { o.settle = -1ms; }));
  BOOST_TEST(refused([](cua_options& o) {
    o.enable_zoom = true;
    o.version = computer_tool_version::computer_20250124;
  }));
}

// ---- restarts, people, the end --------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_was_done_before_a_restart_is_not_done_again, data::make({false, true}),
                     cancelled) {
  bench b;
  auto saver = make_memory_saver();
  run_control control;
  int clicks = 0;
  b.room.prepare = [&](logging_computer& made) {
    made.on_click = [&] {
      if (++clicks == 2) // in the middle of the second
        cancelled ? control.cancel() : control.request_drain("restart");
    };
  };
  auto three = acting({click, R"({"action":"right_click"})", R"({"action":"type","text":"x"})"});
  {
    runtime rt{{.saver = saver}};
    auto app = rt.load(create_cua(b.options(script_of({three}))));
    auto how = app.try_invoke(
      told_to_work(), {.thread_id = "t", .durability = durability::sync, .control = control});
    BOOST_TEST((how.error().code() == (cancelled ? errc::cancelled : errc::graph_drained)));
  }
  runtime rt{{.saver = saver}};
  auto app = rt.load(create_cua(b.options(script_of({"done"}))));
  auto out = app.invoke(nullptr, {.thread_id = "t"}).value();
  BOOST_TEST(message_text(out["messages"][5]) == "done");
  auto again = cancelled ? log_lines{"attach pc-1", "click 2*1", "type x"}
                         : log_lines{"attach pc-1", "type x"};
  log_lines expected{"begin pc-1", "click 0*1 1,2", "click 2*1"};
  expected.insert(expected.end(), again.begin(), again.end());
  BOOST_TEST(b.done() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_thread_keeps_its_computer_unless_it_is_released) {
  auto used = [](bool release) {
    bench b;
    auto options =
      b.options(script_of({acting({look_at_it}), "done", acting({look_at_it}), "done"}));
    if (release)
      options.release = [&](const std::string& id) { b.room.log->add("release " + id); };
    runtime rt{{.saver = make_memory_saver()}};
    auto app = rt.load(create_cua(options));
    (void)app.invoke(told_to_work(), {.thread_id = "t"}).value();
    (void)app.invoke(told_to_work(), {.thread_id = "t"}).value();
    return b.done();
  };
  BOOST_TEST(used(false) == (log_lines{"begin pc-1", "attach pc-1"}),
             boost::test_tools::per_element());
  BOOST_TEST(used(true) == (log_lines{"begin pc-1", "release pc-1", "begin pc-2", "release pc-2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_person_is_asked_before_a_sensitive_action) {
  for (bool yes : {false, true}) {
    bench b;
    auto options = b.options(script_of({acting({click, R"({"action":"left_click"})"}), "done"}));
    options.sensitive = [](const computer_action& a) { return a.at.has_value(); };
    runtime rt{{.saver = make_memory_saver()}};
    auto app = rt.load(create_cua(options));
    auto paused = app.invoke(told_to_work(), {.thread_id = "t"});
    BOOST_REQUIRE(paused.interrupts().size() == 1u);
    BOOST_TEST(paused.interrupts()[0].value["action_requests"].size() == 1u);
    BOOST_TEST(b.done().empty());
    auto decision = value{{"type", yes ? "approve" : "reject"}};
    auto out = app
                 .invoke(command{.resume = value{{"decisions", value::list({decision})}}},
                         {.thread_id = "t"})
                 .value();
    BOOST_TEST(is_failure(result_of_call(out["messages"], "c1")) == !yes);
    auto expected = yes ? log_lines{"begin pc-1", "click 0*1 1,2", "click 0*1"}
                        : log_lines{"begin pc-1", "click 0*1"};
    BOOST_TEST(b.done() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(threads_have_computers_of_their_own_and_idle_ones_are_let_go) {
  bench b;
  constexpr auto threads = limits::computers_attached_max + 2;
  auto step = [](const value& messages) {
    auto rounds = messages.size() / 2;
    return rounds < 2 ? acting({look_at_it}, static_cast<int>(rounds) + 1) : value("done");
  };
  auto model = std::make_shared<scripted_model>(cua_script{step}, scripted_options{.repeat = true});
  auto options = b.options(model);
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(create_cua(options));
  run_config stops{.interrupt_after = {"tools"}}; // so that none of them ends
  for (std::size_t i = 0; i < threads; ++i) {
    stops.thread_id = std::to_string(i);
    (void)app.invoke(told_to_work(), stops);
  }
  BOOST_TEST(b.done().size() == threads);
  auto go_on = [&](const char* thread) { (void)app.invoke(nullptr, {.thread_id = thread}); };
  go_on("65");
  BOOST_TEST(b.done().size() == threads); // it was at hand
  go_on("0");
  BOOST_TEST(b.done().back() == "attach pc-1"); // it was the oldest
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
