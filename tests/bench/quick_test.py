"""Each workload of troupe-bench computes the right result, and ends in the state of bench/expected_states.json.

Arguments: the folder of the programs, the source folder.
"""
import pathlib
import sys

programs, source = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(source / "bench/suite"))
import states  # noqa: E402

# The judgement itself.
expected = {"a": "1", "b": None}
for got, wanted in (({"a": "1", "b": None}, 0), ({"a": "2", "b": None}, 1), ({"a": "1"}, 1),
                    ({"a": "1", "b": None, "c": None}, 1)):
    if len(list(states.differences(expected, got, True))) != wanted:
        sys.exit(f"{got}: wanted {wanted} differences")

sys.exit(not states.check(programs / "troupe-bench"))
