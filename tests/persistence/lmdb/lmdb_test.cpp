// The LMDB saver where it differs from one in memory: files, processes, crashes, full disks.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/runtime_marks.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/store_format.hpp"

#include "tests/fixtures/savers.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
using test::require_error;
using test::temporary_directory;

// Not compressed: these tests look for values in the file, and fill it.
std::shared_ptr<saver> open(const std::filesystem::path& dir, lmdb_saver_options options = {}) {
  options.compress_bytes_min = SIZE_MAX;
  return open_lmdb_saver(dir, options).value();
}

checkpoint_put numbered_put(unsigned n) {
  return make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1), {{"n", n}},
                  value{{"step", n}}, {n + 1, 7});
}

save_request numbered_request(std::string thread_id, unsigned n) {
  return {{std::move(thread_id), "", ""}, {}, numbered_put(n)};
}

// A value that fills pages.
checkpoint_put large_put(unsigned n, std::size_t bytes) {
  return make_put(checkpoint_id(n), "", {{"text", std::string(bytes, 'x')}}, value::map({}),
                  {n + 1, 7});
}

value number_of(saver& from, const std::string& thread_id, const std::string& id = "") {
  auto tuple = from.get_tuple({thread_id, "", id}).value();
  return tuple ? tuple->checkpoint.channel_values.at(0).second : value("absent");
}

/// Another process that runs `body(fd)` on its end of a socket-like pair of pipes.
class child_process {
public:
  template <class Fn> explicit child_process(Fn body) {
    BOOST_REQUIRE(pipe(to_child_) == 0);
    BOOST_REQUIRE(pipe(from_child_) == 0);
    pid_ = fork();
    BOOST_REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      int code = 99;
      try {
        code = body(*this);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "in the child: %s\n", e.what());
      }
      _exit(code);
    }
    close(to_child_[0]);
    close(from_child_[1]);
  }
  ~child_process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(to_child_[1]);
    close(from_child_[0]);
  }

  // The child's side.
  void report(unsigned n) { static_cast<void>(!write(from_child_[1], &n, sizeof n)); }
  void wait_for_parent() {
    char c;
    static_cast<void>(!read(to_child_[0], &c, 1));
  }

  // The parent's side.
  bool next_report(unsigned& n) { return read(from_child_[0], &n, sizeof n) == sizeof n; }
  void go_on() { static_cast<void>(!write(to_child_[1], "x", 1)); }
  void kill_now() { kill(pid_, SIGKILL); }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

private:
  int to_child_[2] = {-1, -1};
  int from_child_[2] = {-1, -1};
  pid_t pid_ = -1;
};

std::string file_bytes(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

struct lmdb_fixture {
  temporary_directory temporary;
  std::filesystem::path dir = temporary.path() / "data";
  std::filesystem::path file = dir / "troupe.mdb";
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb, lmdb_fixture)

// ---- files --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_stored_is_there_after_reopening) {
  for (unsigned n = 0; n < 3; ++n) {
    auto s = open(dir);
    s->put({"t", "", ""}, numbered_put(n)).value();
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
  open(dir)->put({"t", "", ""}, numbered_put(1)).value();
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

// ---- damage -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_byte_flipped_in_the_file_is_reported_and_the_rest_stays_readable) {
  {
    auto s = open(dir);
    s->put({"bad", "", ""}, make_put("c1", "", {{"a", std::string(10'000, 'Q')}})).value();
    s->put({"good", "", ""}, numbered_put(1)).value();
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

// ---- the writer ---------------------------------------------------------------------------------

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
            s->put({id, "", ""}, numbered_put(n)).value();
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
  s->put({"t", "", ""}, numbered_put(1)).value();
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
        s->put({thread, ns, ""}, numbered_put(1)).value();
        s->put_writes({thread, ns, checkpoint_id(1)}, {"task", "", {{"x", 1}}}).value();
      }
    s->delete_thread("a").value();
    s->delete_thread("b").value();
  }
  auto env = open_saver_file(file, 1 << 20).value();
  BOOST_TEST(env->begin_read().value().entries() == 1u); // the meta record
}

// ---- other processes ----------------------------------------------------------------------------

// A commit of nothing has no id of its own: the next one, whoever's, has it.
BOOST_AUTO_TEST_CASE(what_others_stored_is_seen_behind_a_commit_of_nothing) {
  auto s = open(dir);
  s->put({"mine", "", ""}, numbered_put(1)).value();
  s->delete_thread("no such thread").value();
  auto child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto theirs = open_lmdb_saver(dir);
    _exit(theirs && (*theirs)->put({"theirs", "", ""}, numbered_put(2)) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  s->put({"mine too", "", ""}, numbered_put(3)).value(); // under a number nobody else has
  BOOST_TEST(number_of(*s, "mine") == value(1));
  BOOST_TEST(number_of(*s, "theirs") == value(2));
  BOOST_TEST(number_of(*s, "mine too") == value(3));
}

// ---- full ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_full_map_is_reported_loses_nothing_and_can_be_emptied) {
  constexpr std::size_t map_size = 512 << 10;
  auto s = open(dir, {.map_size_bytes_max = map_size});
  s->put({"keep", "", ""}, numbered_put(7)).value();
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
  s->put({"keep", "", ""}, numbered_put(8)).value();
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

// ---- processes ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(what_was_acknowledged_survives_a_killed_process,
                     boost::unit_test::data::xrange(8), seed) {
  std::mt19937 random{static_cast<unsigned>(seed)};
  const auto acks_before_the_kill = random() % 60;
  child_process child{[this](child_process& self) {
    auto s = open(dir);
    std::jthread other{[&s] { // keeps transactions shared
      for (unsigned n = 0;; ++n)
        test::submit(*s, numbered_request("other", n), save_ack::accepted).get().value();
    }};
    for (unsigned n = 0;; ++n) {
      test::submit(*s, numbered_request("t", n), save_ack::durable).get().value();
      self.report(n);
    }
    return 0;
  }};
  unsigned acked = 0;
  for (unsigned i = 0; i <= acks_before_the_kill; ++i)
    BOOST_REQUIRE(child.next_report(acked));
  child.kill_now();
  BOOST_TEST(child.wait() == -SIGKILL);

  auto s = open(dir);
  for (unsigned n = 0; n <= acked; ++n)
    BOOST_TEST(number_of(*s, "t", checkpoint_id(n)) == value(n));
  // No gaps after it either: the stored checkpoints are a beginning of the submitted ones.
  for (const auto* thread : {"t", "other"}) {
    auto found = s->list({.thread_id = thread}).value();
    for (std::size_t i = 0; i < found.size(); ++i)
      BOOST_TEST(found[i].ref.checkpoint_id
                 == checkpoint_id(static_cast<unsigned>(found.size() - 1 - i)));
  }
  s->put({"t", "", ""}, numbered_put(acked + 1000)).value();
}

BOOST_AUTO_TEST_CASE(processes_that_make_a_store_at_once_share_it_and_leave_nothing_else) {
  std::vector<std::unique_ptr<child_process>> children;
  for (unsigned n = 0; n < 4; ++n)
    children.push_back(std::make_unique<child_process>([this, n](child_process& self) {
      self.wait_for_parent();
      open(dir)->put({"t" + std::to_string(n), "", ""}, numbered_put(n)).value();
      return 0;
    }));
  for (auto& child : children)
    child->go_on();
  for (auto& child : children)
    BOOST_TEST(child->wait() == 0);
  BOOST_TEST(open(dir)->threads().value().size() == 4u);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{dir})
    names.insert(entry.path().filename());
  BOOST_TEST((names == std::set<std::string>{"troupe.mdb", "troupe.mdb-lock"}));
}

BOOST_AUTO_TEST_CASE(two_processes_share_a_directory) {
  child_process child{[this](child_process& self) {
    auto s = open(dir);
    for (unsigned n = 1; n < 20; n += 2) {
      self.wait_for_parent();
      if (number_of(*s, "t") != value(n - 1))
        return 1;
      s->put({"t", "child", ""}, make_put("c", "", {{"from-child-" + std::to_string(n), n}}))
        .value();
      s->put({"t", "", ""}, numbered_put(n)).value();
      if (n == 11)
        s->delete_thread("deleted").value();
      self.report(n);
    }
    return 0;
  }};
  auto s = open(dir);
  for (unsigned n = 0; n < 20; n += 2) {
    s->put({"deleted", "", ""}, make_put("c", "", {{"n", n}})).value();
    s->put({"t", "parent", ""}, make_put("c", "", {{"from-parent-" + std::to_string(n), n}}))
      .value();
    s->put({"t", "", ""}, numbered_put(n)).value();
    child.go_on();
    unsigned reported = 0;
    BOOST_REQUIRE(child.next_report(reported));
    BOOST_TEST(number_of(*s, "t") == value(reported));
    auto from_child = s->get_tuple({"t", "child", ""}).value().value();
    BOOST_TEST(from_child.checkpoint.channel_values.at(0).first
               == "from-child-" + std::to_string(reported));
  }
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "deleted") == value(18));
  BOOST_TEST(s->list({.thread_id = "t", .checkpoint_ns = ""}).value().size() == 20u);
}

// Each reads the thread and stores the next checkpoint: of two that read the same, one succeeds.
BOOST_AUTO_TEST_CASE(two_processes_race_on_a_thread_and_no_checkpoint_has_two_children) {
  constexpr unsigned tries = 500;
  auto race = [](saver& s, unsigned who) {
    unsigned stored = 0;
    for (unsigned n = 1; n <= tries; ++n) {
      auto owner = s.thread_owner("t").value();
      auto newest = s.get_tuple({"t", "", ""}).value();
      auto number = newest ? newest->checkpoint.channel_values.at(0).second.as_int() + 1 : 0;
      auto put = numbered_put(static_cast<unsigned>(number));
      put.checkpoint.id = checkpoint_id(static_cast<unsigned>(number) * 2 + who);
      put.parent_id = newest ? newest->ref.checkpoint_id : "";
      save_request request{{"t", "", ""}, {}, std::move(put), thread_claim{owner, n * 2 + who}};
      auto how = test::submit(s, std::move(request), save_ack::durable).get();
      if (!how && how.error().code() != errc::conflict)
        throw error{how.error()};
      stored += how.has_value();
    }
    return stored;
  };
  child_process child{[&](child_process& self) {
    auto s = open(dir);
    self.wait_for_parent();
    self.report(race(*s, 1));
    return 0;
  }};
  auto s = open(dir);
  child.go_on();
  auto stored = race(*s, 0);
  unsigned by_child = 0;
  BOOST_REQUIRE(child.next_report(by_child));
  BOOST_TEST(child.wait() == 0);
  auto all = s->list({.thread_id = "t"}).value();
  BOOST_TEST(all.size() == stored + by_child);
  for (std::size_t i = 0; i < all.size(); ++i) // newest first: one line, without a fork
    BOOST_REQUIRE(all[i].parent_id == (i + 1 < all.size() ? all[i + 1].ref.checkpoint_id : ""));
}

BOOST_AUTO_TEST_CASE(a_process_follows_when_another_makes_the_file_grow) {
  child_process child{[this](child_process& self) {
    self.wait_for_parent();
    auto s = open(dir, {.map_size_bytes_max = 64 << 20});
    s->put({"t", "", ""}, large_put(0, 4 << 20)).value();
    self.report(0);
    return 0;
  }};
  auto s = open(dir, {.map_size_bytes_max = 256 << 10});
  s->put({"u", "", ""}, numbered_put(1)).value();
  child.go_on();
  unsigned ignored = 0;
  BOOST_REQUIRE(child.next_report(ignored));
  BOOST_TEST(number_of(*s, "t").size() == std::size_t{4 << 20}); // a reader follows
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "u") == value(1));
}

BOOST_AUTO_TEST_CASE(a_forked_child_opens_the_store_for_itself) {
  auto s = open(dir);
  s->put({"t", "", ""}, numbered_put(1)).value();
  child_process child{[this, &s](child_process&) {
    auto mine = open(dir);
    if (mine == s)
      return 1;
    mine->put({"t", "", ""}, numbered_put(2)).value();
    return number_of(*mine, "t") == value(2) ? 0 : 2;
  }};
  BOOST_TEST(child.wait() == 0);
  BOOST_TEST(number_of(*s, "t") == value(2));
}

BOOST_AUTO_TEST_CASE(a_runtime_is_there_as_long_as_its_process_holds_its_mark) {
  temporary_directory dir;
  auto s = open_lmdb_saver(dir.path() / "data").value();
  BOOST_TEST((s->is_there(1).value() == std::optional{false}));
  auto one = s->announce(1).value();
  auto two = s->announce(0xffff'ffff).value();
  BOOST_TEST((s->is_there(1).value() == std::optional{true}));
  BOOST_TEST((s->is_there(2).value() == std::optional{false}));
  BOOST_TEST((s->announce(1).error().code() == errc::conflict));
  one.reset();
  BOOST_TEST((s->is_there(1).value() == std::optional{false}));
  BOOST_TEST((s->is_there(0xffff'ffff).value() == std::optional{true}));
  auto child = ::fork();
  if (child == 0) { // another process
    auto mine = runtime_marks{dir.path() / "data" / runtimes_file_name}.announce(3);
    static_cast<void>(mine.has_value() && ::raise(SIGKILL));
    ::_exit(1);
  }
  int status = 0;
  BOOST_TEST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status)); // with the mark in its hands
  BOOST_TEST((s->is_there(3).value() == std::optional{false}));
}

// ---- for reading alone
// ---------------------------------------------------------------------------

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

template <class T> void require_refusal(const result<T>& r, errc code, std::string_view words) {
  require_error(r, code);
  BOOST_TEST(r.error().message().find(words) != std::string::npos, r.error().message());
}

BOOST_AUTO_TEST_CASE(a_store_opened_for_reading_alone_is_read_and_not_changed) {
  temporary_directory dir;
  auto data = dir.path() / "data";
  open(data)->put({"t", "", ""}, numbered_put(1)).value();
  std::filesystem::remove(data / "troupe.mdb-lock");
  auto before = bytes_of(data / "troupe.mdb");
  {
    auto s = open(data, {.read_only = true});
    BOOST_TEST(number_of(*s, "t") == 1);
    BOOST_TEST(s->threads().value().size() == 1u);
    BOOST_TEST(s->prune({"t"}, {.keep_latest = 0, .dry_run = true}).value().checkpoints == 1u);
    require_refusal(s->put({"t", "", ""}, numbered_put(2)), errc::storage_failed,
                    "opened read-only");
    require_refusal(s->delete_thread("t"), errc::storage_failed, "opened read-only");
    require_refusal(open_lmdb_saver(data), errc::invalid_config, "read-only");
    BOOST_TEST(number_of(*s, "t") == 1);
  }
  BOOST_TEST((bytes_of(data / "troupe.mdb") == before));
  BOOST_TEST(number_of(*open(data), "t") == 1);
}

BOOST_AUTO_TEST_CASE(a_reader_alone_sees_what_a_writer_of_this_process_stores) {
  temporary_directory dir;
  auto writer = open(dir.path());
  auto reader = open(dir.path(), {.read_only = true});
  writer->put({"t", "", ""}, numbered_put(1)).value();
  BOOST_TEST(number_of(*reader, "t") == 1);
}

BOOST_AUTO_TEST_CASE(reading_alone_makes_neither_a_directory_nor_a_file) {
  temporary_directory dir;
  require_refusal(open_lmdb_saver(dir.path() / "none", {.read_only = true}), errc::storage_failed,
                  "none");
  require_refusal(open_lmdb_saver(dir.path(), {.read_only = true}), errc::storage_failed,
                  "troupe.mdb");
  BOOST_TEST(std::filesystem::is_empty(dir.path()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
