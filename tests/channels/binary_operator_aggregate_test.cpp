// BinaryOperatorAggregate: folding, overwrites, and reducers that fail.
#include "channels/kinds.hpp"
#include "tests/channels/channel_probe.hpp"

#include <troupe/control.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_binary_operator_aggregate)

value list_of(std::initializer_list<const char*> texts) {
  return value::list(std::vector<value>(texts.begin(), texts.end()));
}

// Joins with a dash and refuses "bad".
channel_spec dashed(std::optional<value> initial = std::nullopt) {
  return reduce(
    "dashed",
    [](const value& a, const value& b) -> value {
      if (b == value("bad"))
        throw std::runtime_error{"no bad words"};
      return std::string{a.as_string()} + "-" + std::string{b.as_string()};
    },
    std::move(initial));
}

BOOST_AUTO_TEST_CASE(reducer_with_an_initial_value_is_available_at_once) {
  channel_probe c{append};
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value::list());
  BOOST_TEST(*c.store() == value::list());
}

BOOST_AUTO_TEST_CASE(reducer_without_an_initial_value_starts_with_the_first_write) {
  channel_probe c{dashed()};
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(c.update({"a"}));
  BOOST_TEST(c.read() == value("a"));
}

BOOST_AUTO_TEST_CASE(reducer_folds_the_writes_in_order) {
  channel_probe c{dashed("0")};
  BOOST_TEST(c.update({"a", "b"}));
  BOOST_TEST(c.update({"c"}));
  BOOST_TEST(c.read() == value("0-a-b-c"));
}

BOOST_AUTO_TEST_CASE(reducer_stays_in_a_step_without_writes) {
  channel_probe c{dashed("0")};
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.read() == value("0"));
}

BOOST_AUTO_TEST_CASE(reducer_counts_a_write_that_changes_nothing_as_an_update) {
  channel_probe c{append};
  BOOST_TEST(c.update({value::list()}));
}

BOOST_AUTO_TEST_CASE(reducer_appends_share_the_older_list) {
  channel_probe c{append};
  c.update({list_of({"a", "b", "c", "d"})});
  c.update({list_of({"e"})}); // makes room for more
  auto before = c.read();
  c.update({list_of({"f"})});
  BOOST_TEST(c.read().items().data() == before.items().data());
  BOOST_TEST(before == list_of({"a", "b", "c", "d", "e"}));
}

BOOST_AUTO_TEST_CASE(overwrite_replaces_the_value_and_drops_the_writes_behind_it) {
  channel_probe c{append};
  c.update({list_of({"init"})});
  BOOST_TEST(c.update({list_of({"a"}), overwrite(list_of({"reset"})), list_of({"z"})}));
  BOOST_TEST(c.read() == list_of({"reset"}));
  BOOST_TEST(c.update({list_of({"next"})}));
  BOOST_TEST(c.read() == list_of({"reset", "next"}));
}

BOOST_AUTO_TEST_CASE(overwrite_comes_in_three_forms) {
  for (const auto& form : {overwrite(7), value::map({{"__overwrite__", 7}}),
                           value::map({{"type", "__overwrite__"}, {"value", 7}})}) {
    BOOST_TEST(is_overwrite(form));
    channel_probe c{sum};
    c.update({1, form});
    BOOST_TEST(c.read() == value(7));
  }
}

BOOST_AUTO_TEST_CASE(overwrite_is_not_mistaken_for_another_map) {
  for (const auto& other :
       {value{}, value("__overwrite__"), value::map(), value::map({{"value", 1}}),
        value::map({{"__overwrite__", 1}, {"x", 2}}), value::map({{"type", "__overwrite__"}}),
        value::map({{"type", "__overwrite__"}, {"x", 1}}),
        value::map({{"type", "other"}, {"value", 1}}), value::list({"__overwrite__"})})
    BOOST_TEST(!is_overwrite(other));
}

BOOST_AUTO_TEST_CASE(overwrite_as_the_very_first_write_is_unwrapped) {
  channel_probe c{dashed()};
  BOOST_TEST(c.update({overwrite("a"), "dropped"}));
  BOOST_TEST(c.read() == value("a"));
}

BOOST_AUTO_TEST_CASE(overwrite_twice_in_one_step_is_refused_and_the_value_stays) {
  for (const auto& spec : {starting_at(dashed(), "0"), dashed()}) {
    channel_probe c{spec};
    auto before = c.read();
    auto refused = c.refuse({overwrite("a"), overwrite("b")});
    BOOST_TEST(refused.code() == errc::invalid_update);
    BOOST_TEST(refused.message() == "Can receive only one Overwrite value per super-step.");
    BOOST_TEST(c.read() == before);
  }
}

BOOST_AUTO_TEST_CASE(overwrite_may_put_null_in_place) {
  channel_probe c{sum};
  c.update({overwrite(nullptr)});
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value{});
}

BOOST_AUTO_TEST_CASE(reducer_that_throws_is_named_with_the_channel_and_the_value_stays) {
  channel_probe c{dashed("0")};
  auto refused = c.refuse({"a", "bad"});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(refused.message() == "At key 'key': reducer `dashed` failed: no bad words");
  BOOST_TEST(c.read() == value("0"));
}

BOOST_AUTO_TEST_CASE(reducer_may_throw_what_is_no_exception) {
  channel_probe c{reduce(
    "odd", [](const value&, const value&) -> value { throw 7; }, value(0))};
  BOOST_TEST(c.refuse({1}).code() == errc::invalid_update);
  BOOST_TEST(c.read() == value(0));
}

BOOST_AUTO_TEST_CASE(reducer_that_throws_an_error_keeps_its_code_and_gets_the_channels_name) {
  error thrown{errc::missing_key, "no such thing"};
  channel_probe c{reduce(
    "strict", [thrown](const value&, const value&) -> value { throw thrown; }, value(0))};
  BOOST_TEST((c.refuse({1}) == error{errc::missing_key, "At key 'key': no such thing"}));
  BOOST_TEST(c.read() == value(0));
}

BOOST_AUTO_TEST_CASE(reducer_comes_back_from_a_checkpoint) {
  channel_probe c{append};
  c.update({list_of({"a"})});
  BOOST_TEST(*c.store() == list_of({"a"}));
  auto next = c.restored();
  next.update({list_of({"b"})});
  BOOST_TEST(next.read() == list_of({"a", "b"}));
}

BOOST_AUTO_TEST_CASE(reducer_without_a_stored_value_starts_at_its_initial_one) {
  BOOST_TEST(load_channel(append, "key", std::nullopt).value().content == value::list());
  BOOST_TEST(!load_channel(dashed(), "key", std::nullopt).value().set);
}

BOOST_AUTO_TEST_CASE(reducer_reads_the_snapshot_of_a_former_delta_channel) {
  auto stored = value::extension(value_kind::delta_snapshot, list_of({"a"}));
  BOOST_TEST(load_channel(append, "key", stored).value().content == list_of({"a"}));
}

BOOST_AUTO_TEST_CASE(reducer_ignores_consume_and_finish) {
  channel_probe c{sum};
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
