// Values as Python prints them.
#include "server/protocol/python_text.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

struct python_case {
  value v;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const python_case& c) {
  return out << c.text;
}
// As python3 prints them.
const std::vector<python_case> python_cases{
  {value{}, "None"},
  {true, "True"},
  {false, "False"},
  {-7, "-7"},
  {1.0, "1.0"},
  {0.1, "0.1"},
  {100000.0, "100000.0"},
  {1e15, "1000000000000000.0"},
  {1e16, "1e+16"},
  {0.0001, "0.0001"},
  {0.00001, "1e-05"},
  {-2.5, "-2.5"},
  {std::numeric_limits<double>::infinity(), "inf"},
  {"it's", "\"it's\""},
  {"a\nb", "'a\\nb'"},
  {value::list(), "[]"},
  {value::map(), "{}"},
  {value::map({{"count", 13}, {"log", value::list({"a", value{}})}}),
   "{'count': 13, 'log': ['a', None]}"}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_python_text)

BOOST_DATA_TEST_CASE(a_value_is_printed_as_python_does, data::make(python_cases), one) {
  BOOST_TEST(python_text(one.v) == one.text);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
