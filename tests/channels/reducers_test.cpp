// The built-in reducers, and when two declarations of a channel agree.
#include "tests/channels/channel_probe.hpp"

#include <troupe/channel.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

namespace troupe {

// A global of another file may be made before or after the built-in ones.
const channel_spec copied_early = sum;
const channel_spec copied_messages_early = add_messages;

BOOST_AUTO_TEST_SUITE(channels_reducers)

value fold(const channel_spec& spec, const value& a, const value& b) {
  return (*spec.op)(a, b);
}

errc refusal(const channel_spec& spec, const value& a, const value& b) {
  try {
    (*spec.op)(a, b);
  } catch (const error& e) {
    return e.code();
  }
  return errc::ok;
}

constexpr auto int_max = std::numeric_limits<std::int64_t>::max();
constexpr auto int_min = std::numeric_limits<std::int64_t>::min();

BOOST_AUTO_TEST_CASE(sum_adds_numbers_and_stays_integer_among_integers) {
  BOOST_TEST(fold(sum, 2, 3) == value(5));
  BOOST_TEST(fold(sum, 2, 0.5) == value(2.5));
  BOOST_TEST(fold(sum, 0.25, 0.5) == value(0.75));
  BOOST_TEST(fold(sum, 0.5, 1) == value(1.5));
}

BOOST_AUTO_TEST_CASE(sum_joins_strings_and_lists) {
  BOOST_TEST(fold(sum, "a longer text, ", "and more") == value("a longer text, and more"));
  BOOST_TEST(fold(sum, value::list({1}), value::list({2, 3})) == value::list({1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(sum_and_multiply_refuse_to_overflow) {
  BOOST_TEST(fold(sum, int_max - 1, 1) == value(int_max));
  BOOST_TEST(refusal(sum, int_max, 1) == errc::invalid_update);
  BOOST_TEST(refusal(sum, int_min, -1) == errc::invalid_update);
  BOOST_TEST(refusal(multiply, int_max, 2) == errc::invalid_update);
  BOOST_TEST(refusal(multiply, int_min, -1) == errc::invalid_update);
}

BOOST_AUTO_TEST_CASE(operands_of_other_kinds_are_refused) {
  auto list = value::list({1});
  BOOST_TEST(refusal(sum, 1, "a") == errc::invalid_update);
  BOOST_TEST(refusal(sum, list, "a") == errc::invalid_update);
  BOOST_TEST(refusal(sum, nullptr, 1) == errc::invalid_update);
  BOOST_TEST(refusal(append, list, 1) == errc::invalid_update);
  BOOST_TEST(refusal(append, nullptr, list) == errc::invalid_update);
  BOOST_TEST(refusal(merge, value::map(), list) == errc::invalid_update);
  BOOST_TEST(refusal(merge, list, value::map()) == errc::invalid_update);
  BOOST_TEST(refusal(multiply, "a", 2) == errc::invalid_update);
  BOOST_TEST(refusal(minimum, "a", 2) == errc::invalid_update);
  BOOST_TEST(refusal(maximum, list, list) == errc::invalid_update);
}

BOOST_AUTO_TEST_CASE(booleans_are_no_numbers) {
  for (const auto& spec : {sum, multiply, minimum, maximum}) {
    BOOST_TEST(refusal(spec, 1, true) == errc::invalid_update);
    BOOST_TEST(refusal(spec, true, true) == errc::invalid_update);
  }
}

BOOST_AUTO_TEST_CASE(refusal_says_which_operands_do_not_fit) {
  BOOST_CHECK_EXCEPTION(fold(sum, 1, "a"), error, [](const error& e) {
    return e.message() == "reduce: sum: the operands do not fit: a number and a string";
  });
}

BOOST_AUTO_TEST_CASE(append_joins_lists_and_shares_the_first) {
  auto first = fold(append, value::list({1, 2}), value::list({3}));
  auto second = fold(append, first, value::list({4}));
  BOOST_TEST(second == value::list({1, 2, 3, 4}));
  BOOST_TEST(second.items().data() == first.items().data());
  BOOST_TEST(fold(append, first, value::list()).items().data() == first.items().data());
}

BOOST_AUTO_TEST_CASE(merge_unites_maps_and_the_right_one_wins) {
  value left{{"a", 1}, {"b", 1}};
  BOOST_TEST(fold(merge, left, value{{"b", 2}, {"c", 2}}) == (value{{"a", 1}, {"b", 2}, {"c", 2}}));
  BOOST_TEST(fold(merge, left, value::map()) == left);
  BOOST_TEST(fold(merge, value::map(), left) == left);
}

BOOST_AUTO_TEST_CASE(merge_of_large_maps_is_the_same) {
  std::vector<value::map_init> left, right, both;
  for (int i = 0; i < 60; ++i) {
    auto key = "key number " + std::to_string(i);
    if (i < 40)
      left.emplace_back(key, "left");
    if (i >= 20)
      right.emplace_back(key, "right");
    both.emplace_back(key, i < 20 ? "left" : "right");
  }
  BOOST_TEST(fold(merge, value::map(left), value::map(right)) == value::map(both));
}

BOOST_AUTO_TEST_CASE(multiply_minimum_and_maximum_take_mixed_numbers) {
  BOOST_TEST(fold(multiply, 3, 4) == value(12));
  BOOST_TEST(fold(multiply, 3, 0.5) == value(1.5));
  BOOST_TEST(fold(minimum, 3, 2.5) == value(2.5));
  BOOST_TEST(fold(maximum, 3, 2.5) == value(3));
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_compare_strings) {
  BOOST_TEST(fold(minimum, "b", "a") == value("a"));
  BOOST_TEST(fold(maximum, "b", "a") == value("b"));
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_keep_the_old_one_of_equals) {
  BOOST_TEST(fold(minimum, 1, 1.0) == value(1));
  BOOST_TEST(fold(maximum, 1.0, 1) == value(1.0));
  BOOST_TEST(fold(maximum, 1, std::nan("")) == value(1));
  BOOST_TEST(fold(minimum, 1, std::nan("")) == value(1));
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_compare_large_integers_with_doubles_exactly) {
  constexpr std::int64_t big = (std::int64_t{1} << 53) + 1;
  BOOST_TEST(fold(maximum, 9007199254740992.0, big) == value(big));
  BOOST_TEST(fold(minimum, big, 9007199254740992.0) == value(9007199254740992.0));
}

BOOST_AUTO_TEST_CASE(built_in_reducers_start_where_the_header_says) {
  BOOST_TEST(initial_cell(sum).content == value(0));
  BOOST_TEST(initial_cell(append).content == value::list());
  BOOST_TEST(initial_cell(merge).content == value::map());
  for (const auto& spec : {multiply, minimum, maximum})
    BOOST_TEST(!initial_cell(spec).set);
}

BOOST_AUTO_TEST_CASE(starting_at_changes_the_initial_value_alone) {
  auto from_one = starting_at(multiply, 1);
  BOOST_TEST(initial_cell(from_one).content == value(1));
  BOOST_TEST(!initial_cell(multiply).set);
  BOOST_TEST((from_one == multiply));
  BOOST_CHECK_THROW(starting_at(last_value, 1), error);
}

BOOST_AUTO_TEST_CASE(reducer_without_a_function_is_refused) {
  BOOST_CHECK_THROW(reduce("nothing", nullptr), error);
}

BOOST_AUTO_TEST_CASE(built_in_reducers_are_there_before_other_globals) {
  BOOST_REQUIRE(copied_early.op);
  BOOST_TEST((copied_early == sum));
  BOOST_REQUIRE(copied_messages_early.op);
}

BOOST_AUTO_TEST_CASE(declarations_of_one_kind_agree_when_their_options_do) {
  BOOST_TEST((last_value == channel_spec{}));
  BOOST_TEST((any_value == channel_spec{.kind = channel_kind::any_value}));
  BOOST_TEST(!(last_value == any_value));
  BOOST_TEST((ephemeral == channel_spec{.kind = channel_kind::ephemeral}));
  BOOST_TEST(!(ephemeral == ephemeral_unguarded));
  BOOST_TEST(!(untracked == untracked_unguarded));
  BOOST_TEST(!(ephemeral == untracked));
  BOOST_TEST(!(topic == topic_accumulating));
  BOOST_TEST((topic == channel_spec{.kind = channel_kind::topic}));
}

BOOST_AUTO_TEST_CASE(barriers_agree_when_they_wait_for_the_same_names) {
  channel_spec ab{.kind = channel_kind::named_barrier, .names = {"a", "b"}};
  channel_spec ba{.kind = channel_kind::named_barrier, .names = {"b", "a"}};
  channel_spec a{.kind = channel_kind::named_barrier, .names = {"a"}};
  BOOST_TEST((ab == ba));
  BOOST_TEST(!(ab == a));
}

BOOST_AUTO_TEST_CASE(reducers_agree_when_they_are_one_operator_or_one_is_a_closure) {
  auto closure = reduce("own", [](const value& a, const value&) { return a; });
  BOOST_TEST((sum == starting_at(sum, 5)));
  BOOST_TEST(!(sum == append));
  BOOST_TEST((sum == closure));
  BOOST_TEST((closure == reduce("other", [](const value&, const value& b) { return b; })));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
