#include "cluster/links/certificates.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

namespace troupe::cluster {

namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

// As good as any: nothing here looks at the clock.
const wall_time today{std::chrono::seconds{1'800'000'000}};
constexpr hours day{24};

struct folder {
  fs::path path;
  folder() {
    auto form = (fs::temp_directory_path() / "troupe-ca-XXXXXX").string();
    path = ::mkdtemp(form.data());
  }
  ~folder() { fs::remove_all(path); }
};

struct with_ca : folder {
  fs::path ca = path / "ca";
  with_ca() { init_ca(ca, {}, today).value(); }

  tls_files issue(const certificate_order& order) const {
    auto made = issue_cert(ca, order, today).value();
    return {made.certificate, made.key, ca / "ca.pem", {}};
  }
};

std::string text_of(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write(const fs::path& file, std::string_view text, fs::perms mode = fs::perms{0600}) {
  std::ofstream{file, std::ios::binary} << text;
  fs::permissions(file, mode);
}

unsigned mode_of(const fs::path& file) {
  return static_cast<unsigned>(fs::status(file).permissions());
}

std::size_t count_files(const fs::path& dir) {
  return static_cast<std::size_t>(
    std::distance(fs::directory_iterator{dir}, fs::directory_iterator{}));
}

template <class T>
void says(const result<T>& got, std::initializer_list<std::string_view> words,
          errc code = errc::invalid_config) {
  BOOST_REQUIRE(!got);
  BOOST_TEST_CONTEXT(got.error().message()) {
    BOOST_TEST((got.error().code() == code));
    for (auto word : words)
      BOOST_TEST(got.error().message().find(word) != std::string::npos,
                 "`" << word << "` is not named");
  }
}

std::shared_ptr<const passphrase> secret(const fs::path& dir, std::string_view text) {
  write(dir / "secret", text);
  return std::make_shared<const passphrase>(passphrase::from_file(dir / "secret").value());
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_certificates)

// ---- making -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_process_can_work_with_what_its_ca_issued) {
  with_ca here;
  auto files = here.issue({.name = "worker-1", .hosts = {"10.0.0.7", "::1", "w1.example.org"}});
  BOOST_TEST(check_tls_files(files, today).has_value());
  BOOST_TEST(check_tls_files(files, today + 364 * day).has_value());
}

BOOST_AUTO_TEST_CASE(keys_are_for_their_owner_alone) {
  with_ca here;
  auto files = here.issue({.name = "w"});
  BOOST_TEST(mode_of(here.ca) == 0700u);
  BOOST_TEST(mode_of(here.ca / "ca.key") == 0600u);
  BOOST_TEST(mode_of(files.key) == 0600u);
  BOOST_TEST((mode_of(files.certificate) & 0444u) != 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_ever_overwritten) {
  with_ca here;
  auto ca = text_of(here.ca / "ca.pem"), key = text_of(here.ca / "ca.key");
  says(init_ca(here.ca, {}, today), {"ca.pem", "is not overwritten"});
  fs::remove(here.ca / "ca.pem");
  says(init_ca(here.ca, {}, today), {"ca.key", "is not overwritten"});
  BOOST_TEST(text_of(here.ca / "ca.key") == key);
  BOOST_TEST(!fs::exists(here.ca / "ca.pem"));
  write(here.ca / "ca.pem", ca);
  auto files = here.issue({.name = "w"});
  auto before = text_of(files.key);
  says(issue_cert(here.ca, {.name = "w"}, today), {"w.pem", "is not overwritten"});
  fs::remove(files.certificate);
  says(issue_cert(here.ca, {.name = "w"}, today), {"w.key", "is not overwritten"});
  BOOST_TEST(text_of(files.key) == before);
  BOOST_TEST(!fs::exists(files.certificate));
}

BOOST_AUTO_TEST_CASE(a_ca_has_a_directory_or_makes_it_but_not_the_one_above) {
  folder here;
  says(init_ca(here.path / "not" / "there", {}, today), {"not/there", "No such file"});
  BOOST_TEST(count_files(here.path) == 0u);
  write(here.path / "file", "");
  says(init_ca(here.path / "file", {}, today), {"file", "exists"});
  fs::create_directory(here.path / "there");
  BOOST_TEST(init_ca(here.path / "there", {}, today).has_value());
  says(issue_cert(here.path / "elsewhere", {.name = "w"}, today), {"the CA is missing", "init-ca"});
}

BOOST_AUTO_TEST_CASE(what_is_ordered_is_checked_and_named) {
  with_ca here;
  auto before = count_files(here.ca);
  auto no = [&here](certificate_order order, std::string_view word) {
    says(issue_cert(here.ca, order, today), {word});
  };
  std::string longest(limits::cluster_certificate_name_bytes_max, 'w');
  for (const auto* name : {"", "../w", ".w", "a/b", "a b", "ä"})
    no({.name = name}, "letters, digits");
  no({.name = longest + "w"}, "letters, digits");
  no({.name = "ca"}, "the CA's own");
  no({.name = "w", .days = 0}, "days must be 1 to 3650");
  no({.name = "w", .days = limits::cluster_certificate_days_max + 1}, "days must be 1 to 3650");
  no({.name = "w", .hosts = {"DNS:evil,email:x"}}, "`DNS:evil,email:x` is neither");
  for (const auto* host : {"", "*.example.org", "a..b", "-a", "a-", ".a", "a.", "a b", "1.2.3.4/8"})
    no({.name = "w", .hosts = {host}}, "neither a host name nor an address");
  no({.name = "w", .hosts = {std::string(64, 'a')}}, "neither");
  no({.name = "w", .hosts = std::vector<std::string>(limits::cluster_hosts_max + 1, "a")},
     "64 hosts");
  BOOST_TEST(count_files(here.ca) == before);
  std::vector<std::string> hosts(limits::cluster_hosts_max, std::string(63, 'a') + ".b");
  BOOST_TEST(issue_cert(here.ca, {.name = longest, .hosts = hosts}, today).has_value());
  BOOST_TEST(issue_cert(here.ca, {.name = "w_1"}, today).has_value()); // no host, thus no host name
  folder other;
  says(init_ca(other.path / "ca", {.days = 0}, today), {"days must be 1 to 3650"});
  says(init_ca(other.path / "ca", {.name = longest + "w"}, today), {"64 bytes"});
}

BOOST_AUTO_TEST_CASE(no_certificate_outlives_its_ca) {
  folder here;
  init_ca(here.path / "ca", {.days = 10}, today).value();
  says(issue_cert(here.path / "ca", {.name = "w", .days = 11}, today),
       {"ca.pem", "the CA expires on"});
  BOOST_TEST(issue_cert(here.path / "ca", {.name = "w", .days = 10}, today).has_value());
}

BOOST_AUTO_TEST_CASE(a_ca_whose_files_do_not_fit_issues_nothing) {
  with_ca here, other;
  fs::copy_file(other.ca / "ca.key", here.ca / "ca.key", fs::copy_options::overwrite_existing);
  says(issue_cert(here.ca, {.name = "w"}, today), {"ca.key", "not the key of ca.pem"});
  fs::permissions(here.ca / "ca.key", fs::perms{0640});
  says(issue_cert(here.ca, {.name = "w"}, today), {"ca.key", "chmod 600"});
  BOOST_TEST(count_files(here.ca) == 2u);
}

// ---- checking -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_certificate_is_good_in_its_time_only) {
  with_ca here;
  auto files = here.issue({.name = "w", .days = 10});
  BOOST_TEST(check_tls_files(files, today + 10 * day - hours{1}).has_value());
  says(check_tls_files(files, today + 10 * day + hours{1}),
       {"w.pem", "the certificate has expired", "2027-01-25"});
  says(check_tls_files(files, today - hours{1}), {"w.pem", "not valid before", "2027-01-15"});
}

BOOST_AUTO_TEST_CASE(a_ca_is_good_in_its_time_only) {
  folder here;
  init_ca(here.path, {.days = 10}, today).value();
  auto made = issue_cert(here.path, {.name = "w", .days = 10}, today).value();
  says(check_tls_files({made.certificate, made.key, here.path / "ca.pem", {}}, today + 11 * day),
       {"w.pem", "a certificate of the CA has expired"});
}

BOOST_AUTO_TEST_CASE(a_certificate_of_another_ca_is_refused) {
  with_ca here, other;
  auto files = here.issue({.name = "w"});
  files.authority = other.ca / "ca.pem";
  says(check_tls_files(files, today), {"w.pem", "not signed by this CA"});
  files.authority = files.certificate;
  says(check_tls_files(files, today), {"not signed by this CA"});
}

BOOST_AUTO_TEST_CASE(a_key_belongs_to_its_certificate) {
  with_ca here;
  auto one = here.issue({.name = "one"}), two = here.issue({.name = "two"});
  one.key = two.key;
  says(check_tls_files(one, today), {"two.key", "not the key of", "one.pem"});
}

BOOST_AUTO_TEST_CASE(the_ca_itself_is_no_certificate_of_a_process) {
  with_ca here;
  says(check_tls_files({here.ca / "ca.pem", here.ca / "ca.key", here.ca / "ca.pem", {}}, today),
       {"ca.pem"});
}

BOOST_AUTO_TEST_CASE(a_file_that_can_not_be_used_is_named_with_the_reason) {
  with_ca here;
  auto good = here.issue({.name = "w"});
  write(here.path / "empty", "");
  write(here.path / "text", "hello");
  auto pem = text_of(good.certificate);
  write(here.path / "cut", pem.substr(0, pem.size() / 2));
  auto damaged = pem;
  damaged[pem.size() / 2] = damaged[pem.size() / 2] == 'A' ? 'B' : 'A';
  write(here.path / "damaged", damaged);
  write(here.path / "large", std::string(limits::cluster_pem_bytes_max + 1, 'x'));
  struct bad {
    const char* name;
    const char* what;
  };
  for (auto part : {&tls_files::certificate, &tls_files::key, &tls_files::authority})
    for (auto [name, what] : {bad{"missing", "No such file"}, bad{"empty", "in PEM"},
                              bad{"text", "in PEM"}, bad{"ca", "not a regular file"},
                              bad{"large", "more than 1048576 bytes"}, bad{"cut", ""}}) {
      auto files = good;
      files.*part = here.path / name;
      says(check_tls_files(files, today), {name, what});
    }
  auto files = good;
  files.certificate = here.path / "damaged";
  BOOST_TEST(!check_tls_files(files, today));
}

BOOST_AUTO_TEST_CASE(a_key_that_others_may_read_is_refused) {
  with_ca here;
  auto files = here.issue({.name = "w"});
  for (unsigned mode : {0640u, 0604u, 0620u, 0602u}) {
    fs::permissions(files.key, static_cast<fs::perms>(mode));
    says(check_tls_files(files, today), {"w.key", "chmod 600"});
  }
  fs::permissions(files.key, fs::perms{0400});
  BOOST_TEST(check_tls_files(files, today).has_value());
}

// ---- passphrases --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_passphrase_encrypts_keys_and_is_in_no_message) {
  folder here;
  auto ca_secret = secret(here.path, "open sesame\n"),
       key_secret = secret(here.path, "treacle\r\n");
  auto dir = here.path / "ca";
  init_ca(dir, {.secret = ca_secret}, today).value();
  BOOST_TEST(text_of(dir / "ca.key").find("ENCRYPTED") != std::string::npos);
  says(issue_cert(dir, {.name = "w"}, today), {"ca.key", "encrypted", "passphrase is missing"});
  auto wrong = issue_cert(dir, {.name = "w", .ca_secret = key_secret}, today);
  says(wrong, {"ca.key", "does not decrypt"});
  BOOST_TEST(wrong.error().message().find("treacle") == std::string::npos);
  auto made =
    issue_cert(dir, {.name = "w", .ca_secret = ca_secret, .secret = key_secret}, today).value();
  tls_files files{made.certificate, made.key, dir / "ca.pem", {}};
  says(check_tls_files(files, today), {"w.key", "passphrase is missing"});
  files.secret = ca_secret;
  says(check_tls_files(files, today), {"w.key", "does not decrypt"});
  files.secret = key_secret;
  BOOST_TEST(check_tls_files(files, today).has_value());
}

BOOST_AUTO_TEST_CASE(a_passphrase_comes_from_a_private_file) {
  folder here;
  auto file = here.path / "secret";
  std::string longest(limits::cluster_passphrase_bytes_max, 'x');
  write(file, longest + "\r\n");
  BOOST_TEST(passphrase::from_file(file).value().view() == longest);
  write(file, longest + "x");
  says(passphrase::from_file(file), {"1 to 1000 bytes"});
  write(file, "\nsecond");
  says(passphrase::from_file(file), {"1 to 1000 bytes"});
  write(file, "seen", fs::perms{0644});
  says(passphrase::from_file(file), {"chmod 600"});
  says(passphrase::from_file(here.path / "none"), {"none", "No such file"});
}

BOOST_AUTO_TEST_CASE(a_passphrase_comes_from_the_environment_or_a_file_it_names) {
  folder here;
  auto from = [] { return passphrase::from_environment("TROUPE_TEST_PASSPHRASE"); };
  auto set = [](const char* name, const char* text) { ::setenv(name, text, 1); };
  BOOST_TEST(from().value() == nullptr);
  set("TROUPE_TEST_PASSPHRASE", "one");
  BOOST_TEST(from().value()->view() == "one");
  set("TROUPE_TEST_PASSPHRASE", "");
  says(from(), {"TROUPE_TEST_PASSPHRASE", "empty"});
  auto file = here.path / "secret";
  write(file, "two\n");
  set("TROUPE_TEST_PASSPHRASE_FILE", file.c_str());
  says(from(), {"choose one"});
  ::unsetenv("TROUPE_TEST_PASSPHRASE");
  BOOST_TEST(from().value()->view() == "two");
  ::unsetenv("TROUPE_TEST_PASSPHRASE_FILE");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
