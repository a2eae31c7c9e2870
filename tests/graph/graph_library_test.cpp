// Loading graphs from shared libraries: a refusal names its reason.
#include <troupe/graph_library.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace troupe {
namespace {

struct folder {
  std::filesystem::path path;
  folder() {
    auto name = (std::filesystem::temp_directory_path() / "troupe-library-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~folder() { std::filesystem::remove_all(path); }
};

void refused(const std::filesystem::path& library, const std::string& name, std::string_view part) {
  auto graph = load_graph(library, name);
  BOOST_REQUIRE(!graph);
  BOOST_TEST((graph.error().code() == errc::unknown_graph));
  BOOST_TEST_CONTEXT(graph.error().message())
  BOOST_TEST((graph.error().message().find(part) != std::string::npos));
}

// The C library: a shared library for certain, and none with graphs.
std::filesystem::path any_library() {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);)
    if (line.find("libc.so") != std::string::npos || line.find("/libc-") != std::string::npos)
      return line.substr(line.find('/'));
  return {};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(graph_graph_library, folder)

BOOST_AUTO_TEST_CASE(a_name_that_is_no_identifier_is_refused_before_anything_is_opened) {
  for (auto name : {"", "a-b", "1a", "a b", "a;b", "ü"})
    refused(path / "nothing", name, "identifier");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_missing_or_no_library_is_refused) {
  refused(path / "nothing.so", "digest", "no such file");
  refused(path, "digest", "not a file");
  std::ofstream{path / "text.so"} << "not a library\n";
  refused(path / "text.so", "digest", "not a loadable shared library");
}

BOOST_AUTO_TEST_CASE(a_library_is_never_looked_for_outside_the_path_that_was_given) {
  refused("libc.so.6", "digest", "no such file");
}

BOOST_AUTO_TEST_CASE(a_library_that_exports_no_such_graph_is_refused) {
  auto library = any_library();
  BOOST_REQUIRE(!library.empty());
  refused(library, "digest", "exports no graph");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
