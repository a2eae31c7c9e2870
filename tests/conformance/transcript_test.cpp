// Records as transcripts show them, and where two transcripts differ.
#include "tests/conformance/compare.hpp"
#include "tests/conformance/labels.hpp"
#include "tests/conformance/transcript.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::conformance {
namespace {

answer_json labelled_writes(std::vector<pending_write> writes) {
  checkpoint_tuple stored;
  stored.pending_writes = std::move(writes);
  label_book book{""};
  return book.apply(shown(stored))["writes"];
}

BOOST_AUTO_TEST_SUITE(conformance_transcript)

BOOST_AUTO_TEST_CASE(writes_stand_by_task_with_special_channels_first) {
  const std::string null_task = "00000000-0000-0000-0000-000000000000";
  auto writes = labelled_writes({
    {"sent", "log", 1, "~__pregel_push, 0000000000"},
    {"a", "x", 2, "~__pregel_pull, a"},
    {"a", "__interrupt__", value::list(), "~__pregel_pull, a"},
    {"a", "__resume__", value::list({value("yes")}), "~__pregel_pull, a"},
    {"by hand", "log", 3, "~__interrupt__, 0000000000"},
    {null_task, "__resume__", "yes", ""},
  });
  auto expected = answer_json::parse(R"([
    ["t0", "__resume__", "yes"], ["t1", "log", 3], ["t2", "__resume__", ["yes"]],
    ["t2", "__interrupt__", []], ["t2", "x", 2], ["t3", "log", 1]])");
  BOOST_TEST((writes == expected), writes);
}

BOOST_AUTO_TEST_CASE(writes_to_edges_are_sorted_in_the_places_they_hold) {
  const std::string path = "~__pregel_pull, a";
  auto writes = labelled_writes({{"a", "join:a+b:d", "a", path},
                                 {"a", "x", 1, path},
                                 {"a", "branch:to:c", {}, path},
                                 {"a", "log", 2, path},
                                 {"a", "branch:to:b", {}, path}});
  auto expected = answer_json::parse(R"([
    ["t1", "branch:to:b", null], ["t1", "x", 1], ["t1", "branch:to:c", null],
    ["t1", "log", 2], ["t1", "join:a+b:d", "a"]])");
  BOOST_TEST((writes == expected), writes);
}

BOOST_AUTO_TEST_CASE(values_that_are_no_json_stand_as_the_format_says) {
  label_book book{""};
  auto question = value::of(interrupt{"0123", "why?"});
  auto shown_list = book.apply(shown(value::list(
    {overwrite(1), value::of(send{"n", 2}), question,
     value::extension(value_kind::error, value::map({{"type", "KeyError"}, {"message", "k"}})),
     value::extension(value_kind::remove_message, "__remove_all__")})));
  auto expected = answer_json::parse(R"([
    {"$overwrite": 1}, {"$send": ["n", 2]}, {"id": "i1", "value": "why?"}, "KeyError",
    {"$remove": "all"}])");
  BOOST_TEST((shown_list == expected), shown_list);
}

BOOST_AUTO_TEST_CASE(the_first_difference_is_named_by_its_pointer) {
  auto expected = answer_json::parse(R"([{"a/b": [1, 2.0], "c": null}])");
  BOOST_TEST(!first_difference(expected, answer_json::parse(R"([{"c": null, "a/b": [1.0, 2]}])")));
  auto other = first_difference(expected, answer_json::parse(R"([{"a/b": [1, 3], "c": 0}])"));
  BOOST_TEST_REQUIRE(other.has_value());
  BOOST_TEST(other->text() == "/0/a~1b/1, expected 2.0, got 3");
  auto shorter = first_difference(expected, answer_json::parse(R"([{"a/b": [1]}])"));
  BOOST_TEST_REQUIRE(shorter.has_value());
  BOOST_TEST(shorter->text() == "/0/a~1b/1, expected 2.0, got nothing");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::conformance
