"""A run of fifty steps dies at each named place of the code, and is started again.

Needs a build with TROUPE_CRASH_POINTS; otherwise it reports that and ends well. Arguments: the
folder of the programs, the source folder (or --help).
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from crash_program import DURABILITIES, Home, Shower, Stuck, Violation, expect, undisturbed


def passings(program, folder, durability, shower):
    """The work of an undisturbed run, and how often it passes each point."""
    log = folder / f"{durability}.points"
    expected = undisturbed(program, folder / durability, durability, shower,
                           TROUPE_CRASH_LOG=str(log))
    names = log.read_text().splitlines() if log.exists() else []
    return expected, collections.Counter(names)


def some_of(count, at_most, numbers):
    """The first passing, the last one, and others between them."""
    if count <= at_most:
        return range(1, count + 1)
    if at_most == 1:
        return [numbers.randint(1, count)]
    return sorted({1, count, *numbers.sample(range(2, count), at_most - 2)})


class Points:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.expected, self.points = {}, {}  # by durability
        self.kills = self.acknowledged = self.missed = 0

    def prepare(self):
        with Shower(self.program) as shower:
            for durability in DURABILITIES:
                self.expected[durability], self.points[durability] = passings(
                    self.program, self.folder, durability, shower)

    def any_of(self, name, numbers):
        durability = numbers.choice([d for d in DURABILITIES if self.points[d][name] > 0])
        return durability, name, numbers.randint(1, self.points[durability][name])

    def plan(self, at_most, numbers):
        """Some passings of each point with each durability; of 0, one of each point."""
        if at_most == 0:
            return [self.any_of(name, numbers) for name in sorted(set().union(*self.points.values()))]
        return [(durability, name, n) for durability in DURABILITIES
                for name, count in sorted(self.points[durability].items())
                for n in some_of(count, at_most, numbers)]

    def die(self, shower, durability, name, n, **environment):
        home = Home(self.program, self.folder / f"{durability}-{name}-{n}", durability, environment)
        try:
            if home.run_until(TROUPE_CRASH_AT=f"{name}:{n}"):
                self.missed += 1  # as often as that only with another timing
            else:
                self.acknowledged += home.check_killed(shower, self.expected[durability])
            while not home.run_until():
                pass
            home.check_finished(shower, self.expected[durability])
        except (Violation, Stuck) as e:
            raise Violation(f"{durability}, died at {name}:{n}, see {home.folder}: {e}") from None
        self.kills += home.kills
        shutil.rmtree(home.folder)

    def work(self, plan):
        with Shower(self.program) as shower:
            while plan:
                self.die(shower, *plan.pop())


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--passings", type=int, default=0,
                         help="of each point with each durability; 0: one of each point")
    options.add_argument("--seed", type=int, default=int(os.environ.get("TROUPE_TEST_SEED", "1")))
    options.add_argument("--jobs", type=int, default=1)
    options = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-points-"))
    begin = time.monotonic()
    points = Points(options.bin.resolve() / "troupe-crash", folder)
    try:
        points.prepare()
        plan = points.plan(options.passings, random.Random(options.seed))
        if not plan:
            print("crash_points: skipped: a build without TROUPE_CRASH_POINTS")
            return
        names = {name for _, name, _ in plan}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(points.work, plan) for _ in range(options.jobs)]:
                done.result()
        expect(points.kills > 4 * points.missed, "too few kills", points.kills, points.missed)
    except Violation as e:
        sys.exit(f"crash_points: {e}")
    finally:
        if sys.exc_info()[0] is None:
            shutil.rmtree(folder)
    print(f"crash_points: ok: {len(names)} points, {points.kills} kills, {points.missed} missed, "
          f"{points.acknowledged} acknowledgements found again, {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
