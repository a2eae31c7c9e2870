// Checks of any sequence of operations on a store, against a plain map.
#include "testing/store_subject.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace troupe::testing {

namespace {

using namespace std::chrono_literals;
using place = std::pair<store_namespace, std::string>;
using clock_time = store_subject::time_point;

struct model_item {
  std::int64_t n = 0;
  store_ttl ttl = store_forever;
  clock_time end = clock_time::max();
};

// A store as one map, and the same operation done on it and on a store.
struct model {
  std::mt19937_64 random;
  std::map<place, model_item> items = {};

  std::size_t below(std::size_t n) { return random() % n; }
  store_namespace space() {
    static const std::vector<store_namespace> all{{"a"},
                                                  {"a", "b"},
                                                  {"a", "b", "c"},
                                                  {"ab"},
                                                  {"b"},
                                                  {std::string(900, 'x'), "y"},
                                                  {std::string(900, 'x'), "z"},
                                                  {std::string("a\0", 2)}};
    return all[below(all.size())];
  }
  store_namespace prefix() {
    auto found = space();
    found.resize(below(found.size() + 1));
    return found;
  }
  std::string key() { return below(20) == 0 ? std::string(700, 'k') : std::to_string(below(6)); }
  std::optional<bool> maybe() {
    auto drawn = below(3);
    return drawn == 0 ? std::nullopt : std::optional{drawn == 1};
  }
  store_put put() {
    store_put op{.space = space(), .key = key(), .value = {}};
    if (below(4) != 0)
      op.value = value{{"n", static_cast<std::int64_t>(below(5))}};
    if (below(2) == 0)
      op.ttl = std::chrono::seconds{1 + below(20)};
    return op;
  }

  void forget_expired(clock_time now) {
    std::erase_if(items, [now](const auto& each) { return each.second.end <= now; });
  }
  void refresh(model_item& item, std::optional<bool> asked, clock_time now) {
    if (asked.value_or(true) && item.ttl != store_forever)
      item.end = now + item.ttl;
  }
  void apply(const store_put& op, clock_time now) {
    if (op.value.is_null())
      items.erase({op.space, op.key});
    else
      items[{op.space, op.key}] = {op.value["n"].as_int(), op.ttl.value_or(store_forever),
                                   op.ttl ? now + *op.ttl : clock_time::max()};
  }
  // The results of a search, and its effect on times to live.
  std::vector<place> search(const store_query& query, clock_time now) {
    std::vector<place> found;
    std::size_t skipped = 0;
    for (auto& [at, item] : items) {
      auto is_under = query.prefix.size() <= at.first.size()
                      && std::equal(query.prefix.begin(), query.prefix.end(), at.first.begin());
      if (!is_under || item.n < query.filter["n"]["$gte"].as_int() || found.size() == query.limit)
        continue;
      if (skipped++ < query.offset)
        continue;
      found.push_back(at);
      refresh(item, query.refresh_ttl, now);
    }
    return found;
  }
};

void put_several(store_subject& t, model& expected) {
  std::vector<store_op> ops;
  for (auto count = 1 + expected.below(4); count > 0; --count)
    ops.emplace_back(expected.put());
  t->batch(ops).value();
  for (const auto& op : ops)
    expected.apply(std::get<store_put>(op), t.now());
}

void get_one(store_subject& t, model& expected) {
  place at{expected.space(), expected.key()};
  auto asked = expected.maybe();
  auto found = t.get(at.first, at.second, asked);
  auto known = expected.items.find(at);
  auto what = "the item " + shown(at);
  expect_equal(what + " is there", found.has_value(), known != expected.items.end());
  if (!found)
    return;
  expect_equal(what, found->value["n"], value(known->second.n));
  expected.refresh(known->second, asked, t.now());
}

void list_all_namespaces(store_subject& t, const model& expected) {
  namespaces spaces;
  for (const auto& [at, item] : expected.items)
    spaces.push_back(at.first);
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  expect_equal("the namespaces", t.listed(), spaces);
}

void search_some(store_subject& t, model& expected) {
  auto least = static_cast<std::int64_t>(expected.below(4));
  store_query query{.prefix = expected.prefix(),
                    .filter = value{{"n", value{{"$gte", least}}}},
                    .limit = expected.below(8),
                    .offset = expected.below(4),
                    .refresh_ttl = expected.maybe()};
  std::vector<place> found;
  for (const auto& item : t.search(query))
    found.emplace_back(item.space, item.key);
  expect_equal("the places under " + shown(query.prefix), found, expected.search(query, t.now()));
}

void do_any(store_subject& t, model& expected, int step) {
  t.move_time(std::chrono::milliseconds{expected.below(2000)});
  expected.forget_expired(t.now());
  switch (expected.below(8)) {
    case 0:
    case 1:
    case 2: return put_several(t, expected);
    case 3:
    case 4: return get_one(t, expected);
    case 5: return list_all_namespaces(t, expected);
    case 6:
      if (step % 5 == 0)
        t->sweep().value();
      return;
    default: return search_some(t, expected);
  }
}

void any_operations_answer_as_a_map(store_subject& t) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    t.use({.ttl = {.sweep_interval = 30s}});
    t.set_time({});
    model expected{std::mt19937_64{seed}};
    for (int step = 0; step < 250; ++step) {
      try {
        do_any(t, expected, step);
      } catch (const check_failed& failure) {
        throw check_failed{"seed " + std::to_string(seed) + ", step " + std::to_string(step) + ": "
                           + failure.message};
      }
    }
  }
}

} // namespace

std::vector<store_check> model_checks() {
  return {{"model", "any_operations_answer_as_a_map", any_operations_answer_as_a_map}};
}

} // namespace troupe::testing
