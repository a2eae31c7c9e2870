"""Fails when <troupe/troupe.hpp> costs its users too much to compile.

A file with all of troupe may take LIMIT times the compiler's CPU time that a file with STANDARD
takes: those headers are in most programs. Both are compiled in turns, and the best of each counts,
so that other work on the machine does not decide: turns go on until the limit holds. Arguments: the compiler and its flags.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

LIMIT = 1.5
TURNS = 24
STANDARD = ["string", "vector", "map", "functional", "memory", "variant", "optional", "chrono"]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_once(folder, headers):
    pathlib.Path(folder, "file.cpp").write_text(
        "".join(f"#include <{header}>\n" for header in headers) + "\nint main() {}\n")
    before = cpu_seconds()
    subprocess.run([*sys.argv[1:], "-std=c++20", "-O0", "-c", "file.cpp", "-o", "file.o"],
                   cwd=folder, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    return cpu_seconds() - before


standard = troupe = float("inf")
with tempfile.TemporaryDirectory() as folder:
    for turn in range(TURNS):
        standard = min(standard, compile_once(folder, STANDARD))
        troupe = min(troupe, compile_once(folder, ["troupe/troupe.hpp"]))
        if turn > 1 and troupe < LIMIT * standard:
            break

print(f"{troupe:.2f} s of CPU, {troupe / standard:.2f} times the standard headers' "
      f"{standard:.2f} s, limit {LIMIT}")
sys.exit(troupe >= LIMIT * standard)
