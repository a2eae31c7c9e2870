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

struct full_state { // as many members as there may be
  int m0 = 0, m1 = 1, m2 = 2, m3 = 3, m4 = 4, m5 = 5, m6 = 6, m7 = 7;
  int m8 = 8, m9 = 9, m10 = 10, m11 = 11, m12 = 12, m13 = 13, m14 = 14, m15 = 15;
  int m16 = 16, m17 = 17, m18 = 18, m19 = 19, m20 = 20, m21 = 21, m22 = 22, m23 = 23;
  int m24 = 24, m25 = 25, m26 = 26, m27 = 27, m28 = 28, m29 = 29, m30 = 30, m31 = 31;
  int m32 = 32, m33 = 33, m34 = 34, m35 = 35, m36 = 36, m37 = 37, m38 = 38, m39 = 39;
  int m40 = 40, m41 = 41, m42 = 42, m43 = 43, m44 = 44, m45 = 45, m46 = 46, m47 = 47;
  int m48 = 48, m49 = 49, m50 = 50, m51 = 51, m52 = 52, m53 = 53, m54 = 54, m55 = 55;
  int m56 = 56, m57 = 57, m58 = 58, m59 = 59, m60 = 60, m61 = 61, m62 = 62, m63 = 63;
  int m64 = 64, m65 = 65, m66 = 66, m67 = 67, m68 = 68, m69 = 69, m70 = 70, m71 = 71;
  int m72 = 72, m73 = 73, m74 = 74, m75 = 75, m76 = 76, m77 = 77, m78 = 78, m79 = 79;
  int m80 = 80, m81 = 81, m82 = 82, m83 = 83, m84 = 84, m85 = 85, m86 = 86, m87 = 87;
  int m88 = 88, m89 = 89, m90 = 90, m91 = 91, m92 = 92, m93 = 93, m94 = 94, m95 = 95;
  int m96 = 96, m97 = 97, m98 = 98, m99 = 99, m100 = 100, m101 = 101, m102 = 102, m103 = 103;
  int m104 = 104, m105 = 105, m106 = 106, m107 = 107, m108 = 108, m109 = 109, m110 = 110,
      m111 = 111;
  int m112 = 112, m113 = 113, m114 = 114, m115 = 115, m116 = 116, m117 = 117, m118 = 118,
      m119 = 119;
  int m120 = 120, m121 = 121, m122 = 122, m123 = 123, m124 = 124, m125 = 125, m126 = 126,
      m127 = 127;
  TROUPE_STATE(full_state, m0, (m1, sum), m2, (m3, sum), m4, (m5, sum), m6, (m7, sum), m8,
               (m9, sum), m10, (m11, sum), m12, (m13, sum), m14, (m15, sum), m16, (m17, sum), m18,
               (m19, sum), m20, (m21, sum), m22, (m23, sum), m24, (m25, sum), m26, (m27, sum), m28,
               (m29, sum), m30, (m31, sum), m32, (m33, sum), m34, (m35, sum), m36, (m37, sum), m38,
               (m39, sum), m40, (m41, sum), m42, (m43, sum), m44, (m45, sum), m46, (m47, sum), m48,
               (m49, sum), m50, (m51, sum), m52, (m53, sum), m54, (m55, sum), m56, (m57, sum), m58,
               (m59, sum), m60, (m61, sum), m62, (m63, sum), m64, (m65, sum), m66, (m67, sum), m68,
               (m69, sum), m70, (m71, sum), m72, (m73, sum), m74, (m75, sum), m76, (m77, sum), m78,
               (m79, sum), m80, (m81, sum), m82, (m83, sum), m84, (m85, sum), m86, (m87, sum), m88,
               (m89, sum), m90, (m91, sum), m92, (m93, sum), m94, (m95, sum), m96, (m97, sum), m98,
               (m99, sum), m100, (m101, sum), m102, (m103, sum), m104, (m105, sum), m106,
               (m107, sum), m108, (m109, sum), m110, (m111, sum), m112, (m113, sum), m114,
               (m115, sum), m116, (m117, sum), m118, (m119, sum), m120, (m121, sum), m122,
               (m123, sum), m124, (m125, sum), m126, (m127, sum))
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

BOOST_AUTO_TEST_CASE(typed_state_may_have_as_many_members_as_the_limit_allows) {
  auto channels = schema_of<full_state>().channels;
  BOOST_REQUIRE(channels.size() == limits::state_members_max);
  BOOST_TEST(channels[126].first == "m126");
  BOOST_TEST((channels[126].second == last_value));
  BOOST_TEST((channels[127].second == sum));
  BOOST_TEST((value{{"m127", 5}}).as<full_state>().m127 == 5);
  BOOST_TEST(value::of(full_state{})["m127"] == value(127));
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
