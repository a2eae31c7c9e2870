// The store as bodies of nodes see it.
#include "tests/fixtures/savers.hpp"

#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

namespace troupe {

namespace {

// Counts how often it ran, in the long-term memory.
compiled_graph counting() {
  state_graph<> g{{{"seen", last_value}}};
  g.add_node("count", [](const state_view&, context& ctx) {
    if (!ctx.store())
      return state_update{{"seen", -1}};
    auto before = ctx.store()->get({"runs"}, "count").value();
    auto seen = before ? before->value["n"].as_int() + 1 : 1;
    ctx.store()->put({"runs"}, "count", value{{"n", seen}}).value();
    return state_update{{"seen", seen}};
  });
  g.add_edge(START, "count");
  return g.compile();
}

std::int64_t run(runtime& rt, const std::string& thread = {}) {
  auto done = rt.load(counting()).invoke(state_update{{"seen", 0}}, {.thread_id = thread});
  return done.value()["seen"].as_int();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_store)

BOOST_AUTO_TEST_CASE(bodies_see_the_store_they_are_given) {
  auto items = make_memory_store();
  runtime rt{{.store = items}};
  BOOST_TEST(run(rt) == 1);
  BOOST_TEST(run(rt) == 2);
  BOOST_TEST(items->get({"runs"}, "count").value()->value["n"] == value(2));
}

BOOST_AUTO_TEST_CASE(without_a_store_and_a_data_directory_there_is_none) {
  runtime rt{{.saver = make_memory_saver()}};
  BOOST_TEST(run(rt, "t") == -1);
}

BOOST_AUTO_TEST_CASE(a_data_directory_keeps_memories_across_threads_and_restarts) {
  test::temporary_directory directory;
  for (auto expected : {1, 3}) {
    runtime rt{{.data_dir = directory.path()}};
    BOOST_TEST(run(rt, "one") == expected);
    BOOST_TEST(run(rt, "two") == expected + 1);
  }
}

BOOST_AUTO_TEST_CASE(the_keys_of_a_runtime_are_also_those_of_its_store) {
  test::temporary_directory directory;
  auto keys = keyring::from_text("k1 " + std::string(64, '7')).value();
  {
    runtime rt{{.data_dir = directory.path(), .keyring = keys}};
    BOOST_TEST(run(rt, "t") == 1);
  }
  auto items = open_lmdb_store(directory.path()).value();
  test::require_error(items->get({"runs"}, "count"), errc::key_missing);
  items.reset();
  runtime rt{{.data_dir = directory.path(), .keyring = keys}};
  BOOST_TEST(run(rt, "t") == 2);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_given_comes_before_that_of_the_data_directory) {
  test::temporary_directory directory;
  runtime rt{{.data_dir = directory.path(), .store = make_memory_store()}};
  BOOST_TEST(run(rt, "t") == 1);
  BOOST_TEST(!std::filesystem::exists(directory.path() / "store.mdb"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
