"""Work grows at most in proportion to sizes, and not at all with what did not change.

Counts allocations, bytes and instructions, which no other program can disturb (bench/suite/curves.py).
Arguments: the folder of the programs, the source folder.
"""
import pathlib
import sys

programs, source = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(source / "bench/suite"))
import curves  # noqa: E402

# The judgement itself: a square is found, and so is growth where nothing changed.
sizes = [10, 100, 1000]
if curves.judged("square", "bytes", sizes, [n * n for n in sizes])["holds"]:
    sys.exit("a quadratic count holds")
if not curves.judged("line", "bytes", sizes, [50 + 7 * n for n in sizes])["holds"]:
    sys.exit("a linear count does not hold")
if curves.judged("flat", "flat_bytes", sizes, [100, 100, 106])["holds"]:
    sys.exit("a count that grows by 6 % is flat")
if not curves.judged("flat", "flat_bytes", sizes, [100, 101, 104])["holds"]:
    sys.exit("a count that grows by 4 % is not flat")

found = curves.measured(programs / "troupe-curves", lambda name: curves.TOPS_OF_TEST.get(name, curves.TOP_OF_TEST))
print("\n".join(map(curves.line, found)))
sys.exit(not curves.all_hold(found))
