// Errors between processes.
#include "cluster/wire/fields.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::cluster {

BOOST_AUTO_TEST_SUITE(cluster_fields)

BOOST_AUTO_TEST_CASE(an_error_arrives_with_its_base_and_its_details) {
  auto facts = value{{"status", 429}, {"retry_after_ms", 600'000}};
  auto sent = error{errc::overloaded, "message", "RateLimitError", "text"}
                .with_base("RuntimeError")
                .with_details(facts);
  auto got = to_error(to_value(sent));
  BOOST_TEST((got == sent));
  BOOST_TEST(got.text() == "text");
  BOOST_TEST(got.base() == "RuntimeError");
  BOOST_TEST((got.details() == facts));
}

BOOST_AUTO_TEST_CASE(an_error_without_details_arrives_without_any) {
  auto got = to_error(to_value(error{errc::node_failed, "message", "T", "text"}));
  BOOST_TEST(got.details().is_null());
  BOOST_TEST(got.base().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
