// The checks of troupe::testing on each of troupe's own savers, which support all of them.
#include "tests/fixtures/added_cases.hpp"
#include "tests/persistence/saver_kinds.hpp"

#include <troupe/testing/saver_conformance.hpp>

#include <boost/core/demangle.hpp>
#include <boost/mpl/for_each.hpp>
#include <boost/mpl/identity.hpp>

#include <typeinfo>

namespace troupe {

namespace {

// The part of `troupe::test::NAME_backend` that differs.
template <class Backend> std::string backend_name() {
  auto name = boost::core::demangle(typeid(Backend).name());
  name.erase(0, name.rfind(':') + 1);
  return name.substr(0, name.rfind("_backend"));
}

template <class Backend> std::shared_ptr<saver> open_backend() {
  auto backend = std::make_shared<Backend>();
  return {backend, backend->saver.get()};
}

struct added_savers {
  added_savers() {
    boost::mpl::for_each<test::backends, boost::mpl::make_identity<boost::mpl::_1>>(
      [](auto kind) { add<typename decltype(kind)::type>(); });
  }
  template <class Backend> static void add() {
    auto& suite = test::add_suite(backend_name<Backend>());
    for (const auto& check : saver_checks())
      test::add_case(suite, check.name, [&check] {
        auto result = run_saver_check(check, open_backend<Backend>);
        BOOST_TEST(to_string(result.outcome) == "passed", result.message);
      });
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(persistence_saver_conformance)

namespace {
const added_savers all_savers;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
