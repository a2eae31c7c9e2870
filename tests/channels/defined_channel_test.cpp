// Channels of the user's own: each function of a definition, and what becomes of its exceptions.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace troupe {
namespace {

/// Counts its writes; `limit` and above are refused in a way that depends on the write.
channel_definition counting() {
  return {.name = "counting",
          .initial = 0,
          .update = [](const value& content,
                       std::span<const value> writes) -> std::optional<value> {
            for (const auto& w : writes) {
              if (w == value("nothing"))
                return std::nullopt;
              if (w == value("throw"))
                throw std::runtime_error{"thrown"};
              if (w == value("error"))
                throw error{errc::missing_key, "no key"};
              if (w == value("odd"))
                throw 7;
            }
            return content.as_int() + static_cast<std::int64_t>(writes.size());
          }};
}

channel_probe probe(channel_definition of) {
  return channel_probe{define_channel(std::move(of))};
}

std::string refusal_of(channel_definition of) {
  try {
    define_channel(std::move(of));
  } catch (const error& e) {
    BOOST_TEST(e.code() == errc::invalid_graph);
    return e.message();
  }
  return "no error";
}

} // namespace

BOOST_AUTO_TEST_SUITE(channels_defined)

BOOST_AUTO_TEST_CASE(update_gives_the_content_that_readers_get) {
  auto c = probe(counting());
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value(0));
  BOOST_TEST(c.update({"a", "b"}));
  BOOST_TEST(c.read() == value(2));
  BOOST_TEST(c.restored().read() == value(2));
}

BOOST_AUTO_TEST_CASE(update_without_a_content_changes_nothing) {
  auto c = probe(counting());
  BOOST_TEST(!c.update({"nothing"}));
  BOOST_TEST(c.read() == value(0));
}

BOOST_AUTO_TEST_CASE(null_content_is_not_available_and_not_stored) {
  auto keep = counting();
  keep.initial = nullptr;
  keep.update = [](const value&, std::span<const value> writes) -> std::optional<value> {
    return writes.back();
  };
  auto c = probe(keep);
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(c.update({1}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.update({nullptr}));
  BOOST_TEST(!c.available());
  BOOST_TEST(c.read() == value{});
}

BOOST_AUTO_TEST_CASE(get_decides_what_readers_get_and_whether) {
  auto pairs = counting();
  pairs.get = [](const value& content) -> std::optional<value> {
    if (content.as_int() % 2 != 0)
      return std::nullopt;
    return value{{"count", content}};
  };
  auto c = probe(pairs);
  BOOST_TEST(c.read()["count"] == value(0));
  c.update({1});
  BOOST_TEST(!c.available());
  BOOST_TEST(c.read() == value{});
  BOOST_TEST(c.store().value() == value(1)); // it is kept all the same
  c.update({1});
  BOOST_TEST(c.read()["count"] == value(2));
}

BOOST_AUTO_TEST_CASE(get_may_give_null_as_a_barrier_does) {
  auto barrier = counting();
  barrier.get = [](const value& content) -> std::optional<value> {
    return content == value(2) ? std::optional<value>{value{}} : std::nullopt;
  };
  auto c = probe(barrier);
  c.update({1, 2});
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value{});
}

BOOST_AUTO_TEST_CASE(checkpoint_decides_what_is_stored_and_from_checkpoint_reads_it) {
  auto text = counting();
  text.checkpoint = [](const value& content) -> std::optional<value> {
    if (content == value(0))
      return std::nullopt;
    return value(std::to_string(content.as_int()));
  };
  text.from_checkpoint = [](const value& stored) {
    return value(std::stoi(stored.as<std::string>()));
  };
  auto c = probe(text);
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(c.restored().read() == value(0)); // nothing stored: begins at `initial`
  c.update({1, 2, 3});
  BOOST_TEST(c.store().value() == value("3"));
  BOOST_TEST(c.restored().read() == value(3));
}

BOOST_AUTO_TEST_CASE(consume_and_finish_change_the_content_or_leave_it) {
  auto c = probe(counting());
  BOOST_TEST(!c.consume());
  BOOST_TEST(!c.finish());
  auto both = counting();
  both.consume = [](const value& content) -> std::optional<value> {
    return content.as_int() < 2 ? std::nullopt : std::optional<value>{0};
  };
  both.finish = [](const value&) -> std::optional<value> { return 100; };
  auto d = probe(both);
  BOOST_TEST(waits_for_finish(d.spec));
  BOOST_TEST(!waits_for_finish(c.spec));
  d.update({1});
  BOOST_TEST(!d.consume());
  d.update({1});
  BOOST_TEST(d.consume());
  BOOST_TEST(d.read() == value(0));
  BOOST_TEST(d.finish());
  BOOST_TEST(d.read() == value(100));
}

BOOST_AUTO_TEST_CASE(step_without_writes_reaches_a_channel_that_asks_for_each_step) {
  auto ages = counting();
  ages.update = [](const value& content, std::span<const value> writes) -> std::optional<value> {
    return writes.empty() ? value(content.as_int() + 1) : value(0);
  };
  auto quiet = probe(ages);
  BOOST_TEST(!reacts_to_silence(quiet.spec));
  BOOST_TEST(!quiet.update({}));
  ages.each_step = true;
  auto c = probe(ages);
  BOOST_TEST(reacts_to_silence(c.spec));
  BOOST_TEST(c.update({}));
  BOOST_TEST(c.read() == value(1));
}

BOOST_AUTO_TEST_CASE(exception_of_update_names_the_channel_and_leaves_it) {
  auto c = probe(counting());
  c.update({1});
  auto thrown = c.refuse({"throw"});
  BOOST_TEST(thrown.code() == errc::invalid_update);
  BOOST_TEST(thrown.message() == "At key 'key': channel `counting`, update: thrown");
  auto typed = c.refuse({"error"});
  BOOST_TEST(typed.code() == errc::missing_key);
  BOOST_TEST(typed.message() == "At key 'key': channel `counting`, update: no key");
  BOOST_TEST(c.refuse({"odd"}).message()
             == "At key 'key': channel `counting`, update: it threw something that is not a "
                "std::exception");
  BOOST_TEST(c.read() == value(1));
  BOOST_TEST(c.store().value() == value(1));
}

BOOST_AUTO_TEST_CASE(exceptions_of_the_other_functions_are_errors_of_the_change) {
  auto bad = [](const value& content) -> std::optional<value> {
    if (content == value(0))
      return content;
    throw std::runtime_error{"bad"};
  };
  auto reads = counting();
  reads.get = bad;
  auto c = probe(reads);
  BOOST_TEST(c.refuse({1}).message() == "At key 'key': channel `counting`, update: bad");
  BOOST_TEST(c.read() == value(0));
  auto stores = counting();
  stores.checkpoint = bad;
  BOOST_TEST(probe(stores).refuse({1}).code() == errc::invalid_update);
  auto ends = counting();
  ends.consume = ends.finish = [](const value&) -> std::optional<value> {
    throw error{errc::invalid_value, "no"};
  };
  auto e = probe(ends);
  BOOST_TEST(consume_channel(e.spec, "key", e.cell).error().message()
             == "At key 'key': channel `counting`, consume: no");
  BOOST_TEST(finish_channel(e.spec, "key", e.cell).error().message()
             == "At key 'key': channel `counting`, finish: no");
}

BOOST_AUTO_TEST_CASE(stored_value_that_from_checkpoint_refuses_is_corrupt) {
  auto numbers = counting();
  numbers.from_checkpoint = [](const value& stored) { return value(stored.as_int()); };
  auto c = probe(numbers);
  auto refused = c.refuse_load("text");
  BOOST_TEST(refused.code() == errc::checkpoint_corrupt);
  BOOST_TEST(refused.message().starts_with(
    "load a channel: At key 'key': channel `counting`, from_checkpoint: "));
}

BOOST_AUTO_TEST_CASE(cell_that_came_damaged_from_elsewhere_reads_as_null) {
  auto c = probe(counting());
  c.cell.content = value("damaged");
  BOOST_TEST(c.read() == value{});
  BOOST_TEST(!c.store().has_value());
  BOOST_TEST(c.refuse({1}).message().find("wanted integer") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(definition_without_a_name_or_update_is_refused) {
  BOOST_TEST(refusal_of({.name = "x", .update = nullptr})
             == "define a channel: it has no `update`: `x`");
  auto unnamed = counting();
  unnamed.name.clear();
  BOOST_TEST(refusal_of(unnamed) == "define a channel: it has no name");
  auto bad = counting();
  bad.get = [](const value&) -> std::optional<value> { throw std::runtime_error{"bad"}; };
  BOOST_TEST(refusal_of(bad)
             == "define a channel: At key 'counting': channel `counting`, initial content: bad");
}

BOOST_AUTO_TEST_CASE(definitions_agree_by_name) {
  auto other = counting();
  other.name = "other";
  BOOST_TEST((define_channel(counting()) == define_channel(counting())));
  BOOST_TEST((define_channel(counting()) != define_channel(other)));
  BOOST_TEST((define_channel(counting()) != last_value));
  BOOST_TEST(!takes_its_own_kind(define_channel(counting())));
  BOOST_CHECK_THROW(keep_last(define_channel(counting()), 3), error);
  BOOST_CHECK_THROW(starting_at(define_channel(counting()), 3), error);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
