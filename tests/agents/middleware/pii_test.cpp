// Personal data by type and strategy: the reference's tables.
#include "agents/middleware/pii.hpp"
#include "agents/middleware/pii_stream.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace troupe {
namespace {

// Found data stands in [[ ]]; `masked` is the whole text under the strategy mask.
struct pii_row {
  const char* type;
  const char* text;
  const char* masked;
};

std::ostream& operator<<(std::ostream& out, const pii_row& r) {
  return out << r.type << ": " << r.text;
}

const pii_row pii_rows[] = {
  // emails
  {"email", "Contact us at [[info@company.com]]", "Contact us at info@****.com"},
  {"email", "Email [[alice@test.com]] or [[bob@test.com]]", "Email alice@****.com or bob@****.com"},
  {"email", "[[first.last+tag_1%x@mail.co.uk]].", "first.last+tag_1%x@****.uk."},
  {"email", "This text has no email addresses", "This text has no email addresses"},
  {"email", "Invalid emails: @test.com, user@, user@domain",
   "Invalid emails: @test.com, user@, user@domain"},
  {"email", "a@b, x@y.z and me@1.2", "a@b, x@y.z and me@1.2"},
  {"email", "[[joe@x.com]]-based", "joe@****.com-based"},
  {"email", "[[joe@x.com]].", "joe@****.com."},
  {"email", "...[[joe@x.org]]", "...joe@****.org"},
  {"email", "joe@x.org1", "joe@x.org1"},
  {"email", "mailto:[[joe@x.org]]?subject=hi", "mailto:joe@****.org?subject=hi"},
  {"email", "<[[joe@x.org]]>", "<joe@****.org>"},
  // credit cards, by Luhn
  {"credit_card", "Card: [[4532015112830366]]", "Card: ************0366"},
  {"credit_card", "Card: [[4532-0151-1283-0366]]", "Card: ****-****-****-0366"},
  {"credit_card", "Card: [[4532 0151 1283 0366]]", "Card: **** **** **** 0366"},
  {"credit_card", "[[5425233430109903]] and [[2221000000000009]]",
   "************9903 and ************0009"},
  {"credit_card", "Card: 1234567890123456", "Card: 1234567890123456"},
  {"credit_card", "Card: 4532015112830367", "Card: 4532015112830367"},
  {"credit_card", "no card 4532 0151 1283 036", "no card 4532 0151 1283 036"},
  {"credit_card", "x4532015112830366", "x4532015112830366"},
  {"credit_card", "45320151128303660", "45320151128303660"},
  {"credit_card", "[[4532\t0151\t1283\t0366]]", "************0366"},
  {"credit_card", "[[4532-015112830366]]", "****-****-****-0366"},
  // IPv4
  {"ip", "Server IP: [[192.168.1.1]]", "Server IP: *.*.*.1"},
  {"ip", "Connect to [[10.0.0.1]] or [[8.8.8.8]].", "Connect to *.*.*.1 or *.*.*.8."},
  {"ip", "[[255.255.255.255]] [[0.0.0.0]]", "*.*.*.255 *.*.*.0"},
  {"ip", "Not an IP: 999.999.999.999", "Not an IP: 999.999.999.999"},
  {"ip", "256.1.1.1 and 1.2.3", "256.1.1.1 and 1.2.3"},
  {"ip", "Version 1.2.3 is no address", "Version 1.2.3 is no address"},
  {"ip", "dated 01.02.03.04", "dated 01.02.03.04"},
  {"ip", "at .[[10.0.0.1]]:80", "at .*.*.*.1:80"},
  {"ip", "v10.0.0.1 10.0.0.1234", "v10.0.0.1 10.0.0.1234"},
  // MACs
  {"mac_address", "MAC: [[00:1A:2B:3C:4D:5E]]", "MAC: **:**:**:**:**:5E"},
  {"mac_address", "MAC: [[00-1A-2B-3C-4D-5E]]", "MAC: **-**-**-**-**-5E"},
  {"mac_address", "mac: [[aa:bb:cc:dd:ee:ff]], lower", "mac: **:**:**:**:**:ff, lower"},
  {"mac_address", "[[00-1A:2B-3C:4D-5E]]", "**:**:**:**:**:5E"},
  {"mac_address", "Partial: 00:1A:2B:3C", "Partial: 00:1A:2B:3C"},
  {"mac_address", "No MAC: 00:1G:2B:3C:4D:5E", "No MAC: 00:1G:2B:3C:4D:5E"},
  {"mac_address", "x00:1A:2B:3C:4D:5E 00:1A:2B:3C:4D:5EF", "x00:1A:2B:3C:4D:5E 00:1A:2B:3C:4D:5EF"},
  // URLs
  {"url", "Visit [[http://example.com]] for details.", "Visit [MASKED_URL] for details."},
  {"url", "Visit [[https://example.com/path?x=1#y]] now", "Visit [MASKED_URL] now"},
  {"url", "Check [[www.example.com]]", "Check [MASKED_URL]"},
  {"url", "Go to [[example.com/page]]", "Go to [MASKED_URL]"},
  {"url", "[[www.internal.corp/secret?token=1]]", "[MASKED_URL]"},
  {"url", "[[http://test.com]] and [[https://example.org]]", "[MASKED_URL] and [MASKED_URL]"},
  {"url", "([[https://a.b/c]]), [[www.a.b]]; [[a.b/c]]!",
   "([MASKED_URL]), [MASKED_URL]; [MASKED_URL]!"},
  {"url", "plain example.com in prose", "plain example.com in prose"},
  {"url", "no URLs here, not even one. Or two", "no URLs here, not even one. Or two"},
  {"url", "and/or either/or 5/6", "and/or either/or 5/6"},
  {"url", "http:// alone, http:///nobody", "http:// alone, http:///nobody"},
  {"url", "see:[[http://a.b]]", "see:[MASKED_URL]"},
  {"url", "ftp://[[example.com/page]]", "ftp://[MASKED_URL]"},
  {"url", "[[my-host.example.com/a]] -[[a.example.com/]]", "[MASKED_URL] -[MASKED_URL]"},
  {"url", "[[www.example.com?token=1]] [[db.corp:8080/secret]]", "[MASKED_URL] [MASKED_URL]"},
};

struct marked_text {
  std::string plain;
  std::vector<std::string> found;
};

marked_text read_marks(std::string_view text) {
  marked_text out;
  while (true) {
    auto open = text.find("[["), close = text.find("]]");
    if (open == text.npos)
      return out.plain += text, out;
    out.found.emplace_back(text.substr(open + 2, close - open - 2));
    out.plain += std::string{text.substr(0, open)} + out.found.back();
    text = text.substr(close + 2);
  }
}

pii_guard guard_of(const char* type, pii_strategy strategy) {
  return {type, {.strategy = strategy}, pii_finder_of(type)};
}

// The text with each piece of found data replaced.
template <class Replace> std::string replaced(std::string_view text, Replace replace) {
  std::string out;
  for (auto open = text.find("[["); open != text.npos; open = text.find("[[")) {
    auto close = text.find("]]");
    out += std::string{text.substr(0, open)} + replace(text.substr(open + 2, close - open - 2));
    text = text.substr(close + 2);
  }
  return out + std::string{text};
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_pii)

BOOST_DATA_TEST_CASE(what_is_found_is_hidden_by_every_strategy, pii_rows, row) {
  auto [plain, expected] = read_marks(row.text);
  std::vector<std::string> found;
  for (auto [begin, end] : pii_finder_of(row.type)(plain))
    found.push_back(plain.substr(begin, end - begin));
  BOOST_TEST(found == expected, boost::test_tools::per_element());

  std::string type = row.type, name = type;
  for (char& c : name)
    c = static_cast<char>(std::toupper(c));
  auto clean = [&](pii_strategy s) { return guard_of(row.type, s).clean(plain).value_or(plain); };
  BOOST_TEST(clean(pii_strategy::mask) == row.masked);
  auto redacted = replaced(row.text, [&](auto) { return "[REDACTED_" + name + ']'; });
  BOOST_TEST(clean(pii_strategy::redact) == redacted);
  auto hashed = clean(pii_strategy::hash);
  auto expected_hash = replaced(row.text, [&](std::string_view v) {
    return guard_of(row.type, pii_strategy::hash).hidden(v);
  });
  BOOST_TEST(hashed == expected_hash);

  std::string blocked = "nothing";
  try {
    clean(pii_strategy::block);
  } catch (const node_error& e) {
    blocked = e.type() + ": " + e.what();
  }
  auto count = std::to_string(expected.size());
  BOOST_TEST(blocked
             == (expected.empty() ? "nothing"
                                  : "PIIDetectionError: Detected " + count + " instance(s) of "
                                      + type + " in text content"));
}

BOOST_AUTO_TEST_CASE(a_hash_is_the_first_half_of_four_bytes_of_sha_256) {
  auto hash = [](const char* type, const char* text) {
    return guard_of(type, pii_strategy::hash).hidden(text);
  };
  BOOST_TEST(hash("email", "x@y.zz") == "<email_hash:4bcc30a8>");
  BOOST_TEST(hash("mac_address", "abc") == "<mac_address_hash:ba7816bf>");
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_of_data_shows_its_last_four_characters) {
  pii_guard by{"badge", {.strategy = pii_strategy::mask}, {}};
  BOOST_TEST(by.hidden("AB-12345") == "****2345");
  BOOST_TEST(by.hidden("1234") == "****");
}

BOOST_AUTO_TEST_CASE(a_url_without_a_scheme_is_hidden_in_answers_that_come_in_pieces) {
  auto by = guard_of("url", pii_strategy::redact);
  std::string text = "see www.internal.corp/secret?token=1 and example.com/page now";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    pii_text stream;
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += piece)
      shown += stream.take(by, std::string_view{text}.substr(at, piece), false);
    shown += stream.take(by, {}, true);
    BOOST_TEST(shown == "see [REDACTED_URL] and [REDACTED_URL] now");
  }
}

// A search that takes the square of a text's length does not end within the time of the test; twice
// the text has twice the places, less those where the two halves meet.
BOOST_AUTO_TEST_CASE(a_long_text_is_searched_in_linear_time) {
  for (const char* piece : {"a.", "a-", "www.", "1.", "a@", "0:", "4532 "}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i)
      text += piece;
    for (const char* type : {"email", "credit_card", "ip", "mac_address", "url"})
      BOOST_TEST(2 * pii_finder_of(type)(text.substr(0, text.size() / 2)).size() + 1
                 >= pii_finder_of(type)(text).size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
