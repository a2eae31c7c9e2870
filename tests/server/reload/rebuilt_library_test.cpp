// A library that is replaced while its graphs run.
#include "server/reload/rebuilt_library.hpp"

#include <troupe/runtime.hpp>
#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace troupe::server::test {
namespace {

namespace fs = std::filesystem;

struct folder_of_a_library {
  fs::path path;
  folder_of_a_library() {
    auto name = (fs::temp_directory_path() / "troupe-rebuilt-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~folder_of_a_library() {
    fs::permissions(path, fs::perms::owner_all);
    fs::remove_all(path);
  }

  fs::path library() const { return path / "libcounts.so"; }
  // Into the same file.
  void build(const char* variant) const {
    fs::copy_file(fs::path{TROUPE_BIN_DIR} / "../lib" / variant, library(),
                  fs::copy_options::overwrite_existing);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{path}, fs::directory_iterator{}));
  }
};

const std::vector<exported_graph> counts_as_two{{"counts", "a"}, {"counts", "b"}};

std::int64_t count_of(const compiled_graph& graph) {
  runtime machine{{}};
  return machine.load(graph).invoke(value::map({{"until", 3}})).value()["count"].as_int();
}

void refused(rebuilt_library& library, errc code, std::string_view words) {
  auto loaded = library.load();
  BOOST_REQUIRE(!loaded.has_value());
  BOOST_TEST_CONTEXT(loaded.error().message()) {
    BOOST_TEST((loaded.error().code() == code));
    BOOST_TEST((loaded.error().message().find(words) != std::string::npos));
    BOOST_TEST((loaded.error().message().find(".troupe-") == std::string::npos));
  }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_reload_rebuilt_library, folder_of_a_library)

BOOST_AUTO_TEST_CASE(builds_live_side_by_side_although_they_were_written_into_one_file) {
  build("libcounts_one.so");
  rebuilt_library served{library(), counts_as_two};
  auto first = *served.load().value();
  BOOST_REQUIRE(first.size() == 2u);
  BOOST_TEST(first[0].first == "a");
  BOOST_TEST(first[1].first == "b");
  BOOST_TEST(count_of(first[1].second) == 3);
  BOOST_TEST(!served.load().value().has_value());
  build("libcounts_two.so");
  auto second = *served.load().value();
  BOOST_TEST(count_of(second[0].second) == 4); // by a variable that both builds have
  BOOST_TEST(count_of(first[0].second) == 3);
  build("libcounts_one.so");
  BOOST_TEST(count_of((*served.load().value())[0].second) == 3);
}

BOOST_AUTO_TEST_CASE(a_build_that_failed_is_tried_again_and_the_loaded_one_is_known) {
  build("libcounts_one.so");
  rebuilt_library served{library(), {{"counts", "a"}}};
  BOOST_TEST(served.load().value().has_value());
  std::ofstream{library()} << "text";
  refused(served, errc::unknown_graph, "not a loadable shared library");
  refused(served, errc::unknown_graph, "not a loadable shared library");
  build("libcounts_two.so");
  fs::resize_file(library(), fs::file_size(library()) - 1);
  refused(served, errc::unknown_graph, "written in part");
  fs::remove(library());
  refused(served, errc::unknown_graph, library().string());
  fs::create_directory(library());
  refused(served, errc::unknown_graph, "not a file");
  fs::remove(library());
  std::ofstream{library()}.close();
  fs::resize_file(library(), limits::server_library_bytes_max + 1);
  refused(served, errc::invalid_config, "server_library_bytes_max");
  build("libcounts_one.so");
  BOOST_TEST(!served.load().value().has_value());
}

BOOST_AUTO_TEST_CASE(all_graphs_of_a_library_are_loaded_or_none) {
  build("libcounts_one.so");
  rebuilt_library served{library(), {{"counts", "a"}, {"missing", "b"}}};
  refused(served, errc::unknown_graph, "TROUPE_GRAPH(missing)");
  BOOST_TEST(files() == 1u);
}

BOOST_AUTO_TEST_CASE(copies_go_with_the_library_and_those_of_dead_processes_before) {
  build("libcounts_one.so");
  auto mine = path / (".libcounts.so.troupe-" + std::to_string(::getpid()) + "-999999");
  std::ofstream{mine}.close();
  std::ofstream{path / ".libcounts.so.troupe-2147483646-1"}.close(); // more than the kernel has
  std::ofstream{path / ".libother.so.troupe-2147483646-1"}.close();
  {
    rebuilt_library served{library(), {{"counts", "a"}}};
    BOOST_TEST(files() == 3u);
    BOOST_TEST(served.load().value().has_value());
    BOOST_TEST(files() == 4u);
  }
  BOOST_TEST(files() == 3u);
  BOOST_TEST(fs::exists(mine));
}

BOOST_AUTO_TEST_CASE(the_owner_of_a_copy_is_in_its_name) {
  BOOST_TEST((owner_of_copy("lib.so", ".lib.so.troupe-12-3") == 12));
  for (auto name : {"lib.so", ".lib.so", ".lib.so.troupe-", ".lib.so.troupe-12",
                    ".lib.so.troupe-x-1", ".lib.so.troupe--1-1", ".lib.so.troupe-0-1",
                    ".lib.so.troupe-99999999999-1", ".other.so.troupe-12-3"})
    BOOST_TEST(!owner_of_copy("lib.so", name).has_value(), name);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
