"""Runs all cases and fails when one of them does.

    check_cases.py CONFORMANCE CASES             as they are
    check_cases.py CONFORMANCE CASES --shuffled  with tasks that end out of order, drawn from
                                                 TROUPE_TEST_SEED
    check_cases.py CONFORMANCE CASES --placed    with their subgraphs on a worker
    check_cases.py … --repeat N                  N times in a row, shuffled with N seeds

An answer has to be the same each time: a case fails when one of its runs does.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import threading

SILENCE_S_MAX = 300  # a program that prints nothing for so long hangs
SEED = int(os.environ.get("TROUPE_TEST_SEED", "1"))


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
    """Name of each case → the program's report. A case that ends the program fails, and the cases
    after it are run again."""
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


def flags_of(mode, seed):
    return ["--shuffle", str(seed)] if mode.shuffled else ["--placed"] if mode.placed else []


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases")
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--placed", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    mode = parser.parse_args(arguments)
    paths = sorted(pathlib.Path(mode.cases).glob("*/*.json"))
    failed, skipped = {}, set()  # by name: the first complaint, and in how many runs there was one
    for seed in range(SEED, SEED + mode.repeat):
        for name, line in reports([mode.program, *flags_of(mode, seed)], paths).items():
            if line.startswith("FAIL "):
                first, times = failed.get(name, (line, 0))
                failed[name] = first, times + 1
            elif line.startswith("skip "):
                skipped.add(name)
    runs = f" in each of {mode.repeat} runs" if mode.repeat > 1 else ""
    print(f"{len(paths) - len(failed) - len(skipped - failed.keys())} of {len(paths)} cases pass{runs}"
          + (f", {len(skipped)} can't be compared; seed {SEED}" if mode.shuffled else ""))
    for name in sorted(failed):
        complaint, times = failed[name]
        print((f"{times} times: " if mode.repeat > 1 else "") + complaint[:2000])
    return 1 if failed or not paths else 0


sys.exit(main(sys.argv[1:]))
