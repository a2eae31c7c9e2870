"""Trials with the shipped programs: `troupe run` and `troupe worker`, with the graph of network_library.cpp."""
import dataclasses
import json
import os
import re
import time

from history import FOREVER, History, check, check_again, expected_log, first, parse_effects, recoveries
from hosts import DEADLINE_S, DIAL_PORT, HOME_PORT, HOSTS, JOIN_PORT, WORKER_PORT, Cluster, run
from trial import LOADS, Load, Trial

NOTHING_STORED, STORAGE = 6, 5  # how `troupe run` ends; tools/troupe/exit_codes.hpp
LOST_THREAD = "another run has taken it over"
STEP = re.compile(r'"checkpoint_id":"([^"]+)".*?"step":(-?\d+)')


@dataclasses.dataclass
class Shared(Load):
    """A load that the places of all workers share."""
    places: int = 6

    def round_s(self):
        bodies = self.tasks + 3 * self.groups
        return max(bodies / self.places, 3) * self.body_ms / 1000 + 0.02


LOADS["shared"] = Shared(48, 4, 20)
LOADS["long groups"] = Shared(0, 12, 20)
LOADS["short groups"] = Shared(0, 48, 5)


class Programs(Cluster):
    """The home and its workers as shipped. `place`: flags that name where threads are kept."""

    def __init__(self, programs, network, certificates, folder, capacity, durability, place=()):
        super().__init__(programs, network, certificates, folder, capacity)
        self.troupe = programs / "troupe"
        self.graph = f"{programs.parent / 'lib' / 'libnetwork_graphs.so'}:network"
        self.durability, self.place = durability, place

    def tls(self, host):
        at = str(self.certificates.of(host))
        return ["--tls-cert", at + ".pem", "--tls-key", at + ".key", "--tls-ca",
                self.certificates.folder / "ca.pem"]

    def environment(self, host):
        return {**os.environ, "TROUPE_NETWORK_EFFECTS": str(self.effects), "TROUPE_NETWORK_NAME": host}

    def start_worker(self, host):
        dials = self.network.dialers[host] == "worker"
        at = ["--listen", "", "--join", f"{HOSTS[host]}.1:{JOIN_PORT}"] if dials \
            else ["--listen", f"{HOSTS[host]}.2:{WORKER_PORT}"]
        return self.start(host, [self.troupe, "worker", self.graph, "--name", host, "--capacity",
                                 self.capacity, "--json", *at, *self.tls(host)],
                          '{"type":"worker"', env=self.environment(host))

    def start_home(self, groups_here, order, data=None):
        """`data`: where another home keeps its thread."""
        assert not groups_here, "the library has groups on workers"
        dialled = [w for w, dialer in self.network.dialers.items() if dialer == "home"]
        at = [flag for w in dialled for flag in ["--worker", f"{HOSTS['a']}.1:{DIAL_PORT[w]}"]]
        if len(dialled) < len(self.network.dialers):
            at += ["--listen", f"{HOSTS['a']}.2:{HOME_PORT}"]
        place = ["--data", data] if data else self.place or ["--data", self.data]
        return self.start("a", [self.troupe, "run", self.graph, *place, "--thread", "t", "--input",
                                json.dumps(order), "--once", "--durability", self.durability, "--json",
                                "--stream", "checkpoints", "--recursion-limit", 100_000, *at,
                                *self.tls("a")],
                          "", env=self.environment("home"))

    @staticmethod
    def steps_of(home):
        found = [(when, STEP.search(line, 0, 400)) for when, line in list(home.out)
                 if line.startswith('{"type":"checkpoints"')]
        return [(when, int(words[2]), words[1]) for when, words in found]

    @staticmethod
    def finished(home, seconds):
        line = home.wait_for('{"type":"result"', seconds)
        if line:
            home.process.wait(DEADLINE_S)
        return line and line[0]

    def output(self, home):
        """The log of the result; None: it has none."""
        line = home.wait_for('{"type":"result"', 0)
        return line and json.loads(line[1])["output"]["log"]

    def ask(self, *arguments):
        """A command of the operator, on the home's host."""
        return run(["ip", "netns", "exec", self.network.name("a"), self.troupe, *arguments])

    def drain(self, worker):
        return self.ask("cluster", "drain", f"{HOSTS['a']}.1:{DIAL_PORT[worker]}", *self.tls("a"))

    def wait_for_end(self, host):
        """The worker ends by itself, in time."""
        self.running[host].codes = (0,)
        if not self.running[host].ended(DEADLINE_S):
            raise RuntimeError(f"{host} does not end: {self.running[host].err[-3:]}")
        self.kill(host)

    def show(self):
        return super().show() if not self.place else self.history_of_thread()

    def history_of_thread(self):
        """As super().show(), of the run itself alone."""
        told = self.ask("history", self.graph, *self.place, "--thread", "t", "--json")
        if told.returncode != 0:
            raise RuntimeError(f"the store can't be read: {told.stderr}")
        out, before = [], []
        for line in reversed(told.stdout.splitlines()):
            one = json.loads(line)
            log = one["values"].get("log", [])
            grows = log[:len(before)] == before
            out.append({"ns": "", "id": one["checkpoint_id"], "parent": one["parent_id"] or "",
                        "step": one["metadata"]["step"], "grows": grows,
                        "added": log[len(before):] if grows else log})
            before = log
        return out


class Shipped(Trial):
    """A run of a scenario. `durability`: of the home; less than sync keeps no step for sure."""
    WORKERS = "bcd"
    PLACES = 2  # of a worker

    def __init__(self, cell, *arguments, durability="sync", place=(), **more):
        super().__init__(cell, *arguments, **more)
        self.durability, self.place = durability, place
        if cell.dialer:
            self.dialers = dict.fromkeys(self.WORKERS, cell.dialer)

    def make_cluster(self):
        return Programs(self.programs, self.network, self.certificates, self.folder, self.PLACES,
                        self.durability, self.place)

    def history(self, finished):
        out = super().history(finished)
        if self.durability != "sync":
            out.acknowledged = []
        self.seen = out
        return out

    def more_wrong(self, history):
        wanted = expected_log(history.rounds, history.tasks, history.groups)
        if (log := self.cluster.output(self.homes[-1])) != wanted:
            yield f"the result is wrong: {len(log or [])} entries, wanted {len(wanted)}"
        if self.durability == "sync":
            yield from check_again(history)

    def figures(self, history, carried):
        steps = [when for when, _, _ in self.steps()]
        return {**super().figures(dataclasses.replace(history, acknowledged=[(when, "") for when in steps]),
                                  carried), "recovered_s": list(recoveries(history, steps))}


# ---- what happens -------------------------------------------------------------------------------

def kill_home_early(t):
    """Three times, 10 to 30 ms after it was started."""
    for _ in range(3):
        fault = t.begin("kill", "a")
        t.wait(t.chance.uniform(0.01, 0.03))
        t.cluster.kill("a")
        t.trial.start_home()
        t.over(fault)


def kill_all_workers(t):
    faults = [t.begin("kill", w) for w in t.trial.WORKERS]
    for w in t.trial.WORKERS:
        t.cluster.kill(w)
    t.wait(3)
    for w in t.trial.WORKERS:
        t.cluster.start_worker(w)
    for fault in faults:
        t.over(fault)


def bad_network(seconds):
    def script(t):
        faults = [t.begin("noise", w, is_felt=False, returns=False) for w in t.trial.WORKERS]
        for w in t.trial.WORKERS:
            t.network.order(w, delay_ms=100, jitter=0.5, gap=[0.05, 200])
        t.wait(seconds)
        for w in t.trial.WORKERS:
            t.network.order(w, delay_ms=0, jitter=0, gap=[0, 0])
        for fault in faults:
            t.over(fault)
    return script


def drain_in_turns(t):
    for w in t.trial.WORKERS:
        fault = t.begin("drain", w, is_felt=False)
        done = t.cluster.drain(w)
        if done.returncode != 0:
            raise RuntimeError(f"{w} is not drained: {done.stderr}")
        t.cluster.wait_for_end(w)
        t.cluster.start_worker(w)
        t.over(fault)


class KilledEarly(Shipped):
    def more_wrong(self, history):
        yield from super().more_wrong(history)
        typo = self.cluster.ask("run", self.cluster.graph, "--data", self.cluster.data, "--thread", "typo")
        if typo.returncode != NOTHING_STORED:
            yield f"a mistyped thread ends with {typo.returncode}: {typo.stdout}{typo.stderr}"


class TwoHomes(Shipped):
    """Another home shares the workers, with a thread of its own."""
    PREFIX = "x/"

    def start_home(self):
        super().start_home()
        self.begun = time.monotonic()
        self.second_data = self.folder / "second"
        first_home = self.cluster.running.pop("a")
        self.second = self.cluster.start_home(False, {**self.order(), "prefix": self.PREFIX},
                                              self.second_data)
        self.cluster.running["a"], self.cluster.running["a2"] = first_home, self.second

    def finish(self):
        """The script: the second run ends, too."""
        self.second_finished = self.cluster.finished(self.second, DEADLINE_S)

    def more_wrong(self, history):
        yield from super().more_wrong(history)
        own, self.cluster.data = self.cluster.data, self.second_data
        stored = [{**c, "added": [key.removeprefix(self.PREFIX) for key in c["added"]]}
                  for c in self.cluster.show()]
        self.cluster.data = own
        executions = parse_effects(self.cluster.effects_of(self.PREFIX))
        acknowledged = [(when, id_) for when, _, id_ in self.cluster.steps_of(self.second)]
        second = History(history.rounds, history.tasks, history.groups, executions, stored, acknowledged,
                         self.faults, [], self.second_finished or FOREVER)
        yield from (f"the second home: {text}" for text in check(second, self.cell.bounds))
        self.first_task_s = first([e.begin for e in executions], self.begun) - self.begun

    def figures(self, history, carried):
        return {**super().figures(history, carried), "recovered_s": [self.first_task_s]}


class TwoOwners(Shipped):
    """A second home takes the thread of one that runs."""
    def take_over(self, t):
        """The script: the second home resumes the thread, the first one ends."""
        old = self.cluster.running.pop("a")
        self.cluster.running["a1"] = old
        fault = t.begin("kill", "a", returns=False)  # as far as its tasks are concerned
        self.start_home()
        if not old.ended(DEADLINE_S):
            raise RuntimeError("the home that lost its thread does not end")
        t.over(fault)
        self.noticed_s = fault.end - fault.begin
        old.codes = (STORAGE,)
        self.cluster.running.pop("a1")
        old.code = old.end()
        self.cluster.ended.append(old)
        self.said = [line for _, line in old.err]

    def more_wrong(self, history):
        yield from super().more_wrong(history)
        if not any(LOST_THREAD in line for line in self.said):
            yield f"the first home does not report that it lost its thread: {self.said[-3:]}"

    def figures(self, history, carried):
        return {**super().figures(history, carried), "detected_s": [self.noticed_s]}
