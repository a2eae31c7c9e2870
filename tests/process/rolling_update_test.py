"""A rolling update: one worker after the other drains, ends, and is started again, while a home has
work for all of them. No run ends, and no step runs twice.

Arguments: the folder of the programs, and the source folder; ROLLING_UPDATES=20 makes twenty.
"""
import os
import signal
import sys
import tempfile
import unittest

from noted_steps import Noted, begun_again
from programs import programs_folder, run

TIMES = int(os.environ.get("ROLLING_UPDATES", "1"))
WORKERS = 3
GROUPS, STEPS = 180, [1, 1, 6]
ALL = GROUPS * max(STEPS)
BIN = programs_folder(sys.argv[1])


class RollingUpdate(unittest.TestCase):
    def update(self, by_signal):
        with tempfile.TemporaryDirectory(prefix="troupe-rolling-") as folder:
            cluster = Noted(BIN, folder, WORKERS, capacity=2)
            try:
                with cluster.start_home(GROUPS, STEPS) as home:
                    self.update_workers(cluster, home, by_signal)
            finally:
                cluster.close()

    def update_workers(self, cluster, home, by_signal):
        for updated in range(3 * WORKERS):
            which = updated % WORKERS
            worker = cluster.workers[which]
            self.assertTrue(home.wait_until(lambda: cluster.holds(worker)), home.err.lines)
            if by_signal:
                worker.signal(signal.SIGTERM)
            else:
                drained = run([cluster.troupe, "cluster", "drain", "--plain", cluster.at[which]])
                self.assertEqual(drained.returncode, 0, drained.stderr)
            cluster.let_through(worker, ALL)  # the others stand still: there is work for all updates
            self.assertEqual(worker.end(), 0, worker.err.lines)
            worker.__exit__()
            cluster.workers[which] = cluster.start_worker(which)
        for worker in cluster.workers:
            cluster.let_through(worker, ALL)
        self.assertEqual(home.end(), 0, home.err.lines)
        notes = cluster.noted()
        self.assertEqual(begun_again(notes), [])
        self.assertEqual(len(notes), 2 * GROUPS // len(STEPS) * sum(STEPS))

    def test_no_run_ends_and_no_step_runs_twice(self):
        for i in range(TIMES):
            with self.subTest(update=i):
                self.update(by_signal=i % 2 == 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
