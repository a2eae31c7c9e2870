"""Homes and workers of the graph of noted_graphs.cpp, and what its steps noted."""
import collections
import fcntl
import json
import os
import pathlib
import socket

from programs import Lines, Program, json_lines

Step = collections.namedtuple("Step", "what group step pid ns")
UNREAD_MAX = 1 << 20  # bytes of notes; a pipe that is full would hold bodies


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Noted:
    """Workers with fixed addresses, and a home of theirs. Steps write their notes to a pipe, so that whoever
    waits for something of the home sees them when they come."""

    def __init__(self, bin_, folder, workers, capacity):
        self.troupe = pathlib.Path(bin_) / "troupe"
        self.graph = f"{pathlib.Path(bin_).parent / 'lib' / 'libnoted_graphs.so'}:noted"
        self.notes = pathlib.Path(folder) / "notes"
        os.mkfifo(self.notes)
        self.file = os.open(self.notes, os.O_RDWR)
        fcntl.fcntl(self.file, fcntl.F_SETPIPE_SZ, UNREAD_MAX)
        self.lines = Lines(self.file)
        self.capacity = capacity
        self.at = [f"127.0.0.1:{free_port()}" for _ in range(workers)]
        self.workers = [self.start_worker(i) for i in range(workers)]

    def start_worker(self, i):
        worker = Program([self.troupe, "worker", self.graph, "--plain", "--json", "--name", f"w{i}",
                          "--listen", self.at[i], "--capacity", str(self.capacity)])
        if not worker.wait_until(lambda: worker.out.lines):
            raise AssertionError(f"worker {i} does not listen: {worker.err.lines}")
        return worker

    def start_home(self, groups, steps, ms):
        state = {"notes": str(self.notes), "groups": groups, "steps": steps, "ms": ms}
        where = [flag for at in self.at for flag in ("--worker", at)]
        home = Program([self.troupe, "run", self.graph, "--input", json.dumps(state), "--plain", "--json",
                        "--recursion-limit", "1000", "--data", self.notes.parent / "data", "--thread", "t",
                        *where])
        home.watched.append(self.lines)
        return home

    def noted(self):
        self.lines.read()
        words = [line.split() for line in self.lines.lines]
        return [Step(w[0], *map(int, w[1:])) for w in words]

    def close(self):
        for worker in self.workers:
            worker.__exit__()
        os.close(self.file)


def begun_again(notes):
    """Steps that were begun more than once."""
    begun = collections.Counter((n.group, n.step) for n in notes if n.what == "B")
    return sorted(step for step, times in begun.items() if times > 1)


def begun_stale(notes, pid):
    """Begins in this process of steps that another one had ended before."""
    ended = {}
    for n in sorted(notes, key=lambda n: n.ns):
        if n.what == "E" and n.pid != pid:
            ended.setdefault((n.group, n.step), n)
    return [n for n in notes if n.what == "B" and n.pid == pid and (n.group, n.step) in ended
            and ended[n.group, n.step].ns < n.ns]
