// Looking after a data directory: stat_data, check_data, copy_data.
#include "tests/fixtures/savers.hpp"

#include "graph/task_id.hpp"
#include "persistence/lmdb/data_directory.hpp"
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/lmdb/lmdb_index.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"
#include "persistence/record/small_values.hpp"
#include "persistence/record/store_format.hpp"

#include <troupe/data_dir.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

namespace troupe {

namespace {

using test::checkpoint_id;
using test::require_error;
namespace data = boost::unit_test::data;
namespace fs = std::filesystem;

const auto node_path = task_path_str(pull_path("node"));

// A few checkpoints with every kind of record: a list that grows (patches), writes, a namespace.
// There the small values are too many for a checkpoint's own record.
void fill(saver& to, const std::string& thread = "t") {
  std::vector<value> items;
  for (const auto* ns : {"", "child:1"})
    for (unsigned n = 1; n <= 12; ++n) {
      items.emplace_back(std::string(70, 'x'));
      named<value> values{{"list", value::list(items)}, {"step", n}};
      if (*ns != 0)
        values.insert(values.end(), {{"x", std::string(60, 'x')}, {"y", std::string(60, 'y')}});
      auto p = test::make_put(checkpoint_id(n), n == 1 ? "" : checkpoint_id(n - 1), values,
                              value::map({{"step", n}}), {n, 7});
      to.put({thread, ns, {}}, p).value();
      to.put_writes({thread, ns, checkpoint_id(n)}, {"task", node_path, {{"list", "one more"}}})
        .value();
    }
}

struct directory {
  test::temporary_directory parent;
  fs::path path = parent.path() / "data";

  directory() { fill(*open()); }
  std::shared_ptr<saver> open() const { return open_lmdb_saver(path).value(); }

  // Changes the file without the saver.
  template <class Fn> void edit(Fn fn) const {
    auto env = open_saver_file(path / "troupe.mdb", limits::store_map_bytes_default).value();
    auto txn = env->begin_write().value();
    fn(txn);
    txn.commit().value();
  }

  std::map<std::string, std::string> records() const {
    std::map<std::string, std::string> all;
    edit([&all](lmdb_txn& txn) {
      auto add = [&all](auto key, auto data) -> result<void> {
        all.emplace(key, data);
        return {};
      };
      scan_all(txn, add).value();
    });
    return all;
  }
};

std::vector<checkpoint_tuple> all_of(const fs::path& dir) {
  return open_lmdb_saver(dir).value()->list({}).value();
}

void require_same(const std::vector<checkpoint_tuple>& a, const std::vector<checkpoint_tuple>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_TEST((a[i].ref == b[i].ref));
    BOOST_TEST((a[i].checkpoint == b[i].checkpoint));
    BOOST_TEST((a[i].pending_writes == b[i].pending_writes));
  }
}

std::string sealed(const std::string& key, record_kind kind, std::string record) {
  seal_record(record, key, kind);
  return record;
}

using records_by_key = std::map<std::string, std::string>;

std::vector<std::string_view> names_in(const records_by_key& records) {
  std::vector<std::string_view> names;
  for (const auto& [key, data] : records)
    if (kind_of(data) == record_kind::names)
      read_names(open_record(data, key, record_kind::names).value(), names).value();
  return names;
}

// As format 2 had them: writes have an area of their own, no small value is in a checkpoint.
records_by_key in_format_2(const records_by_key& records) {
  records_by_key out;
  std::map<std::string, std::string> small_values; // payloads by key
  const auto names = names_in(records);
  for (const auto& [key, data] : records) {
    auto rest = std::string_view{key}.substr(1);
    auto chain = take_number(rest);
    if (kind_of(data) == record_kind::checkpoint) {
      auto payload = open_record(data, key, record_kind::checkpoint).value();
      auto stored = read_checkpoint(payload, names).value();
      std::vector<small_value> own;
      read_small_values(stored.small_values, own).value();
      for (std::size_t i = 0; i < stored.channels.size(); ++i)
        if (auto val = find_small_value(own, stored.channels[i])) {
          auto at = small_values_key(*chain, stored.checkpoint.channel_versions[i].second);
          append_small_values(std::array{small_value{stored.channels[i], *val}},
                              small_values[std::string{at}]);
        }
      std::string record;
      begin_record(record);
      record.append(payload.substr(0, payload.size() - stored.small_values.size()));
      out[key] = sealed(key, record_kind::checkpoint, record);
    } else if (kind_of(data) == record_kind::writes) {
      auto parts = read_step_key(rest.substr(1));
      auto task = parts.task_id.value();
      std::string old{old_writes_key(*chain, parts.checkpoint_id, take_id(task).value())};
      out[old] = sealed(old, record_kind::writes, data);
    } else {
      out[key] = data;
    }
  }
  for (const auto& [key, payload] : small_values) {
    std::string record;
    begin_record(record);
    out[key] = sealed(key, record_kind::small_values, record + payload);
  }
  return out;
}

// As format 1 had them: small values alone, the paths of tasks in full.
records_by_key in_format_1(const records_by_key& of_format_3) {
  records_by_key out;
  const auto records = in_format_2(of_format_3);
  const auto names = names_in(records);
  for (const auto& [key, data] : records) {
    auto payload = std::string_view{data}.substr(record_header_bytes);
    std::string record;
    begin_record(record);
    if (kind_of(data) == record_kind::small_values) {
      auto at = read_value_key(key).value();
      std::vector<small_value> values;
      read_small_values(payload, values).value();
      for (const auto& small : values) {
        std::string alone{value_key(at.chain, at.at, small.channel).view()};
        out[alone] = sealed(alone, record_kind::value, record + std::string{small.bytes});
      }
    } else if (kind_of(data) == record_kind::writes) {
      append_writes(read_writes(payload, names).value(), nullptr, record);
      BOOST_TEST(record.find(node_path) != record.npos);
      out[key] = sealed(key, record_kind::writes, record);
    } else {
      out[key] = data;
    }
  }
  return out;
}

// A directory with the records of another one in an older format.
struct old_directory {
  fs::path path;
  records_by_key records;

  old_directory(const directory& like, unsigned format, const std::string& name = "old")
    : path{like.parent.path() / name},
      records{format == 1 ? in_format_1(like.records()) : in_format_2(like.records())} {
    fs::create_directory(path);
    auto env = format == 1 ? lmdb_env::open(path / "troupe.mdb", 1 << 24).value() // one tree
                           : open_saver_file(path / "troupe.mdb", 1 << 24).value();
    auto txn = env->begin_write().value();
    env->make_trees(txn).value();
    for (const auto& [key, data] : records)
      txn.put(key, data).value();
    std::string meta;
    begin_record(meta);
    append_meta({.format = format, .next_number = 100}, meta);
    seal_record(meta, meta_key(), record_kind::meta);
    txn.put(meta_key(), meta).value();
    txn.commit().value();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_data_dir)

BOOST_AUTO_TEST_CASE(a_whole_store_has_no_damage) {
  directory d;
  std::size_t seen = 0;
  auto report = check_data(d.path, [&seen](auto done, auto all) {
                  BOOST_TEST(done <= all);
                  seen = done;
                }).value();
  BOOST_TEST(report.damaged == 0u);
  BOOST_TEST(report.checkpoints == 24u);
  BOOST_TEST(report.records == d.records().size());
  BOOST_TEST(report.records == seen);
  BOOST_TEST(report.unused_values == 0u);
  BOOST_TEST(report.removed_parents == 0u);
  BOOST_TEST(report.lone_writes == 0u);
}

BOOST_DATA_TEST_CASE(a_store_of_an_older_format_is_brought_to_the_newest, data::make({1u, 2u})) {
  directory d;
  old_directory old{d, sample};
  for (int opened = 0; opened < 2; ++opened) {
    require_same(all_of(old.path), all_of(d.path));
    auto report = check_data(old.path).value();
    BOOST_TEST(report.damaged == 0u);
    BOOST_TEST(report.lone_writes == 0u);
    BOOST_TEST(report.records == old.records.size());
  }
  auto pruned = open_lmdb_saver(old.path).value()->prune({"t"}, {.keep_latest = 3}).value();
  BOOST_TEST((pruned == d.open()->prune({"t"}, {.keep_latest = 3}).value()));
  BOOST_TEST(pruned.values >= 18u);
  require_same(all_of(old.path), all_of(d.path));
  BOOST_TEST(check_data(old.path).value().unused_values == 0u);
  fill(*open_lmdb_saver(old.path).value(), "u"); // and it continues
  BOOST_TEST(check_data(old.path).value().checkpoints == 30u);
}

// Each act has the same result on both stores, wherever the older one has its records.
BOOST_DATA_TEST_CASE(threads_of_an_older_format_go_on, data::make({1u, 2u})) {
  directory d;
  old_directory old{d, sample};
  const std::string newest = checkpoint_id(12);
  auto in_both = [&](auto act) {
    act(*d.open());
    act(*open_lmdb_saver(old.path).value());
    require_same(all_of(old.path), all_of(d.path));
    BOOST_TEST(check_data(old.path).value().damaged == 0u);
  };
  in_both([&](saver& s) { // writes of a task that has some, and of another one
    for (const auto* task : {"task", "other"})
      s.put_writes({"t", "", newest}, {task, node_path, {{"list", "a"}, {"step", 2}}}).value();
  });
  in_both([&](saver& s) { // a value that an older checkpoint stored
    auto next = test::make_put(checkpoint_id(13), newest, {{"list", "short"}}, {}, {13, 7});
    next.checkpoint.channel_versions.emplace_back("step", version{12, 7});
    s.put({"t", "", newest}, next).value();
    auto values = s.get_tuple({"t", "", ""}).value()->checkpoint.channel_values;
    BOOST_TEST((values == named<value>{{"list", "short"}, {"step", 12}}));
  });
  in_both([](saver& s) { s.copy_thread("t", "copy").value(); });
  in_both([&](saver& s) { s.rewind("copy", {.after_id = checkpoint_id(4)}).value(); });
  in_both([](saver& s) { s.prune({"t"}, {.keep_latest = 2}).value(); });
  in_both([](saver& s) {
    s.delete_thread("t").value();
    s.delete_thread("copy").value();
  });
  BOOST_TEST(check_data(old.path).value().records == 1u); // the meta record
}

BOOST_AUTO_TEST_CASE(a_store_of_the_second_format_can_be_read_only) {
  directory d;
  old_directory old{d, 2};
  auto read = open_lmdb_saver(old.path, {.read_only = true}).value()->list({}).value();
  require_same(read, all_of(d.path));
  old_directory first{d, 1, "first"};
  require_error(open_lmdb_saver(first.path, {.read_only = true}), errc::storage_failed);
}

BOOST_AUTO_TEST_CASE(what_pruning_leaves_is_no_damage) {
  directory d;
  d.open()->prune({"t"}, {.keep_latest = 3}).value();
  auto report = check_data(d.path).value();
  BOOST_TEST(report.damaged == 0u);
  BOOST_TEST(report.checkpoints == 6u);
  BOOST_TEST(report.removed_parents == 2u);
  BOOST_TEST(report.unused_values == 0u);
}

// One record of each kind there is, since a check reads everything for each byte.
BOOST_AUTO_TEST_CASE(a_flipped_byte_of_any_kind_of_record_is_found) {
  directory d;
  std::set<record_kind> kinds;
  for (const auto& [key, data] : d.records()) {
    // Without the meta record nothing is opened: another test.
    if (key == meta_key().view() || !kinds.insert(kind_of(data)).second)
      continue;
    for (std::size_t at = 0; at < data.size(); at += at < record_header_bytes ? 1 : 7) {
      auto damaged = data;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      d.edit([&](lmdb_txn& txn) { txn.put(key, damaged).value(); });
      auto report = check_data(d.path).value();
      BOOST_TEST(report.damaged > 0u,
                 "byte " << at << " of a record of kind " << to_string(kind_of(data)));
    }
    d.edit([&key = key, &data = data](lmdb_txn& txn) { txn.put(key, data).value(); });
  }
  // thread, namespace, names, checkpoint, value, writes, patch, small values
  BOOST_TEST(kinds.size() == 8u);
  BOOST_TEST(check_data(d.path).value().damaged == 0u);
}

BOOST_AUTO_TEST_CASE(a_damaged_record_is_told_with_its_thread) {
  directory d;
  for (const auto& [key, data] : d.records())
    if (kind_of(data) == record_kind::writes) {
      d.edit([&key = key, &data = data](lmdb_txn& txn) {
        txn.put(key, std::string_view{data}.substr(0, data.size() - 1)).value();
      });
      break;
    }
  auto report = check_data(d.path).value();
  BOOST_REQUIRE(report.damages.size() == 1u);
  BOOST_TEST(report.damages[0].where == "thread `t`");
  BOOST_TEST(report.damages[0].what == "read a writes record: its length does not match");
}

BOOST_AUTO_TEST_CASE(a_record_that_is_missing_or_strange_is_found) {
  directory d;
  auto whole = d.records();
  auto damages_after = [&](auto change) {
    d.edit(change);
    auto report = check_data(d.path).value();
    d.edit([&whole](lmdb_txn& txn) {
      for (const auto& [key, data] : whole)
        txn.put(key, data).value();
    });
    return report.damaged;
  };
  auto first_of = [&whole](record_kind kind) {
    return std::ranges::find(whole, kind, [](const auto& e) { return kind_of(e.second); })->first;
  };
  // The base of a patch, the names, the thread itself: their records have no owner then.
  BOOST_TEST(damages_after([&](auto& txn) {
               for (const auto& [key, data] : whole)
                 if (kind_of(data) == record_kind::value)
                   txn.erase(key).value();
             })
             > 0u);
  BOOST_TEST(damages_after([&](auto& txn) { txn.erase(first_of(record_kind::names)).value(); })
             > 0u);
  BOOST_TEST(damages_after([&](auto& txn) { txn.erase(first_of(record_kind::thread)).value(); })
             > 20u);
  std::string strange{"\x7f strange"};
  BOOST_TEST(damages_after([&](auto& txn) { txn.put(strange, "x").value(); }) == 1u);
  d.edit([&](auto& txn) { txn.erase(strange).value(); });
  BOOST_TEST(check_data(d.path).value().damaged == 0u);
}

BOOST_AUTO_TEST_CASE(statistics_count_what_there_is) {
  directory d;
  auto stats = stat_data(d.path).value();
  BOOST_TEST(stats.threads == 1u);
  BOOST_TEST(stats.readers == 0u);
  BOOST_TEST(stats.file_bytes == fs::file_size(d.path / "troupe.mdb"));
  BOOST_TEST(stats.used_bytes <= stats.file_bytes);
  std::map<std::string, std::size_t> counts;
  for (const auto& r : stats.records)
    counts[r.kind] = r.records;
  BOOST_TEST(counts["checkpoint"] == 24u);
  BOOST_TEST(counts["writes"] == 24u);
  BOOST_TEST(counts["value"] + counts["patch"] == 24u);
  BOOST_TEST(counts["namespace"] == 1u);

  auto used = stats.used_bytes;
  d.open()->delete_thread("t").value();
  auto emptied = stat_data(d.path).value();
  BOOST_TEST(emptied.threads == 0u);
  BOOST_TEST(emptied.used_bytes < used);
}

BOOST_AUTO_TEST_CASE(a_copy_is_the_store_at_one_moment_while_others_write) {
  directory d;
  auto saver = d.open();
  std::atomic<unsigned> written{0};
  std::jthread writer{[&](const std::stop_token& stop) {
    for (unsigned n = 100; !stop.stop_requested(); ++n, ++written)
      saver
        ->put({"busy", "", {}},
              test::make_put(checkpoint_id(n), n == 100 ? "" : checkpoint_id(n - 1), {{"n", n}},
                             value::map({}), {n, 7}))
        .value();
  }};
  while (written < 5)
    std::this_thread::yield();
  for (bool compact : {false, true}) {
    auto to = d.parent.path() / (compact ? "compact" : "copy");
    auto written_bytes = copy_data(d.path, to, compact).value();
    BOOST_TEST(written_bytes == fs::file_size(to / "troupe.mdb"));
    BOOST_TEST((fs::status(to).permissions() == fs::perms::owner_all));
    auto permissions = fs::status(to / "troupe.mdb").permissions();
    BOOST_TEST((permissions == (fs::perms::owner_read | fs::perms::owner_write)));
    BOOST_TEST(check_data(to).value().damaged == 0u);
    // All of the busy thread up to some moment.
    auto copied = open_lmdb_saver(to).value()->list({.thread_id = "busy"}).value();
    BOOST_TEST(copied.size() >= 5u);
    for (std::size_t i = 0; i < copied.size(); ++i)
      BOOST_TEST(copied[i].ref.checkpoint_id
                 == checkpoint_id(static_cast<unsigned>(100 + copied.size() - 1 - i)));
    require_same(open_lmdb_saver(to).value()->list({.thread_id = "t"}).value(),
                 saver->list({.thread_id = "t"}).value());
  }
}

BOOST_AUTO_TEST_CASE(a_compact_copy_is_smaller_and_the_same) {
  directory d;
  {
    auto saver = d.open();
    for (int i = 0; i < 20; ++i)
      fill(*saver, "gone " + std::to_string(i));
    for (int i = 0; i < 20; ++i)
      saver->delete_thread("gone " + std::to_string(i)).value();
  }
  auto to = d.parent.path() / "compact";
  BOOST_TEST(copy_data(d.path, to, true).value() < fs::file_size(d.path / "troupe.mdb") / 2);
  require_same(all_of(to), all_of(d.path));
}

BOOST_AUTO_TEST_CASE(a_copy_takes_nobodys_place) {
  directory d, other;
  auto before = all_of(other.path);
  require_error(copy_data(d.path, other.path), errc::storage_failed);
  require_error(copy_data(d.path, d.path), errc::storage_failed);
  require_error(copy_data(d.path, d.parent.path() / "no" / "parent"), errc::storage_failed);
  require_same(all_of(other.path), before);
}

BOOST_AUTO_TEST_CASE(a_directory_without_a_store_is_told_and_left_alone) {
  test::temporary_directory d;
  require_error(check_data(d.path()), errc::storage_failed);
  require_error(stat_data(d.path() / "nothing"), errc::storage_failed);
  require_error(copy_data(d.path(), d.path() / "to"), errc::storage_failed);
  BOOST_TEST(fs::is_empty(d.path()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
