// Checkpoints are found by their ids and in the order of these, whatever is stored beside them.
#include "tests/persistence/saver_kinds.hpp"

namespace troupe {

namespace {

using test::backends;
using test::checkpoint_id;
using test::make_put;
using test::require_error;

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_checkpoint_ids)

// In the keys of a store, a zero byte ends the id.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_checkpoint_id_with_a_zero_byte_is_refused, backend, backends) {
  backend on;
  auto& s = *on.saver;
  const std::string id("c\0d", 3);
  require_error(s.put({"t", "", ""}, make_put(id, "", {{"a", 1}})), errc::invalid_config);
  require_error(s.put({"t", "", ""}, make_put("c", id, {{"a", 1}})), errc::invalid_config);
  require_error(s.put_writes({"t", "", id}, {"task", "~a", {{"a", 1}}}), errc::invalid_config);
  auto refused = s.get_tuple({"t", "", id});
  require_error(refused, errc::invalid_config);
  BOOST_TEST(refused.error().message().find("checkpoint_id contains a zero byte")
             != std::string::npos);
  BOOST_TEST(s.list({}).value().empty());
}

// Whatever the number of tasks, the checkpoints before and after them are found.
BOOST_AUTO_TEST_CASE_TEMPLATE(checkpoints_are_found_between_the_writes_of_many_tasks, backend,
                              backends) {
  backend on;
  auto& s = *on.saver;
  for (unsigned id = 1; id <= 9; ++id) {
    s.put({"t", "", ""}, make_put(checkpoint_id(id), "", {{"a", id}})).value();
    for (unsigned task = 0; task < 2 * id - 2; ++task)
      s.put_writes({"t", "", checkpoint_id(id)}, {std::to_string(task), "~a", {{"a", task}}})
        .value();
  }
  s.put_writes({"t", "", checkpoint_id(99)}, {"task", "~a", {{"a", 1}}}).value(); // of none
  auto ids = [&s](const list_query& query) {
    std::vector<std::string> out;
    for (const auto& tuple : s.list(query).value())
      out.push_back(tuple.ref.checkpoint_id);
    return out;
  };
  std::vector<std::string> all;
  for (unsigned id = 9; id > 0; --id)
    all.push_back(checkpoint_id(id));
  BOOST_TEST(ids({.thread_id = "t"}) == all, boost::test_tools::per_element());
  BOOST_TEST(s.get_tuple({"t", "", ""}).value()->ref.checkpoint_id == all.front());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<std::string> older{all.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                         all.end()};
    BOOST_TEST(ids({.thread_id = "t", .before = all[i]}) == older,
               boost::test_tools::per_element());
    BOOST_TEST(s.get_tuple({"t", "", all[i]}).value()->pending_writes.size() == 2 * (9 - i) - 2);
  }
  BOOST_TEST(s.prune({"t"}, {.keep_latest = 2}).value().checkpoints == 7u);
  BOOST_TEST(ids({.thread_id = "t"}).size() == 2u);
  BOOST_TEST(s.get_tuple({"t", "", all[1]}).value()->pending_writes.size() == 14u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
