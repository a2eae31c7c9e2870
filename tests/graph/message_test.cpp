// Messages as values and back.
#include <troupe/message.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(graph_message)

BOOST_AUTO_TEST_CASE(a_message_becomes_a_message_value_with_all_its_members) {
  message m{
    .role = "tool", .content = "42", .id = "m1", .more = value::map({{"tool_call_id", "c1"}})};
  auto v = value::of(m);
  BOOST_TEST(v.is(value_kind::message));
  BOOST_TEST(to_json(v.payload())
             == R"({"content":"42","id":"m1","role":"tool","tool_call_id":"c1"})");
}

BOOST_AUTO_TEST_CASE(a_message_without_an_id_has_no_such_member) {
  BOOST_TEST(!value::of(message{.content = "hi"}).payload().contains("id"));
  BOOST_TEST(!value::of(message{.content = "hi", .more = value::map({{"id", "other"}})})
                .payload()
                .contains("id"));
}

BOOST_AUTO_TEST_CASE(a_message_comes_back_as_it_was) {
  message m{.role = "assistant",
            .content = value::list({value::map({{"type", "text"}, {"text", "hi"}})}),
            .id = "m1",
            .more = value::map({{"name", "bot"}, {"tool_calls", value::list()}})};
  auto back = value::of(m).as<message>();
  BOOST_TEST(back.role == m.role);
  BOOST_TEST(back.content == m.content);
  BOOST_TEST(back.id == m.id);
  BOOST_TEST(back.more == m.more);
}

BOOST_AUTO_TEST_CASE(a_map_with_a_role_reads_as_a_message) {
  auto m = value::map({{"role", "user"}, {"content", "hi"}, {"id", nullptr}}).as<message>();
  BOOST_TEST(m.role == "user");
  BOOST_TEST(m.content == value("hi"));
  BOOST_TEST(m.id.empty());
  BOOST_TEST(m.more.empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_message_is_refused) {
  for (const auto& v : {value("hi"), value::map(), value::map({{"role", 1}}), value::list(),
                        value::map({{"role", "user"}, {"id", 1}})})
    BOOST_CHECK_EXCEPTION(v.as<message>(), error,
                          [](const error& e) { return e.code() == errc::invalid_value; });
  BOOST_CHECK_EXCEPTION(value::of(message{.more = "text"}), error,
                        [](const error& e) { return e.code() == errc::invalid_value; });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
