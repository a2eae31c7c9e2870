#!/usr/bin/env python3
"""How long it takes from a worker's death to when its home knows and to when its tasks are under way
again: one long run, whose workers are killed in turns.

Arguments: the folder of the programs (or --help). Needs network namespaces.
"""
from cells import Cell
from history import FOREVER, Bounds, detections, first
from long_run import arguments, carry_out
from trial import LOADS, Load, Trial

LOADS["failover"] = Load(8, 4, 200)


def kill_in_turns(kills):
    def script(t):
        for number in range(kills):
            host = "bc"[number % 2]
            t.wait(t.chance.uniform(0.5, 1.5))
            fault = t.begin("kill", host)
            t.cluster.kill(host)
            t.wait(3.5)
            t.cluster.start_worker(host)
            t.over(fault)
            print(f"{number + 1} of {kills}", flush=True)
    return script


def taken_over(history):
    """Seconds from each kill to when the first of the tasks it hit began elsewhere."""
    for f in history.faults:
        hit = {e.key for e in history.executions
               if e.host == f.host and e.begin < f.begin and e.end > f.begin}
        again = first((e.begin for e in history.executions if e.key in hit and e.host != f.host),
                      f.begin)
        if again < f.begin + 60:
            yield again - f.begin


def show(what, times):
    times = sorted(times)
    print(f"{what}: p50 {times[len(times) // 2]:.3f} s, p99 {times[int(len(times) * 0.99)]:.3f} s, "
          f"most {times[-1]:.3f} s ({len(times)})")


class Failover(Trial):
    def figures(self, history, carried):
        self.seen = history
        return super().figures(history, carried)


def report(trial, _):
    show("noticed", [took for _, took in detections(trial.seen) if took < FOREVER])
    show("first task under way again", list(taken_over(trial.seen)))


def main():
    options = arguments(__doc__, kills=50)
    cell = Cell("failover", kill_in_turns(options.kills), "failover", False,
                Bounds(reruns=2, losses=options.kills))
    carry_out(options, cell, Failover, 7 * options.kills, report)


if __name__ == "__main__":
    main()
