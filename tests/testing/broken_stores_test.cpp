// Stores with one fault each: the checks of the duty that it breaks fail.
#include <troupe/testing/store_conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

namespace troupe {

namespace {

using store_check_names = std::vector<std::string>;

/// Forwards every call to a store in memory.
class wrapped_store : public store {
public:
  explicit wrapped_store(store_options options) : inner_{make_memory_store(std::move(options))} {}

  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return inner_->batch(ops);
  }
  result<std::size_t> sweep(std::size_t items_max) override { return inner_->sweep(items_max); }

protected:
  /// Does the operations after `change` was applied to those of type Op.
  template <class Op, class Change>
  result<std::vector<store_answer>> batch_changed(std::vector<store_op> ops, Change change) {
    for (auto& op : ops)
      if (auto* found = std::get_if<Op>(&op))
        change(*found);
    return inner_->batch(ops);
  }
  /// Does the operations, and applies `change` to the answers that are items of a search.
  template <class Change>
  result<std::vector<store_answer>> answers_changed(const std::vector<store_op>& ops,
                                                    Change change) {
    auto answers = inner_->batch(ops);
    if (answers)
      for (auto& answer : *answers)
        if (auto* found = std::get_if<std::vector<store_item>>(&answer))
          change(*found);
    return answers;
  }

  std::shared_ptr<store> inner_;
};

template <class Broken> std::shared_ptr<store> open_broken(store_options options) {
  return std::make_shared<Broken>(std::move(options));
}

check_result run_store_named(const std::string& name, const store_factory& open) {
  auto at = std::ranges::find(store_checks(), name, &store_check::name);
  BOOST_REQUIRE_MESSAGE(at != store_checks().end(), "there is no check " << name);
  return run_store_check(*at, open);
}

template <class Broken> void require_failing_store(const store_check_names& names) {
  for (const auto& name : names)
    BOOST_TEST(to_string(run_store_named(name, open_broken<Broken>).outcome) == "failed", name);
}

struct puts_without_end : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return batch_changed<store_put>(ops, [](store_put& op) { op.ttl.reset(); });
  }
};

struct ignores_filters : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return batch_changed<store_query>(ops, [](store_query& op) { op.filter = {}; });
  }
};

struct ignores_offsets : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return batch_changed<store_query>(ops, [](store_query& op) { op.offset = 0; });
  }
};

struct never_cuts_namespaces : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return batch_changed<namespace_query>(ops, [](namespace_query& op) { op.max_depth.reset(); });
  }
};

struct never_removes : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return batch_changed<store_put>(ops, [](store_put& op) {
      if (op.value.is_null())
        op.value = value::map();
    });
  }
};

struct finds_in_reverse_order : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return answers_changed(ops, [](auto& found) { std::ranges::reverse(found); });
  }
};

struct finds_without_scores : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    return answers_changed(ops, [](auto& found) {
      for (auto& item : found)
        item.score.reset();
    });
  }
};

struct does_one_operation_at_a_time : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    std::vector<store_answer> answers;
    for (const auto& op : ops) {
      auto one = inner_->batch({op});
      if (!one)
        return one;
      answers.push_back(one->front());
    }
    return answers;
  }
};

struct puts_as_if_new : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::vector<store_answer>> batch(const std::vector<store_op>& ops) override {
    for (const auto& op : ops)
      if (const auto* put = std::get_if<store_put>(&op))
        inner_->remove(put->space, put->key).value();
    return inner_->batch(ops);
  }
};

struct has_a_clock_of_its_own : wrapped_store {
  explicit has_a_clock_of_its_own(store_options options)
    : wrapped_store{{.index = options.index, .ttl = options.ttl}} {}
};

struct never_counts_swept_items : wrapped_store {
  using wrapped_store::wrapped_store;
  result<std::size_t> sweep(std::size_t items_max) override {
    inner_->sweep(items_max).value();
    return std::size_t{0};
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(testing_broken_stores)

BOOST_AUTO_TEST_CASE(a_store_that_only_forwards_passes_all_checks) {
  for (const auto& result : run_store_conformance(open_broken<wrapped_store>))
    BOOST_TEST(to_string(result.outcome) == "passed", result.name << ": " << result.message);
}

BOOST_AUTO_TEST_CASE(a_condition_that_a_search_ignores_is_found) {
  require_failing_store<ignores_filters>(
    {"filter_equality_of_json_values", "filter_orders_compare_numbers",
     "filter_map_asks_for_its_members", "filter_rejects_senseless_conditions",
     "any_operations_answer_as_a_map"});
  require_failing_store<ignores_offsets>({"search_limit_and_offset_count_after_the_filter",
                                          "index_orders_ties_by_place",
                                          "any_operations_answer_as_a_map"});
  require_failing_store<never_cuts_namespaces>({"namespaces_cut_to_depth_are_given_once"});
}

BOOST_AUTO_TEST_CASE(a_wrong_order_or_score_of_items_is_found) {
  require_failing_store<finds_in_reverse_order>(
    {"search_in_order_of_bytes", "index_ranks_by_cosine", "any_operations_answer_as_a_map"});
  require_failing_store<finds_without_scores>({"index_ranks_by_cosine", "index_ranks_by_distance"});
}

BOOST_AUTO_TEST_CASE(a_put_or_removal_with_another_effect_is_found) {
  require_failing_store<never_removes>(
    {"remove_takes_one_key", "put_after_remove_creates_anew", "batch_last_put_of_a_key_counts"});
  require_failing_store<puts_as_if_new>({"put_replaces_and_keeps_created_at"});
  require_failing_store<does_one_operation_at_a_time>(
    {"batch_answers_in_order_and_reads_before_puts",
     "batch_with_an_invalid_operation_changes_nothing"});
}

BOOST_AUTO_TEST_CASE(a_wrong_time_to_live_is_found) {
  require_failing_store<puts_without_end>({"ttl_ends_an_item", "ttl_begins_again_with_a_read",
                                           "sweep_returns_the_number_of_removed_items"});
  require_failing_store<has_a_clock_of_its_own>(
    {"put_replaces_and_keeps_created_at", "put_after_remove_creates_anew", "ttl_ends_an_item"});
  require_failing_store<never_counts_swept_items>(
    {"sweep_returns_the_number_of_removed_items", "sweep_removes_the_longest_expired_first"});
}

BOOST_AUTO_TEST_CASE(a_kind_of_store_without_an_index_or_time_to_live_is_not_supported) {
  std::set<std::string> lacking;
  for (const auto& check : store_checks()) {
    auto result = run_store_check(check, [](store_options options) {
      auto is_plain = !options.index && options.ttl.default_ttl == store_forever;
      return is_plain ? make_memory_store(std::move(options)) : nullptr;
    });
    BOOST_TEST(to_string(result.outcome) != "failed", result.name << ": " << result.message);
    if (result.outcome == check_outcome::not_supported)
      lacking.insert(result.group);
  }
  BOOST_TEST((lacking == std::set<std::string>{"index", "ttl"}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
