// Savers with one fault each: the checks of the duty that it breaks fail.
#include "tests/testing/wrapped_saver.hpp"

#include <troupe/testing/saver_conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

using test::wrapped_saver;
using check_names = std::vector<std::string>;

check_result run_named(const std::string& name, const saver_factory& open,
                       const conformance_options& options = {}) {
  auto at = std::ranges::find(saver_checks(), name, &saver_check::name);
  BOOST_REQUIRE_MESSAGE(at != saver_checks().end(), "there is no check " << name);
  return run_saver_check(*at, open, options);
}

template <class Broken> void require_failing(const check_names& names) {
  for (const auto& name : names) {
    auto result = run_named(name, [] { return std::make_shared<Broken>(); });
    BOOST_TEST(to_string(result.outcome) == "failed", name);
    BOOST_TEST(!result.message.empty(), name);
  }
}

// ---- broken put and put_writes ------------------------------------------------------------------

struct loses_versions_seen : wrapped_saver {
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& p) override {
    auto less = p;
    less.checkpoint.versions_seen.clear();
    return wrapped_saver::put(ref, less);
  }
};

struct stores_every_value : wrapped_saver {
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& p) override {
    auto all = p;
    all.new_versions.clear();
    for (const auto& [channel, version] : p.checkpoint.channel_versions)
      all.new_versions.push_back(channel);
    return wrapped_saver::put(ref, all);
  }
};

struct drops_the_last_write : wrapped_saver {
  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    auto fewer = writes;
    fewer.writes.pop_back();
    return fewer.writes.empty() ? result<void>{} : wrapped_saver::put_writes(ref, fewer);
  }
};

struct ignores_namespaces : wrapped_saver {
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& p) override {
    return wrapped_saver::put({ref.thread_id, "", {}}, p);
  }
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    return wrapped_saver::get_tuple({ref.thread_id, "", ref.checkpoint_id});
  }
};

// ---- broken reads -------------------------------------------------------------------------------

// Lists after the query was changed.
template <class Change> struct changes_the_query : wrapped_saver {
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    auto other = query;
    Change{}(other);
    return wrapped_saver::list(other);
  }
};
using drop_filter = decltype([](list_query& q) { q.filter = {}; });
using drop_before = decltype([](list_query& q) { q.before.reset(); });
using drop_limit = decltype([](list_query& q) { q.limit.reset(); });

struct lists_the_oldest_first : wrapped_saver {
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    auto found = wrapped_saver::list(query);
    if (found)
      std::ranges::reverse(*found);
    return found;
  }
};

struct lists_without_writes : wrapped_saver {
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    auto found = wrapped_saver::list(query);
    for (auto& tuple : found.value())
      tuple.pending_writes.clear();
    return found;
  }
};

struct counts_pending_writes_as_history : wrapped_saver {
  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    auto found = wrapped_saver::get_delta_channel_history(ref, channels).value();
    if (auto tuple = wrapped_saver::get_tuple(ref).value())
      for (auto& [channel, history] : found)
        for (const auto& write : tuple->pending_writes)
          if (write.channel == channel)
            history.writes.push_back(write);
    return found;
  }
};

struct throws_on_reads : wrapped_saver {
  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref&) override {
    throw std::runtime_error{"the disk is on fire"};
  }
};

// ---- broken removals ----------------------------------------------------------------------------

struct deletes_nothing : wrapped_saver {
  result<void> delete_thread(const std::string&) override { return {}; }
};

struct prunes_by_one_rule : wrapped_saver {
  result<prune_report> prune(const std::vector<std::string>& ids, const retention&) override {
    return wrapped_saver::prune(ids, {});
  }
};

struct copies_without_writes : wrapped_saver {
  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string&) override {
    for (const auto& tuple : wrapped_saver::list({.thread_id = source}).value())
      wrapped_saver::put({target, tuple.ref.checkpoint_ns, {}},
                         {tuple.parent_id, tuple.checkpoint, tuple.metadata, {"n"}})
        .value();
    return {};
  }
};

struct refuses_an_empty_source : wrapped_saver { // with the code of an unsupported call
  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string& up_to) override {
    if (wrapped_saver::list({.thread_id = source}).value().empty())
      return error{errc::invalid_config, "copy: the source is empty"};
    return wrapped_saver::copy_thread(source, target, up_to);
  }
};

struct rewinds_without_heads : wrapped_saver {
  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    return wrapped_saver::rewind(thread_id, {.after_id = to.after_id, .claim = to.claim});
  }
};

// ---- broken submits -----------------------------------------------------------------------------

struct grants_every_claim : wrapped_saver {
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (request.claim)
      request.claim->before = wrapped_saver::thread_owner(request.ref.thread_id).value();
    wrapped_saver::submit(std::move(request), when, std::move(done));
  }
};

struct never_answers : wrapped_saver {
  void submit(save_request request, save_ack when, std::function<void(result<void>)>) override {
    wrapped_saver::submit(std::move(request), when, [](result<void>) {});
  }
};

struct answers_twice : wrapped_saver {
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    wrapped_saver::submit(std::move(request), when, [done](result<void> r) {
      done(r);
      done(r);
    });
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(testing_broken_savers)

BOOST_AUTO_TEST_CASE(a_saver_that_only_forwards_passes_all_checks) {
  for (const auto& result : run_saver_conformance([] { return std::make_shared<wrapped_saver>(); }))
    BOOST_TEST(to_string(result.outcome) == "passed", result.name << ": " << result.message);
}

BOOST_AUTO_TEST_CASE(parts_of_a_checkpoint_that_are_lost_are_found) {
  require_failing<loses_versions_seen>({"put_roundtrip", "put_preserves_versions_seen",
                                        "put_preserves_versions_seen_values",
                                        "get_tuple_checkpoint_fields"});
  require_failing<stores_every_value>({"put_incremental_channel_update"});
  require_failing<ignores_namespaces>({"put_returns_config", "put_child_namespace",
                                       "put_namespaces_isolated_by_any_bytes",
                                       "get_tuple_respects_namespace"});
}

BOOST_AUTO_TEST_CASE(a_lost_write_is_found) {
  require_failing<drops_the_last_write>({"put_writes_basic", "put_writes_multiple_writes_same_task",
                                         "put_writes_idempotent", "get_tuple_pending_writes",
                                         "history_multi_channel"});
}

BOOST_AUTO_TEST_CASE(a_condition_that_a_list_ignores_is_found) {
  require_failing<changes_the_query<drop_filter>>(
    {"list_metadata_filter_single_key", "list_metadata_filter_step",
     "list_metadata_filter_multiple_keys", "list_metadata_filter_no_match",
     "list_metadata_custom_keys", "list_combined_thread_and_filter", "list_cross_product"});
  require_failing<changes_the_query<drop_before>>(
    {"list_before", "list_limit_plus_before", "list_cross_product"});
  require_failing<changes_the_query<drop_limit>>({"list_limit", "list_limit_plus_before"});
}

BOOST_AUTO_TEST_CASE(a_wrong_order_or_content_of_a_list_is_found) {
  require_failing<lists_the_oldest_first>({"list_all", "list_ordering", "list_limit"});
  require_failing<lists_without_writes>({"list_includes_pending_writes"});
}

BOOST_AUTO_TEST_CASE(a_history_with_writes_of_the_next_step_is_found) {
  require_failing<counts_pending_writes_as_history>({"history_excludes_target_pending_writes"});
}

BOOST_AUTO_TEST_CASE(an_exception_fails_the_check_with_its_text) {
  auto result = run_named("put_roundtrip", [] { return std::make_shared<throws_on_reads>(); });
  BOOST_TEST(result.message == "expected no exception, came the disk is on fire");
  result = run_named("put_roundtrip", []() -> std::shared_ptr<saver> { throw 1; });
  BOOST_TEST(result.message == "expected no exception, came one of an unknown type");
  result = run_named("put_roundtrip", [] { return std::shared_ptr<saver>{}; });
  BOOST_TEST(result.message == "the factory opens a saver: expected true, came false");
}

BOOST_AUTO_TEST_CASE(a_broken_removal_is_found) {
  require_failing<deletes_nothing>({"delete_thread_removes_checkpoints",
                                    "delete_thread_removes_writes",
                                    "delete_thread_removes_all_namespaces"});
  require_failing<prunes_by_one_rule>({"prune_delete_all", "prune_keeps_what_each_rule_names",
                                       "prune_dry_run_removes_nothing",
                                       "prune_changes_nothing_of_what_stays"});
  require_failing<copies_without_writes>(
    {"copy_thread_preserves_writes", "copy_thread_all_checkpoints"});
  require_failing<rewinds_without_heads>({"rewind_restores_the_thread"});
}

BOOST_AUTO_TEST_CASE(a_call_that_refuses_an_empty_thread_counts_as_supported) {
  require_failing<refuses_an_empty_source>({"copy_thread_nonexistent_source"});
}

BOOST_AUTO_TEST_CASE(a_claim_that_is_granted_wrongly_is_found) {
  require_failing<grants_every_claim>({"claims_former_owner_stores_nothing",
                                       "claims_alone_take_over_all_namespaces",
                                       "claims_alone_keep_their_place_in_the_order"});
}

BOOST_AUTO_TEST_CASE(an_answer_too_few_or_too_many_is_found) {
  require_failing<answers_twice>({"submit_answers_once"});
  auto result = run_named("submit_keeps_order", [] { return std::make_shared<never_answers>(); },
                          {.answer_wait = std::chrono::milliseconds{1}});
  BOOST_TEST(result.message == "submit: expected an answer within 1 ms, came none");
  BOOST_TEST((conformance_options{}.answer_wait == limits::conformance_answer_wait));
}

BOOST_AUTO_TEST_CASE(a_failure_shows_the_expected_and_the_actual_result) {
  auto result = run_named("list_ordering",
                          [] { return std::make_shared<lists_the_oldest_first>(); });
  BOOST_TEST(result.group == "list");
  BOOST_TEST(result.message
             == R"(the newest first: expected ["c3", "c2", "c1"], came ["c1", "c2", "c3"])");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
