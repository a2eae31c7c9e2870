// Checkpoints that reach the saver in memory with numbers for names.
#include "persistence/prompt_saver.hpp"

#include "tests/fixtures/given_names.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

const std::string numbered_id = "1ef4f797-8335-6428-8001-8a1503f9b875";
const std::string numbered_child_id = "1ef4f797-8335-6428-8002-8a1503f9b875";

// By the numbers of the graph: channels, then nodes, then a mark.
const std::vector<std::string_view> graph_names{"log", "branch:to:a", "empty", "a", "__input__"};

save_request bare_request(const std::string& thread_id, const std::string& id) {
  save_request out{{thread_id, "", ""}, {}, checkpoint_put{}};
  out.put->checkpoint.id = id;
  out.put->checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
  out.put->metadata = value{{"parents", value::map()}, {"source", "loop"}, {"step", 4}};
  return out;
}

numbered_put numbered_sample() {
  numbered_put out;
  out.checkpoint.versions = {{1, {5, 7}}, {2, {3, 9}}, {0, {5, 7}}};
  out.checkpoint.seen = {{4, 0}, {3, 1}};
  out.checkpoint.seen_versions = {{1, {4, 7}}};
  out.checkpoint.updated = small_numbers{0u};
  out.moved = {{1, {5, 7}, std::nullopt}, {2, {3, 9}, std::nullopt}, {0, {5, 7}, value{"said"}}};
  return out;
}

save_request request_with_names(save_request request) {
  name_table table;
  numbered_names names;
  names.use(graph_names);
  auto put = numbered_sample();
  put.translate(names, table);
  test::give_names(put, table, *request.put);
  return request;
}

struct numbering_memory {
  std::shared_ptr<saver> kept = make_memory_saver();
  prompt_saver& to = dynamic_cast<prompt_saver&>(*kept);
  numbered_names names;

  numbering_memory() { names.use(graph_names); }
  result<void> store(const save_request& request) {
    auto put = numbered_sample();
    return to.store(request, put, names);
  }
  checkpoint read(const std::string& thread_id) {
    return to.get_tuple({thread_id, "", ""}).value().value().checkpoint;
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_numbered_put)

BOOST_AUTO_TEST_CASE(numbers_are_stored_as_the_names_would_be) {
  numbering_memory one;
  BOOST_REQUIRE(one.store(bare_request("numbers", numbered_id)));
  BOOST_REQUIRE(one.to.store(request_with_names(bare_request("names", numbered_id))));
  auto stored = one.read("numbers");
  BOOST_TEST((stored == one.read("names")));
  BOOST_TEST((stored.channel_values == named<value>{{"log", value{"said"}}}));
  BOOST_TEST((stored.versions_seen
              == named<named<version>>{{"__input__", {}}, {"a", {{"branch:to:a", {4, 7}}}}}));
}

// The saver forgets its names with its last thread. Other names then get their numbers.
BOOST_AUTO_TEST_CASE(a_graph_keeps_its_names_when_the_saver_numbers_anew) {
  numbering_memory one;
  BOOST_REQUIRE(one.store(bare_request("first", numbered_id)));
  BOOST_REQUIRE(one.to.delete_thread("first"));
  auto other = bare_request("other", numbered_id);
  other.put->checkpoint.channel_versions = {{"else", {1, 1}}, {"more", {1, 1}}};
  BOOST_REQUIRE(one.to.store(other));
  BOOST_REQUIRE(one.store(bare_request("second", numbered_id)));
  auto wanted = request_with_names(bare_request("second", numbered_id)).put->checkpoint;
  BOOST_TEST((one.read("second") == wanted));
}

BOOST_AUTO_TEST_CASE(one_graph_s_names_serve_two_savers) {
  numbering_memory one, two;
  auto other = bare_request("other", numbered_id);
  other.put->checkpoint.channel_versions = {{"else", {1, 1}}};
  BOOST_REQUIRE(two.to.store(other));
  auto wanted = request_with_names(bare_request("thread", numbered_id)).put->checkpoint;
  for (auto* one_of : {&one, &two}) {
    auto put = numbered_sample();
    BOOST_REQUIRE(one_of->to.store(bare_request("thread", numbered_id), put, one.names));
    BOOST_TEST((one_of->read("thread") == wanted));
  }
}

BOOST_AUTO_TEST_CASE(numbers_without_all_values_need_the_parent) {
  numbering_memory one;
  auto request = bare_request("thread", numbered_child_id);
  request.put->parent_id = numbered_id;
  request.claim = thread_claim{0, 1, false};
  auto put = numbered_sample();
  put.moved.pop_back();
  auto refused = one.to.store(request, put, one.names);
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code() == errc::conflict));
  BOOST_TEST(one.store(request).has_value()); // with all values
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
