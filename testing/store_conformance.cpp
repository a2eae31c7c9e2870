// The list of all checks of stores, and the run of one.
#include "testing/run_check.hpp"
#include "testing/store_subject.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

namespace testing {

void store_subject::use(store_options options) {
  auto has_index = options.index.has_value();
  auto has_ttl = options.ttl.default_ttl != store_forever;
  options.now = [clock = now_] { return time_point{time_point::duration{clock->load()}}; };
  store_ = open_(std::move(options));
  if (!store_ && has_index)
    throw check_not_supported{"the factory opens no store with an index"};
  if (!store_ && has_ttl)
    throw check_not_supported{"the factory opens no store with a time to live"};
  expect("the factory opens a store", store_ != nullptr);
}

value store_subject::stored(const store_namespace& space, const std::string& key) {
  auto item = get(space, key);
  if (!item)
    fail("get " + shown(space) + " " + shown(key), "an item", "nothing");
  return item->value;
}

texts store_subject::keys(const store_query& query) {
  texts found;
  for (const auto& item : search(query))
    found.push_back(item.key);
  return found;
}

std::vector<std::optional<double>> store_subject::scores(const store_query& query) {
  std::vector<std::optional<double>> out;
  for (const auto& item : search(query))
    out.push_back(item.score);
  return out;
}

value nested_lists(std::size_t levels) {
  value v = 1;
  for (std::size_t i = 0; i < levels; ++i)
    v = value::list({v});
  return v;
}

store_put put_for(const std::string& key, store_ttl ttl, value v) {
  return {.space = {"a"}, .key = key, .value = std::move(v), .ttl = ttl};
}

} // namespace testing

const std::vector<store_check>& store_checks() {
  static const auto all = [] {
    using namespace testing;
    std::vector<store_check> checks;
    for (auto* part : {item_checks, search_checks, filter_checks, namespace_checks, batch_checks,
                       ttl_checks, model_checks, index_checks, embedding_checks})
      std::ranges::move(part(), std::back_inserter(checks));
    return checks;
  }();
  return all;
}

check_result run_store_check(const store_check& check, const store_factory& open) {
  return testing::run_check(check.group, check.name, [&] {
    testing::store_subject subject{open};
    check.body(subject);
  });
}

std::vector<check_result> run_store_conformance(const store_factory& open) {
  std::vector<check_result> results;
  for (const auto& check : store_checks())
    results.push_back(run_store_check(check, open));
  return results;
}

std::size_t report_store_conformance(std::ostream& out, const store_factory& open) {
  return print_conformance(out, run_store_conformance(open));
}

} // namespace troupe
