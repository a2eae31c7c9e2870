"""Functions of libtroupe that a first run calls stand side by side, so that few pages of it are in memory.

The kernel maps pieces of 64 KiB around what is touched. Valgrind says which functions run, tools/cmake/first_run.txt
has their names, and the build puts them together. `--update` writes the names anew. They belong to the compiler of
bench/instructions.json; with others the test is skipped.

usage: first_run_test.py PROGRAMS SOURCE [--update]
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from built_with import built_with

programs, source = map(pathlib.Path, sys.argv[1:3])
update = sys.argv[3:] == ["--update"]
file = source / "tools/cmake/first_run.txt"
library = (programs.parent / "lib/libtroupe.so").resolve()
PIECE = 64 * 1024
PIECES_MAX = 16  # 0.5 MB of functions take 12, and what a change has moved away takes a few more
QUICK = re.compile("run_actor13change_inline")  # called where an update is so short as it is without Valgrind


def skip(why):
    print(f"first run: skipped, {why}")
    sys.exit(77)


def functions_called():
    """The names, as the linker knows them, of all functions of the library that a first run calls."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        done = subprocess.run(["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}",
                               programs / "troupe-bench-core", "--child", "first_invoke"],
                              capture_output=True, text=True, timeout=600)
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        lines = out.read_text().splitlines()
    names, called, object_file = {}, set(), ""
    for line in lines:  # a name is written once, and its number after that
        if not (said := re.match(r"(c?)(ob|fn|fi|fl|fe)=\((\d+)\)(?: (.*))?$", line)):
            continue
        called_from, kind, number, name = said.groups()
        key = (kind if kind in ("ob", "fn") else "file", number)
        if name is not None:
            names[key] = name
        if not called_from and kind == "ob":
            object_file = names[key]
        elif not called_from and kind == "fn" and object_file == str(library):
            called.add(names[key].split("'")[0])  # 'N: a cycle
    return called


def places():
    """Address -> size and names, of each function of the library."""
    table = subprocess.run(["nm", "--defined-only", "--print-size", library], capture_output=True, text=True, check=True)
    found = collections.defaultdict(lambda: (0, []))
    for line in table.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwW":
            address = int(fields[0], 16)
            found[address] = (int(fields[1], 16), [*found[address][1], fields[3]])
    return found


if shutil.which("valgrind") is None:
    skip("valgrind is missing")
if not (programs.parent / "troupe_core_text_order.ld").exists():
    skip("this linker or build type keeps an order of its own")
known = json.loads((source / "bench/instructions.json").read_text())["compiler"]
if (here := built_with(programs)["compiler"]) != known:
    skip(f"the names are of {known}; this is {here}")

called = functions_called()
of_run = {address: place for address, place in places().items()
          if called.intersection(place[1]) or any(map(QUICK.search, place[1]))}
if update:
    # A section has the name that a constructor has in a base, which is the last one of its names. A thunk may
    # lie in the section of its function.
    names = {max(name for name in names if not name.endswith(".localalias")) for _, names in of_run.values()}
    names |= {re.sub(r"^_ZThn\d+_", "_Z", name) for name in names}
    file.write_text("\n".join(sorted(names)) + "\n")
    print(f"wrote {file}")
    sys.exit()

pieces = {at // PIECE for start, (size, _) in of_run.items() for at in (*range(start, start + size, PIECE), start + size - 1)}
size = sum(size for size, _ in of_run.values())
print(f"{len(of_run)} functions of {size:,} bytes lie in {len(pieces)} pieces of {PIECE:,} bytes")
if len(of_run) < 100:
    sys.exit("a first run calls more than that: the names of Valgrind and nm differ")
if len(pieces) > PIECES_MAX:
    sys.exit(f"at most {PIECES_MAX}; write the names anew: tests/bench/first_run_test.py PROGRAMS SOURCE --update")
