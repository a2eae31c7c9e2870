#!/usr/bin/env python3
"""Nobody is given up who is there: both workers behind a bad network (100 ms and as much jitter, every
twentieth packet lost) and both cores busy, for as long as wanted.

Arguments: the folder of the programs (or --help). Needs network namespaces.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from cells import Cell
from history import Bounds
from hosts import Certificates, why_not
from trial import LOADS, Load, Trial

BAD = {"delay_ms": 100, "jitter": 1.0, "gap": [0.05, 200]}
GOOD = {"delay_ms": 0, "jitter": 0, "gap": [0, 0]}
ROUND_S = 4  # about what a round takes over such a network

LOADS["patience"] = Load(16, 8, 250)


def bad_network(seconds):
    def script(t):
        faults = [t.begin("noise", host, is_felt=False, returns=False) for host in "bc"]
        for host in "bc":
            t.network.order(host, **BAD)
        t.wait(seconds)
        for host in "bc":
            t.network.order(host, **GOOD)
        for fault in faults:
            t.over(fault)
    return script


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    if reason := why_not():
        print(f"skipped: no network namespaces: {reason}")
        sys.exit(77)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-patience-"))
    programs = options.bin.resolve()
    seconds = options.minutes * 60
    bounds = Bounds(progress_s=10)  # a round trip takes 200 ms, of cores that others have
    cell = Cell("patience", bad_network(seconds), "patience", False, bounds, seconds, busy=True)
    trial = Trial(cell, options.seed, programs, Certificates(programs, folder), folder / "run",
                  rounds=max(10, int(seconds / ROUND_S)))
    wrong, figures = trial.run()
    print(f"{figures['losses']} workers given up in {options.minutes:g} minutes, {figures['again']} "
          f"executions again, longest time without a step {figures['longest_gap_s']:.2f} s; "
          f"{len(wrong)} violations, load {os.getloadavg()[0]:.1f}")
    for text in wrong:
        print(f"  {text}")
    if wrong:
        sys.exit(f"see {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
