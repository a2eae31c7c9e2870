// Filters of authorisers.
#include "server/auth/authorise.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

value filter_of(const char* json) {
  return from_json(json, json_form::plain).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_authorise)

BOOST_AUTO_TEST_CASE(a_filter_fits_metadata_that_has_its_members) {
  auto mine = filter_of(R"({"owner":"ann","n":1})");
  BOOST_TEST(fits_filter({}, {}));
  BOOST_TEST(fits_filter(filter_of(R"({"owner":"ann"})"), mine));
  BOOST_TEST(fits_filter(filter_of(R"({"owner":{"$eq":"ann"}})"), mine));
  for (const char* other : {R"({"owner":"bob"})", R"({"team":"a"})", R"({"team":null})",
                            R"({"owner":"ann","n":2})", R"({"owner":{"$contains":"ann"}})"})
    BOOST_TEST(!fits_filter(filter_of(other), mine), other);
  BOOST_TEST(!fits_filter(filter_of(R"({"owner":"ann"})"), {}));
}

BOOST_AUTO_TEST_CASE(a_list_contains_one_value_or_all_of_several) {
  auto shared = filter_of(R"({"with":["ann","bob"]})");
  BOOST_TEST(fits_filter(filter_of(R"({"with":{"$contains":"ann"}})"), shared));
  BOOST_TEST(fits_filter(filter_of(R"({"with":{"$contains":["ann","bob"]}})"), shared));
  BOOST_TEST(!fits_filter(filter_of(R"({"with":{"$contains":["ann","eve"]}})"), shared));
}

BOOST_AUTO_TEST_CASE(a_wrong_filter_fits_nothing) {
  for (const char* wrong :
       {"7", R"({"owner":{"$ne":"ann"}})", R"({"owner":{}})",
        R"({"owner":{"$eq":1,"$contains":1}})", R"({"a":{"$contains":[]}})", R"({"owner":null})",
        R"({"a":[]})", R"({"a":{"$eq":{"b":1}}})", R"({"a":{"$contains":[["b"]]}})"}) {
    BOOST_TEST(!filter_problem(filter_of(wrong)).empty(), wrong);
    BOOST_TEST(!fits_filter(filter_of(wrong), filter_of(R"({"owner":"ann","a":[]})")), wrong);
  }
}

BOOST_AUTO_TEST_CASE(a_filter_wins_over_the_metadata_of_a_caller) {
  auto made = with_filter(filter_of(R"({"owner":{"$eq":"ann"},"with":{"$contains":"ann"}})"),
                          filter_of(R"({"owner":"eve","n":1})"));
  BOOST_TEST(made == filter_of(R"({"owner":"ann","with":["ann"],"n":1})"));
  BOOST_TEST(with_filter({}, {}) == value::map());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
