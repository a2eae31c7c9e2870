"""How counts of work grow with sizes: fits of count = a·n^b, with a bound of b for each curve."""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from programs import SOURCE, note
from report import curve_chart

# Curve -> (what grows, the largest size of a whole run).
CURVES = {
    "width": ("tasks of a step, by sends", 100_000),
    "join": ("nodes of a step, and a join of all", 100_000),
    "chain": ("nodes of a chain", 100_000),
    "messages": ("messages of a thread, one more a step", 100_000),
    "items": ("items of a thread, one more a step", 100_000),
    "history_memory": ("steps of a thread in memory", 100_000),
    "history_file": ("steps of a thread in a file", 100_000),
    "parked": ("threads that wait, in memory", 1_000_000),
    "live_runs": ("runs that were started together", 100_000),
}
TOP_OF_TEST = 10_000
TOPS_OF_TEST = {"messages": 1000}
INSTRUCTIONS_AT = (10, 100, 1000)  # valgrind takes fifty times as long
# A store does not open there. How many groups of actors many runs share is decided by the threads.
NO_VALGRIND = {"history_file", "live_runs"}
# Curves that are worse than their bound today, and the place. They are reported, and don't fail.
KNOWN = {}
POWER_MAX = 1.1  # of a count that grows with the size
FLAT_MAX = 1.05  # last over first count, where the size must not matter
SMALLEST = 10    # of flat curves, whose ends are compared
COUNTINGS_MAX = 8  # of the instructions of one curve; a busy machine needs some
TAIL = 3         # sizes of a fit, the largest ones
SECONDS = 300  # of one size; the curve ends there
MEMORY_OF_A_THREAD = 8000


def power(sizes, counts):
    """b of the line through (log n, log count), by least squares over the tail."""
    xs = [math.log(n) for n in sizes[-TAIL:]]
    ys = [math.log(max(count, 1)) for count in counts[-TAIL:]]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def judged(name, what, sizes, counts):
    """A curve with its fit and whether it holds its bound."""
    flat = what.startswith("flat_")
    b = power(sizes, counts)
    growth = counts[-1] / max(counts[0], 1)
    return {"name": name, "what": what, "sizes": sizes, "counts": counts, "power": b, "flat": flat, "growth": growth,
            "holds": growth <= FLAT_MAX if flat else b <= POWER_MAX}


def enough_memory(name, size):
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return name != "parked" or size * MEMORY_OF_A_THREAD < available


def count(program, name, size, tool=()):
    """The counts of the program at a size, and the report of the tool before it. None when it takes too long."""
    scratch = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=scratch, prefix="troupe-curves-") as folder:
        try:
            before = [part.format(folder=folder) for part in tool]
            done = subprocess.run([*before, program, name, str(size), folder], capture_output=True, text=True,
                                  timeout=SECONDS)
        except subprocess.TimeoutExpired:
            note(f"  {name} {size}: took longer than {SECONDS} s")
            return None
    if done.returncode:
        sys.exit(f"troupe-curves {name} {size}: {(done.stderr or 'killed').strip()[-300:]}")
    return json.loads(done.stdout), done.stderr


def allocations(program, name, top):
    """The counts of memory of a curve, up to the size `top`."""
    sizes, rows, size = [], [], SMALLEST
    while size <= top and enough_memory(name, size) and (got := count(program, name, size)):
        rows.append(got[0])
        sizes.append(size)
        size *= 10
    note(f"  {name}: {CURVES[name][0]}: {sizes[0]}…{sizes[-1]}")
    return [judged(name, what, sizes, [row[what] for row in rows]) for what in rows[0]]


def counted_instructions(program, name, size):
    """All instructions of the process at a size. None when it takes too long."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--fair-sched=try", "--cachegrind-out-file={folder}/out"]
    got = count(program, name, size, tool)
    return got and int(re.search(r"I\s+refs:\s+([\d,]+)", got[1])[1].replace(",", ""))


def instructions(program, name):
    """Instructions beyond those at the smallest size, which are mostly the start of the process.

    A thread that waits for work adds to some counts, and never takes from one. So a curve that does not hold is
    counted again, and the least count of each size stays.
    """
    least = []
    for _ in range(1 if (name, "instructions") in KNOWN else COUNTINGS_MAX):
        counted = [counted_instructions(program, name, size) for size in INSTRUCTIONS_AT]
        if None in counted:
            return []
        least = list(map(min, least or counted, counted))
        curve = judged(name, "instructions", list(INSTRUCTIONS_AT[1:]), [n - least[0] for n in least[1:]])
        if curve["holds"]:
            break
    return [curve]


def measured(program, top_of=lambda name: CURVES[name][1], names=CURVES):
    """All curves, up to the size that `top_of` gives for each."""
    def one(name):
        counted = allocations(program, name, top_of(name))
        return counted + (instructions(program, name) if valgrind and name not in NO_VALGRIND else [])
    valgrind = shutil.which("valgrind")
    with ThreadPoolExecutor(2) as pool:
        return [curve for curves in pool.map(one, names) for curve in curves]


def line(curve):
    ends = f"{curve['counts'][0]:,.0f} → {curve['counts'][-1]:,.0f} over {curve['sizes'][0]:,} → {curve['sizes'][-1]:,}"
    fit = (f"{curve['growth']:.3f} ×, at most {FLAT_MAX}" if curve["flat"]
           else f"n^{curve['power']:.3f}, at most {POWER_MAX}")
    known = KNOWN.get((curve["name"], curve["what"]))
    state = "ok   " if curve["holds"] else "known" if known else "WORSE"
    fit += f" ({known})" if known and not curve["holds"] else ""
    return f"{state} {curve['name']} {curve['what']}: {ends}: {fit}"


def all_hold(curves):
    return all(curve["holds"] or (curve["name"], curve["what"]) in KNOWN for curve in curves)


def compile_ours():
    if subprocess.run([SOURCE / "tools/compile", "release", "troupe-curves"]).returncode:
        sys.exit("tools/bench: troupe-curves does not build")
    return SOURCE / "build/release/bin/troupe-curves"


def full(program, folder):
    """All curves up to their largest sizes, with a chart. Returns whether all hold."""
    curves = measured(program)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curves.svg").write_text(curve_chart(curves))
    (folder / "curves.json").write_text(json.dumps(curves, indent=1) + "\n")
    print("\n".join(map(line, curves)))
    note(f"wrote {folder}/curves.svg and .json")
    return all_hold(curves)
