"""Rounds of programs in turn, and the figures that come of them."""
import datetime
import os
import platform
import statistics
import subprocess

from programs import note

CALL_PATHS = (None, "sync", "async")  # ways to call that give the same; other variants guarantee less


def rounds_of(programs, names, rounds, more):
    """The result lines of each program, after `rounds` rounds: A B A B, so that all see the same machine."""
    lines = {program.name: [] for program in programs}
    for turn in range(rounds):
        note(f"round {turn + 1} of {rounds}")
        for program in programs:
            lines[program.name] += program.run(names, more.get(program.name, ()))
    return lines


def best_path(lines):
    """The figures of a workload: those of its fastest call path. None without a line."""
    paths = {}
    for line in lines:
        if line.get("variant") in CALL_PATHS:
            paths.setdefault(line.get("variant"), []).append(line)
    if not paths:
        return None
    best = min(paths.values(), key=lambda one: min(line["min"] for line in one))
    return {"min": min(line["min"] for line in best), "median": statistics.median(line["median"] for line in best),
            "samples": sum(line["runs"] for line in best), "unit": best[0]["unit"]}


def figures(lines, names):
    """workload -> program -> figures, for workloads that at least one program has."""
    table = {}
    for name in names:
        row = {}
        for program, all_lines in lines.items():
            got = best_path([line for line in all_lines if line["workload"] == name])
            if got:
                row[program] = got
        if row:
            table[name] = row
    return table


def ratio(row, ours, kind="min"):
    """(the best rival, its figure over ours): above 1, ours is better. None without a rival."""
    rivals = {name: got[kind] for name, got in row.items() if name != ours and got[kind] > 0}
    if ours not in row or not rivals or row[ours][kind] <= 0:
        return None
    best = min(rivals, key=rivals.get)
    return best, rivals[best] / row[ours][kind]


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.splitlines()
    return {"processor": model, "cores": os.cpu_count(), "memory_gib": round(memory),
            "kernel": platform.release(), "load": round(os.getloadavg()[0], 1),
            "compiler": compiler[0] if compiler else "unknown", "date": datetime.date.today().isoformat()}
