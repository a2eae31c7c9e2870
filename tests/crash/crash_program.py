"""Running troupe-crash: undisturbed, killed, and looked at."""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

from programs import DEADLINE_S, Stuck, run  # noqa: E402
from store_check import Expected, Violation, check_acknowledged, check_executions, \
    expect, finished_tasks, without_copies  # noqa: E402

DURABILITIES = ["sync", "async", "exit"]


def is_sanitized(program):
    """Whether this is a build that takes many times as long."""
    return run([program, "build"]).stdout == "sanitized\n"


class Shower:
    """A process that prints what stores hold."""

    def __init__(self, program):
        self.program = program
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()

    def dump(self, data):
        if not self.process:
            self.process = subprocess.Popen([str(self.program), "show"], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(f"{data}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process = None
            raise Violation(f"opening the store ended the process: {code}")
        return json.loads(line)


class Home:
    """One thread's data directory and notes, in a folder of its own."""

    def __init__(self, program, folder, durability, environment=None):
        folder.mkdir()
        self.program, self.folder, self.durability = program, folder, durability
        self.data, self.notes_file = folder / "data", folder / "notes"
        self.environment = {**os.environ, **(environment or {})}
        self.kills, self.committed = 0, []

    def start(self, **environment):
        return subprocess.Popen(
            [str(self.program), "run", str(self.data), str(self.notes_file), self.durability, "t"],
            env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run_until(self, seconds=DEADLINE_S, **environment):
        """True when it ended by itself; False when it was killed, by itself or after `seconds`."""
        with self.start(**environment) as process:
            try:
                _, complaint = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()  # or it ended just now
                _, complaint = process.communicate()
                expect(seconds != DEADLINE_S, "no end", self.folder)
            if process.returncode == -signal.SIGKILL:
                self.kills += 1
                return False
        expect(process.returncode == 0, "ended with", process.returncode, complaint.decode())
        return True

    def notes(self):
        return self.notes_file.read_text().splitlines() if self.notes_file.exists() else []

    def check_killed(self, shower, expected):
        """What is stored behind a kill; gives how much of it had been acknowledged."""
        if not self.data.exists():
            return 0
        dump, notes = shower.dump(self.data), self.notes()
        expected.check_store(dump)
        self.committed.append((len(notes), {task for checkpoint in without_copies(dump)
                                            for task in finished_tasks(checkpoint)}))
        return check_acknowledged(dump, notes, self.durability)

    def check_finished(self, shower, expected):
        dump, notes = shower.dump(self.data), self.notes()
        expected.check_finished(dump)
        check_executions(notes, self.committed, self.kills, self.durability)
        return check_acknowledged(dump, notes, self.durability)


def undisturbed(program, folder, durability, shower, **environment):
    """What a run stores that nobody disturbs."""
    home = Home(program, folder, durability, environment)
    home.run_until()
    expected = Expected(shower.dump(home.data), durability)
    home.check_finished(shower, expected)
    expect(expected.last_step == 50, "the graph has fifty steps", expected.last_step)
    return expected


__all__ = ["DURABILITIES", "Expected", "Home", "Shower", "Stuck", "Violation",
           "check_acknowledged", "expect", "is_sanitized", "run", "undisturbed"]
