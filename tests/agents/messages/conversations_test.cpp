// Work on whole conversations: counting, trimming, filtering, joining.
#include "agents/messages/history.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

const tool_call add_call{.name = "add", .args = value{{"a", 1}, {"b", 1}}, .id = "c1"};

std::int64_t counted(const value& message) {
  return count_tokens_approximately(value::list({message}));
}

std::int64_t one_each(const value& messages) {
  return static_cast<std::int64_t>(messages.size());
}

value whole_talk() {
  return value::list({system_message("s", "s"), human_message("h1", "h1"),
                      ai_message("", {add_call}, "a1"), tool_message("2", "c1", "add"),
                      ai_message("two", {}, "a2"), human_message("h2", "h2")});
}

// The contents, one after the other.
std::string listed(const value& messages) {
  std::string out;
  for (const auto& m : messages.items())
    out += (out.empty() ? "" : "|") + message_text(m);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(agents_conversations)

BOOST_AUTO_TEST_CASE(tokens_are_counted_as_the_reference_does) {
  BOOST_TEST(counted(human_message("hello world")) == 7);
  BOOST_TEST(counted(ai_message("", {{.name = "f", .args = value{{"a", 1}}, .id = "c"}})) == 22);
  BOOST_TEST(counted(tool_message("ok", "call_1", "f")) == 7);
  BOOST_TEST(counted(human_message(value::list({text_block("abcd"), image_url_block("u")}))) == 90);
  BOOST_TEST(counted(human_message("hällo wörld")) == 7);
}

BOOST_AUTO_TEST_CASE(usage_raises_the_estimate_by_a_quarter_at_most) {
  auto answer = ai_message("two");
  answer = value::extension(value_kind::message,
                            answer.payload()
                              .with("usage", value{{"total_tokens", 1000}})
                              .with("response_metadata", value{{"model_provider", "p"}}));
  auto messages = value::list({human_message("one"), answer});
  auto plain = count_tokens_approximately(messages);
  BOOST_TEST(count_tokens_approximately(messages, {.use_usage_metadata_scaling = true})
             == (plain * 5 + 3) / 4);
}

BOOST_AUTO_TEST_CASE(the_last_messages_that_fit_are_kept) {
  BOOST_TEST(listed(trim_messages(whole_talk(), {.max_tokens = 2, .token_counter = one_each}))
             == "two|h2");
  BOOST_TEST(listed(trim_messages(
               whole_talk(), {.max_tokens = 2, .token_counter = one_each, .include_system = true}))
             == "s|h2");
  BOOST_TEST(
    listed(trim_messages(
      whole_talk(),
      {.max_tokens = 3, .token_counter = one_each, .end_on = {"ai"}, .start_on = {"human"}}))
    == "");
}

BOOST_AUTO_TEST_CASE(the_first_messages_that_fit_are_kept) {
  BOOST_TEST(listed(trim_messages(whole_talk(), {.max_tokens = 3,
                                                 .token_counter = one_each,
                                                 .strategy = trim_strategy::first,
                                                 .end_on = {"human"}}))
             == "s|h1");
}

BOOST_AUTO_TEST_CASE(a_tool_s_message_without_its_call_goes_when_pairs_are_kept) {
  trim_options options{.max_tokens = 3, .token_counter = one_each};
  BOOST_TEST(listed(trim_messages(whole_talk(), options)) == "2|two|h2");
  options.keep_pairs = true;
  BOOST_TEST(listed(trim_messages(whole_talk(), options)) == "two|h2");
}

BOOST_AUTO_TEST_CASE(the_message_at_the_cut_is_shortened_line_by_line) {
  auto lines = [](const value& messages) {
    std::int64_t out = 0;
    for (const auto& m : messages.items())
      for (char c : message_text(m))
        out += c == '\n';
    return out;
  };
  auto messages = value::list({human_message("a\nb\nc\n"), human_message("d\n")});
  trim_options options{.max_tokens = 3, .token_counter = lines, .allow_partial = true};
  BOOST_TEST(listed(trim_messages(messages, options)) == "b\nc\n|d\n");
  options.strategy = trim_strategy::first;
  options.max_tokens = 2;
  BOOST_TEST(listed(trim_messages(messages, options)) == "a\nb\n");
}

BOOST_AUTO_TEST_CASE(options_of_the_other_end_are_refused) {
  BOOST_CHECK_THROW(
    trim_messages(whole_talk(), {.strategy = trim_strategy::first, .start_on = {"human"}}), error);
  BOOST_CHECK_THROW(
    trim_messages(whole_talk(), {.strategy = trim_strategy::first, .include_system = true}), error);
}

BOOST_AUTO_TEST_CASE(exclusions_come_first_and_one_inclusion_is_enough) {
  BOOST_TEST(listed(filter_messages(whole_talk(), {.include_types = {"human"},
                                                   .exclude_types = {},
                                                   .include_ids = {"a2"},
                                                   .exclude_ids = {"h1"}}))
             == "two|h2");
  BOOST_TEST(listed(filter_messages(whole_talk(), {.exclude_tool_calls = true})) == "s|h1|two|h2");
  BOOST_TEST(listed(filter_messages(whole_talk(), {.exclude_tool_call_ids = {"c1"}}))
             == "s|h1|two|h2");
}

BOOST_AUTO_TEST_CASE(messages_of_one_role_in_a_row_become_one) {
  auto merged = merge_message_runs(
    value::list({human_message("a", "1"), human_message("b", "2"), tool_message("x", "c"),
                 tool_message("y", "d"), human_message(value::list({text_block("c")}))}));
  BOOST_REQUIRE(merged.size() == 4);
  BOOST_TEST(merged[0] == human_message("a\nb", "1"));
}

BOOST_AUTO_TEST_CASE(a_conversation_is_shown_as_lines_or_xml) {
  auto messages = value::list({human_message("1 < 2"), ai_message("a1", {add_call})});
  BOOST_TEST(get_buffer_string(messages, buffer_format::xml)
             == "<message type=\"human\">1 &lt; 2</message>\n<message type=\"ai\">\n"
                "  <content>a1</content>\n"
                "  <tool_call id=\"c1\" name=\"add\">{\"a\": 1, \"b\": 1}</tool_call>\n"
                "</message>");
  BOOST_TEST(get_buffer_string(value::list({human_message("x"), system_message("y")}))
             == "Human: x\nSystem: y");
}

BOOST_AUTO_TEST_CASE(long_ids_of_calls_are_cut_in_xml) {
  auto shown = [](std::size_t size) {
    auto call = tool_call{.name = "f", .id = std::string(size, 'i')};
    return get_buffer_string(value::list({ai_message("", {call})}), buffer_format::xml);
  };
  BOOST_TEST(shown(64).find(std::string(64, 'i') + '"') != std::string::npos);
  BOOST_TEST(shown(65).find(std::string(64, 'i') + "...\"") != std::string::npos);
}

// ---- calls and their answers ----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_call_must_have_an_answer_and_the_first_three_without_are_named) {
  auto call = [](const char* id) { return tool_call{.name = "add", .id = id}; };
  auto refused = [](std::vector<value> messages) {
    try {
      require_answered_calls(value::list(std::move(messages)));
    } catch (const node_error& e) {
      BOOST_TEST(e.type() == "ValueError");
      return std::string{e.what()};
    }
    return std::string{};
  };
  auto asks = ai_message("", {call("1"), call("2"), call("3"), call("4"), call("5")});
  auto text = refused({asks, tool_message("x", "2")});
  BOOST_TEST(text.starts_with("Found AIMessages with tool_calls that do not have a corresponding "
                              "ToolMessage. Here are the first few of those tool calls: "));
  BOOST_TEST(text.ends_with("this is required by most LLM providers."));
  for (const auto& [id, named] :
       {std::pair{"1", true}, {"2", false}, {"3", true}, {"4", true}, {"5", false}})
    BOOST_TEST((text.find("\"id\": \"" + std::string{id} + '"') != std::string::npos) == named);
  BOOST_TEST(refused({ai_message("", {call("1")}), human_message("x"), tool_message("x", "1")})
             == "");
  BOOST_TEST(refused({tool_message("x", "1"), ai_message("", {call("1")})}) == ""); // anywhere
  BOOST_TEST(refused({ai_message("no call")}) == "");
}

BOOST_AUTO_TEST_CASE(open_calls_are_patched_behind_the_answers_their_message_has) {
  auto call = [](const char* id) { return tool_call{.name = "add", .id = id}; };
  auto ids = [](const value& messages) {
    std::string out;
    for (const auto& m : messages.items())
      out += m.payload().contains("tool_call_id")
               ? ' ' + message_member(m, "tool_call_id").as<std::string>()
                   + (message_member(m, "status") == value("error") ? "!" : "")
               : ' ' + message_text(m);
    return out;
  };
  auto asks = ai_message("asks", {call("1"), call("2"), call("3")});
  BOOST_TEST(ids(patched_tool_calls(value::list(
               {asks, tool_message("x", "2"), human_message("more"), ai_message("says")})))
             == " asks 2 1! 3! more says");
  BOOST_TEST(ids(patched_tool_calls(value::list({human_message("hi"), asks})))
             == " hi asks 1! 2! 3!");
  // The same id again, by another message: each call has an answer of its own.
  auto again = ai_message("again", {call("1")});
  BOOST_TEST(ids(patched_tool_calls(value::list({again, again, tool_message("x", "1")})))
             == " again 1! again 1");
  auto whole = whole_talk();
  BOOST_TEST(patched_tool_calls(whole) == whole);
  BOOST_TEST(patched_tool_calls(value::list({})) == value::list({}));
  require_answered_calls(patched_tool_calls(value::list({asks, human_message("more")})));
}

BOOST_AUTO_TEST_CASE(a_patch_appends_where_it_can) {
  auto asks = ai_message("asks", {add_call}, "a");
  BOOST_TEST(patch_of_tool_calls(whole_talk()).empty());
  auto behind = patch_of_tool_calls(value::list({asks}));
  BOOST_REQUIRE(behind.size() == 1u);
  BOOST_TEST(message_member(behind[0], "tool_call_id") == value("c1"));
  auto anew = patch_of_tool_calls(value::list({asks, human_message("more", "m")}));
  BOOST_REQUIRE(anew.size() == 4u);
  BOOST_TEST(anew[0] == remove_message(REMOVE_ALL_MESSAGES));
  BOOST_TEST(anew[1] == asks);
  BOOST_TEST(message_text(anew[2]) == "Cancelled by the user.");
  BOOST_TEST(message_text(anew[3]) == "more");
}

// Lists that remember their answered messages, and equal ones that do not.
BOOST_AUTO_TEST_CASE(a_conversation_that_grew_is_checked_as_one_that_is_new) {
  auto asks = [](const char* id) { return ai_message("", {{.name = "t", .id = id}}); };
  const std::vector<value> messages{human_message("hi"),
                                    asks("1"),
                                    tool_message("a", "1"),
                                    asks("2"),
                                    asks("3"),
                                    tool_message("c", "3"),
                                    tool_message("b", "2")};
  auto refused = [](const value& list) {
    try {
      require_answered_calls(list);
      return false;
    } catch (const node_error&) {
      return true;
    }
  };
  auto grown = value::list();
  std::vector<value> versions;
  for (const auto& message : messages) {
    grown = grown.append(message);
    refused(grown);
    versions.push_back(grown);
  }
  const std::vector<bool> open{false, true, false, true, true, true, false};
  const std::vector<std::size_t> answered{1, 1, 3, 3, 3, 3, 7};
  for (std::size_t i = 0; i < versions.size(); ++i) {
    auto fresh = value::list({messages.begin(), messages.begin() + static_cast<long>(i) + 1});
    BOOST_TEST(refused(versions[i]) == open[i]);
    BOOST_TEST(refused(fresh) == open[i]);
    BOOST_TEST(answered_messages(fresh) == answered[i]);
  }
  BOOST_TEST(answered_messages(grown) == 7u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
