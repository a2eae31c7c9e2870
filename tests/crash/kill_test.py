"""A run of fifty steps is killed at random moments and started again until it is finished.

Each execution is a child that its parent has loaded already. Moments are drawn in time of the
processor, so that they fall into all parts of a run on a busy machine too. Arguments: the folder of
the programs, the source folder, and how many kills (or --help).
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from crash_program import DURABILITIES, Forker, Home, Shower, Stuck, Violation, expect, undisturbed

FEW, MANY = [1, 2, 2, 3], [1, 2, 4, 8, 16]  # kills of a run


class Trials:
    """Runs that are killed some times each, until there were enough kills."""

    def __init__(self, program, folder, options):
        self.program, self.folder, self.seed = program, folder, options.seed
        self.kills_wanted, self.end = options.kills, time.monotonic() + options.seconds
        self.kills_of_a_run = MANY if options.many else FEW
        self.expected, self.cpu_s, self.start_cpu_s = {}, {}, {}
        self.kills = self.early = self.runs = self.acknowledged = 0
        self.numbers = itertools.count()

    def prepare(self):
        with Shower(self.program) as shower, Forker(self.program) as forker:
            for durability in DURABILITIES:
                self.expected[durability] = undisturbed(
                    self.program, self.folder / f"undisturbed-{durability}", durability, shower)
                timed = Home(self.program, self.folder / f"timed-{durability}", durability)
                self.cpu_s[durability], _ = timed.run_forked(forker)
                self.start_cpu_s[durability], _ = timed.run_forked(forker)  # nothing is left to do

    def trial(self, number, shower, forker):
        moments = random.Random(f"{self.seed} {number}")
        durability = moments.choice(["sync", "sync", "async", "exit"])
        home = Home(self.program, self.folder / str(number), durability)
        waits, early = [], 0
        kills = moments.choice(self.kills_of_a_run)
        start = self.start_cpu_s[durability]
        latest = start + 1.1 * (self.cpu_s[durability] - start) * 2 / (kills + 1)
        try:
            for _ in range(kills):
                waits.append(moments.uniform(0, latest))
                noted = home.noted_bytes()
                if home.run_forked(forker, waits[-1])[1]:
                    break
                early += home.noted_bytes() <= noted + len("B\n")
                self.acknowledged += home.check_killed(shower, self.expected[durability])
            home.run_forked(forker)
            home.check_finished(shower, self.expected[durability])
        except (Violation, Stuck) as e:
            raise Violation(f"seed {self.seed}, trial {number}, {durability}, killed after "
                            f"{waits} s of the processor, see {home.folder}: {e}") from None
        self.kills += home.kills - early
        self.early += early
        self.runs += 1
        shutil.rmtree(home.folder)

    def work(self):
        with Shower(self.program) as shower, Forker(self.program) as forker:
            while self.kills < self.kills_wanted and time.monotonic() < self.end:
                self.trial(next(self.numbers), shower, forker)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--many", action="store_true", help="up to 16 kills of a run, not 3")
    options.add_argument("--seconds", type=int, default=15, help="at most")
    options.add_argument("--seed", type=int, default=int(os.environ.get("TROUPE_TEST_SEED", "1")))
    options.add_argument("--jobs", type=int, default=1)
    options = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-crash-"))
    begin = time.monotonic()
    trials = Trials(options.bin.resolve() / "troupe-crash", folder, options)
    try:
        trials.prepare()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(trials.work) for _ in range(options.jobs)]:
                done.result()
        expect(trials.acknowledged > trials.kills, "the kills hit runs that had done nothing")
    except Violation as e:
        sys.exit(f"crash_kill: {e}")
    shutil.rmtree(folder)
    print(f"crash_kill: ok: {trials.kills} kills, {trials.early} more before anything was noted, "
          f"{trials.runs} runs, {trials.acknowledged} acknowledgements found again, "
          f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
