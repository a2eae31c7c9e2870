"""Fails when <troupe/troupe.hpp> costs its users too much to compile.

A file with all of troupe may take LIMIT times the compiler's instructions that a file with STANDARD takes: those
headers are in most programs. Valgrind counts them, so other work on the machine does not decide. Arguments: the
compiler and its flags.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LIMIT = 1.5
STANDARD = ["string", "vector", "map", "functional", "memory", "variant", "optional", "chrono"]


def instructions(headers):
    """Those of the compiler for a file that includes these headers."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "file.cpp").write_text(
            "".join(f"#include <{header}>\n" for header in headers) + "\nint main() {}\n")
        counted = subprocess.run(
            [*sys.argv[1:], "-std=c++20", "-O0", "-S", "file.cpp", "-o", "/dev/null", "-wrapper",
             "valgrind,--tool=cachegrind,--cache-sim=no,--cachegrind-out-file=/dev/null"],
            cwd=folder, check=True, stderr=subprocess.PIPE, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", counted)[1].replace(",", ""))


if shutil.which("valgrind") is None:
    print("compile_time: skipped, valgrind is missing")
    sys.exit(77)
with ThreadPoolExecutor(2) as pool:
    troupe, standard = pool.map(instructions, (["troupe/troupe.hpp"], STANDARD))
print(f"{troupe:,} instructions, {troupe / standard:.3f} times the standard headers' {standard:,}, limit {LIMIT}")
sys.exit(troupe >= LIMIT * standard)
