// Where the keys of an encrypted store come from, and what is refused.
#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>

#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace troupe {

namespace {

using test::require_error;

// The bytes 0 … 31, in both ways to write a key.
const std::string hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
const std::string base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const std::string other_hex = std::string(62, 'f') + "00";

bool holds_counted_bytes(const secret_key* key) {
  for (std::size_t i = 0; key && i < secret_key::size; ++i)
    if (key->data()[i] != i)
      return false;
  return key != nullptr;
}

/// Sets a variable, or removes it when there is no value, until the end.
class variable {
public:
  variable(const char* name, const char* value) : name_{name} {
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { unsetenv(name_); }

private:
  const char* name_;
};

struct keyring_fixture {
  test::temporary_directory dir;
  std::filesystem::path file = dir.path() / "keys";
  variable no_file{"TROUPE_STORE_KEY_FILE", nullptr};
  variable no_keys{"TROUPE_STORE_KEYS", nullptr};

  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream{file} << text;
    BOOST_REQUIRE(chmod(file.c_str(), mode) == 0);
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_keyring, keyring_fixture)

BOOST_AUTO_TEST_CASE(a_file_of_hex_and_base64_keys_gives_a_ring) {
  write("# old ones first\n\n  k-1 \t" + hex + "\r\nk_2.b  " + base64 + "\nk3 "
        + base64.substr(0, 43));
  auto ring = keyring::from_file(file).value();
  BOOST_TEST(ring->ids() == (std::vector<std::string>{"k-1", "k3", "k_2.b"}),
             boost::test_tools::per_element());
  for (const auto& id : ring->ids())
    BOOST_TEST(holds_counted_bytes(ring->find(id)), id);
  BOOST_TEST(!ring->find("k2"));
  BOOST_TEST(ring->current_id() == "k3");
}

BOOST_AUTO_TEST_CASE(the_marked_key_is_the_current_one_else_the_last) {
  BOOST_TEST(keyring::from_text("a " + hex + " current\nb " + hex).value()->current_id() == "a");
  BOOST_TEST(keyring::from_text("a " + hex + "\nb " + hex).value()->current_id() == "b");
}

BOOST_AUTO_TEST_CASE(rings_are_equal_when_ids_keys_and_the_current_one_are) {
  auto ring = [](const std::string& text) { return keyring::from_text(text).value(); };
  auto a = ring("a " + hex);
  BOOST_TEST((*a == *ring("a " + base64)));
  BOOST_TEST(!(*a == *ring("a " + other_hex)));
  BOOST_TEST(!(*a == *ring("b " + hex)));
  BOOST_TEST(!(*ring("a " + hex + "\nb " + hex) == *ring("b " + hex + "\na " + hex)));
}

BOOST_DATA_TEST_CASE(a_file_that_others_may_read_or_change_is_refused,
                     boost::unit_test::data::make({0640, 0604, 0620, 0602, 0660, 0610}), mode) {
  write("a " + hex, static_cast<mode_t>(mode));
  auto refused = keyring::from_file(file);
  require_error(refused, errc::invalid_config);
  BOOST_TEST(refused.error().message().find(file.string()) != std::string::npos);
  BOOST_TEST(refused.error().message().find("chmod 600") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_or_too_long_is_refused_by_name) {
  require_error(keyring::from_file(file), errc::invalid_config);
  require_error(keyring::from_file(dir.path()), errc::invalid_config);
  BOOST_REQUIRE(mkfifo(file.c_str(), 0600) == 0); // and nobody waits for a writer
  require_error(keyring::from_file(file), errc::invalid_config);
  std::filesystem::remove(file);

  auto text = "a " + hex + "\n";
  text += "#" + std::string(limits::store_key_file_bytes_max - text.size() - 1, 'x');
  write(text);
  BOOST_TEST(keyring::from_file(file).value()->current_id() == "a");
  write(text + "x");
  require_error(keyring::from_file(file), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE(malformed_text_is_refused_and_no_key_is_quoted) {
  const std::vector<std::string> malformed{
    "",
    "# nothing\n",
    "only-an-id",
    hex,
    hex + " " + hex,
    base64 + " a",
    "a b " + hex,
    "a/b " + hex,
    "\xc3\xa4 " + hex,
    "a " + hex + "0",
    "a " + hex.substr(1),
    "a g" + hex.substr(1),
    "a " + hex + " newest",
    "a " + base64.substr(0, 42) + "9", // bits after the last byte
    "a -" + base64.substr(1),
    "a " + base64.substr(0, 43) + "A",
    "a " + hex + "\na " + other_hex,
    "a " + hex + " current\nb " + hex + " current",
  };
  for (const auto& text : malformed) {
    auto refused = keyring::from_text(text);
    require_error(refused, errc::invalid_config);
    for (const auto& key : {hex, base64})
      BOOST_TEST(refused.error().message().find(key.substr(1, 20)) == std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(a_complaint_names_the_line) {
  write("# comment\na " + hex + "\nb 1234\n");
  auto refused = keyring::from_file(file);
  require_error(refused, errc::invalid_config);
  BOOST_TEST(refused.error().message().find("line 3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ids_and_their_number_are_bounded) {
  const std::string id(limits::store_key_id_bytes_max, 'a');
  BOOST_TEST(keyring::from_text(id + " " + hex).value()->current_id() == id);
  require_error(keyring::from_text(id + "a " + hex), errc::invalid_config);
  std::string text;
  for (std::size_t i = 0; i < limits::store_keys_max; ++i)
    text += std::to_string(i) + " " + hex + "\n";
  BOOST_TEST(keyring::from_text(text).value()->ids().size() == limits::store_keys_max);
  require_error(keyring::from_text(text + "more " + hex), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE(the_environment_names_keys_or_a_file_or_none) {
  BOOST_TEST(!keyring::from_environment().value());
  {
    variable keys{"TROUPE_STORE_KEYS", nullptr};
    setenv("TROUPE_STORE_KEYS", ("a:" + hex + ",b:" + base64).c_str(), 1);
    auto ring = keyring::from_environment().value();
    BOOST_TEST(ring->current_id() == "b");
    BOOST_TEST(holds_counted_bytes(ring->find("a")));
    setenv("TROUPE_STORE_KEYS", ("a:" + hex + ":current,b:" + base64).c_str(), 1);
    BOOST_TEST(keyring::from_environment().value()->current_id() == "a");
  }
  write("c " + hex);
  variable named{"TROUPE_STORE_KEY_FILE", file.c_str()};
  BOOST_TEST(keyring::from_environment().value()->current_id() == "c");
  variable both{"TROUPE_STORE_KEYS", ("a:" + hex).c_str()};
  require_error(keyring::from_environment(), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_empty_or_malformed_does_not_mean_no_encryption) {
  for (const auto* text : {"", ",", "a", "a:", ":b", "a:b:c:d"}) {
    variable keys{"TROUPE_STORE_KEYS", text};
    require_error(keyring::from_environment(), errc::invalid_config);
  }
  variable named{"TROUPE_STORE_KEY_FILE", ""};
  require_error(keyring::from_environment(), errc::invalid_config);
}

BOOST_AUTO_TEST_CASE(a_key_that_was_moved_is_wiped) {
  secret_key key;
  std::fill_n(key.data(), secret_key::size, std::uint8_t{7});
  secret_key other{std::move(key)};
  BOOST_TEST(std::all_of(key.data(), key.data() + secret_key::size, [](auto b) { return b == 0; }));
  BOOST_TEST(other.data()[31] == 7);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
