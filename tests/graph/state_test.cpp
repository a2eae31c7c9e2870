// Typed state, state views, updates, and the value forms of sends and interrupts.
#include <troupe/agents/messages.hpp>
#include <troupe/state.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(graph_state)

struct review {
  std::vector<std::string> tags;
  std::int64_t words = 0;
  double score = 0.5;
  std::string verdict = "none";
  std::optional<std::string> editor;
  TROUPE_STATE(review, (tags, append), (words, sum), (score, maximum), verdict, (editor, ephemeral))
};

struct chat {
  std::vector<message> messages;
  TROUPE_STATE(chat, (messages, add_messages))
};

struct one_member {
  bool done = false;
  TROUPE_STATE(one_member, done)
};

struct nested {
  review inner;
  std::vector<one_member> many;
  TROUPE_STATE(nested, inner, many)
};

struct counters {
  int from_ten = 10;
  std::string text = "a";
  std::vector<int> list{1};
  int least = 99;
  TROUPE_STATE(counters, (from_ten, sum), (text, sum), (list, append), (least, minimum))
};

struct long_state {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
  int k = 11, l = 12, m = 13, n = 14, o = 15, p = 16, q = 17, r = 18, s = 19, t = 20;
  int hidden = 0;
  TROUPE_STATE(long_state, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, (t, sum))
};

std::string message_of(const auto& failing) {
  try {
    failing();
  } catch (const error& e) {
    return e.message();
  }
  return {};
}

// ---- declarations ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(typed_state_declares_its_channels_in_order) {
  auto channels = schema_of<review>().channels;
  std::vector<std::string> names;
  for (const auto& [name, spec] : channels)
    names.push_back(name);
  BOOST_TEST(names == (std::vector<std::string>{"tags", "words", "score", "verdict", "editor"}),
             boost::test_tools::per_element());
  BOOST_TEST((channels[0].second == append));
  BOOST_TEST((channels[1].second == sum));
  BOOST_TEST((channels[2].second == maximum));
  BOOST_TEST((channels[3].second == last_value));
  BOOST_TEST((channels[4].second == ephemeral));
}

BOOST_AUTO_TEST_CASE(typed_state_starts_reducers_at_the_defaults_of_its_members) {
  auto channels = schema_of<counters>().channels;
  BOOST_TEST(channels[0].second.op->initial.value() == value(10));
  BOOST_TEST(channels[1].second.op->initial.value() == value("a"));
  BOOST_TEST(channels[2].second.op->initial.value() == value::list({1}));
  BOOST_TEST(!channels[3].second.op->initial.has_value()); // starts with its first write
}

// ---- where reducers start -------------------------------------------------------------------

struct null_members {
  value messages, list, map, number;
  std::optional<int> maybe;
  value from_ten = 10;
  TROUPE_STATE(null_members, (messages, add_messages), (list, append), (map, merge), (number, sum),
               (maybe, sum), (from_ten, sum))
};

BOOST_AUTO_TEST_CASE(a_member_that_is_null_starts_where_its_reducer_does) {
  auto channels = schema_of<null_members>().channels;
  auto initial = [&channels](std::size_t i) { return channels[i].second.op->initial.value(); };
  BOOST_TEST(initial(0) == value::list());
  BOOST_TEST(initial(1) == value::list());
  BOOST_TEST(initial(2) == value::map());
  BOOST_TEST(initial(3) == value(0));
  BOOST_TEST(initial(4) == value(0));
  BOOST_TEST(initial(5) == value(10));
}

struct extremes {
  int best = -5;
  std::vector<std::string> words;
  TROUPE_STATE(extremes, (best, reduce("best", [](int a, int b) { return std::max(a, b); })),
               (words, reduce("add", [](std::vector<std::string> all, const std::string& one) {
                  all.push_back(one);
                  return all;
                })))
};

BOOST_AUTO_TEST_CASE(a_reducer_of_types_starts_at_the_member_and_names_what_does_not_fit) {
  auto channels = schema_of<extremes>().channels;
  const auto& best = *channels[0].second.op;
  BOOST_TEST(best.initial.value() == value(-5));
  BOOST_TEST(best(value(-5), value(3)) == value(3));
  BOOST_TEST(message_of([&] { best(value(1), value("x")); })
             == "the write: read a value: wanted integer: it is string");
  const auto& words = *channels[1].second.op;
  BOOST_TEST(words(*words.initial, value("a")) == value::list({"a"}));
}

BOOST_AUTO_TEST_CASE(a_struct_within_a_function_is_a_state) {
  struct local {
    int n = 3;
    TROUPE_STATE(local, n)
  };
  BOOST_TEST(schema_of<local>().channels.size() == 1u);
  BOOST_TEST(value::of(local{}) == (value{{"n", 3}}));
}

struct derived : one_member {
  int own = 1;
  TROUPE_STATE(derived, done, (own, sum))
};

BOOST_AUTO_TEST_CASE(a_declaration_may_name_inherited_members) {
  auto changed = update<derived>{}.set(&derived::done, true).set(&derived::own, 2);
  BOOST_TEST(changed.to_value() == (value{{"done", true}, {"own", 2}}));
  BOOST_TEST(read_state<derived>(state_view{changed.to_value()}).done);
}

// ---- what fits ------------------------------------------------------------------------------

bool fits(const schema& channels, std::size_t i, const value& v) {
  const auto* check = channels.channels[i].second.check;
  return !check || check->fits(v);
}

BOOST_AUTO_TEST_CASE(a_member_says_what_may_be_written_to_it) {
  auto s = schema_of<review>();
  BOOST_TEST(fits(s, 0, value::list({"a"})));
  BOOST_TEST(!fits(s, 0, value::list({"a", 1})));
  BOOST_TEST(!fits(s, 0, "a"));
  BOOST_TEST(fits(s, 1, 3));
  BOOST_TEST(fits(s, 1, nullptr)); // the default
  BOOST_TEST(!fits(s, 1, 3.5));
  BOOST_TEST(fits(s, 2, "anything")); // maximum: it may never become the value
  BOOST_TEST(!fits(s, 3, 1));
  BOOST_TEST(fits(s, 4, "ed"));
  BOOST_TEST(!fits(s, 4, 5));
  auto inner = schema_of<nested>();
  BOOST_TEST(fits(inner, 0, value{{"words", 1}}));
  BOOST_TEST(!fits(inner, 0, value{{"words", "one"}}));
  BOOST_TEST(!fits(inner, 0, "no map"));
  BOOST_TEST(!fits(inner, 1, value::list({value{{"done", 1}}})));
}

BOOST_AUTO_TEST_CASE(of_a_long_list_only_the_end_is_looked_at) {
  std::vector<value> items(limits::typed_elements_checked_max, value("a"));
  items.insert(items.begin(), value(1));
  auto s = schema_of<review>();
  BOOST_TEST(fits(s, 0, value::list(items)));
  items.erase(items.begin() + 1);
  BOOST_TEST(!fits(s, 0, value::list(items)));
}

struct long_lists {
  std::vector<std::string> all;
  std::int64_t sum_of = 5;
  std::vector<std::string> last;
  TROUPE_STATE(long_lists, (all, delta(append)), (sum_of, delta(sum, 7)),
               (last, keep_last(append, 3)))
};

BOOST_AUTO_TEST_CASE(typed_state_keeps_channels_that_are_made_in_its_declaration) {
  auto channels = schema_of<long_lists>().channels;
  BOOST_TEST((channels[0].second == delta(append)));
  BOOST_TEST((channels[1].second == delta(sum, 7)));
  BOOST_TEST(channels[1].second.batch->initial == value(5));
  BOOST_TEST((channels[2].second == keep_last(append, 3)));
}

BOOST_AUTO_TEST_CASE(typed_state_may_have_many_members) {
  BOOST_TEST(schema_of<long_state>().channels.size() == 20u);
  BOOST_TEST(value::of(long_state{})["t"] == value(20));
}

// ---- reading --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(state_is_read_member_by_member) {
  auto s = read_state<review>(state_view{std::vector<state_view::entry>{
    {"tags", value::list({"x", "y"})}, {"words", 3}, {"verdict", "ok"}, {"editor", "ann"}}});
  BOOST_TEST(s.tags == (std::vector<std::string>{"x", "y"}), boost::test_tools::per_element());
  BOOST_TEST(s.words == 3);
  BOOST_TEST(s.verdict == "ok");
  BOOST_TEST(s.editor.value() == "ann");
}

BOOST_AUTO_TEST_CASE(members_without_a_value_keep_their_default) {
  auto s = read_state<review>(state_view{value::map({{"words", nullptr}, {"other", 1}})});
  BOOST_TEST(s.words == 0);
  BOOST_TEST(s.score == 0.5);
  BOOST_TEST(s.verdict == "none");
  BOOST_TEST(!s.editor.has_value());
}

BOOST_AUTO_TEST_CASE(value_that_does_not_fit_names_the_member) {
  auto failing = [] { read_state<review>(state_view{value::map({{"words", "three"}})}); };
  BOOST_CHECK_EXCEPTION(failing(), error,
                        [](const error& e) { return e.code() == errc::invalid_value; });
  BOOST_TEST(message_of(failing).starts_with("read state review: `words`: "));
}

BOOST_AUTO_TEST_CASE(value_that_does_not_fit_names_every_level) {
  auto failing = [] {
    read_state<nested>(state_view{value::map({{"inner", value::map({{"tags", 1}})}})});
  };
  BOOST_TEST(
    message_of(failing).starts_with("read state nested: `inner`: read state review: `tags`: "));
}

BOOST_AUTO_TEST_CASE(typed_state_goes_to_a_value_and_back) {
  nested n;
  n.inner.tags = {"x"};
  n.inner.words = 7;
  n.many = {{true}, {false}};
  auto v = value::of(n);
  BOOST_TEST(v["inner"]["words"] == value(7));
  BOOST_TEST(v["many"][0]["done"] == value(true));
  auto back = v.as<nested>();
  BOOST_TEST(back.inner.words == 7);
  BOOST_TEST(back.many.size() == 2u);
  BOOST_TEST(value::of(back) == v);
}

// ---- the view -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(view_of_channels_tells_null_from_absent) {
  state_view view{std::vector<state_view::entry>{{"a", 1}, {"b", nullptr}}};
  BOOST_TEST(view["a"] == value(1));
  BOOST_TEST(view["b"] == value());
  BOOST_TEST(view["c"] == value());
  BOOST_TEST(view.contains("b"));
  BOOST_TEST(!view.contains("c"));
  BOOST_TEST(view.to_value() == value::map({{"a", 1}, {"b", nullptr}}));
}

BOOST_AUTO_TEST_CASE(view_of_a_sends_argument_is_the_argument) {
  state_view map{value::map({{"a", 1}})};
  BOOST_TEST(map["a"] == value(1));
  BOOST_TEST(map.contains("a"));
  BOOST_TEST(map.to_value() == value::map({{"a", 1}}));

  state_view number{value(7)};
  BOOST_TEST(number["a"] == value());
  BOOST_TEST(!number.contains("a"));
  BOOST_TEST(number.to_value() == value(7));
}

BOOST_AUTO_TEST_CASE(view_without_channels_is_an_empty_map) {
  BOOST_TEST(state_view{std::vector<state_view::entry>{}}.to_value() == value::map());
}

// ---- updates --------------------------------------------------------------------------------

using entries = std::vector<state_update::entry>;

BOOST_AUTO_TEST_CASE(set_writes_the_channel_of_the_member) {
  auto u = set(&review::words, 3).set(&review::verdict, "ok").set(&review::editor, "ann");
  BOOST_TEST((u.entries() == entries{{"words", 3}, {"verdict", "ok"}, {"editor", "ann"}}));
}

BOOST_AUTO_TEST_CASE(set_tells_members_of_one_type_apart) {
  auto u = set(&long_state::b, 1).set(&long_state::t, 2);
  BOOST_TEST((u.entries() == entries{{"b", 1}, {"t", 2}}));
}

BOOST_AUTO_TEST_CASE(set_converts_to_the_type_of_the_member) {
  auto u = set(&review::score, 1);
  BOOST_TEST((u.entries() == entries{{"score", 1.0}}));
}

BOOST_AUTO_TEST_CASE(set_takes_overwrites_and_raw_values) {
  auto u = set(&review::tags, overwrite(value::list()));
  BOOST_TEST((u.entries() == entries{{"tags", overwrite(value::list())}}));
}

BOOST_AUTO_TEST_CASE(set_takes_messages_of_either_form_in_braces) {
  const auto hi = human_message("hi"), hey = ai_message("hey");
  auto all = [](const update<chat>& u) { return u.to_value()["messages"]; };
  BOOST_TEST(all(set(&chat::messages, {hi, hey})) == value::list({hi, hey}));
  BOOST_TEST(all(set(&chat::messages, {message{"user", "hi"}})) == value::list({hi}));
  BOOST_TEST(all(set(&chat::messages, {{"user", "hi", "7"}}))
             == value::list({human_message("hi", "7")})); // a message, not a list
  BOOST_TEST(all(set(&chat::messages, {})) == value::list());
}

BOOST_AUTO_TEST_CASE(set_may_write_a_channel_twice) {
  update<review> u;
  u.set(&review::words, 1).set(&review::words, 2);
  BOOST_TEST((u.entries() == entries{{"words", 1}, {"words", 2}}));
  BOOST_TEST(u.to_value() == value::map({{"words", 2}}));
}

BOOST_AUTO_TEST_CASE(set_refuses_a_member_that_is_not_declared) {
  BOOST_CHECK_EXCEPTION(set(&long_state::hidden, 1), error,
                        [](const error& e) { return e.code() == errc::invalid_update; });
}

BOOST_AUTO_TEST_CASE(update_of_a_map_is_its_entries_in_key_order) {
  state_update u{value::map({{"b", 1}, {"a", nullptr}})};
  BOOST_TEST((u.entries() == entries{{"a", nullptr}, {"b", 1}}));
}

BOOST_AUTO_TEST_CASE(update_of_null_is_empty_and_of_another_value_is_the_root) {
  BOOST_TEST(state_update(value()).empty());
  BOOST_TEST((state_update(value(7)).entries() == entries{{"__root__", 7}}));
  BOOST_TEST(state_update(value::map()).empty());
}

BOOST_AUTO_TEST_CASE(update_is_made_of_pairs_and_grows) {
  state_update u{{"a", 1}};
  u.set("b", 2);
  BOOST_TEST((u.entries() == entries{{"a", 1}, {"b", 2}}));
  BOOST_TEST((state_update{}.set("x", 1).entries() == entries{{"x", 1}}));
}

// ---- sends and interrupts -------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(send_goes_to_a_value_and_back) {
  send s{"node", value::map({{"x", 1}})};
  auto v = value::of(s);
  BOOST_TEST(v.is(value_kind::send));
  BOOST_TEST(v.payload() == value::list({"node", value::map({{"x", 1}})}));
  BOOST_TEST((v.as<send>() == s));
  BOOST_TEST((v.payload().as<send>() == s));
}

BOOST_AUTO_TEST_CASE(interrupt_goes_to_a_value_and_back) {
  interrupt i{"0123", value("publish?"), value::map({{"type", "boolean"}})};
  auto v = value::of(i);
  BOOST_TEST(v.is(value_kind::interrupt));
  BOOST_TEST((v.as<interrupt>() == i));
  BOOST_TEST((v.payload().as<interrupt>() == i));
}

BOOST_AUTO_TEST_CASE(interrupt_may_lack_a_response_schema) {
  auto i = value::map({{"id", "0123"}, {"value", nullptr}}).as<interrupt>();
  BOOST_TEST((i == interrupt{"0123", value()}));
}

BOOST_AUTO_TEST_CASE(what_is_no_send_or_interrupt_is_refused) {
  auto is_invalid = [](const error& e) { return e.code() == errc::invalid_value; };
  for (const auto& bad : {value(), value("node"), value::list({"node"}), value::list({1, 2}),
                          value::of(interrupt{"0123", value()})})
    BOOST_CHECK_EXCEPTION(bad.as<send>(), error, is_invalid);
  for (const auto& bad : {value(), value::map({{"id", "0123"}}), value::map({{"value", 1}}),
                          value::map({{"id", 1}, {"value", 1}}), value::of(send{"node", value()})})
    BOOST_CHECK_EXCEPTION(bad.as<interrupt>(), error, is_invalid);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
