// The list of all checks of savers, and the run of one.
#include "testing/run_check.hpp"
#include "testing/saver_subject.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

namespace testing {

namespace {

template <class T> std::optional<error> refusal(const result<T>& answer) {
  if (answer.has_value() || answer.error().code() != errc::invalid_config)
    return {};
  return answer.error();
}

// Claims are ignored by a saver that has no owners.
std::optional<error> refused_claim(saver_subject& on) {
  on.submit({at("t"), {}, make_put("c2", "c1", {}), thread_claim{0, 5}}).value();
  if (on->thread_owner("t").value() != 0)
    return {};
  return error{errc::invalid_config, "this saver has no owners of threads"};
}

std::optional<error> refusal_of(const std::string& need, saver_subject& on) {
  if (need == "prune")
    return refusal(on->prune({"t"}));
  if (need == "copy_thread")
    return refusal(on->copy_thread("t", "copy"));
  if (need == "delete_for_runs")
    return refusal(on->delete_for_runs({"run"}));
  if (need == "rewind")
    return refusal(on->rewind("t", {.after_id = checkpoint_id(1)}));
  if (need == "runtimes")
    return on->announce(7).value()
             ? std::nullopt
             : std::optional{
               error{errc::invalid_config, "this saver can't tell which runtimes live"}};
  return refused_claim(on);
}

// Tries each optional call: on the empty saver of the check, which changes nothing, and after a
// refusal on another saver with one thread. Claims are always tried on another saver.
void expect_support(const saver_check& check, saver_subject& on) {
  for (const auto& need : check.needs) {
    if (need != "claims" && !refusal_of(need, on))
      continue;
    auto probe = on.fresh();
    probe.put(at("t"), make_put("c1", "", {}));
    if (auto err = refusal_of(need, probe))
      throw check_not_supported{need + ": " + err->message()};
  }
}

} // namespace

} // namespace testing

const std::vector<saver_check>& saver_checks() {
  static const auto all = [] {
    using namespace testing;
    std::vector<saver_check> checks;
    for (auto* part : {put_checks, put_writes_checks, get_tuple_checks, list_checks,
                       delete_thread_checks, delete_for_runs_checks, copy_thread_checks,
                       prune_checks, delta_checks, submit_checks, claim_checks, rewind_checks})
      std::ranges::move(part(), std::back_inserter(checks));
    return checks;
  }();
  return all;
}

check_result run_saver_check(const saver_check& check, const saver_factory& open,
                             const conformance_options& options) {
  return testing::run_check(check.group, check.name, [&] {
    testing::saver_subject subject{open, options};
    testing::expect_support(check, subject);
    check.body(subject);
  });
}

std::vector<check_result> run_saver_conformance(const saver_factory& open,
                                                const conformance_options& options) {
  std::vector<check_result> results;
  for (const auto& check : saver_checks())
    results.push_back(run_saver_check(check, open, options));
  return results;
}

std::size_t report_saver_conformance(std::ostream& out, const saver_factory& open,
                                     const conformance_options& options) {
  return print_conformance(out, run_saver_conformance(open, options));
}

} // namespace troupe
