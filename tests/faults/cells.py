"""The cells of the matrix: the trouble, the load meanwhile, and the allowed outcomes.

Trouble is with b or the home; c is always well, so the run has to continue.
"""
import dataclasses
import typing

from history import Bounds

STALL, FLOW = {"stall": True}, {"stall": False}
FELT_S = 3.5  # silence that is longer than the lease, whatever the moment


@dataclasses.dataclass
class Cell:
    name: str
    script: typing.Callable
    load: str
    groups_here: bool
    bounds: Bounds
    seconds: float = 0  # that the trouble takes
    payload: int = 0
    always: dict = dataclasses.field(default_factory=dict)  # how b's link is from the beginning
    rounds: int = 0  # 0: as many as asked for
    dialer: str = ""  # of b: home, worker; empty: by the seed
    busy: bool = False
    early: bool = False  # the trouble begins as soon as the home was started


# ---- processes ----------------------------------------------------------------------------------

def kill_worker(t, seconds=None):
    """It is dead for so long; without: shorter or longer than its lease."""
    fault = t.begin("kill", "b")
    t.cluster.kill("b")
    t.wait(seconds or t.chance.choice([0.1, 1, FELT_S]))
    t.cluster.start_worker("b")
    t.over(fault)


def power_off(t):
    """The host is lost without a sign: no packet leaves it any more."""
    fault = t.begin("kill", "b")
    t.network.set_link("b", up=False)
    t.cluster.kill("b")
    t.wait(FELT_S)
    t.network.set_link("b", up=True)
    t.cluster.start_worker("b")
    t.over(fault)


def freeze_worker(seconds, **how):
    return lambda t: t.freeze("b", seconds, **how)


def freeze_home(seconds):
    return lambda t: t.freeze("a", seconds)


def kill_home(t):
    fault = t.begin("kill", "a")
    t.cluster.kill("a")
    t.trial.start_home()
    t.over(fault)


# ---- the network --------------------------------------------------------------------------------

def silence(seconds, way="both", **how):
    return lambda t: t.cut("b", seconds, {**STALL, "way": way}, {**FLOW, "way": way}, **how)


def wire(seconds, **how):
    def script(t):
        fault = t.begin("cut", "b", **how)
        t.network.set_link("b", up=False)
        t.wait(seconds)
        t.network.set_link("b", up=True)
        t.over(fault)
    return script


def half_open(t):
    """The connections there are go silent for good; new ones would work."""
    fault = t.begin("cut", "b")
    t.network.order("b", half_open=True)
    t.over(fault)


def damage(times, after_max, **order):
    """At a byte somewhere: the connection is reset, a bit turned, or bytes come twice."""
    def script(t):
        fault = t.begin("noise", "b", is_felt=False)
        for _ in range(times):
            at = t.chance.randrange(after_max)
            how = {name: at if what is None else what for name, what in order.items()}
            t.network.order("b", way=t.chance.choice(["up", "down"]), **how)
            t.wait(t.chance.uniform(0.2, 0.8))
        for way in ["up", "down"]:
            t.network.order("b", way=way, **{name: None for name, what in order.items()
                                             if what is None})
        t.over(fault)
    return script


def noise(seconds, before, after):
    return lambda t: t.noise("b", seconds, before, after)


def swizzle(t):
    """Links stop one by one and come back in any order."""
    faults = []
    for host in t.chance.sample("bc", 2):
        faults.append(t.begin("cut", host, is_felt=False))
        t.network.order(host, **STALL)
        t.wait(t.chance.uniform(0, 3))
    t.chance.shuffle(faults)
    for fault in faults:
        t.network.order(fault.host, **FLOW)
        t.over(fault)
        t.wait(t.chance.uniform(0, 3))


def flap(seconds):
    def script(t):
        fault = t.begin("noise", "b", is_felt=False)
        for _ in range(int(seconds / 0.4)):
            t.network.order("b", refuse=True)
            t.network.order("b", cut=True)
            t.wait(0.2)
            t.network.order("b", refuse=False)
            t.wait(0.2)
        t.over(fault)
    return script


LOSES_ONE = Bounds(reruns=1, losses=1)
LOSES_NOTHING = Bounds()
# A home that comes back finds workers that present themselves anew.
HOME_BACK = Bounds(reruns=1, losses=2)

# name: script, bounds, seconds, payload
TROUBLE = {
    "kill_worker": (kill_worker, LOSES_ONE, 4),
    "power_off": (power_off, LOSES_ONE, 4),
    "freeze_worker_1": (freeze_worker(1, is_felt=False), LOSES_NOTHING, 1),
    "freeze_worker_10": (freeze_worker(10), LOSES_ONE, 10),
    "freeze_worker_60": (freeze_worker(60), LOSES_ONE, 60),
    "freeze_home_1": (freeze_home(1), LOSES_NOTHING, 1),
    "freeze_home_10": (freeze_home(10), HOME_BACK, 10),
    "kill_home": (kill_home, Bounds(reruns=1), 1),
    "wire_1": (wire(1, is_felt=False), LOSES_NOTHING, 1),
    "wire_5": (wire(5), LOSES_ONE, 5),
    "wire_60": (wire(60), LOSES_ONE, 60),
    "silence_1": (silence(1, is_felt=False), LOSES_NOTHING, 1),
    "silence_5": (silence(5), LOSES_ONE, 5),
    "silence_60": (silence(60), LOSES_ONE, 60),
    "deaf_home_5": (silence(5, "up"), LOSES_ONE, 5),
    # It reports that it is there until its own lease is over; the home's counts from then on.
    # It is heard for half a second more, and the home looks each quarter of one.
    "deaf_worker_5": (silence(5, "down"), Bounds(reruns=1, losses=1, detection_s=3.5), 5),
    # Only its silence shows that a connection is dead.
    "half_open": (half_open, Bounds(reruns=1, losses=1, returns_s=8), 10),
    "reset": (damage(10, 6000, reset_after=None), LOSES_NOTHING, 6),
    # One that is damaged may wait for the rest of a record that is longer than it was.
    "corrupt": (damage(10, 6000, corrupt_after=None), Bounds(reruns=2, losses=2), 6),
    "replay": (damage(10, 6000, replay_after=None, replay=200), Bounds(reruns=2, losses=2), 6),
    "delay_20": (noise(5, {"delay_ms": 20, "jitter": 0.5}, {"delay_ms": 0}), LOSES_NOTHING, 5),
    "delay_200": (noise(5, {"delay_ms": 200, "jitter": 0.5}, {"delay_ms": 0}), LOSES_NOTHING, 5),
    "delay_1000": (noise(15, {"delay_ms": 1000, "jitter": 0.5}, {"delay_ms": 0}),
                   Bounds(reruns=8, losses=8), 15),
    "loss_1": (noise(5, {"gap": [0.01, 200]}, {"gap": [0, 0]}), LOSES_NOTHING, 5),
    "loss_5": (noise(5, {"gap": [0.05, 200]}, {"gap": [0, 0]}), LOSES_NOTHING, 5),
    "loss_20": (noise(5, {"gap": [0.2, 200]}, {"gap": [0, 0]}), LOSES_NOTHING, 5),
    "slow_reader": (noise(5, {"rate": 10, "way": "down"}, {"rate": 0}), LOSES_ONE, 5),
    "swizzle": (swizzle, Bounds(reruns=2, losses=2), 6),
    "flap": (flap(10), Bounds(reruns=4, losses=4), 10),
}
BUSY = ["kill_worker", "power_off", "freeze_worker_1", "freeze_worker_10", "freeze_home_1",
        "freeze_home_10", "kill_home", "wire_1", "wire_5", "silence_1", "silence_5", "delay_200",
        "loss_5"]
LEFT_OUT = {
    "clock jumps": "wall_clock_test.py, on one host",
    "version skew": "needs programs of another release; tests/cluster/forger_test.cpp",
    "netem": "this kernel has none; the relay delays and holds back instead",
}


def all_cells():
    out = []
    for name, (script, bounds, seconds, *payload) in TROUBLE.items():
        for load in ["idle", "one", "many"]:
            for groups_here in [False, True]:
                where = "here" if groups_here else "there"
                out.append(Cell(f"{name}/{load}/{where}", script, load, groups_here, bounds, seconds,
                                *payload))
    # 1 Mbit/s: a group's argument takes seconds, and heartbeats must not wait for it.
    out.append(Cell("narrow/one/there", lambda t: t.wait(20), "one", False, LOSES_NOTHING,
                    always={"rate": 125_000}, rounds=8, payload=400_000))
    for name in BUSY:
        script, bounds, seconds, *_ = TROUBLE[name]
        out.append(patient(Cell(f"{name}/many/there/busy", script, "many", False, bounds, seconds,
                                busy=True)))
    return out


def patient(cell):
    """The cell on a machine that has other work: what was noticed may be noticed in twice the time; nobody
    is given up who is there."""
    bounds = dataclasses.replace(cell.bounds, detection_s=6, returns_s=10,
                                 progress_s=max(10, cell.bounds.progress_s))
    return dataclasses.replace(cell, bounds=bounds)
