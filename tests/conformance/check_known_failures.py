"""Keeps the list of known failures exact: fails when a case that is not on it fails, or one that is
on it passes.

    check_known_failures.py CONFORMANCE CASES LIST             runs all cases
    check_known_failures.py CONFORMANCE CASES LIST --required  runs all, whatever the list says
    check_known_failures.py CONFORMANCE CASES LIST --shuffled  runs all cases with tasks that end out
                                                               of order, drawn from TROUPE_TEST_SEED;
                                                               those on the list may fail
    check_known_failures.py CONFORMANCE CASES LIST --placed    runs all cases with their subgraphs on
                                                               a worker
    check_known_failures.py CONFORMANCE CASES LIST --write     writes the list anew
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


def complaints(failed, listed, names):
    for name in sorted(failed.keys() - listed):
        yield failed[name][:2000]
    for name in sorted(listed - failed.keys()):
        yield f"{name} is on the list but " + ("passes" if name in names else "no such case")


def main(program, cases, list_path, mode=""):
    required, shuffled = mode == "--required", mode == "--shuffled"
    paths = sorted(pathlib.Path(cases).glob("*/*.json"))
    flags = ["--shuffle", SEED] if shuffled else ["--placed"] if mode == "--placed" else []
    said = reports([program, *flags], paths)
    failed = {name: line for name, line in said.items() if line.startswith("FAIL ")}
    skipped = sum(line.startswith("skip ") for line in said.values())
    print(f"{len(paths) - len(failed) - skipped} of {len(paths)} cases pass"
          + (f", {skipped} can't be compared; seed {SEED}" if shuffled else ""))
    if mode == "--write":
        pathlib.Path(list_path).write_text("".join(f"{name}\n" for name in sorted(failed)))
        return 0
    listed = set() if required else set(pathlib.Path(list_path).read_text().split())
    if shuffled:
        listed &= failed.keys()
    bad = list(complaints(failed, listed, said.keys()))
    for complaint in bad:
        print(complaint)
    return 1 if bad or not paths else 0


sys.exit(main(*sys.argv[1:]))
