"""Homes and workers of the graph of noted_graphs.cpp, and what its steps noted."""
import collections
import json
import os
import pathlib
import socket

from programs import Lines, Program

Step = collections.namedtuple("Step", "what group step pid ns")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Noted:
    """Workers with fixed addresses, and a home of theirs."""

    def __init__(self, bin_, folder, workers, capacity):
        self.troupe = pathlib.Path(bin_) / "troupe"
        self.graph = f"{pathlib.Path(bin_).parent / 'lib' / 'libnoted_graphs.so'}:noted"
        self.folder = pathlib.Path(folder)
        self.gates = {}  # the ends of pipes that let steps through, by process
        (self.folder / "gates").mkdir()
        self.notes = Lines(self.pipe("notes"))
        self.capacity = capacity
        self.at = [f"127.0.0.1:{free_port()}" for _ in range(workers)]
        self.workers = [self.start_worker(i) for i in range(workers)]

    def pipe(self, name):
        os.mkfifo(self.folder / name)
        return os.open(self.folder / name, os.O_RDWR | os.O_CLOEXEC)

    def let_through(self, worker, steps):
        """So many steps of a worker end; a step that begins later may be one of them."""
        os.write(self.gates[worker.process.pid], b"." * steps)

    def start_worker(self, i):
        worker = Program([self.troupe, "worker", self.graph, "--plain", "--json", "--name", f"w{i}",
                          "--listen", self.at[i], "--capacity", str(self.capacity)])
        self.gates[worker.process.pid] = self.pipe(f"gates/{worker.process.pid}")
        if not worker.wait_until(lambda: worker.out.lines):
            raise AssertionError(f"worker {i} does not listen: {worker.err.lines}")
        return worker

    def start_home(self, groups, steps):
        state = {"notes": str(self.folder / "notes"), "gates": str(self.folder / "gates"),
                 "groups": groups, "steps": steps}
        where = [flag for at in self.at for flag in ("--worker", at)]
        home = Program([self.troupe, "run", self.graph, "--input", json.dumps(state), "--plain", "--json",
                        "--recursion-limit", "1000", "--data", self.folder / "data", "--thread", "t",
                        *where])
        home.watched.append(self.notes)
        return home

    def noted(self):
        words = [line.split() for line in self.notes.lines]
        return [Step(w[0], *map(int, w[1:])) for w in words]

    def holds(self, worker):
        """Whether a step of a worker has begun and not ended."""
        what = [n.what for n in self.noted() if n.pid == worker.process.pid]
        return what.count("B") > what.count("E")

    def close(self):
        for worker in self.workers:
            worker.__exit__()
        for end in [self.notes.fd, *self.gates.values()]:
            os.close(end)


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
