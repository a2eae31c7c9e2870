"""Shared by programs with one long run: their arguments, its place, and the report on it."""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from hosts import Certificates, why_not


def arguments(about, **own):
    """The options of the call; ends the program where there are no network namespaces. `own`:
    further numbers, with their defaults."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("--seed", type=int, default=1)
    for name, default in own.items():
        options.add_argument(f"--{name}", type=type(default), default=default)
    options = options.parse_args()
    if reason := why_not():
        print(f"skipped: no network namespaces: {reason}")
        sys.exit(77)
    return options


def carry_out(options, cell, trial_of, rounds, report):
    """Runs the cell; `report(trial, figures)` prints what is special to it. Ends the program when
    something was violated, and then keeps what was stored."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"troupe-{cell.name}-"))
    programs = options.bin.resolve()
    trial = trial_of(cell, options.seed, programs, Certificates(programs, folder), folder / "run",
                     rounds=rounds)
    wrong, figures = trial.run()
    report(trial, figures)
    print(f"{len(wrong)} violations, load {os.getloadavg()[0]:.1f}")
    for text in wrong:
        print(f"  {text}")
    if wrong:
        sys.exit(f"see {folder}")
    shutil.rmtree(folder)
