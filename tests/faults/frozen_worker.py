"""A worker that stood still begins nothing that another one has done: three workers with groups of
many steps, one is stopped for longer than its lease, and goes on.

    python3 -B tests/faults/frozen_worker.py BIN [TIMES]

A step counts as stale when it begins in the process that was stopped after it ended in another one. What
ended there and was not stored before the stop, another worker rightly does again.
"""
import pathlib
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))
from noted_steps import Noted, begun_stale  # noqa: E402
from programs import programs_folder  # noqa: E402

WORKERS, CAPACITY = 3, 12
GROUPS, STEPS, STEP_MS = 12, [150], 20
FIRST_STEPS = 5  # it has done so many of a group
STANDS_S = 4
BEGINS_S = 30


def freeze_once(bin_):
    folder = tempfile.mkdtemp(prefix="troupe-frozen-")
    cluster = Noted(bin_, folder, WORKERS, CAPACITY)
    try:
        with cluster.start_home(GROUPS, STEPS, STEP_MS) as home:
            if not home.wait_until(lambda: any(n.step > FIRST_STEPS for n in cluster.noted()), BEGINS_S):
                return f"no worker got anything: {home.err.lines[-3:]}", []
            busy = max(n.pid for n in cluster.noted() if n.step > FIRST_STEPS)
            frozen = next(w for w in cluster.workers if w.process.pid == busy)
            frozen.signal(signal.SIGSTOP)
            home.wait_until(lambda: False, STANDS_S)  # shorter only if the home ends
            frozen.signal(signal.SIGCONT)
            code = home.end()
            return (f"the home ended with {code}: {home.err.lines[-3:]}" if code else ""), \
                begun_stale(cluster.noted(), busy)
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    bin_ = programs_folder(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = stale = 0
    for i in range(times):
        why, begun = freeze_once(bin_)
        failed += bool(why)
        stale += bool(begun)
        print(f"{i}: {why or 'done'}, {len(begun)} stale: {begun[:2]}", flush=True)
    print(f"{times} freezes: {stale} with stale begins, {failed} runs failed")
    return 1 if stale or failed else 0


if __name__ == "__main__":
    sys.exit(main())
