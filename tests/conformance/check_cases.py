"""Runs all cases and fails when one of them does.

    check_cases.py CONFORMANCE CASES             as they are
    check_cases.py CONFORMANCE CASES --shuffled  with tasks that end out of order, drawn from
                                                 TROUPE_TEST_SEED
    check_cases.py CONFORMANCE CASES --placed    with their subgraphs on a worker
"""
import os
import pathlib
import subprocess
import sys
import threading

SILENCE_S_MAX = 300  # a program that prints nothing for so long hangs
SEED = os.environ.get("TROUPE_TEST_SEED", "1")


def verdicts(command, paths):
    """The lines that the program prints for these cases, until it ends or hangs."""
    process = subprocess.Popen([*command, *paths], stdout=subprocess.PIPE, text=True)
    while True:
        watchdog = threading.Timer(SILENCE_S_MAX, process.kill)
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        if not line:
            process.wait()
            return
        if line.startswith(("ok ", "FAIL ", "skip ")):
            yield line.rstrip("\n")


def reports(command, paths):
    """Name of each case → what the program says of it. A case that ends the program fails, and the
    cases behind it are run again."""
    out = {}
    while paths:
        lines = list(verdicts(command, paths))
        for path, line in zip(paths, lines):
            out[name_of(path)] = line
        if len(lines) < len(paths):
            stuck = paths[len(lines)]
            out[name_of(stuck)] = f"FAIL {name_of(stuck)}: crashed, hangs or can't be read"
        paths = paths[len(lines) + 1:]
    return out


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def main(program, cases, mode=""):
    paths = sorted(pathlib.Path(cases).glob("*/*.json"))
    flags = ["--shuffle", SEED] if mode == "--shuffled" else ["--placed"] if mode == "--placed" else []
    said = reports([program, *flags], paths)
    failed = [said[name] for name in sorted(said) if said[name].startswith("FAIL ")]
    skipped = sum(line.startswith("skip ") for line in said.values())
    print(f"{len(paths) - len(failed) - skipped} of {len(paths)} cases pass"
          + (f", {skipped} can't be compared; seed {SEED}" if mode == "--shuffled" else ""))
    for complaint in failed:
        print(complaint[:2000])
    return 1 if failed or not paths else 0


sys.exit(main(*sys.argv[1:]))
