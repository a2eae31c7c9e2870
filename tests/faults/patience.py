#!/usr/bin/env python3
"""No living worker is given up: both workers have a bad network (100 ms and as much jitter, every
twentieth packet lost) and both cores busy, for as long as wanted.

Arguments: the folder of the programs (or --help). Needs network namespaces.
"""
from cells import Cell
from history import Bounds
from long_run import arguments, carry_out
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
    options = arguments(__doc__, minutes=60.0)
    seconds = options.minutes * 60

    def report(_, figures):
        print(f"{figures['losses']} workers given up in {options.minutes:g} minutes, "
              f"{figures['again']} executions again, longest time without a step "
              f"{figures['longest_gap_s']:.2f} s")

    bounds = Bounds(progress_s=10)  # a round trip takes 200 ms, of cores that others have
    cell = Cell("patience", bad_network(seconds), "patience", False, bounds, seconds, busy=True)
    carry_out(options, cell, Trial, max(10, int(seconds / ROUND_S)), report)


if __name__ == "__main__":
    main()
