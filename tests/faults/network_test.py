"""A minute of the matrix of faults, with fixed seeds: all.py has all of it.

Arguments: the folder of the programs, and the source folder. Ends with 77 where there can be no network
namespaces.
"""
import dataclasses
import pathlib
import sys

from all import run_all
from cells import all_cells, patient
from hosts import why_not

SKIPPED = 77
ROUNDS = 12
BEHIND_S = 2  # that a run continues after the trouble
CELLS = ["kill_worker/many/there", "kill_home/many/here", "deaf_worker_5/many/there",
         "silence_5/one/there", "freeze_worker_1/many/there"]
RESETS = "reset/many/there"  # by whoever dials


def main():
    if reason := why_not():
        print(f"skipped: no network namespaces: {reason}")
        sys.exit(SKIPPED)
    by_name = {cell.name: cell for cell in all_cells()}
    programs = pathlib.Path(sys.argv[1]).resolve()
    cells = [by_name[name] for name in CELLS]
    cells += [dataclasses.replace(by_name[RESETS], dialer=who) for who in ["home", "worker"]]
    results = run_all(programs, [patient(cell) for cell in cells], [1], ROUNDS, BEHIND_S)
    sys.exit(1 if results.wrong else 0)


if __name__ == "__main__":
    main()
