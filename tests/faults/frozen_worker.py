"""A worker that stood still begins nothing that another one has done: three workers with groups of
many steps, one is stopped until another one has done its next steps, and resumes.

    python3 -B tests/faults/frozen_worker.py BIN [TIMES]

A step counts as stale when it begins in the process that was stopped after it ended in another one.
Another worker rightly repeats steps that ended there and were not stored before the stop.
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
GROUPS, STEPS = 12, [150]
ALL = GROUPS * STEPS[0]
FIRST_STEPS = 5  # it has done so many of a group


def freeze_once(bin_):
    folder = tempfile.mkdtemp(prefix="troupe-frozen-")
    cluster = Noted(bin_, folder, WORKERS, CAPACITY)
    try:
        with cluster.start_home(GROUPS, STEPS) as home:
            for worker in cluster.workers:
                cluster.let_through(worker, CAPACITY * FIRST_STEPS)
            if not home.wait_until(lambda: any(n.step > FIRST_STEPS for n in cluster.noted()), 30):
                return f"no worker got anything: {home.err.lines[-3:]}", []
            busy = max(n.pid for n in cluster.noted() if n.step > FIRST_STEPS)
            frozen = next(w for w in cluster.workers if w.process.pid == busy)
            frozen.signal(signal.SIGSTOP)
            for worker in cluster.workers:
                if worker is not frozen:
                    cluster.let_through(worker, ALL)
            reached = {n.group: n.step for n in cluster.noted() if n.pid == busy}
            if not home.wait_until(lambda: any(
                    n.what == "E" and n.pid != busy and n.step > reached.get(n.group, ALL) + FIRST_STEPS
                    for n in cluster.noted())):
                return f"no worker took over: {home.err.lines[-3:]}", []
            cluster.let_through(frozen, ALL)
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
