"""No workload needs 5 % more instructions than bench/instructions.json has for it.

Valgrind counts the instructions of two numbers of runs; their difference leaves the start of the process out. A slow
clock (slow_clock.cpp) lets the programs run as they do without valgrind. Counts belong to a compiler and a build type:
with others the test is skipped. `--update` writes new counts.

usage: instructions_test.py PROGRAMS SOURCE [--update]
"""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from built_with import built_with

programs, source = map(pathlib.Path, sys.argv[1:3])
update = sys.argv[3:] == ["--update"]
file = source / "bench/instructions.json"
clock = str((programs.parent / "lib/slow_clock.so").resolve(strict=True))
ROOM = 1.05
COUNTINGS_MAX = 3
# Workload -> two numbers of runs.
RUNS = {"chain3_invoke": (50, 450), "counter_loop_1000_none": (1, 5), "send_fanout_1000": (1, 5),
        "sequential_1000": (1, 5), "counter_loop_1000_memory_sync": (1, 4), "react_agent_10x": (2, 12),
        "serde_encode_100x25": (2, 8), "serde_decode_100x25": (2, 8)}


def skip(why):
    print(f"instructions: skipped, {why}")
    sys.exit(77)


def instructions(name, iterations):
    """Instructions of a process that runs the workload so often."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--fair-sched=try", f"--callgrind-out-file={folder}/out",
             programs / "troupe-bench", "--filter", f"^{name}$", "--iterations", str(iterations), "--threads", "1"],
            capture_output=True, text=True, timeout=900, env=os.environ | {"LD_PRELOAD": clock})
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        sys.exit(f"{name}: {done.stderr[-500:]}")
    return int(counted[1])


def per_run(name):
    """From the least of some countings: a thread that waits for work adds to some counts, and never takes from one."""
    numbers = few, many = RUNS[name]
    least = (math.inf, math.inf)
    for _ in range(COUNTINGS_MAX):
        least = tuple(map(min, least, (instructions(name, iterations) for iterations in numbers)))
        of_one = round((least[1] - least[0]) / (many - few))
        if not update and of_one <= known["instructions_of_a_run"].get(name, 0) * ROOM:
            break
    return of_one


if shutil.which("valgrind") is None:
    skip("valgrind is missing")
here = built_with(programs)
known = json.loads(file.read_text()) if file.exists() else {}
if not update and any(known.get(key) != value for key, value in here.items()):
    skip(f"the counts are of {known.get('compiler')}, {known.get('build')}; this is {here['compiler']}, {here['build']}")

with ThreadPoolExecutor(2) as pool:
    counts = dict(zip(RUNS, pool.map(per_run, RUNS)))
if update:
    file.write_text(json.dumps({**here, "instructions_of_a_run": counts}, indent=1) + "\n")
    print(f"wrote {file}")
    sys.exit()

slower = False
for name, count in counts.items():
    before = known["instructions_of_a_run"].get(name)
    if before is None:
        sys.exit(f"{name}: bench/instructions.json lacks it; run this with --update")
    slower |= count > before * ROOM
    print(f"{'SLOWER' if count > before * ROOM else 'ok':6} {name}: {count:,} instructions, {count / before:.3f} of {before:,}")
if slower:
    print(f"at most {ROOM}; if the work is needed: tests/bench/instructions_test.py PROGRAMS SOURCE --update")
sys.exit(slower)
