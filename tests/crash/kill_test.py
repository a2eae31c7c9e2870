"""A run of fifty steps is killed at random moments and started again until it is finished.

Arguments: the folder of the programs, the source folder, and how many kills (or --help).
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

from crash_program import DURABILITIES, Home, Shower, Stuck, Violation, expect, undisturbed


class Trials:
    """Runs that are killed one to three times each, until there were enough kills."""

    def __init__(self, program, folder, options):
        self.program, self.folder, self.seed = program, folder, options.seed
        self.kills_wanted, self.end = options.kills, time.monotonic() + options.seconds
        self.expected, self.seconds = {}, {}
        self.kills = self.runs = self.acknowledged = 0
        self.numbers = itertools.count()

    def prepare(self):
        with Shower(self.program) as shower:
            for durability in DURABILITIES:
                begin = time.monotonic()
                self.expected[durability] = undisturbed(
                    self.program, self.folder / f"undisturbed-{durability}", durability, shower)
                self.seconds[durability] = time.monotonic() - begin

    def trial(self, number, shower):
        moments = random.Random(f"{self.seed} {number}")
        durability = moments.choice(["sync", "sync", "async", "exit"])
        home = Home(self.program, self.folder / str(number), durability)
        waits = []
        try:
            for _ in range(moments.choice([1, 2, 2, 3])):
                waits.append(moments.uniform(0, 1.1 * self.seconds[durability]))
                begin = time.monotonic()
                if home.run_until(waits[-1]):
                    if home.kills == 0:  # else it was measured while the machine was busy
                        self.seconds[durability] = min(self.seconds[durability],
                                                       time.monotonic() - begin)
                    break
                self.acknowledged += home.check_killed(shower, self.expected[durability])
            while not home.run_until():
                pass
            home.check_finished(shower, self.expected[durability])
        except (Violation, Stuck) as e:
            raise Violation(f"seed {self.seed}, trial {number}, {durability}, killed after "
                            f"{waits} s, see {home.folder}: {e}") from None
        self.kills += home.kills
        self.runs += 1
        shutil.rmtree(home.folder)

    def work(self):
        with Shower(self.program) as shower:
            while self.kills < self.kills_wanted and time.monotonic() < self.end:
                self.trial(next(self.numbers), shower)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--kills", type=int, default=100)
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
    print(f"crash_kill: ok: {trials.kills} kills, {trials.runs} runs, {trials.acknowledged} "
          f"acknowledgements found again, {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
