"""Keeps the list of known failures exact: fails when a case that is not on it fails, or one that is
on it passes.

    check_known_failures.py CONFORMANCE CASES LIST             runs all cases
    check_known_failures.py CONFORMANCE CASES LIST --required  runs those that must pass, whatever
                                                               the list says
    check_known_failures.py CONFORMANCE CASES LIST --write     writes the list anew
"""
import json
import pathlib
import subprocess
import sys
import threading

REQUIRED = ["branch", "channels", "command", "interrupt", "send", "state", "supersteps",
            "validation"]
SILENCE_S_MAX = 300  # a program that prints nothing for so long hangs


def nests(case):
    """Whether a graph of the case runs another one."""
    nodes = [n for g in case["graphs"].values() for n in dict(g.get("nodes", {})).values()]
    return any("graph" in n or '{"call": [' in json.dumps(n.get("run")) for n in nodes)


def is_required(path):
    return path.parent.name in REQUIRED and not nests(json.loads(path.read_text()))


def verdicts(program, paths):
    """The lines that the program prints for these cases, until it ends or hangs."""
    process = subprocess.Popen([program, *paths], stdout=subprocess.PIPE, text=True)
    while True:
        watchdog = threading.Timer(SILENCE_S_MAX, process.kill)
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        if not line:
            process.wait()
            return
        if line.startswith(("ok ", "FAIL ")):
            yield line.rstrip("\n")


def failures(program, paths):
    """Name of each case that fails → what the program says of it. A case that ends the program
    fails, and the cases behind it are run again."""
    out = {}
    while paths:
        lines = list(verdicts(program, paths))
        for path, line in zip(paths, lines):
            if not line.startswith("ok "):
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
    required = mode == "--required"
    paths = sorted(pathlib.Path(cases).glob("*/*.json"))
    if required:
        paths = [p for p in paths if is_required(p)]
    failed = failures(program, paths)
    print(f"{len(paths) - len(failed)} of {len(paths)} cases pass")
    if mode == "--write":
        pathlib.Path(list_path).write_text("".join(f"{name}\n" for name in sorted(failed)))
        return 0
    listed = set(pathlib.Path(list_path).read_text().split()) if not required else set()
    bad = list(complaints(failed, listed, {name_of(p) for p in paths}))
    for complaint in bad:
        print(complaint)
    return 1 if bad or not paths else 0


sys.exit(main(*sys.argv[1:]))
