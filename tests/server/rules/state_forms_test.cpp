// States as clients read them.
#include "server/rules/state_forms.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {

BOOST_AUTO_TEST_SUITE(server_state_forms)

BOOST_AUTO_TEST_CASE(one_question_comes_with_the_state_and_several_alone) {
  auto values = value::map({{"n", 1}});
  const interrupt one{.id = "p", .value = "sure?"}, other{.id = "q", .value = "really?"};
  BOOST_TEST(output_form(values, {}) == values);
  BOOST_TEST(output_form(values, {one}) == values.with("__interrupt__", questions_form({one})));
  BOOST_TEST(output_form(values, {one, other})
             == value::map({{"__interrupt__", questions_form({one, other})}}));
}

BOOST_AUTO_TEST_CASE(a_thread_without_a_checkpoint_has_no_metadata) {
  auto form = state_form({}, "t");
  BOOST_TEST(form["metadata"].is_null());
  BOOST_TEST(form["checkpoint"].is_null());
}

BOOST_AUTO_TEST_CASE(the_tool_calls_of_a_message_have_a_type) {
  auto message = value::extension(
    value_kind::message,
    value::map({{"role", "assistant"},
                {"content", ""},
                {"tool_calls", value::list({value::map({{"id", "c"}, {"name", "f"}})})}}));
  state_snapshot state;
  state.values = value::map({{"messages", value::list({message})}});
  auto shown = state_form(state, "t")["values"]["messages"][0];
  BOOST_TEST(shown["tool_calls"][0]["type"] == value("tool_call"));
  BOOST_TEST(shown["tool_calls"][0]["name"] == value("f"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
