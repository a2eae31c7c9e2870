// The checks of troupe::testing on each of troupe's own stores, which support all of them.
#include "tests/fixtures/added_cases.hpp"
#include "tests/persistence/store/store_kinds.hpp"

#include <troupe/testing/store_conformance.hpp>

#include <algorithm>

namespace troupe {

namespace {

// A store and the directory that it may use.
struct opened_store {
  test::temporary_directory directory;
  std::shared_ptr<store> items;
};

std::shared_ptr<store> open_kind(const test::store_kind& kind, store_options options) {
  auto opened = std::make_shared<opened_store>();
  opened->items = kind.open(opened->directory.path(), std::move(options));
  return {opened, opened->items.get()};
}

struct added_stores {
  added_stores() {
    for (const auto& kind : test::store_kinds) {
      std::string name = kind.name;
      std::ranges::replace(name, ' ', '_');
      auto& suite = test::add_suite(name);
      for (const auto& check : store_checks())
        test::add_case(suite, check.name, [&check, &kind] {
          auto result = run_store_check(check, [&kind](store_options options) {
            return open_kind(kind, std::move(options));
          });
          BOOST_TEST(to_string(result.outcome) == "passed", result.message);
        });
    }
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_store_conformance)

namespace {
const added_stores all_stores;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
