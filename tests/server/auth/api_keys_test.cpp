// API keys: their file, its changes, and how a request shows one.
#include "server/auth/api_keys.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

namespace troupe::server::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* hash_of_foo =
  "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

// A file of keys, removed at the end.
struct key_file {
  std::filesystem::path path = std::filesystem::temp_directory_path()
                               / ("troupe-keys-" + std::to_string(::getpid()));
  void write(const std::string& text) const { std::ofstream{path} << text; }
  ~key_file() { std::filesystem::remove(path); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_api_keys)

BOOST_AUTO_TEST_CASE(a_key_is_known_by_its_hash) {
  auto keys =
    read_api_keys("# a comment\n\n" + std::string{hash_of_foo} + " site a:read b\n").value();
  BOOST_REQUIRE(keys.size() == 1u);
  auto who = holder_of(keys, "foo");
  BOOST_REQUIRE(who.has_value());
  BOOST_TEST(who->identity == "site");
  BOOST_TEST(who->is_authenticated);
  BOOST_TEST((who->permissions == std::vector<std::string>{"a:read", "b"}));
  for (const char* wrong : {"", "fo", "foo ", "FOO", hash_of_foo})
    BOOST_TEST(!holder_of(keys, wrong), wrong);
}

BOOST_AUTO_TEST_CASE(a_new_key_fits_its_line_and_is_new_each_time) {
  auto made = make_api_key("site");
  auto keys = read_api_keys(made.line + " threads:read\n").value();
  auto who = holder_of(keys, made.key);
  BOOST_REQUIRE(who.has_value());
  BOOST_TEST(who->identity == "site");
  BOOST_TEST((who->permissions == std::vector<std::string>{"threads:read"}));
  BOOST_TEST(made.line.find(made.key) == std::string::npos);
  BOOST_TEST(!holder_of(keys, make_api_key("site").key));
  for (const char* wrong : {"", "a b", "a\n", "\t"})
    BOOST_CHECK_THROW(make_api_key(wrong), error);
}

BOOST_AUTO_TEST_CASE(the_empty_key_opens_nothing_even_when_its_hash_is_listed) {
  std::vector<api_key> keys{{sha256_of(""), {.identity = "x"}}};
  BOOST_TEST(!holder_of(keys, ""));
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_without_its_text) {
  for (const char* wrong : {"foo", "sha256:00", "sha1:00", "sha256:xx"}) {
    auto read = read_api_keys("\n" + std::string{wrong} + " site\n");
    BOOST_REQUIRE(!read);
    BOOST_TEST(read.error().message().find("line 2") != std::string::npos);
    BOOST_TEST(read.error().message().find(std::string{wrong} + " ") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_key_comes_in_one_of_two_headers) {
  BOOST_TEST(presented_key("a", "Bearer b") == "a");
  BOOST_TEST(presented_key("", "Bearer b") == "b");
  BOOST_TEST(presented_key("", "bEARER  b") == "b");
  for (const char* other : {"", "b", "Bearer", "Basic b", "Bearerb"})
    BOOST_TEST(presented_key("", other) == "", other);
}

BOOST_AUTO_TEST_CASE(a_changed_file_counts_and_a_damaged_one_does_not) {
  key_file file;
  std::vector<std::string> reports;
  auto report = [&reports](const std::string& line) { reports.push_back(line); };
  BOOST_CHECK_THROW((api_key_file{file.path, report}), error);
  file.write(std::string{hash_of_foo} + " first\n");
  api_key_file keys{file.path, report};
  api_key_file::clock::time_point now{1h};
  BOOST_TEST(keys.holder("foo", now)->identity == "first");
  file.write(std::string{hash_of_foo} + " another\n");
  BOOST_TEST(keys.holder("foo", now)->identity == "first"); // too soon to look
  BOOST_TEST(keys.holder("foo", now += 2s)->identity == "another");
  file.write("damaged and of another size\n");
  BOOST_TEST(keys.holder("foo", now += 2s)->identity == "another");
  BOOST_TEST(reports.size() == 1u);
  std::filesystem::remove(file.path);
  BOOST_TEST(!keys.holder("foo", now += 2s));
  file.write(std::string{hash_of_foo} + " again\n");
  BOOST_TEST(keys.holder("foo", now += 2s)->identity == "again");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
