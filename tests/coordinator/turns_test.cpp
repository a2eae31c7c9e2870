// Whose turn it is on a thread: the queue alone, without runs.
#include "coordinator/thread_turns.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>

namespace troupe {
namespace {

using strategy = multitask_strategy;

// A run as the turns know it. Notes in `log` when it begins, why it does not, and when it is asked
// to stop.
class fake_run {
public:
  fake_run(thread_turns& turns, std::vector<std::string>& log, std::string name)
    : turns_{turns},
      log_{log},
      name_{std::move(name)},
      claim{std::make_shared<held_claim>()} {}

  // Whether it began at once.
  bool ask(strategy how = strategy::take_over) {
    auto begins = turns_.begin("t", claim, how);
    if (!begins)
      note("refused", begins.error());
    if (!begins || *begins) {
      begin();
      return begins.has_value();
    }
    turns_.wait("t", claim, how, [this](result<void> come) {
      if (!come)
        return note("refused", come.error());
      log_.push_back(name_ + " begins");
      begin();
    });
    return false;
  }
  void leave() { turns_.leave("t", claim.get(), {errc::cancelled, "left"}); }
  void end() { claim->run_ended(); }

private:
  void begin() {
    claim->begun([this] { log_.push_back(name_ + " stop"); });
  }
  void note(const char* what, const error& why) {
    log_.push_back(name_ + " " + what + " " + std::string{to_string(why.code())});
  }

  thread_turns& turns_;
  std::vector<std::string>& log_;
  std::string name_;

public:
  claim_ptr claim;
};

using log_lines = std::vector<std::string>;

struct turn_scene {
  std::shared_ptr<thread_turns> turns = std::make_shared<thread_turns>();
  log_lines log;
  fake_run run(std::string name) { return {*turns, log, std::move(name)}; }
};

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_turns)

BOOST_AUTO_TEST_CASE(on_an_idle_thread_every_strategy_begins_at_once) {
  turn_scene s;
  for (auto how : {strategy::take_over, strategy::reject, strategy::enqueue, strategy::interrupt,
                   strategy::rollback}) {
    auto run = s.run("run");
    BOOST_TEST(run.ask(how), static_cast<int>(how));
    BOOST_TEST(s.turns->busy("t"));
    BOOST_TEST(!s.turns->busy("u"));
    run.end();
    BOOST_TEST(!s.turns->busy("t"));
  }
  BOOST_TEST(s.log.empty());
}

BOOST_AUTO_TEST_CASE(a_run_that_is_taken_over_is_revoked_and_its_end_means_nothing_any_more) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c");
  a.ask();
  BOOST_TEST(b.ask());
  BOOST_TEST(a.claim->revoked);
  BOOST_TEST(!b.claim->revoked);
  c.ask(strategy::enqueue);
  a.end();
  BOOST_TEST(s.log == log_lines{});
  b.end();
  BOOST_TEST(s.log == log_lines{"c begins"});
}

BOOST_AUTO_TEST_CASE(a_run_may_take_over_while_others_wait_and_they_wait_on) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c"), d = s.run("d");
  a.ask();
  b.ask(strategy::enqueue);
  BOOST_TEST(c.ask(strategy::take_over));
  a.end();
  BOOST_TEST(s.log.empty());
  d.ask(strategy::interrupt);
  c.end();
  d.end();
  BOOST_TEST(s.log == (log_lines{"c stop", "d begins", "b begins"}));
}

BOOST_AUTO_TEST_CASE(the_queue_is_first_come_first_served) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c");
  a.ask();
  BOOST_TEST(!b.ask(strategy::enqueue));
  BOOST_TEST(!c.ask(strategy::enqueue));
  BOOST_TEST(s.turns->waiting("t") == 2u);
  a.end();
  b.end();
  c.end();
  BOOST_TEST(s.log == (log_lines{"b begins", "c begins"}));
  BOOST_TEST(!s.turns->busy("t"));
}

BOOST_AUTO_TEST_CASE(a_turn_is_over_when_the_last_save_was_answered) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c");
  a.ask();
  BOOST_TEST(a.claim->save_begins());
  BOOST_TEST(a.claim->save_begins());
  a.claim->save_answered();
  a.end();
  b.ask(strategy::reject); // the other one has ended: it need not be refused, but must wait
  BOOST_TEST(s.log.empty());
  a.claim->save_answered();
  BOOST_TEST(s.log == log_lines{"b begins"});
  BOOST_TEST(!a.claim->save_begins());
  c.ask(strategy::reject);
  BOOST_TEST(s.log.back() == "c refused conflict");
}

BOOST_AUTO_TEST_CASE(a_run_that_has_ended_but_for_its_saves_is_waited_for_and_not_taken_over) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b");
  a.ask();
  BOOST_TEST(a.claim->save_begins());
  a.end();
  BOOST_TEST(!b.ask(strategy::take_over));
  BOOST_TEST(!a.claim->revoked);
  a.claim->save_answered();
  BOOST_TEST(s.log == log_lines{"b begins"});
}

BOOST_AUTO_TEST_CASE(a_run_that_never_began_ends_its_turn_when_it_is_dropped) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b");
  s.turns->begin("t", a.claim, strategy::take_over).value();
  b.ask(strategy::enqueue);
  a.claim.reset();
  BOOST_TEST(s.log == log_lines{"b begins"});
}

BOOST_AUTO_TEST_CASE(who_interrupts_goes_before_the_queue_and_among_each_other_in_order) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c"), d = s.run("d");
  a.ask();
  b.ask(strategy::enqueue);
  c.ask(strategy::interrupt);
  d.ask(strategy::rollback);
  BOOST_TEST(s.log == (log_lines{"a stop", "a stop"}));
  s.log.clear();
  a.end();
  BOOST_TEST(s.log == (log_lines{"c begins", "c stop"})); // the next one interrupts it
  BOOST_TEST(!c.claim->undo_first);
  c.end();
  BOOST_TEST(s.log.back() == "d begins");
  BOOST_TEST((d.claim->undo_first == c.claim));
  d.end();
  BOOST_TEST(s.log.back() == "b begins");
  BOOST_TEST(!b.claim->undo_first);
}

BOOST_AUTO_TEST_CASE(a_cancel_that_comes_before_the_run_began_is_kept_for_it) {
  turn_scene s;
  held_claim claim;
  claim.cancel();
  int stops = 0;
  claim.begun([&stops] { ++stops; });
  BOOST_TEST(stops == 1);
}

BOOST_AUTO_TEST_CASE(who_leaves_is_told_so_once_and_the_others_move_up) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c"), d = s.run("d");
  a.ask();
  b.ask(strategy::enqueue);
  b.leave();
  b.leave();
  c.ask(strategy::enqueue);
  d.ask(strategy::enqueue);
  c.leave();
  a.leave(); // it does not wait
  a.end();
  BOOST_TEST(s.log == (log_lines{"b refused cancelled", "c refused cancelled", "d begins"}));
}

BOOST_AUTO_TEST_CASE(a_thread_has_a_bounded_queue) {
  turn_scene s;
  auto a = s.run("a");
  a.ask();
  std::deque<fake_run> many;
  for (std::size_t i = 0; i < limits::queued_runs_max; ++i)
    many.emplace_back(*s.turns, s.log, "one").ask(strategy::enqueue);
  BOOST_TEST(s.log.empty());
  auto b = s.run("b");
  b.ask(strategy::interrupt);
  BOOST_TEST(s.log == log_lines{"b refused overloaded"});
  s.turns->close();
}

BOOST_AUTO_TEST_CASE(at_the_end_all_who_wait_are_sent_away_and_nobody_is_let_in) {
  turn_scene s;
  auto a = s.run("a"), b = s.run("b"), c = s.run("c");
  a.ask();
  b.ask(strategy::enqueue);
  s.turns->close();
  c.ask(strategy::take_over);
  a.end();
  BOOST_TEST(s.log == (log_lines{"b refused runtime_stopped", "c refused runtime_stopped"}));
}

BOOST_AUTO_TEST_CASE(what_a_run_went_on_from_is_kept_as_it_was_first) {
  held_claim claim;
  claim.after_id = "m";
  claim.first = {1, 2};
  claim.goes_on_from({"t", "", "k"}, {{"task", "c", value(1), ""}});
  claim.goes_on_from({"t", "", "k"}, {});
  claim.goes_on_from({"t", "in:1", "k"}, {});
  claim.goes_on_from({"t", "", "n"}, {}); // its own
  auto to = claim.before_run();
  BOOST_TEST(to.after_id == "m");
  BOOST_REQUIRE(to.heads.size() == 2u);
  BOOST_TEST(to.heads[0].writes.size() == 1u);
  BOOST_TEST(to.heads[1].ref.checkpoint_ns == "in:1");
  BOOST_TEST(to.claim->owner == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
