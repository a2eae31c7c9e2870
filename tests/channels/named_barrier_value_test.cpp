// NamedBarrierValue and NamedBarrierValueAfterFinish: waiting for a set of names.
#include "tests/channels/channel_probe.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(channels_named_barrier_value)

const channel_spec barrier{.kind = channel_kind::named_barrier, .names = {"b", "a"}};
const channel_spec deferred_barrier{.kind = channel_kind::named_barrier_after_finish,
                                    .names = {"b", "a"}};

value names(std::initializer_list<const char*> texts) {
  return value::list(std::vector<value>(texts.begin(), texts.end()));
}

BOOST_AUTO_TEST_CASE(barrier_opens_when_every_name_was_written) {
  channel_probe c{barrier};
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({"b"}));
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({"a"}));
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value{});
}

BOOST_AUTO_TEST_CASE(barrier_is_updated_only_by_a_new_name) {
  channel_probe c{barrier};
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.update({"b", "b"}));
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.update({"b"}));
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.update({"b", "a"}));
}

BOOST_AUTO_TEST_CASE(barrier_refuses_a_name_that_is_not_its_own_and_stays) {
  channel_probe c{barrier};
  auto refused = c.refuse({"a", "x"});
  BOOST_TEST(refused.code() == errc::invalid_update);
  BOOST_TEST(refused.message() == "At key 'key': Value x not in {'b', 'a'}");
  BOOST_TEST(c.refuse({1}).message() == "At key 'key': Value 1 not in {'b', 'a'}");
  BOOST_TEST(*c.store() == value::list());
}

BOOST_AUTO_TEST_CASE(barrier_closes_when_consumed_open) {
  channel_probe c{barrier};
  c.update({"a"});
  BOOST_TEST(!c.consume());
  BOOST_TEST(*c.store() == names({"a"}));
  c.update({"b"});
  BOOST_TEST(c.consume());
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.consume());
  BOOST_TEST(c.update({"a"}));
}

BOOST_AUTO_TEST_CASE(barrier_ignores_the_finish) {
  channel_probe c{barrier};
  c.update({"a", "b"});
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_CASE(barrier_stores_the_sorted_names_even_none) {
  channel_probe c{barrier};
  BOOST_TEST(*c.store() == value::list());
  BOOST_TEST(!c.restored().available());
  c.update({"b"});
  BOOST_TEST(*c.store() == names({"b"}));
  c.update({"a"});
  BOOST_TEST(*c.store() == names({"a", "b"}));
  BOOST_TEST(c.restored().available());
  BOOST_TEST(c.restored().consume());
}

BOOST_AUTO_TEST_CASE(barrier_refuses_a_stored_value_that_is_no_sorted_list_of_its_names) {
  channel_probe c{barrier};
  for (const auto& bad :
       {value("a"), names({"x"}), names({"b", "a"}), names({"a", "a"}), value::list({1})})
    BOOST_TEST(c.refuse_load(bad).code() == errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_CASE(barrier_of_a_name_given_twice_waits_for_it_once) {
  channel_probe c{{.kind = channel_kind::named_barrier, .names = {"a", "b", "a"}}};
  c.update({"a"});
  BOOST_TEST(!c.available());
  c.update({"b"});
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_CASE(barrier_takes_many_names_in_one_step) {
  channel_probe c{{.kind = channel_kind::named_barrier}};
  std::vector<value> writes;
  for (int i = 0; i < 1000; ++i) {
    c.spec.names.push_back("n" + std::to_string(i));
    writes.emplace_back(c.spec.names.back());
  }
  BOOST_TEST(c.update({writes.begin(), writes.end() - 1}));
  BOOST_TEST(!c.available());
  BOOST_TEST(c.update({writes.back()}));
  BOOST_TEST(c.available());
  writes.back() = "x";
  BOOST_TEST(c.refuse(writes).code() == errc::invalid_update);
}

BOOST_AUTO_TEST_CASE(deferred_barrier_opens_only_after_the_finish) {
  channel_probe c{deferred_barrier};
  BOOST_TEST(c.update({"a"}));
  BOOST_TEST(!c.finish());
  c.update({"b"});
  BOOST_TEST(!c.available());
  BOOST_TEST(!c.consume());
  BOOST_TEST(c.finish());
  BOOST_TEST(!c.finish());
  BOOST_TEST(c.available());
  BOOST_TEST(c.read() == value{});
}

BOOST_AUTO_TEST_CASE(deferred_barrier_stays_open_when_written_again) {
  channel_probe c{deferred_barrier};
  c.update({"a", "b"});
  c.finish();
  BOOST_TEST(!c.update({"a"}));
  BOOST_TEST(!c.update({}));
  BOOST_TEST(c.available());
}

BOOST_AUTO_TEST_CASE(deferred_barrier_forgets_names_and_finish_when_consumed) {
  channel_probe c{deferred_barrier};
  c.update({"a", "b"});
  c.finish();
  BOOST_TEST(c.consume());
  BOOST_TEST(!c.available());
  c.update({"a", "b"});
  BOOST_TEST(!c.available());
  BOOST_TEST(c.finish());
}

BOOST_AUTO_TEST_CASE(deferred_barrier_refuses_a_name_that_is_not_its_own) {
  channel_probe c{deferred_barrier};
  BOOST_TEST(c.refuse({"x"}).message() == "At key 'key': Value x not in {'b', 'a'}");
}

BOOST_AUTO_TEST_CASE(deferred_barrier_stores_the_pair_of_names_and_finished) {
  channel_probe c{deferred_barrier};
  BOOST_TEST(*c.store() == value::list({value::list(), false}));
  c.update({"b", "a"});
  BOOST_TEST(*c.store() == value::list({names({"a", "b"}), false}));
  BOOST_TEST(!c.restored().available());
  c.finish();
  BOOST_TEST(*c.store() == value::list({names({"a", "b"}), true}));
  BOOST_TEST(c.restored().available());
}

BOOST_AUTO_TEST_CASE(deferred_barrier_refuses_a_stored_value_that_is_no_pair) {
  channel_probe c{deferred_barrier};
  for (const auto& bad : {names({"a", "b"}), value::list({names({"x"}), true}),
                          value::list({names({"a"}), 1}), value::list({names({"a"})})})
    BOOST_TEST(c.refuse_load(bad).code() == errc::checkpoint_corrupt);
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
