// Changes that are accepted and not committed: what is known of which document.
#include "server/documents/accepted_documents.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::server {
namespace {

document_change thread_change(const char* id, std::optional<value> body, std::uint64_t expected) {
  return {document_kind::thread, id, std::move(body), expected};
}

BOOST_AUTO_TEST_SUITE(server_accepted_documents)

BOOST_AUTO_TEST_CASE(a_document_is_changed_removed_or_not_touched) {
  accepted_documents accepted;
  BOOST_TEST(!accepted.has_any());
  accepted.put(thread_change("changed", value{{"n", 1}}, 4));
  accepted.put(thread_change("removed", std::nullopt, 2));
  BOOST_TEST(accepted.has_any());

  auto changed = accepted.find(document_kind::thread, "changed");
  BOOST_REQUIRE(changed.has_value());
  BOOST_REQUIRE(changed->has_value());
  BOOST_TEST((*changed)->revision == 5u);
  BOOST_TEST((*changed)->body["n"] == value(1));

  auto removed = accepted.find(document_kind::thread, "removed");
  BOOST_REQUIRE(removed.has_value());
  BOOST_TEST(!removed->has_value());

  BOOST_TEST(!accepted.find(document_kind::thread, "other").has_value());
  BOOST_TEST(!accepted.find(document_kind::run, "changed").has_value());
}

BOOST_AUTO_TEST_CASE(nothing_is_known_after_the_commit) {
  accepted_documents accepted;
  accepted.put(thread_change("t", value{{"n", 1}}, 0));
  accepted.clear();
  BOOST_TEST(!accepted.has_any());
  BOOST_TEST(!accepted.find(document_kind::thread, "t").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::server
