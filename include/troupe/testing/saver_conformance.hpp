// The conformance checks of savers, for authors of a saver: link troupe::testing.
//
// Each check is a name, a group and a function. It gets a fresh, empty saver and tests one duty of
// the contract in troupe/saver.hpp. A test of any framework runs one check per case:
//
//     for (const auto& check : troupe::saver_checks())
//       register_case(check.name, [&check] {
//         auto result = troupe::run_saver_check(check, [] { return std::make_shared<my_saver>();
//         }); if (result.outcome == troupe::check_outcome::failed)
//           fail(result.message);
//       });
//
// Groups put, put_writes, get_tuple, list, delete_thread, delete_for_runs, copy_thread, prune and
// delta_channel_history have the checks of the reference (libs/checkpoint-conformance) under their
// names without `test_`. Its list differs in these points:
//  - put_returns_config: put() returns nothing, so the check reads the place of the tuple.
//  - put_default_namespace: a checkpoint_ref without a namespace is the root.
//  - prune_delete_all: the strategy "delete" is keep_latest = 0.
//  - list_uses_checkpoint_timestamp_not_id and get_tuple_latest_uses_checkpoint_timestamp_not_id
//    are missing: ids sort by creation here (checkpoint::id), and the newest has the greatest id.
//  - The reference's JavaScript suite (libs/checkpoint-validation) adds list_cross_product and the
//    *_rejects_* checks. Its migration of pending sends is missing: no such checkpoint exists here.
// The other groups, and further names in these, are duties of troupe's own contract.
//
// The checks can't test that a durable request survives a power cut: they have one process.
#pragma once

#include <troupe/saver.hpp>
#include <troupe/testing/conformance.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

namespace testing {
class saver_subject;
}

/// Opens a saver for a check.
/// Shape:  a fresh and empty saver at each call; several may live at once. Files of a saver may
///         belong to the deleter of the pointer.
/// Errors: an exception fails the check.
/// Source: langgraph/checkpoint/conformance/initializer, checkpointer_test.
using saver_factory = std::function<std::shared_ptr<saver>()>;

/// A duty of every saver, with the function that tests it.
/// Shape:  `name` is unique. `needs`: the optional groups without which the check is not supported:
///         claims, copy_thread, delete_for_runs, prune, rewind, runtimes.
/// Source: langgraph/checkpoint/conformance/capabilities, Capability.
struct saver_check {
  std::string group;
  std::string name;
  void (*body)(testing::saver_subject&);
  std::vector<std::string> needs = {};
};

/// All checks.
/// Order:  by group, the reference's first.
/// Errors: none.
/// Source: langgraph/checkpoint/conformance/spec.
const std::vector<saver_check>& saver_checks();

/// Runs one check on a saver of its own. An optional call counts as not supported when it gives
/// invalid_config on a saver with one thread. Claims count as not supported when thread_owner()
/// stays 0 after a request with a claim, and runtimes when announce() gives null.
/// Blocks: on the saver, most checks for some ms.
/// Errors: none; any error or exception of the saver fails the check.
/// Source: troupe.
check_result run_saver_check(const saver_check& check, const saver_factory& open,
                             const conformance_options& options = {});

/// Runs all checks.
/// Order:  that of saver_checks().
/// Errors: as run_saver_check.
/// Source: langgraph/checkpoint/conformance/validate, validate.
std::vector<check_result> run_saver_conformance(const saver_factory& open,
                                                const conformance_options& options = {});

/// Runs all checks and prints the report. Returns the number of failed checks.
/// Errors: as run_saver_check.
/// Source: langgraph/checkpoint/conformance/validate, validate.
std::size_t report_saver_conformance(std::ostream& out, const saver_factory& open,
                                     const conformance_options& options = {});

} // namespace troupe
