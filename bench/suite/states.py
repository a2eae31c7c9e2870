"""One quick run of all our workloads: each must be right, with the final state of bench/expected_states.json."""
import json
import os
import pathlib
import subprocess
import sys

from programs import SOURCE, note

EXPECTED = SOURCE / "bench/expected_states.json"
SECONDS = 600
# Not the floors of the machine, and not the calls that must all be open at one moment: a busy machine breaks those.
CHOSEN = "^(?!floor_|model_streams_)"


def key_of(line):
    return " ".join(filter(None, (line["workload"], line.get("variant"))))


def run_once(program, names):
    """The lines of one run of each workload, on a store in memory where there is one."""
    scratch = pathlib.Path("/dev/shm")
    where = ["--scratch", str(scratch)] if os.access(scratch, os.W_OK) else []
    done = subprocess.run([program, "--iterations", "1", *where, "--filter", names or CHOSEN], capture_output=True,
                          text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, [line for line in done.stderr.splitlines() if line.startswith("troupe-bench: ")], done.returncode


def differences(expected, got, all_of_them):
    """Complaints about the states of a run. Both are maps of workload -> digest or null."""
    for key, state in got.items():
        if key not in expected:
            yield f"{key}: bench/expected_states.json lacks it"
        elif expected[key] != state:
            yield f"{key}: the final state is {state}, expected {expected[key]}"
    if all_of_them:
        for key in expected.keys() - got.keys():
            yield f"{key}: it did not run"


def check(program, names=None, write=False):
    """Runs all workloads once. Returns whether all were right. `write` replaces the expected states."""
    lines, failed, code = run_once(program, names)
    got = {key_of(line): line.get("state") for line in lines}
    if write:
        EXPECTED.write_text(json.dumps(dict(sorted(got.items())), indent=1) + "\n")
        note(f"wrote {EXPECTED}")
    wrong = failed + list(differences(json.loads(EXPECTED.read_text()), got, not names))
    if code and not wrong:
        wrong = [f"troupe-bench ended with {code}"]
    for line in wrong:
        print(line)
    print(f"{len(got)} workloads, {sum(state is not None for state in got.values())} final states: "
          + ("wrong" if wrong else "ok"))
    sys.stdout.flush()
    return not wrong
