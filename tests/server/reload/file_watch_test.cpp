// Files of a real folder, watched.
#include "server/reload/file_watch.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

namespace troupe::server::test {
namespace {

namespace fs = std::filesystem;

struct watched_folder {
  fs::path path;
  watched_folder() {
    auto name = (fs::temp_directory_path() / "troupe-watch-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path = fs::canonical(name);
  }
  ~watched_folder() { fs::remove_all(path); }

  fs::path write(const fs::path& name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return path / name;
  }
  void replace(const fs::path& name, const std::string& text) const {
    fs::rename(write("draft", text), path / name);
  }
};

// The files that settled, in order: the file's name, and its text at that time.
class heard_changes {
public:
  explicit heard_changes(std::vector<fs::path> files)
    : watch_{std::move(files), std::chrono::milliseconds{2},
             [this](const fs::path& file) { take(file); }} {}

  /// Waits for the file with this text.
  void expect(const std::string& name, const std::string& text) {
    std::unique_lock lock{mutex_};
    auto it = [&] { return !heard_.empty() && heard_.back() == std::pair{name, text}; };
    BOOST_TEST(changed_.wait_for(lock, std::chrono::minutes{1}, it), name + ": " + text);
    heard_.clear();
  }

private:
  void take(const fs::path& file) {
    std::ifstream in{file};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::lock_guard lock{mutex_};
    heard_.emplace_back(file.filename().string(), fs::exists(file) ? text : "missing");
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, std::string>> heard_;
  file_watch watch_; // the last member: its thread uses the others
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_reload_file_watch, watched_folder)

BOOST_AUTO_TEST_CASE(a_file_is_reported_at_the_beginning_and_after_each_change) {
  heard_changes heard{{write("a", "1")}};
  heard.expect("a", "1");
  replace("a", "2");
  heard.expect("a", "2");
  write("a", "3"); // in place
  heard.expect("a", "3");
  fs::remove(path / "a");
  heard.expect("a", "missing");
  write("a", "4");
  heard.expect("a", "4");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_being_written_is_reported_when_its_writer_has_closed_it) {
  auto file = write("a", "1");
  heard_changes heard{{file, write("b", "1")}};
  heard.expect("b", "1");
  std::ofstream out{file};
  out << "half" << std::flush;
  replace("b", "2"); // a change that settles meanwhile
  heard.expect("b", "2");
  out << " whole" << std::flush;
  out.close();
  heard.expect("a", "half whole");
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_removed_or_renamed_is_watched_again_when_it_is_back) {
  fs::create_directories(path / "build/lib");
  auto file = write("build/lib/a", "1");
  heard_changes heard{{file}};
  heard.expect("a", "1");
  fs::remove_all(path / "build");
  heard.expect("a", "missing");
  fs::create_directories(path / "build/lib");
  write("build/lib/a", "2");
  heard.expect("a", "2");
  fs::rename(path / "build/lib", path / "build/old");
  heard.expect("a", "missing");
  write("build/old/a", "elsewhere");
  fs::create_directories(path / "new");
  write("new/a", "3");
  fs::rename(path / "new", path / "build/lib"); // with the file in it
  heard.expect("a", "3");
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_replaced_while_its_events_are_not_read_loses_no_change) {
  fs::create_directory(path / "build");
  auto file = write("build/a", "0");
  heard_changes heard{{file}};
  for (int i = 1; i < 200; ++i) {
    fs::remove_all(path / "build");
    if (i % 2 == 0)
      heard.expect("a", "missing");
    fs::create_directory(path / "build");
    write("build/a", std::to_string(i));
    heard.expect("a", std::to_string(i));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_was_never_there_is_awaited_with_its_folders) {
  heard_changes heard{{path / "x/y/a"}};
  fs::create_directories(path / "x/y");
  write("x/y/a", "1");
  heard.expect("a", "1");
}

BOOST_AUTO_TEST_CASE(a_link_is_followed_to_each_of_its_targets) {
  fs::create_directory(path / "v");
  write("v/one", "1");
  write("v/two", "2");
  fs::create_symlink("v/one", path / "a");
  heard_changes heard{{path / "a"}};
  heard.expect("a", "1");
  write("v/one", "1b");
  heard.expect("a", "1b");
  fs::create_symlink("v/two", path / "draft");
  fs::rename(path / "draft", path / "a");
  heard.expect("a", "2");
  write("v/two", "2b");
  heard.expect("a", "2b");
  fs::create_hard_link(path / "v/one", path / "hard");
  fs::remove(path / "a");
  heard.expect("a", "missing");
  fs::create_hard_link(path / "hard", path / "a"); // no writer will close it
  heard.expect("a", "1b");
}

BOOST_AUTO_TEST_CASE(without_files_nothing_is_reported_and_the_end_comes_at_once) {
  file_watch watch{{}, std::chrono::milliseconds{1}, [](const fs::path&) { BOOST_TEST(false); }};
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
