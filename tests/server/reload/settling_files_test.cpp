// Files that change: when they are at rest.
#include "server/reload/settling_files.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

using std::chrono::milliseconds;
using paths = std::vector<std::filesystem::path>;

settling_files::clock::time_point at(int ms) {
  return settling_files::clock::time_point{} + std::chrono::hours{1} + milliseconds{ms};
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_reload_settling_files)

BOOST_AUTO_TEST_CASE(a_file_settles_once_when_it_has_been_quiet) {
  settling_files files{milliseconds{200}};
  BOOST_TEST(!files.wait(at(0)).has_value());
  files.change("a", true, at(0));
  BOOST_TEST((files.wait(at(50)) == milliseconds{150}));
  BOOST_TEST(files.settle(at(199)).empty());
  BOOST_TEST((files.settle(at(200)) == paths{"a"}));
  BOOST_TEST(files.settle(at(300)).empty());
  BOOST_TEST(!files.wait(at(300)).has_value());
}

BOOST_AUTO_TEST_CASE(each_change_begins_the_quiet_time_anew) {
  settling_files files{milliseconds{200}};
  files.change("a", true, at(0));
  files.change("a", true, at(150));
  BOOST_TEST(files.settle(at(250)).empty());
  BOOST_TEST((files.wait(at(250)) == milliseconds{100}));
  BOOST_TEST((files.settle(at(350)) == paths{"a"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_open_for_writing_does_not_settle) {
  settling_files files{milliseconds{200}};
  files.change("a", true, at(0));
  files.change("a", false, at(10));
  BOOST_TEST(!files.wait(at(5000)).has_value());
  BOOST_TEST(files.settle(at(5000)).empty());
  files.change("a", true, at(5000));
  BOOST_TEST((files.settle(at(5200)) == paths{"a"}));
}

BOOST_AUTO_TEST_CASE(files_settle_apart_and_in_order) {
  settling_files files{milliseconds{200}};
  files.change("b", true, at(0));
  files.change("c", true, at(100));
  files.change("a", true, at(0));
  BOOST_TEST((files.wait(at(0)) == milliseconds{200}));
  BOOST_TEST((files.settle(at(200)) == paths{"a", "b"}));
  BOOST_TEST((files.wait(at(900)) == milliseconds{0}));
  BOOST_TEST((files.settle(at(900)) == paths{"c"}));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_millisecond_is_waited_for) {
  settling_files files{milliseconds{200}};
  files.change("a", true, at(0));
  BOOST_TEST((files.wait(at(199) + std::chrono::microseconds{1}) == milliseconds{1}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
