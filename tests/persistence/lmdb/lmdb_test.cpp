// The LMDB saver where it differs from one in memory: files, damage, a full disk.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/store_format.hpp"

#include "tests/persistence/lmdb/lmdb_saver_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::require_error;

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb, test::lmdb_saver_fixture)

// ---- files -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_stored_is_there_after_reopening) {
  for (unsigned n = 0; n < 3; ++n) {
    auto s = open(dir);
    s->put({"t", "", ""}, nth_put(n)).value();
    s->put_writes({"t", "", checkpoint_id(n)}, {"task", "", {{"n" + std::to_string(n), n}}})
      .value();
  }
  auto found = open(dir)->list({}).value();
  BOOST_REQUIRE(found.size() == 3u);
  for (unsigned n = 0; n < 3; ++n) {
    BOOST_TEST(found[n].checkpoint.channel_values.at(0).second == value(2 - n));
    BOOST_TEST(found[n].pending_writes.at(0).channel == "n" + std::to_string(2 - n));
  }
}

BOOST_AUTO_TEST_CASE(the_directory_is_private) {
  open(dir);
  struct stat info {};
  BOOST_REQUIRE(stat(dir.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0700u);
  BOOST_REQUIRE(stat(file.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0600u);
}

BOOST_AUTO_TEST_CASE(opening_a_directory_twice_gives_the_same_saver) {
  auto first = open(dir);
  std::filesystem::create_directory_symlink(dir, temporary.path() / "link");
  BOOST_TEST(open(temporary.path() / "link") == first);
  BOOST_TEST(open(dir / ".." / "data" / "") == first);
}

BOOST_AUTO_TEST_CASE(a_directory_is_opened_anew_only_when_it_is_closed) {
  for (int round = 0; round < 20; ++round) {
    auto first = open(dir);
    first->submit(numbered_request("t", 0), save_ack::accepted, [](result<void>) {});
    std::jthread closer{[first = std::move(first)]() mutable { first.reset(); }};
    BOOST_TEST(number_of(*open(dir), "nobody") == value("absent"));
  }
}

BOOST_AUTO_TEST_CASE(a_file_of_something_else_is_refused_and_left_alone) {
  std::filesystem::create_directory(dir);
  for (std::size_t size : {1u, 100u, 4096u, 100'000u}) {
    const std::string text(size, 'x');
    std::ofstream{file, std::ios::binary | std::ios::trunc} << text;
    auto refused = open_lmdb_saver(dir);
    require_error(refused, errc::checkpoint_corrupt);
    BOOST_TEST(refused.error().message().find(file.string()) != std::string::npos);
    BOOST_TEST((file_bytes(file) == text));
  }
}

BOOST_AUTO_TEST_CASE(another_programs_lmdb_file_is_refused) {
  std::filesystem::create_directory(dir);
  {
    auto env = lmdb_env::open(file, 1 << 20).value();
    auto txn = env->begin_write().value();
    txn.put("key", "data").value();
    txn.commit().value();
  }
  require_error(open_lmdb_saver(dir), errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(a_store_of_a_newer_format_is_refused) {
  open(dir)->put({"t", "", ""}, nth_put(1)).value();
  {
    auto env = lmdb_env::open(file, 1 << 20).value();
    auto txn = env->begin_write().value();
    std::string record;
    begin_record(record);
    append_meta({.format = store_format + 1, .next_number = 9}, record);
    seal_record(record, meta_key(), record_kind::meta);
    txn.put(meta_key(), record).value();
    txn.commit().value();
  }
  auto refused = open_lmdb_saver(dir);
  require_error(refused, errc::format_too_new);
  BOOST_TEST(refused.error().message().find("newer") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_used_is_refused_by_name) {
  std::ofstream{temporary.path() / "a-file"} << "x";
  for (const auto& path : {temporary.path() / "missing" / "data", temporary.path() / "a-file",
                           temporary.path() / "a-file" / "data"}) {
    auto refused = open_lmdb_saver(path);
    require_error(refused, errc::storage_failed);
    BOOST_TEST(refused.error().message().find(path.string()) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(an_unwritable_directory_is_refused) {
  std::filesystem::create_directory(dir);
  child_process child{[this](child_process&) {
    if (geteuid() == 0) {
      static_cast<void>(!chmod(temporary.path().c_str(), 0755)); // to get as far as the directory
      if (setuid(65534) != 0)
        return 77;
    }
    chmod(dir.c_str(), 0500);
    auto refused = open_lmdb_saver(dir);
    return !refused && refused.error().code() == errc::storage_failed ? 0 : 1;
  }};
  BOOST_TEST(child.wait() == 0);
}

// ---- damage ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_byte_flipped_in_the_file_is_reported_and_the_rest_stays_readable) {
  {
    auto s = open(dir);
    s->put({"bad", "", ""}, make_put("c1", "", {{"a", std::string(10'000, 'Q')}})).value();
    s->put({"good", "", ""}, nth_put(1)).value();
  }
  auto bytes = file_bytes(file);
  auto at = bytes.find(std::string(10'000, 'Q'));
  BOOST_REQUIRE(at != std::string::npos);
  bytes[at + 5'000] = 'q';
  std::ofstream{file, std::ios::binary} << bytes;

  auto s = open(dir);
  auto damaged = s->get_tuple({"bad", "", ""});
  require_error(damaged, errc::checkpoint_corrupt);
  BOOST_TEST(damaged.error().message().find(file.string()) != std::string::npos);
  require_error(s->list({}), errc::checkpoint_corrupt);
  BOOST_TEST(number_of(*s, "good") == value(1));
  s->delete_thread("bad").value();
  BOOST_TEST(s->list({}).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_ends_no_process) {
  {
    auto s = open(dir);
    s->put({"t", "", ""}, large_put(0, 100'000)).value();
  }
  const auto whole = file_bytes(file);
  const auto written = large_put(0, 100'000).checkpoint.channel_values;
  std::size_t refused = 0;
  for (auto cut = whole.size(); cut > 16 * 4096; cut -= 4096) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << whole.substr(0, cut);
    auto s = open(dir);
    auto tuple = s->get_tuple({"t", "", ""});
    if (tuple) {
      BOOST_REQUIRE(tuple->has_value());
      BOOST_TEST(((**tuple).checkpoint.channel_values == written));
      continue;
    }
    require_error(tuple, errc::checkpoint_corrupt);
    ++refused;
    BOOST_TEST(cut < whole.size());
  }
  BOOST_TEST(refused > 0u);
}

// ---- the writer --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_accepted_is_seen_by_every_read) {
  auto s = open(dir, {.commit_window = std::chrono::hours{1}});
  for (unsigned n = 0; n < 5; ++n) {
    test::submit(*s, numbered_request("t", n), save_ack::accepted).get().value();
    BOOST_TEST(number_of(*s, "t") == value(n));
    test::submit(*s, numbered_request("u", n), save_ack::accepted).get().value();
    BOOST_TEST(s->list({.thread_id = "u"}).value().size() == n + 1);
    test::submit(*s, numbered_request("v", n), save_ack::accepted).get().value();
    BOOST_TEST(s->threads().value().back().checkpoints == n + 1);
  }
}

BOOST_AUTO_TEST_CASE(several_threads_write_and_read_at_once) {
  constexpr unsigned threads = 4;
  constexpr unsigned checkpoints = 25;
  auto s = open(dir);
  {
    std::vector<std::jthread> writers;
    for (unsigned t = 0; t < threads; ++t)
      writers.emplace_back([&s, id = "t" + std::to_string(t)] {
        for (unsigned n = 0; n < checkpoints; ++n) {
          if (n % 2 == 0)
            s->put({id, "", ""}, nth_put(n)).value();
          else
            test::submit(*s, numbered_request(id, n), save_ack::accepted).get().value();
          if (number_of(*s, id) != value(n))
            std::abort();
        }
      });
  }
  for (const auto& info : s->threads().value())
    BOOST_TEST(info.checkpoints == checkpoints);
  s.reset();
  BOOST_TEST(open(dir)->list({}).value().size() == threads * checkpoints);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_too_deep_fails_alone) {
  value deep;
  for (std::size_t i = 0; i <= limits::value_depth_max; ++i)
    deep = value::list({deep});
  auto s = open(dir, {.commit_window = std::chrono::hours{1}});
  test::submit(*s, numbered_request("t", 0), save_ack::accepted).get().value();
  auto refused = s->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"deep", deep}, {"ok", 1}}));
  require_error(refused, errc::invalid_value);
  BOOST_TEST(refused.error().message().find("`deep`") != std::string::npos);
  require_error(s->put_writes({"t", "", checkpoint_id(0)}, {"task", "", {{"deep", deep}}}),
                errc::invalid_value);
  BOOST_TEST(number_of(*s, "t") == value(0));
  s->put({"t", "", ""}, nth_put(1)).value();
  BOOST_TEST(s->list({}).value().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_value_may_be_as_large_as_the_limit_and_no_larger) {
  constexpr std::size_t header = 5; // of msgpack's bin 32
  std::vector<std::byte> data(limits::value_size_bytes_max - header + 1);
  auto s = open(dir);
  require_error(s->put({"t", "", ""}, make_put("c", "", {{"a", value::bytes(data)}})),
                errc::invalid_value);
  data.pop_back();
  s->put({"t", "", ""}, make_put("c", "", {{"a", value::bytes(data)}})).value();
  BOOST_TEST(number_of(*s, "t").size() == data.size());
}

BOOST_AUTO_TEST_CASE(deleting_every_thread_leaves_nothing_behind) {
  {
    auto s = open(dir);
    for (const auto* thread : {"a", "b"})
      for (const auto& ns : {std::string{}, std::string{"child"}, std::string(500, 'n')}) {
        s->put({thread, ns, ""}, nth_put(1)).value();
        s->put_writes({thread, ns, checkpoint_id(1)}, {"task", "", {{"x", 1}}}).value();
      }
    s->delete_thread("a").value();
    s->delete_thread("b").value();
  }
  auto env = open_saver_file(file, 1 << 20).value();
  BOOST_TEST(env->begin_read().value().entries() == 1u); // the meta record
}

// ---- full --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_map_is_reported_loses_nothing_and_can_be_emptied) {
  constexpr std::size_t map_size = 512 << 10;
  auto s = open(dir, {.map_size_bytes_max = map_size});
  s->put({"keep", "", ""}, nth_put(7)).value();
  for (int round = 0; round < 5; ++round) {
    unsigned stored = 0;
    result<void> put = s->put({"fill", "", ""}, large_put(stored, 20'000));
    while (put) {
      ++stored;
      put = s->put({"fill", "", ""}, large_put(stored, 20'000));
    }
    require_error(put, errc::storage_full);
    BOOST_TEST(stored > 10u);
    BOOST_TEST(s->list({.thread_id = "fill"}).value().size() == stored);
    BOOST_TEST(number_of(*s, "keep") == value(7));
    s->delete_thread("fill").value();
  }
  BOOST_TEST(std::filesystem::file_size(file) < 2 * map_size);
  s->put({"keep", "", ""}, nth_put(8)).value();
  BOOST_TEST(number_of(*s, "keep") == value(8));
}

BOOST_AUTO_TEST_CASE(a_full_map_goes_on_with_a_larger_one) {
  unsigned stored = 0;
  {
    auto s = open(dir, {.map_size_bytes_max = 256 << 10});
    while (s->put({"t", "", ""}, large_put(stored, 10'000)))
      ++stored;
  }
  auto s = open(dir, {.map_size_bytes_max = 1 << 20});
  BOOST_TEST(s->list({}).value().size() == stored);
  s->put({"t", "", ""}, large_put(stored, 10'000)).value();
}

BOOST_AUTO_TEST_CASE(a_request_too_large_for_the_map_takes_no_other_along) {
  auto s = open(dir, {.map_size_bytes_max = 512 << 10, .commit_window = std::chrono::hours{1}});
  test::submit(*s, numbered_request("t", 0), save_ack::accepted).get().value();
  require_error(
    test::submit(*s, {{"u", "", ""}, {}, large_put(0, 1 << 20)}, save_ack::accepted).get(),
    errc::storage_full);
  test::submit(*s, numbered_request("t", 1), save_ack::durable).get().value();
  BOOST_TEST(s->list({.thread_id = "t"}).value().size() == 2u);
}

// A bound on the file's size stands for a full disk: writing fails in the same place.
BOOST_AUTO_TEST_CASE(a_full_disk_is_reported_loses_nothing_and_works_again_with_space) {
  child_process child{[this](child_process&) {
    signal(SIGXFSZ, SIG_IGN);
    auto s = open(dir);
    rlimit bound{400 << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &bound);
    unsigned stored = 0;
    for (int failures = 0; failures < 3;) {
      auto put = s->put({"t", "", ""}, large_put(stored, 20'000));
      if (put)
        ++stored;
      else if (put.error().code() == errc::storage_full)
        ++failures;
      else
        return 1;
    }
    if (stored < 5 || s->list({}).value().size() != stored)
      return 2;
    auto lost = test::submit(*s, {{"t", "", ""}, {}, large_put(stored, 20'000)},
                             save_ack::accepted);
    lost.get().value();
    if (s->list({}).value().size() != stored)
      return 3;
    bound.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &bound);
    auto told = s->put({"t", "", ""}, large_put(stored, 20'000));
    if (told || told.error().code() != errc::storage_full)
      return 4;
    s->put({"t", "", ""}, large_put(stored, 20'000)).value();
    return s->list({}).value().size() == stored + 1 ? 0 : 5;
  }};
  BOOST_TEST(child.wait() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
