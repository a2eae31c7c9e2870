// A saver with the required calls alone, and the lists and reports of checks.
#include <troupe/testing/saver_conformance.hpp>
#include <troupe/testing/store_conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <sstream>

namespace troupe {

namespace {

class base_saver : public saver {
public:
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    return inner_->get_tuple(ref);
  }
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    return inner_->list(query);
  }
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& p) override {
    return inner_->put(ref, p);
  }
  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    return inner_->put_writes(ref, writes);
  }
  result<void> delete_thread(const std::string& thread_id) override {
    return inner_->delete_thread(thread_id);
  }
  result<std::vector<thread_info>> threads() override { return inner_->threads(); }

private:
  std::shared_ptr<saver> inner_ = make_memory_saver();
};

template <class Check> void require_unique_names(const std::vector<Check>& checks) {
  std::set<std::string> names;
  for (const auto& check : checks)
    BOOST_TEST(names.insert(check.name).second, check.name);
}

} // namespace

BOOST_AUTO_TEST_SUITE(testing_base_saver)

BOOST_AUTO_TEST_CASE(calls_that_a_saver_lacks_are_not_supported_and_all_else_passes) {
  const std::set<std::string> optional{"claims",          "prune",  "copy_thread",
                                       "delete_for_runs", "rewind", "runtimes"};
  for (const auto& check : saver_checks()) {
    auto result = run_saver_check(check, [] { return std::make_shared<base_saver>(); });
    const auto* expected = check.needs.empty() ? "passed" : "not supported";
    BOOST_TEST(to_string(result.outcome) == expected, result.name << ": " << result.message);
    if (!check.needs.empty()) {
      BOOST_TEST(optional.contains(check.group), check.name);
      BOOST_TEST(result.message.find("this saver ") != std::string::npos, result.message);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_check_has_a_name_of_its_own) {
  require_unique_names(saver_checks());
  require_unique_names(store_checks());
}

BOOST_AUTO_TEST_CASE(a_report_lists_all_but_the_passed_checks_and_counts) {
  std::ostringstream out;
  auto failed = print_conformance(out, {{"put", "put_roundtrip"},
                                        {"put", "put_parent_config", check_outcome::failed, "x"},
                                        {"prune", "prune_delete_all", check_outcome::not_supported,
                                         "prune: this saver can't prune threads"}});
  BOOST_TEST(failed == 1u);
  BOOST_TEST(out.str()
             == "failed: put_parent_config: x\n"
                "not supported: prune_delete_all: prune: this saver can't prune threads\n"
                "1 passed, 1 failed, 1 not supported\n");
}

BOOST_AUTO_TEST_CASE(a_report_of_a_saver_returns_its_failures) {
  std::ostringstream out;
  BOOST_TEST(report_saver_conformance(out, make_memory_saver) == 0u);
  BOOST_TEST(out.str()
             == std::to_string(saver_checks().size()) + " passed, 0 failed, 0 not supported\n");
  out.str("");
  BOOST_TEST(report_store_conformance(out, [](store_options) { return std::shared_ptr<store>{}; })
             > 0u);
  BOOST_TEST(out.str().find("put_times_keep_their_form: the factory opens a store")
             != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
