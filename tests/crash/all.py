#!/usr/bin/env python3
"""All of the endurance tests: kills, points, races, mutations and power cuts, with a table at the end.

Each runs in rounds with seeds of their own; a line reports how each round ended. A round that finds
a violation stops and keeps its folder, and the others continue. Arguments: the folder of the
programs (or --help).
"""
import argparse
import dataclasses
import pathlib
import re
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
SOURCE = TESTS.parent
FAILURES_MAX = 10  # of one kind; then its rounds end


@dataclasses.dataclass
class Stage:
    """A script that is run again and again, until its rounds have counted enough."""
    what: str
    script: str
    wanted: int
    counts: str  # finds the number in the last line of a round
    arguments: list  # of a round; a function gets the number that is still wanted
    one_round: bool = False
    points: bool = False  # needs a build with crash points

    done: int = 0
    rounds: int = 0
    violations: int = 0
    stuck: int = 0  # rounds with a run that had not ended in time: it hangs, or the machine is busy
    seconds: float = 0
    skipped: bool = False

    def is_over(self):
        return (self.skipped or self.done >= self.wanted
                or self.violations + self.stuck >= FAILURES_MAX
                or (self.one_round and self.rounds > 0))

    def command(self, programs, seed):
        left = max(self.wanted - self.done, 1)
        arguments = [str(a(left) if callable(a) else a) for a in self.arguments]
        seeded = ["--seed", str(seed)] if "--seed" in (TESTS / self.script).read_text() else []
        return [sys.executable, "-B", str(TESTS / self.script), str(programs), str(SOURCE),
                *arguments, *seeded]

    def run_round(self, programs, seed):
        command = self.command(programs, seed)
        begin = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.seconds += time.monotonic() - begin
        self.rounds += 1
        said = (done.stdout + done.stderr).strip().splitlines() or ["said nothing"]
        result = (done.stdout.strip().splitlines() or said)[-1]  # programs log warnings, too
        self.skipped = "skipped" in result
        counted = re.search(self.counts, result)
        if done.returncode == 0 and (counted or self.skipped):
            self.done += int(counted[1]) if counted else 0
            say(f"{self.what}: {self.done} of {self.wanted}: {result}")
            return
        stuck = "no end" in said[-1]
        self.stuck += stuck
        self.violations += not stuck
        say(f"{self.what}: {'NO END' if stuck else 'VIOLATION'} in {' '.join(command)}")
        say("  " + "\n  ".join(said[-20:]))


def say(text):
    print(text, flush=True)


def stages(options):
    at_most = lambda most: lambda left: min(most, left)  # noqa: E731
    return [
        Stage("kills", "crash/kill_test.py", options.kills, r"ok: (\d+) kills",
              ["--kills", at_most(250), "--many", "--seconds", 86400, "--jobs", options.jobs]),
        Stage("points", "crash/points_test.py", 1, r"(\d+) kills",
              ["--passings", options.passings, "--jobs", options.jobs], one_round=True,
              points=True),
        Stage("races", "crash/race_test.py", options.races, r"ok: (\d+) runs",
              ["--runs", lambda left: max(min(100, left // 2), 50), "--threads", 1]),
        Stage("mutations", "crash/mutation_test.py", 5, r"(\d+) of \d+ noticed", [],
              one_round=True, points=True),
        # Ten seeds that follow one another cut at all moments.
        Stage("power cuts", "power/cut_test.py", options.disks, r"ok: (\d+) disks",
              ["--every", 10, "--images", lambda left: min(2500, left // 2)]),
    ]


def print_table(all_stages):
    say(f"\n{'what':<12}{'how many':>10}{'wanted':>10}{'rounds':>8}{'violations':>12}{'no end':>8}"
        f"{'minutes':>9}")
    for stage in all_stages:
        note = "  skipped: a build without TROUPE_CRASH_POINTS" if stage.skipped else ""
        say(f"{stage.what:<12}{stage.done:>10}{stage.wanted:>10}{stage.rounds:>8}"
            f"{stage.violations:>12}{stage.stuck:>8}{stage.seconds / 60:>9.1f}{note}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("--points-bin", type=pathlib.Path, default=SOURCE / "build/dev/bin",
                         help="programs with TROUPE_CRASH_POINTS, for points and mutations")
    options.add_argument("--kills", type=int, default=2000)
    options.add_argument("--passings", type=int, default=20, help="of each point")
    options.add_argument("--races", type=int, default=2000, help="runs, of two processes together")
    options.add_argument("--disks", type=int, default=20000)
    options.add_argument("--only", nargs="*", help="stages, by the first word of their name")
    options.add_argument("--seconds", type=float, default=float("inf"),
                         help="then no round is begun any more")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=1)
    options = options.parse_args()
    chosen = [stage for stage in stages(options)
              if options.only is None or stage.what.split()[0] in options.only]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the table is printed all the same
    end = time.monotonic() + options.seconds
    try:
        for stage in chosen:
            programs = options.points_bin if stage.points else options.bin
            if stage.points and not (programs / "troupe-crash").exists():
                stage.skipped = True
            while not stage.is_over() and time.monotonic() < end:
                stage.run_round(programs.resolve(), options.seed + stage.rounds)
    except KeyboardInterrupt:
        pass
    finally:
        print_table(chosen)
    complete = all(stage.is_over() and not stage.skipped for stage in chosen)
    sys.exit(0 if complete and not any(stage.violations or stage.stuck for stage in chosen) else 1)


if __name__ == "__main__":
    main()
