"""Checks of a run that continued while hosts and the network between them failed.

A history has the facts seen from outside: notes of bodies at their begin and end, the store's
content, the reports of durability to the home, the times of faults, and the workers that the home
gave up. `check` is a pure function of it.
"""
import collections
import dataclasses

GROUP_STEPS = 3
FROZEN_SLACK_S = 0.05  # between a signal and the line that reports it
UNREPORTED_S = 0.5  # that the end of a body may be on its way to the home
LATE_S = 0.1  # in which a process that stood still begins a body that had asked its lease, on a busy machine
FOREVER = float("inf")


@dataclasses.dataclass
class Execution:
    key: str
    host: str
    pid: int
    begin: float
    end: float  # FOREVER: it did not end


@dataclasses.dataclass
class Fault:
    kind: str  # kill, freeze, cut, or what disturbs without losing anything: noise
    host: str  # whose process or link; a: the home's
    begin: float
    end: float  # healed, restarted; FOREVER: never
    is_felt: bool = True  # long enough for the home to give the host up
    returns: bool = True  # the host should have work again soon after its end


@dataclasses.dataclass
class Loss:
    when: float
    host: str
    why: str


@dataclasses.dataclass
class Bounds:
    reruns: int = 0  # executions of one key beyond the first
    moves: int = 0  # times a group goes to another worker, without an execution again
    losses: int = 0  # how often the home may give workers up
    detection_s: float = 3.0
    progress_s: float = 5.0
    returns_s: float = 5.0


@dataclasses.dataclass
class History:
    rounds: int
    tasks: int
    groups: int
    executions: list
    checkpoints: list  # oldest first; see network_program.cpp
    acknowledged: list  # (when, id)
    faults: list
    losses: list
    finished: float = FOREVER  # when
    groups_here: bool = False  # a group is the home's: any worker may have a step of it


def expected_log(rounds, tasks, groups):
    out = []
    for r in range(rounds):
        out += [f"r{r}.t{i}" for i in range(tasks)]
        out += [f"r{r}.g{i}.s{s}" for i in range(groups) for s in range(GROUP_STEPS)]
    return out


def parse_effects(text):
    """Executions from the lines of bodies. A line that was cut off by a kill does not count."""
    open_, out = {}, []
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) != 5 or words[0] not in "SE":
            continue
        what, key, host, pid, ns = words[0], words[1], words[2], int(words[3]), int(words[4]) / 1e9
        if what == "S":
            one = Execution(key, host, pid, ns, FOREVER)
            open_.setdefault((key, pid), []).append(one)
            out.append(one)
        elif open_.get((key, pid)):
            open_[key, pid].pop(0).end = ns
    return out


# ---- what is stored -----------------------------------------------------------------------------

def check_chains(history):
    """In each namespace one line of checkpoints, each one step after the one before."""
    last = {}
    for c in history.checkpoints:
        before = last.get(c["ns"])
        if before is None:
            if c["parent"]:
                yield f"a chain begins in the middle: {c}"
        elif c["parent"] != before["id"]:
            yield f"a fork or a hole: {c['id']} of {c['ns']!r} does not follow {before['id']}"
        elif c["step"] != before["step"] + 1:
            yield f"steps are missing or doubled: {c['step']} of {c['ns']!r} after {before['step']}"
        last[c["ns"]] = c


def check_log(history):
    """Every id once and in order, in the whole run and in each group."""
    wanted = expected_log(history.rounds, history.tasks, history.groups)
    logs = collections.defaultdict(list)
    for c in history.checkpoints:
        if not c["grows"]:
            yield f"the log of {c['ns']!r} lost something at step {c['step']}"
        logs[c["ns"]] += c["added"]
    log = logs.pop("", [])
    if log != wanted:
        counts = collections.Counter(log)
        lost = [k for k in wanted if k not in counts]
        doubled = [k for k, n in counts.items() if n > 1]
        yield (f"the log is not as it must be: {len(log)} of {len(wanted)} entries, lost {lost[:3]}, "
               f"doubled {doubled[:3]}, unknown {sorted(set(log) - set(wanted))[:3]}"
               + ("" if lost or doubled else ", or out of order"))
    for ns, steps in logs.items():
        if len(set(steps)) != len(steps) or steps != sorted(steps):
            yield f"the log of a group is not in order: {ns!r}: {steps}"


def check_acknowledged(history):
    stored = {c["id"] for c in history.checkpoints}
    for when, id_ in history.acknowledged:
        if id_ not in stored:
            yield f"an acknowledged checkpoint is lost: {id_}"


# ---- what was done ------------------------------------------------------------------------------

def may_overlap(history, one, other):
    """Whether `one` may overlap `other`: the home had given its host up, and told it to stop what it
    did; or its process stood still, was dead, or its home was."""
    if any(x.host == one.host and one.begin <= x.when <= other.begin + FROZEN_SLACK_S
           for x in history.losses):
        return True
    end = min(one.end, other.end)
    for f in history.faults:
        if f.kind == "kill" and f.host == one.host and one.end == FOREVER:
            return True
        if f.kind in ("freeze", "kill") and f.host in (one.host, "a"):
            if f.begin - FROZEN_SLACK_S <= end and one.begin <= f.end + FROZEN_SLACK_S:
                return True
    return False


def check_executions(history, bounds):
    by_key = collections.defaultdict(list)
    for e in history.executions:
        by_key[e.key].append(e)
    wanted = set(expected_log(history.rounds, history.tasks, history.groups))
    for key in sorted(wanted - by_key.keys())[:3]:
        yield f"never executed: {key}"
    for key, all_ in by_key.items():
        if key not in wanted:
            yield f"executed, but nobody asked for it: {key}"
        if len(all_) > 1 + bounds.reruns:
            yield (f"{key} was executed {len(all_)} times, at most {1 + bounds.reruns} are accounted "
                   f"for: {[(e.host, round(e.begin, 3)) for e in all_]}")
        all_ = sorted(all_, key=lambda e: e.begin)
        for one, next_ in zip(all_, all_[1:]):
            if next_.begin < one.end and not may_overlap(history, one, next_):
                yield f"two at a time execute {key}: {one} and {next_}"


def check_again(history):
    """A body is executed again only if the fault may have kept its end from the home."""
    by_key = {}
    for e in sorted(history.executions, key=lambda e: e.begin):
        by_key.setdefault(e.key, []).append(e)
    for key, all_ in by_key.items():
        for one in all_[:-1]:
            if not any(f.host in (one.host, "a") and one.begin <= f.end + UNREPORTED_S
                       and one.end >= f.begin - UNREPORTED_S for f in history.faults):
                yield f"{key} was executed again, though nothing happened to {one}"


def is_late(history, one, all_of_key):
    """Whether its process was about to begin `one` when it was frozen, and had been given up when it
    did: another had executed it meanwhile."""
    for f in history.faults:
        if f.kind == "freeze" and f.host == one.host and f.end <= one.begin <= f.end + LATE_S:
            given_up = [x.when for x in history.losses if x.host == f.host and f.begin <= x.when <= f.end]
            if given_up and any(e.pid != one.pid and given_up[0] <= e.begin <= f.end for e in all_of_key):
                return True
    return False


def check_owners(history, bounds):
    """A group goes from one worker to the next, not back and forth."""
    if history.groups_here:
        return
    by_key = collections.defaultdict(list)
    for e in history.executions:
        if ".g" in e.key:
            by_key[e.key].append(e)
    groups = collections.defaultdict(list)
    for key, all_ in by_key.items():
        groups[key.rsplit(".", 1)[0]] += [(e.begin, e.pid) for e in all_ if not is_late(history, e, all_)]
    for group, begun in groups.items():
        owners = [pid for _, pid in sorted(begun)]
        changes = sum(a != b for a, b in zip(owners, owners[1:]))
        if changes > max(bounds.reruns, bounds.moves):
            yield f"{group} changed its owner {changes} times: {owners}"


# ---- in time ------------------------------------------------------------------------------------

def first(times, after):
    return min((t for t in times if t > after), default=FOREVER)


def detections(history):
    """Seconds from each felt fault of a worker to when the home gave it up."""
    for f in history.faults:
        if f.is_felt and f.host != "a":
            yield f, first((x.when for x in history.losses if x.host == f.host), f.begin) - f.begin


def recoveries(history, steps):
    """Seconds from the end of each trouble to the first body on its host; if that is the home's, to the
    first of the `steps`."""
    for f in history.faults:
        if f.host == "a":
            again = steps
        else:
            again = [e.begin for e in history.executions if e.host == f.host]
        took = first(again, f.end) - f.end
        if f.returns and took < FOREVER:
            yield took


def check_time(history, bounds):
    if history.finished == FOREVER:
        yield "the run did not finish"
    for f, took in detections(history):
        if took > bounds.detection_s and history.finished > f.begin + bounds.detection_s:
            yield f"{f.kind} of {f.host} was noticed after {took:.2f} s"
    steps = [when for when, _ in history.acknowledged]
    for f in history.faults:
        # A killed host that stays away is replaced; all others are there again at the end.
        over = f.end if f.end != FOREVER else f.begin + bounds.detection_s
        if over > history.finished:
            continue
        took = first([*steps, history.finished], over) - over
        if took > bounds.progress_s:
            yield f"no step for {took:.2f} s after the {f.kind} of {f.host} was over"
        back = first((e.begin for e in history.executions if e.host == f.host), over) - over
        lasted = history.finished - over
        if f.returns and f.host != "a" and back > bounds.returns_s and lasted > bounds.returns_s:
            yield f"{f.host} had no work for {min(back, lasted):.2f} s after the {f.kind} was over"
    if len(history.losses) > bounds.losses:
        yield (f"{len(history.losses)} workers were given up, at most {bounds.losses} are accounted "
               f"for: {history.losses}")


def check(history, bounds):
    """The violations in the history, a sentence each."""
    return [*check_chains(history), *check_log(history), *check_acknowledged(history),
            *check_executions(history, bounds), *check_owners(history, bounds),
            *check_time(history, bounds)]
