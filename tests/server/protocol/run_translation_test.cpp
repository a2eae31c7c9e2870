// The parts of a run as events of the thread protocol.
#include "server/protocol/run_translation.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {

namespace {

stream_part part_with_question(stream_mode mode, const char* id) {
  auto question = value::map({{"id", id}, {"value", "approve?"}});
  return {mode, {}, value::map({{"__interrupt__", value::list({question})}})};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_run_translation)

BOOST_AUTO_TEST_CASE(the_questions_of_a_run_come_once_at_its_end) {
  run_translation run{"graph"};
  for (const char* id : {"q", "r"})
    BOOST_TEST(run.part(part_with_question(stream_mode::updates, id)).empty());
  BOOST_TEST(run.part(part_with_question(stream_mode::values, "r")).empty());
  std::vector<std::string> heard;
  for (const auto& event : run.ended({}))
    heard.push_back(event.method);
  BOOST_TEST(
    heard
      == (std::vector<std::string>{"input.requested", "input.requested", "values", "lifecycle"}),
    boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_that_asked_is_interrupted_though_its_thread_went_on) {
  run_translation run{"graph"};
  run.part(part_with_question(stream_mode::updates, "q"));
  const run_outcome without_question{};
  BOOST_TEST(run.ended(without_question).back().data["event"] == value("interrupted"));
}

BOOST_AUTO_TEST_CASE(a_removal_of_a_message_is_no_message) {
  run_translation run{"graph"};
  auto removal = value::extension(value_kind::remove_message, "m");
  auto events = run.part({stream_mode::messages, {}, value::list({removal, value::map()})});
  BOOST_TEST(events.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server
