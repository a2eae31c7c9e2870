"""Checks of a store whose writer was stopped at any moment.

A dump is what `troupe-crash show` prints, notes are the lines that `troupe-crash run` left. Every
function raises Violation with the fault.
"""
import collections
import re


class Violation(AssertionError):
    pass


def expect(condition, *what):
    if not condition:
        raise Violation(": ".join(str(w) for w in what))


def shape(ns):
    """A namespace without the ids of its tasks."""
    return "|".join(part.split(":")[0] for part in ns.split("|"))


def finished_tasks(checkpoint):
    """The tasks whose writes are stored with the checkpoint, questions and answers aside."""
    return [task for task, _, channels in checkpoint["writes"]
            if any(not c.startswith("__") or c == "__pregel_tasks" for c in channels)]


def chains(dump):
    """The checkpoints of each thread and namespace, oldest first."""
    expect(isinstance(dump, list), "the store can't be read", dump)
    out = collections.defaultdict(list)
    for checkpoint in dump:
        out[checkpoint["thread"], checkpoint["ns"]].append(checkpoint)
    return {key: chain[::-1] for key, chain in out.items()}


def without_copies(dump):
    """The stored runs, without the copies that are there to be pruned."""
    if not isinstance(dump, list):
        raise Violation(f"the store can not be read: {dump}")
    return [c for c in dump if not c["thread"].startswith("copy of ")]


def root_of(dump):
    """The checkpoints of the thread's root namespace, newest first."""
    return [c for c in without_copies(dump) if c["ns"] == ""]


def check_chain(chain):
    """One line: each checkpoint follows the one before it, and none has two children."""
    parent = ""
    for checkpoint in chain:
        expect(checkpoint["parent"] == parent, "a fork or a hole in the chain", checkpoint,
               "the one before is " + parent)
        parent = checkpoint["id"]


class Expected:
    """The stored state of an undisturbed run: states and numbers of tasks, by namespace and
    step."""

    def __init__(self, dump, durability):
        self.durability = durability
        self.states = collections.defaultdict(set)
        self.widths = collections.defaultdict(set)
        for (_, ns), chain in chains(without_copies(dump)).items():
            check_chain(chain)
            for checkpoint in chain:
                at = shape(ns), checkpoint["step"]
                self.states[at].add(checkpoint["state"])
                self.widths[at].add(len(finished_tasks(checkpoint)))
        root = root_of(dump)
        self.log, self.last_step = root[0]["log"], root[0]["step"]
        self.root_steps = {c["step"] for c in root}

    def width(self, at):
        widths = self.widths[at]
        expect(len(widths) == 1, "an undisturbed run is not always the same", at, widths)
        return next(iter(widths))

    def check_states(self, chain):
        for checkpoint in chain:
            expect(checkpoint["state"] in self.states[shape(checkpoint["ns"]), checkpoint["step"]],
                   "a state that an undisturbed run has not", checkpoint)

    def check_checkpoint(self, checkpoint, is_tip):
        at = shape(checkpoint["ns"]), checkpoint["step"]
        if self.durability == "exit":
            return
        done, width = len(finished_tasks(checkpoint)), self.width(at)
        if is_tip:
            expect(done == 0 if width <= 1 else done <= width, "half a step", checkpoint, width)
        else:
            expect(done == width, "a checkpoint without the writes that made it", checkpoint, width)

    def check_store(self, dump):
        """Whole steps only, each with the state it has in an undisturbed run, in one line."""
        for chain in chains(dump).values():
            self.check_states(chain)
        for (_, ns), chain in chains(without_copies(dump)).items():
            check_chain(chain)
            for before, after in zip(chain, chain[1:]):
                contiguous = after["step"] == before["step"] + 1
                expect(contiguous if self.durability != "exit" else after["step"] > before["step"],
                       "steps are missing", before, after)
            for checkpoint in chain:
                self.check_checkpoint(checkpoint, checkpoint is chain[-1])
            if ns == "":
                log = chain[-1]["log"] or []
                expect(log == self.log[:len(log)], "the log is no beginning of the whole one", log)

    def check_finished(self, dump):
        self.check_store(dump)
        root = root_of(dump)
        expect(root and root[0]["log"] == self.log, "the final log differs",
               root and root[0]["log"])
        if self.durability != "exit":
            expect({c["step"] for c in root} == self.root_steps, "not every step is there")


def acknowledged(notes, durability):
    """The checkpoints (with their states) and tasks that were reported to the program as
    durable."""
    checkpoints, tasks = {}, set()
    seen_checkpoints, seen_tasks = {}, set()
    for line in notes:
        kind, _, rest = line.partition(" ")
        if kind == "B":  # what a killed process saw and was not told to be durable
            seen_checkpoints, seen_tasks = {}, set()
        elif kind == "C":
            id_, state = rest.split(" ")
            seen_checkpoints[id_] = state
        elif kind == "T":
            seen_tasks.add(rest)
        if durability == "exit":
            if kind == "R":
                checkpoints[rest] = "-"
        elif durability == "sync" or kind == "R":
            checkpoints.update(seen_checkpoints)
            tasks |= seen_tasks
            if kind == "R":
                checkpoints.setdefault(rest, "-")
    return checkpoints, tasks


def check_acknowledged(dump, notes, durability):
    """Nothing is lost that was acknowledged, and it reads as it was shown."""
    checkpoints, tasks = acknowledged(notes, durability)
    dump = without_copies(dump)
    stored = {c["id"]: c for c in dump}
    for id_, state in checkpoints.items():
        expect(id_ in stored, "an acknowledged checkpoint is lost", id_)
        expect(state in ("-", stored[id_]["state"]), "a checkpoint reads otherwise than it was",
               stored[id_], state)
    written = {task for c in dump for task, _, _ in c["writes"]}
    expect(tasks <= written, "writes of acknowledged tasks are lost", tasks - written)
    return len(checkpoints) + len(tasks)


EXECUTION = re.compile(r"S (.+) (\d+) (\S+)$")


def check_executions(notes, committed, kills, durability):
    """No task ran again that was stored or (sync) acknowledged, none more often than there were
    reasons, and with sync each under one id. `committed`: (how many notes there were, the ids of
    the tasks that were stored then), in that order."""
    done, committed = set(), list(committed)
    times, ids = collections.Counter(), collections.defaultdict(set)
    for position, line in enumerate(notes):
        while committed and committed[0][0] <= position:
            done |= committed.pop(0)[1]
        if durability == "sync" and line.startswith("T "):
            done.add(line[2:])
        if not (found := EXECUTION.match(line)):
            continue
        label, attempt, task = found.groups()
        expect(task not in done, "a committed task ran again", line)
        times[label] += attempt == "1"
        ids[label].add(task)
    for label, count in times.items():
        asks = label.startswith("ask@") and int(label[4:]) % 2 == 1
        expect(count <= 1 + kills + asks, "ran too often", label, count)
        expect(durability != "sync" or len(ids[label]) == 1, "a task has two ids", label)
