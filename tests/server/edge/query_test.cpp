// Queries and segments of paths, in the forms of both SDKs, and in hostile ones.
#include "server/edge/query.hpp"
#include "server/edge/refusal.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;
using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(server_query)

BOOST_AUTO_TEST_CASE(a_list_has_one_meaning_in_all_its_forms) {
  for (const char* form : {"m=values&m=updates", "m=values,updates", "m=[\"values\",\"updates\"]",
                           "m=%5B%22values%22%2C+%22updates%22%5D", "m=values&m=[\"updates\"]"})
    BOOST_TEST(query_parameters{form}.list("m") == (texts{"values", "updates"}), form);
  BOOST_TEST(query_parameters{"m="}.list("m") == texts{});
  BOOST_TEST(query_parameters{"m=[1]"}.list("m") == texts{"[1]"});
  BOOST_TEST(query_parameters{"x=1"}.list("m") == texts{});
}

BOOST_AUTO_TEST_CASE(the_last_value_of_a_name_counts) {
  query_parameters q{"a=1&b=x%20y+z&a=2&c&=3&&d=%zz"};
  BOOST_TEST(q.text("a").value() == "2");
  BOOST_TEST(q.text("b").value() == "x y z");
  BOOST_TEST(q.text("c").value() == "");
  BOOST_TEST(q.text("d").value() == "%zz");
  BOOST_TEST(q.has("c"));
  BOOST_TEST(!q.text("e"));
}

BOOST_AUTO_TEST_CASE(flags_are_read_in_any_case) {
  for (const char* yes : {"f=true", "f=1", "f=True", "f=YES", "f=on"})
    BOOST_TEST(query_parameters{yes}.flag("f", false), yes);
  for (const char* no : {"f=false", "f=0", "f=False", "f=no", "f=OFF"})
    BOOST_TEST(!query_parameters{no}.flag("f", true), no);
  BOOST_TEST(query_parameters{}.flag("f", true));
  BOOST_CHECK_EXCEPTION(query_parameters{"f=maybe"}.flag("f", true), refusal,
                        [](const refusal& no) {
                          return no.status() == 422 && no.detail().find("'f'") != std::string::npos
                                 && no.detail().find("maybe") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(a_number_is_within_its_bounds) {
  BOOST_TEST(query_parameters{"n=1"}.number("n", 7, 1, 1000) == 1);
  BOOST_TEST(query_parameters{"n=1000"}.number("n", 7, 1, 1000) == 1000);
  BOOST_TEST(query_parameters{}.number("n", 7, 1, 1000) == 7);
  for (const char* bad : {"n=0", "n=1001", "n=", "n=1x", "n=1.5", "n= 1", "n=99999999999999999999"})
    BOOST_CHECK_THROW(query_parameters{bad}.number("n", 7, 1, 1000), refusal);
}

BOOST_AUTO_TEST_CASE(an_absolute_target_has_a_host_and_a_path) {
  auto read = [](std::string_view target) {
    auto parts = read_absolute(target);
    return parts ? parts->host + ' ' + parts->path : "none";
  };
  BOOST_TEST(read("http://a:80/ok?x=http://b/") == "a:80 /ok?x=http://b/");
  BOOST_TEST(read("HTTPS://a") == "a /");
  BOOST_TEST(read("http://a?x=1") == "a /?x=1");
  BOOST_TEST(read("http:///ok") == " /ok");
  for (const char* other :
       {"/ok", "/http://a/ok", "http:/a", "http", "ftp://a/ok", "a:80", "*", ""})
    BOOST_TEST(read(other) == "none", other);
}

BOOST_AUTO_TEST_CASE(percent_decoding_takes_hex_digits_alone) {
  BOOST_TEST(percent_decoded("a%2Fb%c3%A9+").value() == "a/b\xc3\xa9+");
  for (const char* bad : {"%", "%1", "%g0", "%0g", "a%"})
    BOOST_TEST(!percent_decoded(bad), bad);
}

BOOST_AUTO_TEST_CASE(utf8_has_no_overlong_forms_and_no_surrogates) {
  for (const char* good :
       {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    BOOST_TEST(is_utf8(good), good);
  for (const char* bad : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x82"})
    BOOST_TEST(!is_utf8(bad));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
