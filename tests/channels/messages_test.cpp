// add_messages: forms of messages, appending, replacing by id, removing.
#include "channels/message_forms.hpp"
#include "tests/channels/channel_probe.hpp"

#include <troupe/channel.hpp>

#include <boost/test/unit_test.hpp>

#include <set>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_messages)

value message(const char* role, const char* content, const char* id) {
  return value::extension(value_kind::message,
                          value::map({{"role", role}, {"content", content}, {"id", id}}));
}

value user(const char* content, const char* id) {
  return message("user", content, id);
}

value removal(const char* id) {
  return value::extension(value_kind::remove_message, id);
}

const value remove_all = removal("__remove_all__");

value merged(const value& left, const value& right) {
  return (*add_messages.op)(left, right);
}

std::string refusal(const value& left, const value& right) {
  try {
    merged(left, right);
  } catch (const error& e) {
    BOOST_TEST(e.code() == errc::invalid_update);
    BOOST_TEST(e.type() == "ValueError");
    return e.message();
  }
  return {};
}

// The stored form of a lone message, without its generated id.
value plain(const value& form) {
  auto list = merged(value::list(), value::list({form}));
  BOOST_REQUIRE(list.size() == 1u);
  BOOST_REQUIRE(list[0].is(value_kind::message));
  return list[0].payload().without("id");
}

value payload(const char* role, const value& content) {
  return value::map({{"role", role}, {"content", content}});
}

// ---- forms ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(message_is_taken_from_every_form) {
  BOOST_TEST(plain("hi") == payload("user", "hi"));
  BOOST_TEST(plain(value::list({"system", "s"})) == payload("system", "s"));
  BOOST_TEST(plain(value{{"role", "assistant"}, {"content", "a"}}) == payload("assistant", "a"));
  BOOST_TEST(plain(value{{"type", "human"}, {"content", "h"}}) == payload("user", "h"));
  BOOST_TEST(plain(user("hi", "1")) == payload("user", "hi"));
}

BOOST_AUTO_TEST_CASE(message_may_be_a_braced_pair) {
  value update{{"messages", {{"user", "Rain in Oslo?"}}}};
  auto list = merged(value::list(), update["messages"]);
  BOOST_REQUIRE(list.size() == 1u);
  BOOST_TEST(list[0].payload().without("id") == payload("user", "Rain in Oslo?"));
}

BOOST_AUTO_TEST_CASE(roles_have_other_names) {
  BOOST_TEST(plain(value::list({"human", "x"})) == payload("user", "x"));
  BOOST_TEST(plain(value::list({"ai", "x"})) == payload("assistant", "x"));
  BOOST_TEST(plain(value{{"role", "tool"}, {"content", "x"}, {"tool_call_id", 7}})
             == payload("tool", "x").with("tool_call_id", "7"));
  BOOST_TEST(plain(value::list({"developer", "x"}))
             == payload("system", "x")
                  .with("additional_kwargs", value::map({{"__openai_role__", "developer"}})));
}

BOOST_AUTO_TEST_CASE(lone_message_counts_as_a_list_of_one) {
  BOOST_TEST(merged(value::list(), "hi").size() == 1u);
  BOOST_TEST(merged(value::list(), value{{"role", "user"}, {"content", "hi"}}).size() == 1u);
  BOOST_TEST(merged(value::list(), user("hi", "1")) == value::list({user("hi", "1")}));
}

BOOST_AUTO_TEST_CASE(list_of_two_strings_is_two_messages) {
  auto list = merged(value::list(), value::list({"user", "hi"}));
  BOOST_REQUIRE(list.size() == 2u);
  BOOST_TEST(list[0].payload()["content"] == value("user"));
  BOOST_TEST(list[1].payload()["role"] == value("user"));
}

BOOST_AUTO_TEST_CASE(members_besides_role_and_content_are_kept_and_nulls_are_not) {
  value given{{"role", "user"}, {"content", "c"},    {"id", "1"},
              {"name", "ann"},  {"status", nullptr}, {"response_metadata", value{{"k", 1}}}};
  auto kept = merged(value::list(), given)[0].payload();
  BOOST_TEST(kept
             == (value{{"role", "user"},
                       {"content", "c"},
                       {"id", "1"},
                       {"name", "ann"},
                       {"response_metadata", value{{"k", 1}}}}));
}

BOOST_AUTO_TEST_CASE(null_content_becomes_empty_text) {
  BOOST_TEST(plain(value{{"role", "user"}, {"content", nullptr}}) == payload("user", ""));
}

BOOST_AUTO_TEST_CASE(content_of_a_tool_message_becomes_text_or_blocks) {
  BOOST_TEST(plain(value{{"role", "tool"}, {"content", value{{"a", 1}}}})
             == payload("tool", R"({"a":1})"));
  auto blocks = value::list({value{{"type", "text"}, {"text", "x"}}});
  BOOST_TEST(plain(value{{"role", "tool"}, {"content", blocks}}) == payload("tool", blocks));
}

BOOST_AUTO_TEST_CASE(tool_calls_are_taken_in_the_form_of_openai) {
  auto openai = *from_json(R"({"role": "assistant", "content": "", "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "plus", "arguments": "{\"a\": 1}"}},
    {"name": "minus", "args": {}, "id": "c2"}]})");
  BOOST_TEST(plain(openai)["tool_calls"] == *from_json(R"([
    {"args": {"a": 1}, "id": "c1", "name": "plus"}, {"name": "minus", "args": {}, "id": "c2"}])"));
}

BOOST_AUTO_TEST_CASE(usage_is_taken_under_the_name_of_the_reference) {
  BOOST_TEST(plain(value{{"role", "ai"}, {"content", "x"}, {"usage_metadata", value{{"n", 1}}}})
             == payload("assistant", "x").with("usage", value{{"n", 1}}));
}

BOOST_AUTO_TEST_CASE(part_of_an_answer_becomes_a_whole_message) {
  auto part = value::extension(
    value_kind::message,
    user("par", "p").payload().with("chunk", true).with("tool_call_chunks", value::list()));
  BOOST_TEST(merged(value::list(), part) == value::list({user("par", "p")}));
}

BOOST_AUTO_TEST_CASE(what_is_no_message_is_refused) {
  auto refused = [](const value& form) { return refusal(value::list(), value::list({form})); };
  BOOST_TEST(
    refused(value{{"text", "x"}})
    == R"(A map that is a message must contain 'role' and 'content' keys, got {"text":"x"})");
  BOOST_TEST(
    refused(value{{"role", "user"}})
    == R"(A map that is a message must contain 'role' and 'content' keys, got {"role":"user"})");
  BOOST_TEST(refused(value{{"role", "nobody"}, {"content", "x"}})
             == "Unexpected message type: 'nobody'. Use one of 'human', 'user', 'ai', 'assistant', "
                "'function', 'tool', 'system', or 'developer'.");
  BOOST_TEST(refused(value::list({"user"}))
             == "Message as a sequence must be (role string, template)");
  BOOST_TEST(refused(7) == "Unsupported message type: 7");
}

BOOST_AUTO_TEST_CASE(null_is_no_update) {
  const std::string update = "add messages: the update is null: write a message or a list of them";
  BOOST_TEST(refusal(value::list(), nullptr) == update);
  BOOST_TEST(refusal(value::list({user("hi", "1")}), nullptr) == update);
  BOOST_TEST(refusal(nullptr, "hi")
             == "add messages: the channel holds null: let it start at an empty list, "
                "value::list()");
}

BOOST_AUTO_TEST_CASE(several_messages_in_braces_are_refused_with_the_form_to_write) {
  auto why = refusal(value::list(), value{{"user", "a"}, {"assistant", "b"}});
  BOOST_TEST(why.find("several messages in braces are a map in C++") != std::string::npos);
}

// ---- ids ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(messages_without_an_id_get_random_uuids) {
  auto list =
    merged(value::list(),
           value::list({"a", "b", value{{"role", "user"}, {"content", "c"}, {"id", nullptr}},
                        user("d", "")}));
  std::set<std::string> ids;
  for (const auto& m : list.items()) {
    std::string id{m.payload()["id"].as_string()};
    BOOST_REQUIRE(id.size() == 36u);
    BOOST_TEST(id[14] == '4');
    BOOST_TEST((id[19] == '8' || id[19] == '9' || id[19] == 'a' || id[19] == 'b'));
    ids.insert(id);
  }
  BOOST_TEST(ids.size() == 4u);
}

BOOST_AUTO_TEST_CASE(number_as_an_id_becomes_text) {
  auto list = merged(value::list(), value{{"role", "user"}, {"content", "x"}, {"id", 12}});
  BOOST_TEST(list == value::list({user("x", "12")}));
}

// ---- merging --------------------------------------------------------------------------------

const value two = value::list({user("one", "1"), user("two", "2")});

BOOST_AUTO_TEST_CASE(new_messages_are_appended) {
  BOOST_TEST(merged(two, value::list({user("three", "3")}))
             == value::list({user("one", "1"), user("two", "2"), user("three", "3")}));
}

BOOST_AUTO_TEST_CASE(no_messages_leave_the_list_itself) {
  BOOST_TEST(merged(two, value::list()).items().data() == two.items().data());
}

BOOST_AUTO_TEST_CASE(appends_share_the_older_list) {
  auto older = merged(two, value::list({"three"}));
  auto newer = merged(older, value::list({"four"}));
  BOOST_TEST(newer.items().data() == older.items().data());
  BOOST_TEST(older.size() == 3u);
  auto five = merged(newer, user("five", "5")); // makes room for more
  BOOST_TEST(merged(five, user("six", "6")).items().data() == five.items().data());
}

BOOST_AUTO_TEST_CASE(message_with_a_known_id_replaces_in_place) {
  BOOST_TEST(
    merged(two, value::list({message("assistant", "again", "1"), user("three", "3")}))
    == value::list({message("assistant", "again", "1"), user("two", "2"), user("three", "3")}));
}

BOOST_AUTO_TEST_CASE(of_one_id_twice_in_an_update_the_last_counts) {
  BOOST_TEST(merged(value::list(), value::list({user("a", "x"), user("b", "x"), user("c", "y")}))
             == value::list({user("b", "x"), user("c", "y")}));
}

BOOST_AUTO_TEST_CASE(of_one_id_twice_in_the_old_list_the_last_is_replaced) {
  auto old = value::list({user("a", "x"), user("b", "x")});
  BOOST_TEST(merged(old, user("c", "x")) == value::list({user("a", "x"), user("c", "x")}));
}

BOOST_AUTO_TEST_CASE(removal_takes_every_message_with_the_id) {
  auto old = value::list({user("a", "x"), user("b", "y"), user("c", "x")});
  BOOST_TEST(merged(old, removal("x")) == value::list({user("b", "y")}));
}

BOOST_AUTO_TEST_CASE(removal_may_be_given_as_a_map) {
  BOOST_TEST(merged(two, value{{"role", "remove"}, {"content", ""}, {"id", "1"}})
             == value::list({user("two", "2")}));
}

BOOST_AUTO_TEST_CASE(removal_twice_is_one_removal) {
  BOOST_TEST(merged(two, value::list({removal("1"), removal("1")}))
             == value::list({user("two", "2")}));
}

BOOST_AUTO_TEST_CASE(removal_of_an_unknown_id_is_refused) {
  BOOST_TEST(refusal(two, value::list({user("three", "3"), removal("nope")}))
             == "Attempting to delete a message with an ID that doesn't exist ('nope')");
}

BOOST_AUTO_TEST_CASE(message_behind_its_removal_replaces_in_place) {
  BOOST_TEST(merged(two, value::list({removal("1"), user("back", "1")}))
             == value::list({user("back", "1"), user("two", "2")}));
}

BOOST_AUTO_TEST_CASE(removal_behind_its_message_wins) {
  BOOST_TEST(merged(two, value::list({user("three", "3"), removal("3")})) == two);
  BOOST_TEST(merged(two, value::list({user("new", "1"), removal("1")}))
             == value::list({user("two", "2")}));
}

BOOST_AUTO_TEST_CASE(removal_of_all_keeps_what_follows_the_last_one) {
  BOOST_TEST(merged(two, remove_all) == value::list());
  BOOST_TEST(merged(two, value::list({user("x", "x"), remove_all, user("y", "y"), remove_all,
                                      user("z", "z")}))
             == value::list({user("z", "z")}));
}

BOOST_AUTO_TEST_CASE(removal_of_all_ends_merging) {
  BOOST_TEST(merged(two, value::list({remove_all, user("a", "x"), user("b", "x"), removal("q")}))
             == value::list({user("a", "x"), user("b", "x"), removal("q")}));
}

BOOST_AUTO_TEST_CASE(initial_and_overwritten_lists_may_hold_any_form) {
  channel_probe c{starting_at(add_messages, value::list({"system prompt"}))};
  c.update({"hi"});
  BOOST_REQUIRE(c.read().size() == 2u);
  BOOST_TEST(c.read()[0].payload().without("id") == payload("user", "system prompt"));
  BOOST_TEST(c.read()[0].payload()["id"].size() == 36u);
}

BOOST_AUTO_TEST_CASE(old_list_is_put_in_form_when_it_begins_or_ends_with_another) {
  for (const auto& old : {value::list({"raw", user("one", "1"), user("two", "2")}),
                          value::list({user("one", "1"), user("two", "2"), "raw"})}) {
    auto list = merged(old, user("again", "1"));
    BOOST_REQUIRE(list.size() == 3u);
    for (const auto& m : list.items())
      BOOST_TEST(m.is(value_kind::message));
  }
}

BOOST_AUTO_TEST_CASE(channel_merges_the_writes_of_a_step_one_after_the_other) {
  channel_probe c{add_messages};
  BOOST_TEST(c.read() == value::list());
  BOOST_TEST(c.update({user("from a", "x"), value::list({user("from b", "x"), user("b", "y")})}));
  BOOST_TEST(c.read() == value::list({user("from b", "x"), user("b", "y")}));
  auto refused = c.refuse({removal("nope")});
  BOOST_TEST(refused.type() == "ValueError");
  BOOST_TEST(c.read().size() == 2u);
}

BOOST_AUTO_TEST_CASE(long_lists_are_merged_as_short_ones) {
  std::vector<value> old, update, expected;
  for (int i = 0; i < 3000; ++i)
    old.push_back(user("old", std::to_string(i).c_str()));
  for (int i = 2000; i < 4000; ++i)
    update.push_back(user("new", std::to_string(i).c_str()));
  expected.assign(old.begin(), old.begin() + 2000);
  expected.insert(expected.end(), update.begin(), update.end());
  BOOST_TEST((merged(value::list(old), value::list(update)) == value::list(expected)));
}

// ---- long lists that grow, which have a table of their ids
// ---------------------------------------

std::string id_of(std::size_t i) {
  return "id " + std::to_string(i);
}

value long_conversation(std::size_t size) {
  auto list = value::list();
  for (std::size_t i = 0; i < size; ++i)
    list = merged(list, user("old", id_of(i).c_str()));
  return list;
}

BOOST_AUTO_TEST_CASE(any_message_of_a_long_list_is_replaced_by_its_id) {
  constexpr std::size_t size = 300;
  auto old = long_conversation(size);
  for (std::size_t i = 0; i < size; i += 13) {
    auto list = merged(old, user("new", id_of(i).c_str()));
    BOOST_REQUIRE(list.size() == size);
    for (std::size_t k = 0; k < size; ++k)
      BOOST_TEST(list[k].payload()["content"] == value(k == i ? "new" : "old"));
  }
  BOOST_TEST(merged(old, removal(id_of(150).c_str())).size() == size - 1);
  BOOST_TEST(!refusal(old, removal("nope")).empty());
}

BOOST_AUTO_TEST_CASE(older_version_of_a_long_list_does_not_know_newer_ids) {
  auto older = long_conversation(150);
  auto newer = merged(older, user("first", "same"));
  BOOST_REQUIRE(newer.items().data() == older.items().data());
  auto other = merged(older, user("second", "same"));
  BOOST_REQUIRE(other.size() == 151u);
  BOOST_TEST(other[150].payload()["content"] == value("second"));
  BOOST_TEST(newer[150].payload()["content"] == value("first"));
  BOOST_TEST(merged(newer, user("third", "same")).size() == 151u);
}

BOOST_AUTO_TEST_CASE(of_one_id_twice_in_a_long_list_the_last_is_replaced) {
  auto twice = long_conversation(150).append(user("second", "id 7"));
  auto longer = twice;
  for (std::size_t i = 1000; i < 1500; ++i) // into new buffers
    longer = merged(longer, user("old", id_of(i).c_str()));
  for (const auto& old : {twice, longer}) {
    auto list = merged(old, user("new", "id 7"));
    BOOST_REQUIRE(list.size() == old.size());
    BOOST_TEST(list[7].payload()["content"] == value("old"));
    BOOST_TEST(list[150].payload()["content"] == value("new"));
    BOOST_TEST(merged(old, removal("id 7")).size() == old.size() - 2);
  }
}

BOOST_AUTO_TEST_CASE(delta_of_a_long_list_is_merged_by_id) {
  auto old = long_conversation(200);
  auto merge = [&old](const value& write) { return merge_messages(old, {&write, 1}); };
  BOOST_TEST(merge(user("more", "more")).size() == 201u);
  BOOST_TEST(merge(removal("id 3")).size() == 199u);
  BOOST_TEST(merge(removal("nope")).size() == 200u);
  auto list = merge(value::list({user("new", "id 99"), "no id"}));
  BOOST_REQUIRE(list.size() == 201u);
  BOOST_TEST(list[99].payload()["content"] == value("new"));
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
