// A data directory for the tests of the LMDB saver, and other processes that use it.
#pragma once

#include "tests/fixtures/savers.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace troupe::test {

/// The base of a test that has a data directory, which is not made before it is opened.
struct lmdb_saver_fixture {
  temporary_directory temporary;
  std::filesystem::path dir = temporary.path() / "data";
  std::filesystem::path file = dir / "troupe.mdb";

  // Not compressed: these tests look for values in the file, and fill it.
  static std::shared_ptr<saver> open(const std::filesystem::path& dir,
                                     lmdb_saver_options options = {}) {
    options.compress_bytes_min = SIZE_MAX;
    return open_lmdb_saver(dir, options).value();
  }

  static checkpoint_put nth_put(unsigned n) {
    return make_put(checkpoint_id(n), n == 0 ? "" : checkpoint_id(n - 1), {{"n", n}},
                    value{{"step", n}}, {n + 1, 7});
  }

  static save_request numbered_request(std::string thread_id, unsigned n) {
    return {{std::move(thread_id), "", ""}, {}, nth_put(n)};
  }

  // A value that fills pages.
  static checkpoint_put large_put(unsigned n, std::size_t bytes) {
    return make_put(checkpoint_id(n), "", {{"text", std::string(bytes, 'x')}}, value::map({}),
                    {n + 1, 7});
  }

  static value number_of(saver& from, const std::string& thread_id, const std::string& id = "") {
    auto tuple = from.get_tuple({thread_id, "", id}).value();
    return tuple ? tuple->checkpoint.channel_values.at(0).second : value("absent");
  }

  static std::string file_bytes(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  /// Another process that runs `body(*this)`. Each side can wait for the other.
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
};

} // namespace troupe::test
