// The difference of two values, and of two states of a thread.
#include <troupe/diff.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

namespace {

std::string text_of(const std::vector<value_change>& changes) {
  std::string out;
  for (const auto& c : changes)
    out += c.path + ": " + (c.before ? to_json(*c.before) : "-") + " > "
           + (c.after ? to_json(*c.after) : "-") + "\n";
  return out;
}

state_snapshot at_step(std::int64_t step, value values, std::vector<std::string> next) {
  state_snapshot out;
  out.values = std::move(values);
  out.next = std::move(next);
  out.metadata = value{{"step", step}};
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_diff)

BOOST_AUTO_TEST_CASE(equal_values_have_no_difference) {
  value v{{"a", {1, 2}}, {"b", value{}}};
  BOOST_TEST(diff_values(v, v).empty());
}

BOOST_AUTO_TEST_CASE(members_that_came_went_or_changed_have_a_path_each) {
  value before{{"gone", 1}, {"same", 1}, {"deep", {{"x", 1}, {"y", 2}}}};
  value after{{"new", 2}, {"same", 1}, {"deep", {{"x", 1}, {"y", 3}}}};
  BOOST_TEST(text_of(diff_values(before, after)) == "/deep/y: 2 > 3\n/gone: 1 > -\n/new: - > 2\n");
}

BOOST_AUTO_TEST_CASE(a_list_that_grew_or_shrank_shows_its_elements) {
  auto list = [](int n) {
    std::vector<value> out;
    for (int i = 0; i < n; ++i)
      out.emplace_back(std::int64_t{i});
    return value::list(std::move(out));
  };
  BOOST_TEST(text_of(diff_values(list(1), list(3))) == "/1: - > 1\n/2: - > 2\n");
  BOOST_TEST(text_of(diff_values(list(2), list(1))) == "/1: 1 > -\n");
}

BOOST_AUTO_TEST_CASE(values_of_different_kinds_and_extensions_are_compared_whole) {
  BOOST_TEST(text_of(diff_values(value{{"a", 1}}, value::list({1}))) == ": {\"a\":1} > [1]\n");
  auto message = [](const char* text) {
    return value::extension(value_kind::message, value{{"role", "user"}, {"content", text}});
  };
  auto changes = diff_values(message("a"), message("b"));
  BOOST_REQUIRE(changes.size() == 1u);
  BOOST_TEST(changes[0].path.empty());
}

BOOST_AUTO_TEST_CASE(names_with_slashes_and_tildes_are_escaped) {
  BOOST_TEST(text_of(diff_values(value{{"a/b~c", 1}}, value{{"a/b~c", 2}})) == "/a~1b~0c: 1 > 2\n");
}

BOOST_AUTO_TEST_CASE(states_differ_in_values_in_what_runs_next_and_in_steps) {
  auto diff = diff_states(at_step(1, value{{"n", 1}}, {"a", "b"}),
                          at_step(3, value{{"n", 2}}, {"b", "c"}));
  BOOST_TEST(text_of(diff.values) == "/n: 1 > 2\n");
  BOOST_TEST(diff.next_gone == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  BOOST_TEST(diff.next_new == std::vector<std::string>{"c"}, boost::test_tools::per_element());
  BOOST_TEST(diff.steps == 2);
  BOOST_TEST(diff_states(at_step(3, {}, {}), at_step(1, {}, {})).steps == -2);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
