// Key providers: a program that wraps data keys, its failures, and stores that use it.
#include "persistence/crypt/data_keys.hpp"

#include <troupe/keyring.hpp>
#include <troupe/node_cache.hpp>
#include <troupe/store.hpp>

#include "tests/fixtures/savers.hpp"
#include "tests/persistence/crypt/test_keys.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::make_put;
using test::require_error;

// Wraps by appending the context, under the key that the file `current` names; logs its calls.
constexpr const char* kms_script = R"(#!/bin/sh
here=$(dirname "$0")
echo "$1" >> "$here/calls"
current=$(cat "$here/current")
case "$1" in
  current) echo "$current" ;;
  wrap) read -r context; read -r key; echo "$current $key$context" ;;
  unwrap)
    read -r context; read -r id; read -r wrapped
    [ -e "$here/lost-$id" ] && exit 3
    case "$wrapped" in *"$context") ;; *) exit 3 ;; esac
    echo "${wrapped%"$context"}" ;;
esac
)";

secret_key counted_key() {
  secret_key key;
  for (std::size_t i = 0; i < secret_key::size; ++i)
    key.data()[i] = static_cast<std::uint8_t>(i + 1);
  return key;
}

const std::string counted_hex = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";

struct kms_fixture {
  test::temporary_directory dir;
  std::filesystem::path file = dir.path() / "kms";

  kms_fixture() {
    make_current("kms-1");
    write_program(kms_script);
  }
  void write_program(const std::string& text) {
    std::ofstream{file} << text;
    BOOST_REQUIRE(chmod(file.c_str(), 0700) == 0);
  }
  void make_current(const std::string& id) { std::ofstream{dir.path() / "current"} << id << "\n"; }
  std::shared_ptr<const key_provider> provider(std::chrono::milliseconds timeout = 5s) {
    return make_command_key_provider({.program = {file.string()}, .timeout = timeout}).value();
  }
  std::ptrdiff_t calls(const std::string& what) {
    std::ifstream in{dir.path() / "calls"};
    return std::count(std::istream_iterator<std::string>{in}, {}, what);
  }
  std::shared_ptr<saver> open() {
    return open_lmdb_saver(dir.path() / "data", {.keyring = provider()}).value();
  }
};

value stored_number(saver& in, const std::string& thread_id) {
  return in.get_tuple({thread_id, "", ""}).value()->checkpoint.channel_values.at(0).second;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_key_provider, kms_fixture)

// ---- the program --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_program_gives_back_the_key_that_it_wrapped) {
  auto keys = provider();
  BOOST_TEST(keys->wrapping_id().value() == "kms-1");
  auto wrapped = keys->wrap(counted_key(), "place").value();
  BOOST_TEST(wrapped.id == "kms-1");
  BOOST_TEST((keys->unwrap(wrapped, "place").value() == counted_key()));
  require_error(keys->unwrap(wrapped, "elsewhere"), errc::key_missing);
}

BOOST_AUTO_TEST_CASE(no_shell_reads_the_arguments) {
  write_program(
    "#!/bin/sh\n[ \"$1\" = '; exit 0; $(echo 1) *' ] && [ $# = 2 ] && echo \"id-$2\"\n");
  auto keys =
    make_command_key_provider({.program = {file.string(), "; exit 0; $(echo 1) *"}}).value();
  BOOST_TEST(keys->wrapping_id().value() == "id-current");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_missing_is_reported) {
  auto keys = make_command_key_provider({.program = {dir.path() / "nothing"}}).value();
  auto failed = keys->wrapping_id();
  require_error(failed, errc::storage_failed);
  BOOST_TEST(failed.error().message().find("nothing") != std::string::npos);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  require_error(provider()->wrap(counted_key(), "place"), errc::storage_failed);
}

BOOST_AUTO_TEST_CASE(an_exit_code_tells_a_missing_key_from_a_failure) {
  for (auto [code, expected] : {std::pair{"1", errc::storage_failed},
                                {"3", errc::key_missing},
                                {"127", errc::storage_failed}}) {
    // Also after an answer that would do.
    write_program("#!/bin/sh\necho " + counted_hex + "\nexit " + code + "\n");
    auto failed = provider()->unwrap({"kms-1", "bytes"}, "place");
    require_error(failed, expected);
    BOOST_TEST(failed.error().message().find(counted_hex.substr(0, 8)) == std::string::npos);
  }
  write_program("#!/bin/sh\nkill -9 $$\n");
  require_error(provider()->unwrap({"kms-1", "bytes"}, "place"), errc::storage_failed);
}

// It is killed with all that it started; a program that closed its output is waited for, too.
BOOST_DATA_TEST_CASE(a_program_that_hangs_is_killed,
                     boost::unit_test::data::make({"sleep 1000 & echo $$ > $here; wait",
                                                   "echo $$ > $here; exec >&-; sleep 1000",
                                                   "echo $$ > $here; exec yes"}),
                     body) {
  write_program("#!/bin/sh\nhere=$(dirname \"$0\")/group\n" + std::string{body} + "\n");
  auto failed = provider(300ms)->wrap(counted_key(), "place");
  require_error(failed, errc::storage_failed);
  BOOST_TEST(failed.error().message().find("300 ms") != std::string::npos);
  pid_t group = 0;
  std::ifstream{dir.path() / "group"} >> group;
  if (group != 0) // the machine may be too busy to have started it
    BOOST_TEST((kill(group, 0) != 0 && errno == ESRCH));
}

BOOST_DATA_TEST_CASE(
  an_answer_that_is_no_key_is_refused_and_not_shown,
  boost::unit_test::data::make({std::string{}, std::string{"\\n"}, std::string{"rubbish\\n"},
                                counted_hex, counted_hex + "\\n" + counted_hex + "\\n",
                                counted_hex + counted_hex + "\\n", counted_hex + "00\\n",
                                counted_hex.substr(2) + "\\n", counted_hex.substr(1) + "x\\n",
                                "kms-1 " + counted_hex + "\\n", std::string(20'000, 'a') + "\\n"}),
  answer) {
  write_program("#!/bin/sh\nprintf '" + answer + "'\n");
  auto failed = provider()->unwrap({"kms-1", "bytes"}, "place");
  require_error(failed, errc::storage_failed);
  BOOST_TEST(failed.error().message().find(counted_hex.substr(2, 8)) == std::string::npos);
  BOOST_TEST(failed.error().message().find("malformed") != std::string::npos);
}

BOOST_DATA_TEST_CASE(
  a_wrapped_key_out_of_limits_is_refused,
  boost::unit_test::data::make({std::string{"kms-1"}, std::string{"kms-1 "}, std::string{" abcd"},
                                "kms-1 " + std::string(2 * limits::wrapped_key_bytes_max + 2, 'a'),
                                std::string(limits::store_key_id_bytes_max + 1, 'k') + " abcd",
                                std::string{"kms-1 abc"}}),
  answer) {
  write_program("#!/bin/sh\necho '" + answer + "'\n");
  require_error(provider()->wrap(counted_key(), "place"), errc::storage_failed);
}

BOOST_AUTO_TEST_CASE(the_largest_wrapped_key_goes_both_ways) {
  wrapped_key largest{std::string(limits::store_key_id_bytes_max, 'k'),
                      std::string(limits::wrapped_key_bytes_max, '\x5a')};
  write_program("#!/bin/sh\ncase $1 in wrap) printf '%s ' " + largest.id
                + "; head -c 8192 /dev/zero | tr '\\0' '5' | sed 's/55/5a/g'; echo ;;\n"
                  "unwrap) read -r c; read -r i; read -r w; [ ${#w} = 8192 ] && echo "
                + counted_hex + " ;; esac\n");
  BOOST_TEST((provider()->wrap(counted_key(), "place").value() == largest));
  BOOST_TEST((provider()->unwrap(largest, "place").value() == counted_key()));
}

BOOST_AUTO_TEST_CASE(options_of_a_program_that_make_no_sense_are_refused) {
  require_error(make_command_key_provider({}), errc::invalid_config);
  require_error(make_command_key_provider({.program = {""}}), errc::invalid_config);
  for (auto timeout : {0ms, -1ms, limits::key_provider_timeout + 1ms})
    require_error(make_command_key_provider({.program = {"kms"}, .timeout = timeout}),
                  errc::invalid_config);
}

// ---- stores -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_saver_asks_the_program_once_for_each_data_key) {
  auto store = open();
  for (unsigned n = 0; n < 3; ++n)
    store->put({"t", "", ""}, make_put("c" + std::to_string(n), "", {{"n", n}}, {}, {n + 1, 7}))
      .value();
  BOOST_TEST(stored_number(*store, "t") == value(2));
  BOOST_TEST((calls("wrap") == 1 && calls("unwrap") == 0));
  BOOST_TEST(open() == store); // an equal program gives equal keys
  store.reset();
  store = open();
  for (int round = 0; round < 3; ++round)
    BOOST_TEST(stored_number(*store, "t") == value(2));
  BOOST_TEST((calls("wrap") == 1 && calls("unwrap") == 1));
}

BOOST_AUTO_TEST_CASE(a_store_works_on_when_the_program_fails) {
  auto store = open();
  store->put({"t", "", ""}, make_put("c", "", {{"n", 1}})).value();
  write_program("#!/bin/sh\nexit 1\n");
  require_error(store->put({"u", "", ""}, make_put("c", "", {{"n", 2}})), errc::storage_failed);
  BOOST_TEST(stored_number(*store, "t") == value(1)); // its key is remembered
  write_program(kms_script);
  store->put({"u", "", ""}, make_put("c", "", {{"n", 2}})).value();
  BOOST_TEST(stored_number(*store, "u") == value(2));
  store.reset();
  std::ofstream{dir.path() / "lost-kms-1"};
  auto refused = open()->get_tuple({"t", "", ""});
  require_error(refused, errc::key_missing);
  BOOST_TEST(refused.error().message().find("`kms-1`") != std::string::npos);
  require_error(open_lmdb_saver(dir.path() / "data", {.keyring = test::keys("k1")})
                  .value()
                  ->get_tuple({"t", "", ""}),
                errc::key_missing);
}

BOOST_AUTO_TEST_CASE(rotation_moves_all_files_to_the_programs_new_key) {
  auto data = dir.path() / "data";
  open()->put({"t", "", ""}, make_put("c", "", {{"n", 1}})).value();
  open_lmdb_store(data, {.keyring = provider()}).value()->put({"a"}, "k", value{{"n", 1}}).value();
  open_lmdb_cache(data, {.keyring = provider()}).value()->set({{"s"}, "k"}, 1, {}).value();
  make_current("kms-2");
  BOOST_TEST((rotate_store_keys(data, provider()).value() == rotation_report{1, 3, 2}));
  BOOST_TEST((rotate_store_keys(data, provider()).value() == rotation_report{1, 0, 2}));
  std::ofstream{dir.path() / "lost-kms-1"};
  BOOST_TEST(stored_number(*open(), "t") == value(1));
  BOOST_TEST(
    open_lmdb_store(data, {.keyring = provider()}).value()->get({"a"}, "k").value().has_value());
}

BOOST_AUTO_TEST_CASE(a_provider_that_answers_nonsense_stores_nothing) {
  struct nonsense final : key_provider {
    result<std::string> wrapping_id() const override { return std::string{"id"}; }
    result<wrapped_key> wrap(const secret_key&, std::string_view) const override {
      return wrapped_key{"an id with spaces", "bytes"};
    }
    result<secret_key> unwrap(const wrapped_key&, std::string_view) const override {
      return secret_key{};
    }
  };
  auto store =
    open_lmdb_saver(dir.path() / "data", {.keyring = std::make_shared<nonsense>()}).value();
  require_error(store->put({"t", "", ""}, make_put("c", "", {{"n", 1}})), errc::storage_failed);
  BOOST_TEST(store->list({}).value().empty());
}

BOOST_AUTO_TEST_CASE(a_provider_remembers_a_bounded_number_of_keys) {
  struct counting final : key_provider {
    mutable std::size_t unwrapped = 0;
    result<std::string> wrapping_id() const override { return std::string{"id"}; }
    result<wrapped_key> wrap(const secret_key&, std::string_view context) const override {
      return wrapped_key{"id", std::string{context}};
    }
    result<secret_key> unwrap(const wrapped_key&, std::string_view) const override {
      ++unwrapped;
      return secret_key{};
    }
  };
  auto inner = std::make_shared<counting>();
  auto keys = remembering(inner);
  auto ask = [&keys](std::size_t n) { keys->unwrap({"id", "b"}, std::to_string(n)).value(); };
  for (std::size_t n = 0; n < limits::data_keys_remembered_max; ++n)
    ask(n);
  ask(0);
  BOOST_TEST(inner->unwrapped == limits::data_keys_remembered_max);
  ask(limits::data_keys_remembered_max); // the memory starts over
  ask(0);
  BOOST_TEST(inner->unwrapped == limits::data_keys_remembered_max + 2);
  auto ring = test::keys("k1");
  BOOST_TEST((remembering(ring) == ring && remembering(nullptr) == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
