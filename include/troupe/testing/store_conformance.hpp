// The conformance checks of stores, for authors of a store: link troupe::testing.
//
// They are used as those of savers (troupe/testing/saver_conformance.hpp). The reference has no
// such suite; the checks are the duties in troupe/store.hpp. A check moves the store's clock, so a
// store must take its times from store_options::now alone.
#pragma once

#include <troupe/store.hpp>
#include <troupe/testing/conformance.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

namespace testing {
class store_subject;
}

/// Opens a store for a check.
/// Shape:  a fresh and empty store at each call, with these options. Null when stores of this kind
///         have no index or no such time to live; then the check is not supported. Default options
///         always give a store.
/// Errors: an exception fails the check.
/// Source: troupe.
using store_factory = std::function<std::shared_ptr<store>(store_options options)>;

/// A duty of every store, with the function that tests it.
/// Shape:  `name` is unique.
/// Source: troupe.
struct store_check {
  std::string group;
  std::string name;
  void (*body)(testing::store_subject&);
};

/// All checks.
/// Order:  by group.
/// Errors: none.
/// Source: troupe.
const std::vector<store_check>& store_checks();

/// Runs one check on stores of its own.
/// Blocks: on the store, most checks for some ms.
/// Errors: none; any error or exception of the store fails the check.
/// Source: troupe.
check_result run_store_check(const store_check& check, const store_factory& open);

/// Runs all checks.
/// Order:  that of store_checks().
/// Errors: as run_store_check.
/// Source: troupe.
std::vector<check_result> run_store_conformance(const store_factory& open);

/// Runs all checks and prints the report. Returns the number of failed checks.
/// Errors: as run_store_check.
/// Source: troupe.
std::size_t report_store_conformance(std::ostream& out, const store_factory& open);

} // namespace troupe
