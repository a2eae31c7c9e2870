// Delta channels: all writes of a step folded at once, overwrites, snapshots, histories, messages.
#include "channels/message_ids.hpp"
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <stdexcept>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_delta)

value list_of(std::initializer_list<value> items) {
  return value::list(std::vector<value>(items));
}

value overwrite_of(value v) {
  return value::extension(value_kind::overwrite, std::move(v));
}

value snapshot_of(value v) {
  return value::extension(value_kind::delta_snapshot, std::move(v));
}

value message(const char* role, const char* content, const char* id = nullptr) {
  auto members = value::map({{"role", role}, {"content", content}});
  return value::extension(value_kind::message, id ? members.with("id", id) : members);
}

value removal(const char* id) {
  return value::extension(value_kind::remove_message, id);
}

value replayed(const channel_spec& spec, const std::optional<value>& stored,
               const std::vector<value>& writes) {
  return replay_channel(spec, "key", stored, writes).value().content;
}

template <class Fn> error thrown_by(Fn fn) {
  try {
    fn();
  } catch (const error& e) {
    return e;
  }
  return {errc::checkpoint_missing, "nothing was thrown"};
}

// Joins all writes of a step in brackets: shows what one call of the reducer is given.
batch_reducer bracketed() {
  return {.name = "bracketed",
          .op =
            [](const value& current, std::span<const value> writes) {
              std::string out{current.as_string()};
              out += "[";
              for (const auto& w : writes)
                out += w.as_string();
              return value(out + "]");
            },
          .initial = ""};
}

// ---- declaring ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(delta_wants_a_positive_frequency) {
  for (auto frequency : {0, -1}) {
    auto refused = thrown_by([frequency] { delta(append, frequency); });
    BOOST_TEST(refused.code() == errc::invalid_graph);
    BOOST_TEST(refused.type() == "ValueError");
    BOOST_TEST(refused.message()
               == "snapshot_frequency must be a positive int, got " + std::to_string(frequency));
  }
  BOOST_TEST(delta(append).snapshot_frequency == 100);
  BOOST_TEST(delta(bracketed(), 1).snapshot_frequency == 1);
}

BOOST_AUTO_TEST_CASE(delta_wants_a_reducer_that_has_a_value_to_start_at) {
  BOOST_TEST(thrown_by([] { delta(last_value); }).code() == errc::invalid_graph);
  BOOST_TEST(thrown_by([] { delta(batch_reducer{}); }).code() == errc::invalid_graph);
  BOOST_TEST(thrown_by([] { delta(multiply); }).code() == errc::invalid_graph);
  BOOST_TEST(channel_probe{delta(starting_at(multiply, 2))}.read() == value(2));
  BOOST_TEST(channel_probe{starting_at(delta(sum), 5)}.read() == value(5));
}

BOOST_AUTO_TEST_CASE(delta_channels_agree_when_frequency_and_reducer_do) {
  BOOST_TEST((delta(append) == delta(append)));
  BOOST_TEST(!(delta(append) == delta(append, 2)));
  BOOST_TEST(!(delta(append) == delta(sum)));
  BOOST_TEST(!(delta(append) == append));
  BOOST_TEST((delta(bracketed()) == delta(append))); // a closure agrees with all
}

// ---- updates --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(delta_has_its_initial_value_from_the_start) {
  channel_probe c{delta(append)};
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value::list());
  BOOST_TEST(!c.update({}));
}

BOOST_AUTO_TEST_CASE(delta_folds_all_writes_of_a_step_in_one_call) {
  channel_probe c{delta(bracketed())};
  BOOST_TEST(c.update({"a", "b"}));
  c.update({"c"});
  BOOST_TEST(c.read() == "[ab][c]");
}

BOOST_AUTO_TEST_CASE(delta_of_a_reducer_folds_one_write_after_another) {
  channel_probe c{delta(sum)};
  c.update({1, 2, 3});
  BOOST_TEST(c.read() == value(6));
}

BOOST_AUTO_TEST_CASE(delta_overwrite_drops_all_other_writes_of_its_step) {
  for (const auto& reset :
       {overwrite_of(list_of({"new"})), value::map({{"__overwrite__", list_of({"new"})}})}) {
    channel_probe c{delta(append)};
    c.update({list_of({"i"})});
    BOOST_TEST(c.update({list_of({"a"}), reset, list_of({"z"})}));
    BOOST_TEST(c.read() == list_of({"new"}));
  }
}

BOOST_AUTO_TEST_CASE(delta_overwrite_with_null_puts_the_initial_value_in_place) {
  channel_probe c{delta(append)};
  c.update({list_of({"i"})});
  c.update({overwrite_of({})});
  BOOST_TEST(c.read() == value::list());
}

BOOST_AUTO_TEST_CASE(delta_refuses_two_overwrites_in_a_step_and_keeps_its_value) {
  channel_probe c{delta(append)};
  c.update({list_of({"i"})});
  auto refused = c.refuse({overwrite_of(value::list()), overwrite_of(value::list())});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(refused.message() == "Can receive only one Overwrite value per super-step.");
  BOOST_TEST(c.read() == list_of({"i"}));
}

BOOST_AUTO_TEST_CASE(delta_answers_what_its_reducer_throws) {
  channel_probe c{delta(
    {.name = "broken",
     .op = [](const value&, std::span<const value>) -> value { throw std::runtime_error{"no"}; },
     .initial = {}})};
  BOOST_TEST(c.refuse({1}).message() == "At key 'key': reducer `broken` failed: no");
  channel_probe d{delta(append)};
  BOOST_TEST(d.refuse({1}).message()
             == "At key 'key': reduce: append: the operands do not fit: a list and a number");
}

BOOST_AUTO_TEST_CASE(delta_ignores_consume_finish_and_silence) {
  channel_probe c{delta(append)};
  c.update({list_of({"a"})});
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(!reacts_to_silence(c.spec));
  BOOST_TEST(c.read() == list_of({"a"}));
}

// ---- storing --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(delta_stores_nothing_of_itself) {
  channel_probe c{delta(append)};
  c.update({list_of({"a"})});
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(c.restored().read() == value::list());
}

BOOST_AUTO_TEST_CASE(delta_loads_a_snapshot_and_the_plain_value_of_a_former_reducer) {
  for (const auto& stored : {snapshot_of(list_of({"a"})), list_of({"a"})})
    BOOST_TEST(load_channel(delta(append), "key", stored).value().content == list_of({"a"}));
}

BOOST_AUTO_TEST_CASE(delta_history_is_folded_in_one_call) {
  BOOST_TEST(replayed(delta(bracketed()), std::nullopt, {"a", "b", "c"}) == "[abc]");
  BOOST_TEST(replayed(delta(bracketed()), snapshot_of("s"), {"a"}) == "s[a]");
  BOOST_TEST(replayed(delta(bracketed()), value("s"), {}) == "s");
}

BOOST_AUTO_TEST_CASE(delta_history_begins_behind_its_last_overwrite) {
  auto spec = delta(bracketed());
  BOOST_TEST(replayed(spec, value("s"), {"a", overwrite_of("x"), "b", overwrite_of("y"), "c", "d"})
             == "y[cd]");
  BOOST_TEST(replayed(spec, value("s"), {"a", overwrite_of({})}) == "");
}

BOOST_AUTO_TEST_CASE(delta_history_that_cannot_be_folded_is_an_error) {
  auto refused = replay_channel(delta(append), "key", value::list(), std::vector<value>{1});
  BOOST_TEST(refused.error().code() == errc::invalid_update);
}

BOOST_AUTO_TEST_CASE(reducer_takes_the_history_of_a_former_delta_channel_write_by_write) {
  const std::vector<value> writes{list_of({"a"}), overwrite_of(list_of({"x"})), list_of({"b"}),
                                  overwrite_of(list_of({"y"})), list_of({"c"})};
  BOOST_TEST(replayed(append, snapshot_of(list_of({"s"})), writes) == list_of({"y", "c"}));
  BOOST_TEST(replayed(append, std::nullopt, {list_of({"a"})}) == list_of({"a"}));
  BOOST_TEST(!replay_channel(multiply, "key", std::nullopt, {}).value().set);
}

// ---- messages -------------------------------------------------------------------------------

const channel_spec& messages() {
  static const auto spec = delta(add_messages);
  return spec;
}

value after(std::vector<std::vector<value>> steps) {
  channel_probe c{messages()};
  for (const auto& writes : steps)
    c.update(writes);
  return c.read();
}

BOOST_AUTO_TEST_CASE(delta_messages_append_replace_and_remove_by_id) {
  auto hi = message("user", "hi", "u1");
  auto one = message("assistant", "one", "a1");
  auto edited = message("user", "edited", "u1");
  auto two = message("assistant", "two", "a2");
  BOOST_TEST(after({{list_of({hi})}, {one}}) == list_of({hi, one}));
  BOOST_TEST(after({{list_of({hi})}, {one}, {list_of({edited, removal("a1"), two})}})
             == list_of({edited, two}));
  BOOST_TEST(after({{hi, one}, {list_of({removal("u1"), edited})}}) == list_of({one, edited}));
  BOOST_TEST(after({{hi}, {two, removal("a2")}}) == list_of({hi}));
}

BOOST_AUTO_TEST_CASE(delta_messages_ignore_the_removal_of_what_is_not_there) {
  auto hi = message("user", "hi", "u1");
  BOOST_TEST(after({{hi}, {removal("nobody")}}) == list_of({hi}));
  BOOST_TEST(after({{hi}, {removal("__remove_all__")}}) == list_of({hi}));
}

BOOST_AUTO_TEST_CASE(delta_messages_read_back_as_they_ran) {
  const std::vector<value> writes{message("user", "1", "a"),
                                  message("user", "2", "b"),
                                  removal("a"),
                                  list_of({message("user", "3", "a"), message("user", "4", "b")}),
                                  removal("zz"),
                                  list_of({removal("b"), message("user", "5", "b")})};
  std::vector<std::vector<value>> steps;
  for (const auto& w : writes)
    steps.push_back({w});
  BOOST_TEST(after(steps) == replayed(messages(), std::nullopt, writes));
}

BOOST_AUTO_TEST_CASE(delta_messages_take_any_form_and_make_no_ids) {
  auto list = after({{"hi", list_of({list_of({"assistant", "ho"}),
                                     value::map({{"role", "user"}, {"content", "he"}})})}});
  BOOST_TEST(
    list == list_of({message("user", "hi"), message("assistant", "ho"), message("user", "he")}));
  channel_probe c{delta(starting_at(add_messages, list_of({"system prompt"})))};
  c.update({"hi"});
  BOOST_TEST(c.read() == list_of({message("user", "system prompt"), message("user", "hi")}));
  BOOST_TEST(c.refuse({1}).type() == "ValueError");
}

// ---- ids ------------------------------------------------------------------------------------

value stamped(const channel_spec& spec, const value& write) {
  return with_message_ids(spec, write).value();
}

BOOST_AUTO_TEST_CASE(message_ids_are_given_to_every_form_where_messages_are_folded) {
  auto form = value::map({{"role", "user"}, {"content", "map"}});
  auto write = list_of(
    {"text", list_of({"user", "pair"}), form, message("user", "value"), message("user", "", "")});
  std::set<std::string> ids;
  auto out = stamped(messages(), write);
  for (const auto& m : out.items()) {
    BOOST_REQUIRE(m.is(value_kind::message));
    ids.insert(std::string{m.payload()["id"].as_string()});
  }
  BOOST_TEST(ids.size() == 5u);
  BOOST_TEST(!ids.contains(""));
  BOOST_TEST(write[2] == form); // the caller's own is as it was
  BOOST_TEST(stamped(messages(), "text").is(value_kind::message));
  auto reset = stamped(messages(), overwrite_of(list_of({"text"})));
  BOOST_TEST(reset.is(value_kind::overwrite));
  BOOST_TEST(reset.payload()[0].payload()["id"].size() == 36u);
}

BOOST_AUTO_TEST_CASE(message_ids_elsewhere_are_given_to_messages_and_message_maps_only) {
  auto spec = delta(append);
  auto map = value::map({{"type", "ai"}, {"content", "x"}});
  auto out = stamped(spec, list_of({"text", value::map({{"role", "boss"}, {"content", "x"}}), map,
                                    message("user", "x"), 7}));
  BOOST_TEST(out[0] == "text");
  BOOST_TEST(out[1].is_map());
  BOOST_TEST(out[2].is(value_kind::message));
  BOOST_TEST(out[3].payload()["id"].size() == 36u);
  BOOST_TEST(out[4] == value(7));
}

BOOST_AUTO_TEST_CASE(message_ids_leave_a_write_alone_that_needs_none) {
  for (const auto& write :
       {list_of({message("user", "x", "u1"), removal("u1")}), list_of({1, 2}), value("text")}) {
    auto out = stamped(delta(append), write);
    BOOST_TEST(out == write);
    BOOST_TEST(out.items().data() == write.items().data());
  }
  BOOST_TEST(stamped(messages(), list_of({1})) == list_of({1})); // for the reducer to refuse
  BOOST_TEST(stamped(messages(), value::map({{"role", "user"}})).is_map());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
