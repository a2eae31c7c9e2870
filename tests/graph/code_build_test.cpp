// Builds: of this program, and of libraries that export a graph of equal structure.
#include "graph/code_build.hpp"
#include "graph/graph_hash.hpp"

#include <troupe/graph_library.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {
namespace {

struct counted_here {
  std::int64_t count = 0;
  TROUPE_STATE(counted_here, count)
};

compiled_graph graph_of_this_program() {
  state_graph<counted_here> g;
  g.add_node("work", [](const counted_here&) { return set(&counted_here::count, 1); });
  g.add_edge(START, "work");
  return g.compile({.name = "counts"});
}

compiled_graph graph_of(const char* library) {
  return load_graph(std::string{TROUPE_BIN_DIR} + "/../lib/" + library, "counts").value();
}

bool is_hex(const std::string& text) {
  return !text.empty() && text.size() <= limits::graph_build_bytes_max
         && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_code_build)

BOOST_AUTO_TEST_CASE(a_graph_that_is_linked_has_the_build_of_its_program) {
  static const int here = 0;
  auto build = graph_build(*graph_of_this_program().plan());
  BOOST_TEST(is_hex(build));
  BOOST_TEST(build == build_of_object(&here));
}

BOOST_AUTO_TEST_CASE(libraries_of_equal_structure_and_other_bodies_have_other_builds) {
  auto one = graph_of("libcounts_one.so"), two = graph_of("libcounts_two.so");
  BOOST_TEST(graph_hash(*one.plan()) == graph_hash(*two.plan()));
  auto first = graph_build(*one.plan()), second = graph_build(*two.plan());
  BOOST_TEST(is_hex(first));
  BOOST_TEST(is_hex(second));
  BOOST_TEST(first != second);
  BOOST_TEST(first == graph_build(*graph_of("libcounts_one.so").plan()));
  BOOST_TEST(first != graph_build(*graph_of_this_program().plan()));
}

BOOST_AUTO_TEST_CASE(a_library_without_a_build_id_has_the_hash_of_its_file) {
  auto build = graph_build(*graph_of("libcounts_bare.so").plan());
  BOOST_TEST(is_hex(build));
  BOOST_TEST(build.size() == 32u);
}

BOOST_AUTO_TEST_CASE(a_version_alone_makes_another_graph) {
  auto one = graph_of("libcounts_one.so"), next = graph_of("libcounts_next.so");
  BOOST_TEST(graph_hash(*one.plan()) != graph_hash(*next.plan()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
