#!/usr/bin/env python3
"""Scenarios of a cluster of the shipped programs that is killed, cut off, drained or shared: `troupe run` and
three `troupe worker` in network namespaces, over mutual TLS. A table at the end has a line for each.

    tests/faults/scenarios.py BIN [SOURCE] [--only NAME]… [--runs N] [--seed S] [--patient] [--list]

Each run ends by itself and takes its namespaces along. A scenario that can't be run here is skipped, with a
printed reason; without namespaces all of them are, and the program ends with 77.
"""
import argparse
import dataclasses
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import typing

import cells
import shipped
from cells import LOSES_NOTHING, LOSES_ONE, TROUBLE, Cell
from history import FOREVER, Bounds
from hosts import Certificates, why_not
from shipped import KilledEarly, Shipped, TwoHomes, TwoOwners

SKIPPED = 77
ROUNDS, BEHIND_S = 16, 4
SCRIPT_S = 300
SHOWN_MAX = 8
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["bin/troupe", "bin/troupe-network", "lib/libnetwork_graphs.so", "lib/libnoted_graphs.so"]


@dataclasses.dataclass
class Outcome:
    wrong: list
    noticed: list = dataclasses.field(default_factory=list)  # seconds
    recovered: list = dataclasses.field(default_factory=list)


class Skipped(Exception):
    pass


@dataclasses.dataclass
class Place:
    """Where a scenario runs."""
    programs: pathlib.Path
    source: pathlib.Path
    certificates: Certificates
    folder: pathlib.Path
    patient: bool


@dataclasses.dataclass
class OnHosts:
    """A cell of the matrix, with the shipped programs."""
    title: str
    script: typing.Callable
    bounds: Bounds
    seconds: float
    load: str = "shared"
    trial: type = Shipped
    early: bool = False
    dialer: str = ""
    more: dict = dataclasses.field(default_factory=dict)

    def run(self, place, name, seed):
        cell = Cell(name, self.script, self.load, False, self.bounds, self.seconds, early=self.early,
                    dialer=self.dialer)
        trial = self.trial(cells.patient(cell) if place.patient else cell, seed, place.programs,
                           place.certificates, place.folder / f"{name}-{seed}", ROUNDS,
                           behind_s=BEHIND_S, **self.more)
        try:
            wrong, figures = trial.run()
        except (RuntimeError, TimeoutError, AssertionError) as e:
            return Outcome([f"the run could not be made: {e}"])
        return Outcome(wrong, figures["detected_s"], figures["recovered_s"])


class OnPostgres(OnHosts):
    def run(self, place, name, seed):
        sys.argv[1] = str(place.programs)  # what the test's module reads
        from postgres_cli_test import Server
        try:
            server = Server()
        except AssertionError as e:
            raise Skipped(str(e)) from None
        try:
            self.more = {"place": ("--postgres", server.conninfo)}
            return super().run(place, name, seed)
        finally:
            server.stop()


@dataclasses.dataclass
class Script:
    """Another test that is the scenario. `arguments`: beyond the folder of the programs."""
    title: str
    file: str
    arguments: tuple = ()
    takes_source: bool = True

    def run(self, place, _, __):
        given = [place.source] if self.takes_source else []
        try:
            done = subprocess.run([sys.executable, "-B", HERE / self.file, place.programs, *given,
                                   *self.arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=SCRIPT_S)
        except subprocess.TimeoutExpired:
            return Outcome([f"{self.file} does not end in {SCRIPT_S} s"])
        lines = done.stdout.strip().splitlines() or [""]
        if done.returncode == SKIPPED:
            raise Skipped(lines[-1])
        for line in lines[-3:]:
            print(f"          {line}", flush=True)
        return Outcome([f"{self.file}: {lines[-1]}"] if done.returncode else [])


DRAINS_THREE = Bounds(moves=3)

SCENARIOS = {
    "kill_worker": OnHosts("kill -9 a worker", lambda t: cells.kill_worker(t, cells.FELT_S), LOSES_ONE, 4),
    "freeze_worker": OnHosts("freeze a worker 10 s", *TROUBLE["freeze_worker_10"]),
    "freeze_groups": Script("freeze a worker 4 s (subgraphs)", "frozen_worker.py", takes_source=False),
    "cut_link": OnHosts("cut a link 8 s", cells.silence(8), LOSES_ONE, 8),
    "cut_to_home": OnHosts("cut a link 8 s, to the home only", cells.silence(8, "up"), LOSES_ONE, 8),
    "cut_to_worker": OnHosts("cut a link 8 s, to the worker only", cells.silence(8, "down"),
                             TROUBLE["deaf_worker_5"][1], 8),
    "kill_home": OnHosts("kill -9 the home, same thread", *TROUBLE["kill_home"]),
    # With durability exit no step is kept on the way: there is nothing to measure progress by.
    "kill_home_exit": OnHosts("the same with durability exit", cells.kill_home,
                              Bounds(reruns=1, progress_s=FOREVER), 1, trial=KilledEarly,
                              more={"durability": "exit"}),
    "kill_home_early": OnHosts("the same 10-30 ms after its start", shipped.kill_home_early,
                               Bounds(reruns=3), 1, trial=KilledEarly, early=True),
    "kill_all_workers": OnHosts("all workers dead 3 s", shipped.kill_all_workers,
                                Bounds(reruns=1, losses=3), 3),
    "bad_network": OnHosts("100 ± 50 ms, 5 % loss, 15 s", shipped.bad_network(15), LOSES_NOTHING, 15),
    "drain_long": OnHosts("drain, long subgraphs", shipped.drain_in_turns, DRAINS_THREE, 3,
                          "long groups", dialer="home"),
    "drain_short": OnHosts("drain, short subgraphs", shipped.drain_in_turns, DRAINS_THREE, 1,
                           "short groups", dialer="home"),
    "two_homes": OnHosts("two homes share workers", lambda t: t.trial.finish(), LOSES_NOTHING, 1, trial=TwoHomes,
                         dialer="home"),
    "hostile_peers": Script("hostile peers without a certificate", "hostile_test.py",
                            ("--connections", "300")),
    "mute_links": Script("1,100 mute links with a certificate", "mute_links_test.py"),
    "postgres": OnPostgres("Postgres, two homes on a thread", lambda t: t.trial.take_over(t), Bounds(reruns=1), 1,
                           trial=TwoOwners, dialer="home"),
}


def spread(seconds):
    """Smallest, median and largest, in words."""
    if not seconds:
        return "-"
    return f"{min(seconds):.2f} / {statistics.median(seconds):.2f} / {max(seconds):.2f}"


def run_scenario(name, scenario, place, seeds):
    """The results of its runs; nothing when it is skipped."""
    out = []
    for seed in seeds:
        try:
            one = scenario.run(place, name, seed)
        except Skipped as why:
            print(f"skipped   {name}: {why}", flush=True)
            return out
        out.append(one)
        print(f"{'VIOLATION' if one.wrong else 'ok':<9} {name} seed {seed}: noticed {spread(one.noticed)}, "
              f"recovered {spread(one.recovered)}", flush=True)
        for text in one.wrong[:SHOWN_MAX]:
            print(f"          {text}", flush=True)
        if len(one.wrong) > SHOWN_MAX:
            print(f"          and {len(one.wrong) - SHOWN_MAX} more", flush=True)
    return out


def show_table(rows):
    print("\n| scenario | runs | violations | noticed, s (least / median / most) | recovered, s |\n"
          "| --- | --- | --- | --- | --- |")
    for title, all_ in rows:
        wrong = sum(bool(one.wrong) for one in all_)
        print(f"| {title} | {len(all_) or 'skipped'} | {wrong if all_ else '-'} | "
              f"{spread([s for one in all_ for s in one.noticed])} | "
              f"{spread([s for one in all_ for s in one.recovered])} |")


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path, nargs="?", default=HERE.parents[1])
    options.add_argument("--only", action="append", choices=SCENARIOS, help="repeat it for more")
    options.add_argument("--runs", type=int, default=1, help="of each scenario")
    options.add_argument("--seed", type=int, default=1, help="of the first run")
    options.add_argument("--patient", action="store_true",
                         help="bounds in time for a machine that has other work")
    options.add_argument("--list", action="store_true")
    options = options.parse_args()
    if options.list:
        print("\n".join(f"{name:<17} {scenario.title}" for name, scenario in SCENARIOS.items()))
        return
    programs = options.bin.resolve()
    missing = [name for name in PROGRAMS if not (programs.parent / name).exists()]
    if reason := f"not built: {', '.join(missing)}" if missing else why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # namespaces are taken along
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-scenarios-"))
    place = Place(programs, options.source.resolve(), Certificates(programs, folder), folder,
                  options.patient)
    rows = []
    try:
        for name in options.only or SCENARIOS:
            seeds = range(options.seed, options.seed + options.runs)
            rows.append((SCENARIOS[name].title, run_scenario(name, SCENARIOS[name], place, seeds)))
    finally:
        show_table(rows)
        wrong = any(one.wrong for _, all_ in rows for one in all_)
        if wrong:
            print(f"see {folder}")
        else:
            shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
