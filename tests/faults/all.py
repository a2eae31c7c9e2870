#!/usr/bin/env python3
"""All cells of the matrix of faults, each with several seeds; a line reports how each run ended,
and the last ones sum them up. The folder of a run that found a violation is kept.

Arguments: the folder of the programs (or --help).
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time

from cells import LEFT_OUT, all_cells, patient
from hosts import Certificates, why_not
from trial import Trial

SAMPLE = (r"^(kill_worker|power_off|freeze_worker_10|freeze_home_10|kill_home|wire_5|silence_5|"
          r"deaf_home_5|deaf_worker_5|half_open|reset|corrupt|replay|delay_200|loss_5|swizzle|flap)"
          r"/(one|many)/there$")


SHOWN_MAX = 8
BEHIND_S = 8  # that a run continues after the trouble


def say(text):
    print(text, flush=True)


class Results:
    def __init__(self):
        self.runs, self.wrong, self.again = 0, [], 0
        self.detected = []

    def add(self, cell, seed, wrong, figures):
        self.runs += 1
        self.again += figures["again"]
        self.detected += figures["detected_s"]
        seen = (f"{figures['seconds']:.1f} s, longest gap {figures['longest_gap_s']:.2f} s, "
                f"{figures['again']} again, {figures['losses']} given up, connections "
                f"{figures['connections']}"
                + "".join(f", noticed after {s:.2f} s" for s in figures["detected_s"]))
        say(f"{'VIOLATION' if wrong else 'ok':<9} {cell.name} seed {seed}: {seen}")
        for text in wrong[:SHOWN_MAX]:
            say(f"          {text}")
        if len(wrong) > SHOWN_MAX:
            say(f"          and {len(wrong) - SHOWN_MAX} more")
        if wrong:
            self.wrong.append(f"{cell.name} seed {seed}")

    def sum_up(self, seconds):
        say(f"\n{self.runs} runs, {len(self.wrong)} with violations, {self.again} executions again, "
            f"{seconds / 60:.1f} minutes, load {os.getloadavg()[0]:.1f}")
        if self.detected:
            all_ = sorted(self.detected)
            say(f"noticed after: median {statistics.median(all_):.2f} s, p99 "
                f"{all_[min(len(all_) - 1, int(len(all_) * 0.99))]:.2f} s, most {all_[-1]:.2f} s "
                f"({len(all_)})")
        for name in self.wrong:
            say(f"violation: {name}")


def run_all(programs, cells, seeds, rounds, behind_s, seconds=float("inf")):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-faults-"))
    certificates = Certificates(programs, folder)
    results, begin = Results(), time.monotonic()
    number = 0
    try:
        for seed in seeds:
            for cell in cells:
                if time.monotonic() - begin > seconds:
                    return results
                number += 1
                where = folder / f"{number}-{cell.name.replace('/', '-')}-{seed}"
                try:
                    wrong, figures = Trial(cell, seed, programs, certificates, where, rounds,
                                           behind_s).run()
                except (RuntimeError, TimeoutError) as e:
                    wrong = [f"the run could not be made: {e}"]
                    figures = {"seconds": 0, "longest_gap_s": 0, "again": 0, "losses": 0,
                               "connections": {}, "detected_s": []}
                results.add(cell, seed, wrong, figures)
                if wrong:
                    say(f"          see {where}")
    finally:
        results.sum_up(time.monotonic() - begin)
        if not results.wrong:
            shutil.rmtree(folder)
    return results


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("--cells", default="", help="only those this regular expression finds")
    options.add_argument("--seeds", type=int, default=1, help="of each cell")
    options.add_argument("--first-seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=100, help="of a run; two steps each")
    options.add_argument("--minutes", type=float, help="a sample with fixed seeds, for so long")
    options.add_argument("--patient", action="store_true",
                         help="bounds in time for a machine that has other work")
    options.add_argument("--list", action="store_true")
    options = options.parse_args()
    wanted = options.cells or (SAMPLE if options.minutes else "")
    cells = [patient(c) if options.patient else c
             for c in all_cells() if re.search(wanted, c.name)]
    if options.list:
        say("\n".join(c.name for c in cells))
        return
    if reason := why_not():
        say(f"skipped: no network namespaces: {reason}")
        sys.exit(77)
    for what, why in LEFT_OUT.items():
        say(f"left out: {what}: {why}")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    seconds = options.minutes * 60 if options.minutes else float("inf")
    results = run_all(options.bin.resolve(), cells, seeds, options.rounds, BEHIND_S, seconds)
    sys.exit(1 if results.wrong else 0)


if __name__ == "__main__":
    main()
