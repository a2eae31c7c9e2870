// Parts of a stream about a task.
#include "engine/stream_payloads.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(stream_payloads)

BOOST_AUTO_TEST_CASE(a_task_shows_its_metadata_and_tags_without_its_place) {
  auto metadata = value::map({{"m", 1}, {"thread_id", "t"}, {"langgraph_step", 2}});
  std::vector<std::string> tags{"fast", "seq:step:1"};
  BOOST_TEST(shown_task_metadata(metadata, tags)
             == value::map({{"m", 1}, {"tags", value::list({"fast"})}}));
  BOOST_TEST(shown_task_metadata(metadata, {}) == value::map({{"m", 1}}));
  std::vector<std::string> hidden{"seq:step:1"};
  BOOST_TEST(shown_task_metadata(value::map(), hidden).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
