"""Samples of the Python peers: the rules of bench/README.md, one JSON line a result."""
import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

RUNS_MIN, RUNS_MAX = 3, 25
SHORT_RUN_US, BATCH_US = 100, 10_000  # shorter runs are timed in batches of at least BATCH_US


class WrongResult(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise WrongResult(f"wrong result: {what}")


def time_us(run):
    begin = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - begin) / 1000


class Sampler:
    def __init__(self, seconds, runs_max=RUNS_MAX):
        self.seconds, self.runs_max = seconds, runs_max

    def each(self, one):
        """Samples of what `one` returns, after one that does not count."""
        one()
        samples, begin = [], time.perf_counter()
        while len(samples) < RUNS_MIN or (len(samples) < self.runs_max
                                          and time.perf_counter() - begin < self.seconds):
            samples.append(one())
        return samples

    def timed(self, run, check):
        """Samples of the time of one `run`; for a short one, means of batches. `check` is not timed."""
        run()
        check()
        count, batch_us = 1, time_us(run)
        if batch_us < SHORT_RUN_US:
            count = max(1, int(BATCH_US * 1.2 / max(batch_us, 0.1)))

        def batch():
            for _ in range(count):
                run()

        def one():
            us = time_us(batch) / count
            check()
            return us
        return self.each(one)


class Scratch:
    """A new folder on a local disk for each store; removed at the end of the scope."""
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="troupe-bench-peer-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def bytes_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def main(runtime, workloads):
    """Runs `workloads`: tuples of name, unit, variant and a function of a Sampler that returns samples."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", default="", help="only workloads whose name this expression finds")
    parser.add_argument("--seconds", type=float, default=3, help="for the samples of a workload")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    failed = False
    for name, unit, variant, run in workloads:
        if not re.search(arguments.filter, name):
            continue
        if arguments.list:
            print(name)
            continue
        try:
            samples = run(Sampler(arguments.seconds))
        except Exception as error:  # one workload that fails does not end the others
            print(f"{runtime}: {name}: {type(error).__name__}: {error}"[:400], file=sys.stderr, flush=True)
            failed = True
            continue
        line = {"workload": name, "unit": unit, "min": round(min(samples), 3),
                "median": round(statistics.median(samples), 3), "runs": len(samples), "runtime": runtime}
        if variant:
            line["variant"] = variant
        print(json.dumps(line), flush=True)
    sys.exit(failed)
