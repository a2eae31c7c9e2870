"""One run over three hosts with one kind of trouble, and the history of it."""
import dataclasses
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from history import FOREVER, Bounds, Fault, History, Loss, check, detections, parse_effects
from hosts import Cluster, Network

RUN_MAX_S = 180  # beyond what the trouble takes
DIALS_MAX = 10  # a second, of a link
VERDICT = re.compile(r"cluster: ([bcd]): (the worker was silent|the worker did not answer|its process has ended|"
                     r"the worker joined again|the worker was restarted)(.*)")
BUSY = "while True: pass"


@dataclasses.dataclass
class Load:
    """The load of the cluster meanwhile."""
    tasks: int
    groups: int
    body_ms: int
    rest_ms: int = 0

    def round_s(self):
        return (3 * self.body_ms * (self.groups > 0) + self.rest_ms) / 1000 + 0.02

    def lasting(self, rounds, seconds):
        """The same for at least so long, with slower bodies or longer rests."""
        factor = max(1.0, seconds / (rounds * self.round_s()))
        if self.rest_ms:
            return dataclasses.replace(self, rest_ms=int(self.rest_ms * factor))
        return dataclasses.replace(self, body_ms=int(self.body_ms * factor))


# On each of the two workers: hardly ever anything, one step at a time, many.
LOADS = {"idle": Load(1, 1, 2, rest_ms=150), "one": Load(0, 2, 20), "many": Load(48, 16, 20)}


class Trouble:
    """The trouble that a cell makes in the cluster, noted as faults."""

    def __init__(self, trial):
        self.trial, self.chance = trial, trial.chance
        self.cluster, self.network = trial.cluster, trial.network

    def now(self):
        return time.monotonic()

    def wait(self, seconds):
        time.sleep(seconds)

    def begin(self, kind, host, **how):
        fault = Fault(kind, host, self.now(), FOREVER, **how)
        self.trial.faults.append(fault)
        return fault

    def over(self, fault):
        fault.end = self.now()

    def freeze(self, host, seconds, **how):
        fault = self.begin("freeze", host, **how)
        self.cluster.signal(host, signal.SIGSTOP)
        self.wait(seconds)
        self.over(fault)
        self.cluster.signal(host, signal.SIGCONT)

    def cut(self, host, seconds, before, after, **how):
        """`before` and `after`: orders to the relay."""
        fault = self.begin("cut", host, **how)
        self.network.order(host, **before)
        self.wait(seconds)
        self.network.order(host, **after)
        self.over(fault)

    def noise(self, host, seconds, before, after):
        self.cut(host, seconds, before, after, is_felt=False, returns=False)
        self.trial.faults[-1].kind = "noise"


class Trial:
    WORKERS = "bc"

    def __init__(self, cell, seed, programs, certificates, folder, rounds, behind_s=8):
        self.cell, self.seed = cell, seed
        self.programs, self.certificates, self.folder = programs, certificates, folder
        self.rounds = cell.rounds or rounds
        self.chance = random.Random(f"{seed} {cell.name}")
        self.dialers = {w: self.chance.choice(["home", "worker"]) for w in self.WORKERS}
        self.dialers["b"] = cell.dialer or self.dialers["b"]
        # It begins in the first quarter, and there should be something to do after it.
        self.load = LOADS[cell.load].lasting(self.rounds, (cell.seconds + behind_s) / 0.75)
        self.faults, self.busy = [], []
        self.network = self.cluster = None
        self.homes = []

    def make_cluster(self):
        return Cluster(self.programs, self.network, self.certificates, self.folder)

    def order(self):
        load = self.load
        return {"rounds": self.rounds, "tasks": load.tasks, "groups": load.groups,
                "body_ms": load.body_ms, "rest_ms": load.rest_ms, "payload": self.cell.payload}

    def start_home(self):
        self.homes.append(self.cluster.start_home(self.cell.groups_here, self.order()))

    def steps(self):
        """(when, number, id) of every step that was reported as durable."""
        return [step for home in self.homes for step in self.cluster.steps_of(home)]

    def wait_for_round(self, number):
        home = self.homes[-1]
        if not home.wait_until(lambda: any(step >= 2 * number for _, step, _ in self.steps()),
                               RUN_MAX_S):
            raise RuntimeError(f"the run does not get to round {number}: {home.err}")
        time.sleep(self.chance.uniform(0, self.load.round_s()))  # anywhere in a round

    def run(self):
        """The violations, and figures: detections in seconds, and so on."""
        self.folder.mkdir()
        with Network(self.dialers, self.seed) as self.network, \
                self.make_cluster() as self.cluster:
            try:
                return self.run_in()
            finally:
                for one in self.busy:
                    one.kill()
                    one.wait()

    def run_in(self):
        if self.cell.busy:
            self.busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
        if self.cell.always:
            self.network.order("b", **self.cell.always)
        begin = time.monotonic()
        for worker in self.WORKERS:
            self.cluster.start_worker(worker)
        self.start_home()
        if not self.cell.early:
            self.wait_for_round(self.chance.randint(1, max(1, self.rounds // 4)))
        self.cell.script(Trouble(self))
        finished = self.cluster.finished(self.homes[-1], RUN_MAX_S)
        carried = {w: self.network.order(w, way="up") for w in self.WORKERS}
        for host in list(self.cluster.running):
            self.cluster.kill(host)
        history = self.history(finished)
        wrong = [*check(history, self.cell.bounds), *self.more_wrong(history)]
        dials_max = DIALS_MAX * (time.monotonic() - begin)
        wrong += [f"{w} was dialled {c['connections']} times, at most {dials_max:.0f} are no storm"
                  for w, c in carried.items() if c["connections"] > dials_max]
        for process in self.cluster.ended:
            if process.code not in process.codes:
                wrong.append(f"{process.host} ended with {process.code}: {process.err[-3:]}")
        if wrong:
            self.keep(carried)
        else:
            shutil.rmtree(self.folder)
        return wrong, self.figures(history, carried)

    def more_wrong(self, _):
        """Violations that this kind of trial adds, a sentence each."""
        return []

    def losses(self):
        out = []
        for home in self.homes:
            for when, line in home.err:
                if found := VERDICT.search(line):
                    out.append(Loss(when, found[1], found[2] + found[3]))
        return out

    def history(self, finished):
        ended = finished if finished else FOREVER
        # A home that has finished still sees its workers come and end until it is gone.
        losses = [loss for loss in self.losses() if loss.when <= ended]
        return History(self.rounds, self.load.tasks, self.load.groups,
                       parse_effects(self.cluster.effects_of()),
                       self.cluster.show(), [(when, id_) for when, _, id_ in self.steps()],
                       self.faults, losses, ended, self.cell.groups_here)

    def figures(self, history, carried):
        steps = sorted(when for when, _ in history.acknowledged)
        begin = min((f.begin for f in self.faults), default=steps[0])
        gaps = [b - a for a, b in zip(steps, steps[1:]) if b > begin]
        again = len(history.executions) - len({e.key for e in history.executions})
        return {"detected_s": [took for _, took in detections(history) if took < FOREVER],
                "longest_gap_s": max(gaps, default=0), "again": again,
                "losses": len(history.losses), "seconds": steps[-1] - steps[0],
                "connections": {w: c["connections"] for w, c in carried.items()}}

    def keep(self, carried):
        """The facts that a person wants to see of a failed run."""
        with (self.folder / "trial.txt").open("w") as file:
            print(f"cell {self.cell.name}, seed {self.seed}, dialers {self.dialers}, {carried}\n"
                  f"{self.load}", file=file)
            for fault in self.faults:
                print(fault, file=file)
            lines = [(when, f"{p.host}: {line}") for p in self.cluster.ended
                     for when, line in [*p.out, *p.err]]
            for when, line in sorted(lines):
                print(f"{when:.3f} {line}", file=file)


__all__ = ["Bounds", "Trial", "Trouble"]
