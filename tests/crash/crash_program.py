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


class Asked:
    """A process of the program that answers each line with a line."""
    verb, environment = (), {}

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

    def ask(self, question):
        if not self.process:
            self.process = subprocess.Popen([str(self.program), *self.verb], text=True,
                                            env={**os.environ, **self.environment},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(f"{question}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process = None
            raise Violation(f"{self.verb[0]}: the process ended: {code}")
        return line


class Shower(Asked):
    """Prints what stores hold."""
    verb = ("show",)

    def dump(self, data):
        return json.loads(self.ask(data))


class Looker(Asked):
    """Opens stores and reads their records, and prints what those hold that equal no earlier one."""
    verb = ("look",)

    def look(self, data):
        """The number of the contents, and what the store holds or None when it was printed."""
        how, number, *dump = self.ask(data).split(" ", 2)
        return int(number), json.loads(dump[0]) if how == "new" else None


class Forker(Asked):
    """Runs the program's commands in children, which are loaded already, and kills them."""
    verb, environment = ("serve", str(DEADLINE_S)), {"LD_BIND_NOW": "1"}

    def run(self, arguments, cpu_s=0.0):
        """(whether it was killed after so much time of the processor, how much it used). 0: it is
        not killed."""
        how, code, used = self.ask("\t".join([f"{cpu_s:.6f}", *map(str, arguments)])).split()
        expect(how != "stuck", "no end", arguments)
        if how == "killed" and int(code) == signal.SIGKILL and cpu_s > 0:
            return True, float(used)
        expect((how, code) == ("ended", "0"), how, code, arguments)
        return False, float(used)


class Home:
    """One thread's data directory and notes, in a folder of its own."""

    def __init__(self, program, folder, durability, environment=None):
        folder.mkdir()
        self.program, self.folder, self.durability = program, folder, durability
        self.data, self.notes_file = folder / "data", folder / "notes"
        self.environment = {**os.environ, **(environment or {})}
        self.kills, self.committed = 0, []

    def command(self):
        return ["run", str(self.data), str(self.notes_file), self.durability, "t"]

    def start(self, **environment):
        return subprocess.Popen(
            [str(self.program), *self.command()],
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

    def run_forked(self, forker, cpu_s=0.0):
        """How much of the processor it used, and whether it ended by itself. `cpu_s`: then it is
        killed."""
        killed, used = forker.run(self.command(), cpu_s)
        self.kills += killed
        return used, not killed

    def notes(self):
        """The whole lines. A kill may tear the last one where a page of the file ends: it is cut off,
        so that the next execution begins a line of its own."""
        if not self.notes_file.exists():
            return []
        text = self.notes_file.read_text()
        whole = text[:text.rfind("\n") + 1]
        if whole != text:
            os.truncate(self.notes_file, len(whole))  # ASCII
        return whole.splitlines()

    def noted_bytes(self):
        return self.notes_file.stat().st_size if self.notes_file.exists() else 0

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


__all__ = ["DURABILITIES", "Expected", "Forker", "Home", "Looker", "Shower", "Stuck", "Violation",
           "check_acknowledged", "expect", "is_sanitized", "run", "undisturbed"]
