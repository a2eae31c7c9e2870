"""The checker of histories: it takes a right one, and notices each way of being wrong.

Arguments: the folder of the programs, and the source folder; neither is used.
"""
import copy
import sys
import unittest

from history import FOREVER, Bounds, Execution, Fault, History, Loss, check, check_again, \
    expected_log, parse_effects, recoveries


def right_history():
    """Three rounds of one task and one group; b dies in the second and is back in the third."""
    executions, checkpoints, acknowledged = [], [], []
    now, parent, step = 100.0, "", -1

    def run(key, host, end=True):
        nonlocal now
        executions.append(Execution(key, host, ord(host), now, now + 0.1 if end else FOREVER))
        now += 0.2

    def store(added, ns=""):
        nonlocal parent, step
        id_ = f"{ns}{step}"
        checkpoints.append({"ns": ns, "id": id_, "parent": parent, "step": step, "grows": True,
                            "added": added})
        acknowledged.append((now, id_))
        parent, step = id_, step + 1

    store([])
    for r in range(3):
        run(f"r{r}.t0", "c")
        for s in range(3):
            if (r, s) == (1, 1):
                run("r1.g0.s1", "b", end=False)
                now += 2.6
            run(f"r{r}.g0.s{s}", "c" if r == 1 and s > 0 else "b")
        store(expected_log(3, 1, 1)[4 * r:4 * r + 4])
        store([])
    for r in range(3):
        for s in range(3):
            checkpoints.append({"ns": f"group:{r}", "id": f"g{r}{s}", "step": s, "grows": True,
                                "parent": f"g{r}{s - 1}" if s else "",
                                "added": [f"r{r}.g0.s{s}"]})
    died = next(e for e in executions if e.end == FOREVER).begin
    return History(3, 1, 1, executions, checkpoints, acknowledged,
                   [Fault("kill", "b", died + 0.05, died + 1)],
                   [Loss(died + 2.6, "b", "the worker was silent")], now)


BOUNDS = Bounds(reruns=1, losses=1)


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.history = right_history()

    def notices(self, words, **bounds):
        found = check(self.history, Bounds(**{"reruns": 1, "losses": 1, **bounds}))
        self.assertTrue(any(words in text for text in found), found)

    def root(self):
        return [c for c in self.history.checkpoints if c["ns"] == ""]

    def of(self, key):
        return [e for e in self.history.executions if e.key == key]

    def test_a_right_history_passes(self):
        self.assertEqual(check(self.history, BOUNDS), [])

    def test_a_lost_entry_is_noticed(self):
        self.root()[1]["added"].remove("r0.t0")
        self.notices("lost ['r0.t0']")

    def test_a_doubled_entry_is_noticed(self):
        self.root()[3]["added"].append("r0.t0")
        self.notices("doubled ['r0.t0']")

    def test_entries_out_of_order_are_noticed(self):
        self.root()[1]["added"].reverse()
        self.notices("out of order")

    def test_a_log_that_shrinks_is_noticed(self):
        self.root()[2]["grows"] = False
        self.notices("lost something")

    def test_a_fork_is_noticed(self):
        self.root()[3]["parent"] = self.root()[1]["id"]
        self.notices("a fork")

    def test_a_step_that_is_missing_is_noticed(self):
        for c in self.root()[3:]:
            c["step"] += 1
        self.notices("steps are missing")

    def test_a_fork_within_a_group_is_noticed(self):
        self.history.checkpoints[-1]["parent"] = self.history.checkpoints[-3]["id"]
        self.notices("a fork")

    def test_a_step_of_a_group_that_was_stored_twice_is_noticed(self):
        self.history.checkpoints[-1]["added"] = ["r2.g0.s1"]
        self.notices("the log of a group")

    def test_a_lost_acknowledgement_is_noticed(self):
        self.history.acknowledged.append((101, "gone"))
        self.notices("acknowledged checkpoint is lost")

    def test_an_execution_too_many_is_noticed(self):
        self.notices("2 times", reruns=0)

    def test_an_effect_without_an_entry_is_noticed(self):
        self.history.executions.append(Execution("r9.t0", "b", 98, 101, 102))
        self.notices("nobody asked")

    def test_an_entry_without_an_effect_is_noticed(self):
        self.history.executions.remove(self.of("r0.t0")[0])
        self.notices("never executed: r0.t0")

    def test_two_at_a_time_are_noticed_where_nobody_stood_still(self):
        one = self.of("r0.t0")[0]
        self.history.executions.append(Execution("r0.t0", "b", 98, one.begin + 0.01, one.end))
        self.notices("two at a time")

    def test_who_was_frozen_may_overlap(self):
        one = self.of("r0.t0")[0]
        self.history.faults.append(Fault("freeze", "c", one.begin + 0.01, one.end - 0.01, False))
        self.history.executions.append(Execution("r0.t0", "b", 98, one.begin + 0.02, one.end))
        self.assertEqual(check(self.history, BOUNDS), [])

    def test_a_group_that_goes_back_and_forth_is_noticed(self):
        last = self.of("r1.g0.s2")[0]
        last.host, last.pid = "b", ord("b")
        self.notices("changed its owner 2 times")

    def test_a_group_may_move_as_often_as_is_accounted_for(self):
        last = self.of("r1.g0.s2")[0]
        last.host, last.pid = "b", ord("b")
        self.assertEqual(check(self.history, Bounds(reruns=1, losses=1, moves=2)), [])

    def test_only_what_a_fault_may_have_hit_is_executed_again(self):
        self.assertEqual(list(check_again(self.history)), [])
        long_over = self.of("r0.g0.s0")[0]
        self.history.executions.append(Execution("r0.g0.s0", "c", ord("c"), 110, 110.1))
        found, = check_again(self.history)
        self.assertIn("r0.g0.s0 was executed again", found)
        self.history.faults[0].begin = long_over.end + 0.2  # its end may not have arrived
        self.assertEqual(list(check_again(self.history)), [])

    def test_a_host_has_recovered_with_its_first_body_and_a_home_with_its_first_step(self):
        fault = self.history.faults[0]
        again = min(e.begin for e in self.history.executions if e.host == "b" and e.begin > fault.end)
        self.assertEqual(list(recoveries(self.history, [])), [again - fault.end])
        fault.host = "a"
        self.assertEqual(list(recoveries(self.history, [fault.end - 1, fault.end + 2, fault.end + 3])), [2])

    def frozen_instead_of_killed(self):
        """b stands still before it could begin r1.g0.s1, and begins it when it continues; c did so
        before."""
        fault = self.history.faults[0]
        late = next(e for e in self.history.executions if e.end == FOREVER)
        c_did = next(e for e in self.of("r1.g0.s1") if e.host == "c")
        fault.kind, fault.begin, fault.end = "freeze", late.begin - 0.05, c_did.end + 0.01
        late.begin, late.end = fault.end + 0.1, fault.end + 0.11
        return fault, late

    def test_what_a_frozen_host_was_about_to_begin_makes_no_owner(self):
        self.frozen_instead_of_killed()
        self.assertEqual(check(self.history, BOUNDS), [])

    def test_who_begins_long_after_it_was_frozen_is_an_owner(self):
        fault, late = self.frozen_instead_of_killed()
        late.begin, late.end = fault.end + 1, fault.end + 1.1
        self.notices("changed its owner 2 times")

    def test_who_goes_on_with_what_nobody_did_is_an_owner(self):
        self.frozen_instead_of_killed()
        for e in self.of("r1.g0.s1"):
            if e.host == "c":
                e.begin -= 2  # before b was given up
        self.notices("changed its owner 2 times")

    def test_a_late_detection_is_noticed(self):
        self.history.losses[0].when += 1
        self.notices("was noticed after 3.5")

    def test_a_false_death_is_noticed(self):
        self.history.losses.append(Loss(101, "c", "the worker was silent"))
        self.notices("2 workers were given up")

    def test_a_standstill_after_the_heal_is_noticed(self):
        fault = self.history.faults[0]
        for e in self.history.executions:
            e.begin += 6 if e.begin > fault.end else 0
            e.end += 6 if e.begin > fault.end else 0
        self.history.acknowledged = [(when + (6 if when > fault.end else 0), id_)
                                     for when, id_ in self.history.acknowledged]
        self.history.finished += 6
        self.notices("no step for")

    def test_a_host_that_gets_no_work_again_is_noticed(self):
        history = copy.deepcopy(self.history)
        end = history.faults[0].end
        for e in history.executions:
            if e.begin > end:
                e.host, e.pid = "c", ord("c")
        history.finished += 10
        found = check(history, BOUNDS)
        self.assertTrue(any("had no work" in text for text in found), found)

    def test_a_run_without_an_end_is_noticed(self):
        self.history.finished = FOREVER
        self.notices("did not finish")

    def test_effects_are_read_from_their_lines(self):
        read = parse_effects("S k b 7 1000000000\nS k c 8 1500000000\nE k c 8 2000000000\nS k")
        self.assertEqual(read, [Execution("k", "b", 7, 1.0, FOREVER),
                                Execution("k", "c", 8, 1.5, 2.0)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
