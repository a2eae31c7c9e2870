// Checks of claims and of runtimes. One run at a time writes to a thread, and one that was
// overtaken gets conflict.
#include "testing/saver_subject.hpp"

namespace troupe::testing {

namespace {

// A checkpoint beside those of fill(), under a claim.
result<void> put_claimed(saver_subject& t, const std::string& id, thread_claim claim,
                         const std::string& parent = "") {
  return t.submit({at("t"), {}, make_put(id, parent, {{"n", 0}}), claim});
}

// Takes the thread over, and stores nothing else.
result<void> claim_only(saver_subject& t, thread_claim claim, const std::string& ns = {}) {
  return t.submit({at("t", ns), {}, std::nullopt, claim});
}

save_request claimed_write(const std::string& task_id, const std::string& id, thread_claim claim) {
  return {at("t", "", id), {one_write(task_id, 1)}, std::nullopt, claim};
}

void expect_owner(saver_subject& t, const std::string& thread_id, std::uint64_t expected) {
  expect_equal("the owner of thread " + thread_id, t->thread_owner(thread_id).value(), expected);
}

void expect_conflict(std::string_view what, const result<void>& answer) {
  expect_error(what, answer, errc::conflict);
}

// Savers without owners ignore claims.
void claims_of_one_run_hold(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  put_claimed(t, "d2", {5, 5}, "d1").value();
  put_claimed(t, "d3", {5, 5 | thread_at_rest}, "d2").value();
  expect_equal("the newest", t.get(at("t")).ref.checkpoint_id, "d3");
}

void claims_last_writer_is_the_owner(saver_subject& t) {
  expect_owner(t, "t", 0);
  fill(t); // without claims: owners are neither checked nor set
  expect_owner(t, "t", 0);
  put_claimed(t, "d1", {0, 5}).value();
  put_claimed(t, "d2", {5, 5}).value();
  expect_owner(t, "t", 5);
  put_claimed(t, "d3", {5, 6}).value();
  expect_owner(t, "t", 6);
  expect_owner(t, "u", 0);
}

void claims_owners_of_all_threads(saver_subject& t) {
  expect_equal("the number of owners", t->owners().value().size(), 0);
  fill(t);
  put_claimed(t, "d1", {0, 5}).value();
  put_claimed(t, "d2", {5, 5 | thread_at_rest}).value();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const auto& each : t->owners().value())
    all.emplace_back(each.thread_id, each.owner);
  const std::vector<std::pair<std::string, std::uint64_t>> expected{{"t", 5 | thread_at_rest},
                                                                    {"u", 0}};
  expect_equal("the owners", all, expected);
}

void claims_former_owner_stores_nothing(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  put_claimed(t, "d2", {5, 6}).value();
  for (thread_claim late : {thread_claim{5, 5}, thread_claim{0, 5}, thread_claim{0, 7}})
    expect_conflict("a checkpoint of a run that is not the owner", put_claimed(t, "d3", late));
  auto late = claimed_write("task", "d2", {5, 5});
  expect_conflict("a write of the former owner", t.submit(late, save_ack::accepted));
  late.ref.checkpoint_ns = "child:1"; // the claim is on the whole thread
  expect_conflict("its write in another namespace", t.submit(late, save_ack::accepted));
  expect("d3 is missing", !t.has(at("t", "", "d3")));
  expect_equal("the writes after d2", t.writes(at("t", "", "d2")), texts{});
  put_claimed(t, "d3", {6, 6}).value(); // the owner continues
}

// The owner that was read may be a run that still runs.
void claims_from_newest_need_the_newest(saver_subject& t) {
  put_claimed(t, "d1", {0, 5, true}).value();
  put_claimed(t, "d2", {5, 5}, "d1").value();
  expect_conflict("a run from d1, which is not the newest",
                  put_claimed(t, "d3", {5, 6, true}, "d1"));
  expect_conflict("a run from nothing", put_claimed(t, "d3", {5, 6, true}));
  expect_conflict("a write after d1", t.submit(claimed_write("task", "d1", {5, 6, true})));
  expect_owner(t, "t", 5);
  put_claimed(t, "d3", {5, 6, true}, "d2").value();
  put_claimed(t, "d4", {5, 6, true}, "d3").value(); // sent before the answer for d3
  put_claimed(t, "e1", {6, 7}, "d1").value();       // a branch has no from_newest
}

void claims_alone_take_over_all_namespaces(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  auto before = t.ids({});
  claim_only(t, {5, 6}).value();
  expect_owner(t, "t", 6);
  expect_equal("the checkpoints", t.ids({}), before);
  for (const char* ns : {"", "child:1", "child:1|deep:2"}) {
    auto late = claimed_write("task", "d1", {5, 5});
    late.ref.checkpoint_ns = ns;
    expect_conflict("a write of the former owner", t.submit(late));
    late.claim = thread_claim{6, 6};
    t.submit(late).value();
  }
  expect_conflict("a claim on a former owner", claim_only(t, {5, 7}));
  expect_conflict("the same in another namespace", claim_only(t, {5, 7}, "child:1"));
  claim_only(t, {5, 6}).value(); // it is the owner already
  expect_owner(t, "t", 6);
}

// Requests that were accepted before the claim are stored, and later ones are refused.
void claims_alone_keep_their_place_in_the_order(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  auto first = t.begin_submit(claimed_write("before", "d1", {5, 5}), save_ack::accepted);
  auto taken = t.begin_submit({at("t"), {}, std::nullopt, thread_claim{5, 6}}, save_ack::accepted);
  auto late = t.begin_submit(claimed_write("later", "d1", {5, 5}), save_ack::accepted);
  first.answer().value();
  taken.answer().value();
  expect_conflict("the write after the claim", late.answer());
  expect_equal("the writes after d1", t.writes(at("t", "", "d1")), texts{"/before/channel=1"});
}

void claims_alone_make_no_thread(saver_subject& t) {
  claim_only(t, {0, 5}).value();
  expect_equal("the number of threads", t->threads().value().size(), 0);
  expect_conflict("a claim on a deleted thread", claim_only(t, {4, 5}));
  put_claimed(t, "d1", {0, 5}).value();
  t->delete_thread("t").value();
  expect_conflict("a claim after the deletion", claim_only(t, {5, 6}));
  claim_only(t, {0, 6}).value();
  expect_equal("the number of threads", t->threads().value().size(), 0);
  fill(t);
  claim_only(t, {0, 6}).value();
  expect_owner(t, "t", 0);
}

void claims_end_with_the_thread(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  t->delete_thread("t").value();
  expect_conflict("a checkpoint after the deletion", put_claimed(t, "d2", {5, 5}));
  expect_equal("the number of threads", t->threads().value().size(), 0);
  put_claimed(t, "d3", {0, 6}).value(); // a new run on a new thread
}

void claims_of_a_copy_are_unset(saver_subject& t) {
  put_claimed(t, "d1", {0, 5}).value();
  t->copy_thread("t", "copy").value();
  expect_owner(t, "copy", 0);
  expect_owner(t, "t", 5);
}

void claims_on_a_pruned_parent_are_refused(saver_subject& t) {
  put_line(t, {}, 3);
  t->prune({"t"}, {}).value();
  auto store = [&t](unsigned n, unsigned parent, texts moved) {
    auto p = make_put(checkpoint_id(n), checkpoint_id(parent), {{"n", 0}, {"s", "same"}});
    p.new_versions = std::move(moved);
    return t.submit({at("t"), {}, std::move(p), thread_claim{0, 5}});
  };
  expect_conflict("a checkpoint that needs a removed one", store(9, 2, {"n"}));
  expect_owner(t, "t", 0);
  store(8, 2, {"n", "s"}).value(); // it needs nothing of its parent
  store(9, 3, {"n"}).value();
}

void claims_limit_rewind_to_the_last_run(saver_subject& t) {
  auto store = [&t](unsigned n, thread_claim claim) {
    t.submit({at("t"), {}, make_put(checkpoint_id(n), "", {{"n", 0}}), claim}).value();
  };
  store(1, {0, 5});
  store(2, {5, 6});
  rewind_point to{.after_id = checkpoint_id(0), .claim = thread_claim{0, 5}};
  expect_conflict("rewind of a run that was overtaken", t->rewind("t", to));
  expect_equal("the number of checkpoints", t.all_of("t").size(), 2);
  to.claim = thread_claim{5, 6};
  to.after_id = checkpoint_id(1);
  t->rewind("t", to).value();
  expect_equal("the number of checkpoints", t.all_of("t").size(), 1);
}

// ---- runtimes -----------------------------------------------------------------------------------

void runtimes_live_until_dropped(saver_subject& t) {
  auto expect_alive = [&t](std::uint32_t mark, bool expected) {
    expect_equal("the runtime " + std::to_string(mark) + " is alive", t->is_there(mark).value(),
                 std::optional{expected});
  };
  expect_alive(1, false);
  auto one = t->announce(1).value();
  auto last = t->announce(0xffff'ffff).value();
  expect_alive(1, true);
  expect_alive(2, false);
  expect_alive(0xffff'ffff, true);
  one.reset();
  expect_alive(1, false);
  expect_alive(0xffff'ffff, true);
}

} // namespace

std::vector<saver_check> claim_checks() {
  const auto* group = "claims";
  return {
    {group, "claims_of_one_run_hold", claims_of_one_run_hold},
    {group, "claims_last_writer_is_the_owner", claims_last_writer_is_the_owner, {group}},
    {group, "claims_owners_of_all_threads", claims_owners_of_all_threads, {group}},
    {group, "claims_former_owner_stores_nothing", claims_former_owner_stores_nothing, {group}},
    {group, "claims_from_newest_need_the_newest", claims_from_newest_need_the_newest, {group}},
    {group,
     "claims_alone_take_over_all_namespaces",
     claims_alone_take_over_all_namespaces,
     {group}},
    {group,
     "claims_alone_keep_their_place_in_the_order",
     claims_alone_keep_their_place_in_the_order,
     {group}},
    {group, "claims_alone_make_no_thread", claims_alone_make_no_thread, {group}},
    {group, "claims_end_with_the_thread", claims_end_with_the_thread, {group}},
    {group, "claims_of_a_copy_are_unset", claims_of_a_copy_are_unset, {group, "copy_thread"}},
    {group,
     "claims_on_a_pruned_parent_are_refused",
     claims_on_a_pruned_parent_are_refused,
     {group, "prune"}},
    {group,
     "claims_limit_rewind_to_the_last_run",
     claims_limit_rewind_to_the_last_run,
     {group, "rewind"}},
    {"runtimes", "runtimes_live_until_dropped", runtimes_live_until_dropped, {"runtimes"}}};
}

} // namespace troupe::testing
