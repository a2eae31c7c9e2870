"""Several processes at one store: two that run the same thread, and readers while others write.

Arguments: the folder of the programs, the source folder (or --help).
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from crash_program import Shower, Violation, expect, run, undisturbed
from store_check import chains, check_chain, without_copies


class Racer:
    """Runs a thread again and again, beside another one; reports how each run ended."""

    def __init__(self, program, data, runs, who, environment):
        self.process = subprocess.Popen(
            [str(program), "race", str(data), str(runs), who], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_until_ready(self):
        expect(self.process.stdout.readline() == "ready\n", "not ready")

    def results(self):
        out, complaint = self.process.communicate()
        expect(self.process.returncode == 0, "ended with", self.process.returncode, complaint)
        return [line.split() for line in out.splitlines()]


def race(program, data, runs, environment):
    """The results of all runs of both."""
    racers = [Racer(program, data, runs, who, environment) for who in "ab"]
    for racer in racers:
        racer.wait_until_ready()
    for racer in racers:
        racer.process.stdin.write("go\n")
        racer.process.stdin.flush()
    return [result for racer in racers for result in racer.results()]


def check_race(dump, results):
    """One commit for each parent: no fork; a run's entry is there once if it ended well, at most
    once otherwise."""
    (chain,) = chains(dump).values()
    check_chain(chain)
    log = chain[-1]["log"] or []
    expect(len(set(log)) == len(log), "an entry twice")
    done = [name for how, name in results if how == "ok"]
    expect(set(done) <= set(log), "a finished run is lost", set(done) - set(log))
    refused = len(results) - len(done)
    expect(refused > len(results) // 100, "no race", refused)
    return len(chain), refused


class Racing:
    """A process that resumes a thread, and stops at its gates."""

    def __init__(self, program, folder, who, depth, how):
        self.gates, self.who = folder, who
        self.process = subprocess.Popen(
            [str(program), "take_over", str(folder / "data"), str(folder / "notes"), str(folder),
             who, str(depth), how], text=True, stdout=subprocess.PIPE)

    def held_at(self, node):
        """Waits until it stops there. It continues when this is closed."""
        return open(self.gates / f"{self.who}.{node}", "w")

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """The last line it printed."""
        lines = self.process.communicate()[0].splitlines()
        expect(self.process.returncode == 0, "ended with", self.process.returncode)
        return lines[-1] if lines else None


def check_takeover(program, folder, depth, shower):
    """A process resumes a thread while another one is in a step of it: stored tasks do not run
    again, the others are lost to the other process, and one of them continues."""
    folder.mkdir()
    for gate in ("a.second", "a.third", "b.second"):
        os.mkfifo(folder / gate)
    first = Racing(program, folder, "a", depth, "all")
    expect(first.line().startswith("T "), "the first task is not reported")
    at_second, at_third = first.held_at("second"), first.held_at("third")
    other = Racing(program, folder, "b", depth, "alone")
    other_at_second = other.held_at("second")
    at_third.close()
    answer = first.line()
    other_at_second.close()
    ended = other.end()
    at_second.close()
    expect(answer == "conflict", "who was overtaken in a step stored a task", answer)
    first.end()
    expect(ended == "ok", "who took over", ended)
    committed = {}
    for kind, who, *rest in map(str.split, (folder / "notes").read_text().splitlines()):
        if kind == "T":
            committed.setdefault(rest[-1], who)
        else:
            expect(rest[-1] not in committed, "a stored task ran again", who, rest)
    dump = shower.dump(folder / "data")
    for chain in chains(dump).values():
        check_chain(chain)
    log = chains(dump)["t", ""][-1]["log"]
    expect(sorted(log) == ["first", "join", "second", "third"], "not each task once", log)


def read_while_writing(program, folder, threads):
    """How often a reader looked, and how many checkpoints it saw in all."""
    with Shower(program) as shower:
        expected = undisturbed(program, folder / "undisturbed", "sync", shower)
    data = folder / "shared"
    with Shower(program) as shower:
        looks = seen = 0
        for thread in range(threads):
            command = [str(program), "run", str(data), str(folder / "notes")]
            writers = [subprocess.Popen([*command, how, f"{how}{thread}"])
                       for how in ("sync", "async")]
            while any(writer.poll() is None for writer in writers):
                if not data.exists():
                    continue
                dump = shower.dump(data)  # by several reads: copies are pruned between them
                dump = without_copies(dump)
                expected.check_store(dump)
                looks, seen = looks + 1, seen + len(dump)
            expect(all(writer.wait() == 0 for writer in writers), "a writer failed")
        for key, chain in chains(without_copies(shower.dump(data))).items():
            expect(key[1] or chain[-1]["step"] == expected.last_step, "not finished", key)
    return looks, seen


def check_slow_saver(program, steps):
    """An async run does not run ahead of its saver: one checkpoint waits, and the memory is flat."""
    done = run([program, "slow", steps])
    expect(done.returncode == 0, done.stderr)
    waited, requests, early, late = map(int, done.stdout.split())
    expect(waited == 1, "checkpoints that waited at once", waited)
    expect(requests > steps, "not every step was stored", requests)
    expect(late - early < 1024, "the memory grew", early, late)
    return late - early


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--runs", type=int, default=500, help="of each of the two")
    options.add_argument("--threads", type=int, default=4, help="that are written under readers")
    options.add_argument("--steps", type=int, default=5000, help="over a slow saver")
    options = options.parse_args()
    program = options.bin.resolve() / "troupe-crash"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-race-"))
    begin = time.monotonic()
    try:
        results = race(program, folder / "race", options.runs, os.environ)
        with Shower(program) as shower:
            length, refused = check_race(shower.dump(folder / "race"), results)
            signal.alarm(120)  # who opens a gate that nobody comes to waits for ever
            for depth in (0, 2):
                check_takeover(program, folder / f"takeover{depth}", depth, shower)
            signal.alarm(0)
        growth = check_slow_saver(program, options.steps)
        looks, seen = read_while_writing(program, folder, options.threads)
    except Violation as e:
        sys.exit(f"crash_race: see {folder}: {e}")
    shutil.rmtree(folder)
    print(f"crash_race: ok: {len(results)} runs, {refused} refused, {length} checkpoints in one "
          f"line; two taken over in a step; {looks} looks of a reader at {seen} checkpoints; {growth} KiB more behind "
          f"{options.steps} steps over a slow saver; "
          f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
