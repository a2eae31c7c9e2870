// The checks of troupe::testing on each of troupe's own savers. They support all of them, but a
// saver in Postgres can't tell which runtimes live.
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
    auto name = backend_name<Backend>();
    auto knows_runtimes = name.find("postgres") == std::string::npos;
    auto& suite = test::add_suite(name);
    for (const auto& check : saver_checks())
      test::add_case(suite, check.name, [&check, knows_runtimes] {
        auto result = run_saver_check(check, open_backend<Backend>);
        const auto* expected = check.group == "runtimes" && !knows_runtimes ? "not supported"
                                                                            : "passed";
        BOOST_TEST(to_string(result.outcome) == expected, result.message);
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
