// Small values in the records of checkpoints: each checkpoint has its own ones, whatever its
// parent, and whatever happens to others.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/record/small_values.hpp"

#include "tests/fixtures/savers.hpp"

#include <troupe/data_dir.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <filesystem>
#include <random>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::make_put;
namespace data = boost::unit_test::data;

struct own_values_fixture {
  test::temporary_directory dir;

  std::shared_ptr<saver> open() { return open_lmdb_saver(dir.path()).value(); }

  /// How many records of the store are not in the place of a checkpoint.
  std::size_t values_elsewhere() {
    auto env = open_saver_file(dir.path() / "troupe.mdb", 1u << 30).value();
    auto txn = env->begin_read().value();
    std::size_t count = 0;
    scan(txn, chain_prefix(1, chain_part::values), [&count](auto, auto) -> result<void> {
      ++count;
      return {};
    }).value();
    return count;
  }
};

named<value> values_at(saver& from, unsigned id) {
  return from.get_tuple({"t", "", checkpoint_id(id)}).value()->checkpoint.channel_values;
}

// A checkpoint after another one: `moved` channels get values, the others keep theirs.
checkpoint_put next_put(saver& after, unsigned parent, unsigned id, const named<value>& moved) {
  auto put = make_put(checkpoint_id(id), checkpoint_id(parent), moved, {}, {id + 1, 7});
  auto before = after.get_tuple({"t", "", checkpoint_id(parent)}).value()->checkpoint;
  for (auto& entry : before.channel_versions)
    if (std::ranges::find(put.new_versions, entry.first) == put.new_versions.end())
      put.checkpoint.channel_versions.push_back(entry);
  std::ranges::sort(put.checkpoint.channel_versions);
  return put;
}

checkpoint_put copy_put(saver& from, unsigned of, unsigned id) {
  auto copied = from.get_tuple({"t", "", checkpoint_id(of)}).value();
  checkpoint_put put{copied->parent_id, copied->checkpoint, copied->metadata, {}};
  put.checkpoint.id = checkpoint_id(id);
  put.checkpoint.channel_values.clear();
  return put;
}

void put_after(saver& to, unsigned parent, unsigned id, const named<value>& moved) {
  to.put({"t", "", checkpoint_id(parent)}, next_put(to, parent, id, moved)).value();
}

const value small_text(std::string(38, 's')); // four of them are too many for a record

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_own_values, own_values_fixture)

BOOST_AUTO_TEST_CASE(a_few_small_values_are_in_the_record_of_their_checkpoint) {
  open()->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"a", 1}, {"b", small_text}})).value();
  BOOST_TEST(values_elsewhere() == 0u);
  BOOST_TEST((values_at(*open(), 1) == named<value>{{"a", 1}, {"b", small_text}}));
  BOOST_TEST(check_data(dir.path()).value().damaged == 0u);
}

BOOST_AUTO_TEST_CASE(a_value_stays_while_other_channels_move) {
  auto s = open();
  s->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"a", 1}, {"b", small_text}})).value();
  put_after(*s, 1, 2, {{"a", 2}});
  s.reset(); // another writer knows nothing of the parent
  s = open();
  put_after(*s, 2, 3, {{"a", 3}});
  put_after(*s, 1, 4, {{"b", "another"}}); // a fork
  put_after(*s, 3, 5, {{"c", 5}});
  s.reset();
  BOOST_TEST(values_elsewhere() == 0u);
  s = open();
  BOOST_TEST((values_at(*s, 1) == named<value>{{"a", 1}, {"b", small_text}}));
  BOOST_TEST((values_at(*s, 2) == named<value>{{"a", 2}, {"b", small_text}}));
  BOOST_TEST((values_at(*s, 3) == named<value>{{"a", 3}, {"b", small_text}}));
  BOOST_TEST((values_at(*s, 4) == named<value>{{"a", 1}, {"b", "another"}}));
  BOOST_TEST((values_at(*s, 5) == named<value>{{"a", 3}, {"b", small_text}, {"c", 5}}));
}

BOOST_AUTO_TEST_CASE(values_that_become_too_many_go_under_their_versions) {
  auto s = open();
  s->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"a", small_text}, {"b", small_text}}))
    .value();
  put_after(*s, 1, 2, {{"c", small_text}}); // with this one they still fit
  s.reset();
  BOOST_TEST(values_elsewhere() == 0u);
  s = open();
  put_after(*s, 2, 3, {{"d", small_text}}); // a, b and c go
  put_after(*s, 3, 4, {{"e", 5}});
  s.reset();
  BOOST_TEST(values_elsewhere() == 2u); // of a and b, and of c
  s = open();
  const named<value> all{
    {"a", small_text}, {"b", small_text}, {"c", small_text}, {"d", small_text}, {"e", 5}};
  BOOST_TEST((values_at(*s, 4) == all));
  s->prune({"t"}).value(); // leaves the last checkpoint
  BOOST_TEST((values_at(*s, 4) == all));
  BOOST_TEST(check_data(dir.path()).value().unused_values == 0u);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_is_stored_again_takes_no_value_from_later_ones) {
  auto s = open();
  auto first = make_put(checkpoint_id(1), "", {{"a", small_text}, {"b", small_text}});
  s->put({"t", "", ""}, first).value();
  put_after(*s, 1, 2, {{"c", small_text}, {"d", small_text}}); // a and b go under their version
  const auto before = values_at(*s, 2);
  s->put({"t", "", ""}, first).value();
  BOOST_TEST(before.size() == 4u);
  BOOST_TEST((values_at(*s, 2) == before));
  BOOST_TEST((values_at(*s, 1) == named<value>{{"a", small_text}, {"b", small_text}}));
}

// A copy is a sibling of what it copies, and brings no values.
BOOST_AUTO_TEST_CASE(a_copy_has_the_values_of_the_checkpoint_that_it_copies) {
  auto s = open();
  s->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"a", 1}, {"b", small_text}})).value();
  put_after(*s, 1, 2, {{"a", 2}, {"c", std::string(300, 'c')}, {"d", 4}});
  put_after(*s, 2, 3, {{"a", 3}});
  auto copy = copy_put(*s, 2, 4);
  s->put({"t", "", checkpoint_id(2)}, copy).value();
  auto first = copy_put(*s, 1, 5); // it has no parent
  BOOST_TEST(first.parent_id.empty());
  s->put({"t", "", checkpoint_id(1)}, first).value();
  put_after(*s, 4, 6, {{"d", 6}});
  const named<value> copied{{"a", 2}, {"b", small_text}, {"c", std::string(300, 'c')}, {"d", 4}};
  BOOST_TEST((values_at(*s, 4) == copied));
  BOOST_TEST((values_at(*s, 5) == named<value>{{"a", 1}, {"b", small_text}}));
  s->prune({"t"}, {.keep_latest = 1}).value();
  BOOST_TEST(
    (values_at(*s, 6)
     == named<value>{{"a", 2}, {"b", small_text}, {"c", std::string(300, 'c')}, {"d", 6}}));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_after_a_removed_one_has_the_values_that_it_brings) {
  auto s = open();
  s->put({"t", "", ""}, make_put(checkpoint_id(1), "", {{"a", 1}})).value();
  auto next = next_put(*s, 1, 2, {{"b", 2}});
  s->delete_thread("t").value();
  s->put({"t", "", ""}, next).value();
  BOOST_TEST((values_at(*s, 2) == named<value>{{"b", 2}}));
}

// The same history in memory is the model.
BOOST_DATA_TEST_CASE(any_history_reads_as_in_memory, data::xrange(12)) {
  std::mt19937 random(static_cast<unsigned>(sample));
  auto below = [&random](unsigned end) { return random() % end; };
  auto model = make_memory_saver();
  auto s = open();
  auto in_both = [&](auto act) {
    act(*model);
    act(*s);
  };
  auto some_value = [&](unsigned id) -> value {
    if (below(4) == 0)
      return std::string(small_value_bytes_max + below(200), 'x'); // not a small one
    return std::string(below(50), static_cast<char>('a' + id % 26));
  };
  in_both([](saver& to) {
    to.put({"t", "", ""}, make_put(checkpoint_id(0), "", {{"a", "first"}})).value();
  });
  std::vector<unsigned> there{0};
  for (unsigned id = 1; id < 120; ++id) {
    auto parent = below(4) == 0 ? there[below(static_cast<unsigned>(there.size()))] : there.back();
    named<value> moved;
    for (const auto* channel : {"a", "b", "c", "d", "e"})
      if (below(3) == 0)
        moved.emplace_back(channel, some_value(id));
    auto put = next_put(*model, parent, id, moved);
    if (!moved.empty() && below(5) == 0) // the channel became empty
      std::erase_if(put.checkpoint.channel_values,
                    [&moved](const auto& v) { return v.first == moved.front().first; });
    if (below(2) == 0)
      in_both([&](saver& to) {
        to.put_writes({"t", "", checkpoint_id(parent)}, {"task", "~a", {{"a", value(id)}}}).value();
      });
    if (below(6) == 0)
      put = copy_put(*model, parent, id);
    in_both([&](saver& to) { to.put({"t", "", checkpoint_id(parent)}, put).value(); });
    there.push_back(id);
    if (below(10) == 0) {
      s.reset();
      s = open();
    }
    if (below(20) == 0) {
      const retention rule{.keep_latest = 1 + below(5), .keep_forks = true};
      auto report = model->prune({"t"}, rule).value();
      BOOST_TEST((s->prune({"t"}, rule).value() == report));
      std::erase_if(there, [&](unsigned one) {
        return !model->get_tuple({"t", "", checkpoint_id(one)}).value();
      });
    }
  }
  auto all = model->list({}).value();
  auto stored = s->list({}).value();
  BOOST_REQUIRE(all.size() == stored.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST((all[i].ref == stored[i].ref));
    BOOST_TEST((all[i].checkpoint == stored[i].checkpoint), all[i].ref.checkpoint_id);
    BOOST_TEST((all[i].pending_writes == stored[i].pending_writes));
  }
  s.reset();
  auto report = check_data(dir.path()).value();
  BOOST_TEST((report.damaged == 0u && report.unused_values == 0u));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
