"""Each guarantee is broken on purpose, and the test that watches over it must notice.

Needs a build with TROUPE_CRASH_POINTS; else it says so and ends well. Arguments: the folder of the
programs, and the source folder.
"""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "power"))

from crash_program import Shower, Violation, expect, run  # noqa: E402
from points_test import Points  # noqa: E402
from cut_test import cut  # noqa: E402
from race_test import check_race, race  # noqa: E402


def die_at(points, shower, mutation, name, passings, said):
    """Dies at a place, the mutation in force, until what is wrong is `said`. A run with a guarantee
    broken may also end by itself, before it dies: another passing is tried then."""
    other = None
    for n in passings:
        try:
            points.die(shower, "sync", name, n, TROUPE_MUTATION=mutation)
        except Violation as e:
            if re.search(said, str(e)):
                raise
            other = e
    if other:
        raise other


def no_sync(points, folder, shower):
    cut(points.program, folder, "sync", 0, 1, 7, TROUPE_MUTATION="no_sync")


def two_transactions(points, folder, shower):
    die_at(points, shower, "two_transactions", "request.split", range(2, 12, 3),
           MUTATIONS[two_transactions])


def early_answer(points, folder, shower):
    die_at(points, shower, "early_answer", "commit.before", range(3, 60, 3),
           MUTATIONS[early_answer])


def no_claim(points, folder, shower):
    results = race(points.program, folder, 300, {**os.environ, "TROUPE_MUTATION": "no_claim"})
    check_race(shower.dump(folder), results)


def no_depth_limit(points, folder, shower):
    program = points.program.parent.parent / "tests" / "test_graph"
    done = run([program, "--run_test=graph_msgpack", "--color_output=no"],
               env={**os.environ, "TROUPE_MUTATION": "no_depth_limit"})
    expect(done.returncode == 0, done.returncode, done.stderr[-300:], done.stdout)


# What is said of each: another complaint would be about something else.
MUTATIONS = {no_sync: "lost|can't be read", two_transactions: "half a step",
             early_answer: "lost", no_claim: "a fork", no_depth_limit: "depth"}


def notices(mutation, points, folder, shower):
    try:
        mutation(points, folder, shower)
    except Violation as e:
        print(f"crash_mutation: {mutation.__name__}: {str(e)[:300]}")
        return re.search(MUTATIONS[mutation], str(e)) is not None
    return False


def main(bin_dir):
    program = pathlib.Path(bin_dir).resolve() / "troupe-crash"
    with tempfile.TemporaryDirectory(prefix="troupe-mutation-") as temporary:
        points = Points(program, pathlib.Path(temporary))
        points.prepare()
        if not any(points.points.values()):
            print("crash_mutation: skipped: a build without TROUPE_CRASH_POINTS")
            return
        with Shower(program) as shower:
            missed = [m.__name__ for m in MUTATIONS
                      if not notices(m, points, points.folder / m.__name__, shower)]
    if missed:
        sys.exit(f"crash_mutation: not noticed: {missed}")
    print(f"crash_mutation: ok: {len(MUTATIONS)} of {len(MUTATIONS)} noticed")


if __name__ == "__main__":
    main(sys.argv[1])
