// Checks of submit, its order and its answers, and of calls from several threads.
#include "testing/run_check.hpp"
#include "testing/saver_subject.hpp"

#include <mutex>
#include <thread>

namespace troupe::testing {

namespace {

// Step `n` of thread t as one request: the writes of the step before, then the checkpoint.
save_request step_request(unsigned n) {
  save_request request{
    at("t"), {}, make_put(checkpoint_id(n), "", {{"n", n}}, value::map(), {n, 7})};
  if (n > 1) {
    request.ref.checkpoint_id = checkpoint_id(n - 1);
    request.put->parent_id = checkpoint_id(n - 1);
    request.writes = {one_write("task", value(n))};
  }
  return request;
}

void submit_stores_writes_then_checkpoint(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {}));
  save_request request{at("t", "", "c1"), {one_write("task", 1)}, make_put("c2", "c1", {{"n", 2}})};
  for (auto when : {save_ack::accepted, save_ack::durable}) {
    t.submit(request, when).value();
    expect_equal("the writes after c1", t.writes(at("t", "", "c1")), texts{"/task/channel=1"});
    expect_equal("n of c2", t.stored(at("t"), "n"), value(2));
  }
}

void submit_of_nothing_stores_nothing(saver_subject& t) {
  t.put(at("t"), make_put("c1", "", {}));
  for (auto when : {save_ack::accepted, save_ack::durable})
    t.submit({at("t"), {}, {}}, when).value();
  expect_equal("the checkpoints", t.ids({}), texts{"c1"});
}

void submit_keeps_order(saver_subject& t) {
  constexpr unsigned steps = 40;
  std::vector<submitted> pending;
  for (unsigned n = 1; n <= steps; ++n)
    pending.push_back(
      t.begin_submit(step_request(n), n == steps ? save_ack::durable : save_ack::accepted));
  pending.back().answer().value(); // so all before it are stored
  expect_equal("the newest", t.get(at("t")).ref.checkpoint_id, checkpoint_id(steps));
  for (unsigned n = 1; n < steps; ++n)
    expect_equal("the writes after step " + std::to_string(n),
                 t.writes(at("t", "", checkpoint_id(n))),
                 texts{"/task/channel=" + std::to_string(n + 1)});
  for (auto& each : pending)
    each.answer().value();
}

void submit_answers_once(saver_subject& t) {
  std::vector<submitted> pending;
  for (unsigned n = 1; n <= 3; ++n)
    pending.push_back(t.begin_submit(step_request(n), save_ack::durable));
  pending.push_back(t.begin_submit({at(""), {}, make_put("c", "", {})}, save_ack::durable));
  pending.push_back(t.begin_submit(step_request(4), save_ack::durable));
  for (auto& each : pending)
    static_cast<void>(each.answer());
  t.submit({at("t"), {}, {}}).value(); // answered after all the others
  for (const auto& each : pending)
    expect_equal("the answers of one submit", each.answers(), 1);
}

void submit_within_an_answer(saver_subject& t) {
  std::mutex mutex;
  std::vector<submitted> inner;
  std::condition_variable came;
  t->submit(step_request(1), save_ack::durable, [&](result<void>) {
    auto next = t.begin_submit(step_request(2), save_ack::durable);
    std::lock_guard lock{mutex};
    inner.push_back(next);
    came.notify_all();
  });
  {
    std::unique_lock lock{mutex};
    came.wait_for(lock, t.answer_wait(), [&inner] { return !inner.empty(); });
    expect("the first submit is answered", !inner.empty());
  }
  inner.front().answer().value();
  expect_equal("the newest", t.get(at("t")).ref.checkpoint_id, checkpoint_id(2));
}

// Each thread has a thread of its own in the saver.
void calls_from_several_threads(saver_subject& t) {
  constexpr unsigned threads = 4;
  constexpr unsigned rounds = 12;
  std::vector<check_result> ended(threads);
  {
    std::vector<std::jthread> workers;
    for (unsigned own = 0; own < threads; ++own)
      workers.emplace_back([&t, &ended, own] {
        ended[own] = run_check("submit", "calls_from_several_threads", [&t, own] {
          auto place = "t" + std::to_string(own);
          for (unsigned n = 1; n <= rounds; ++n) {
            t.put(at(place), make_put(checkpoint_id(n), "", {{"n", n}}, value::map(), {n, 7}));
            t.put_writes(at(place, "", checkpoint_id(n)), one_write("task", value(n)));
            expect_equal("the newest checkpoint", t.get(at(place)).ref.checkpoint_id,
                         checkpoint_id(n));
            expect_equal("the number of checkpoints", t.all_of(place).size(), n);
          }
        });
      });
  }
  for (const auto& each : ended)
    if (each.outcome != check_outcome::passed)
      throw check_failed{each.message};
  expect_equal("the number of threads", t->threads().value().size(), threads);
}

} // namespace

std::vector<saver_check> submit_checks() {
  return {{"submit", "submit_stores_writes_then_checkpoint", submit_stores_writes_then_checkpoint},
          {"submit", "submit_of_nothing_stores_nothing", submit_of_nothing_stores_nothing},
          {"submit", "submit_keeps_order", submit_keeps_order},
          {"submit", "submit_answers_once", submit_answers_once},
          {"submit", "submit_within_an_answer", submit_within_an_answer},
          {"submit", "calls_from_several_threads", calls_from_several_threads}};
}

} // namespace troupe::testing
