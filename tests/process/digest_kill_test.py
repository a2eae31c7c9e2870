"""digest is killed at fifty seeded moments and started again until it ends.

Each time it must write the report of an undisturbed run, and must not read a file again whose
result it had reported. Arguments: the folder of the programs, and the source folder.
"""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from programs import Lines, Program, Stuck, programs_folder

MOMENTS = 50
FILES = 30
SEED = int(os.environ.get("TROUPE_TEST_SEED", "1"))
WORDS = ("actor barrier channel checkpoint commit drain edge fold graph handle interrupt join "
         "lane message node order plan queue reducer saver step task update value write").split()


def write_text(path, random_numbers):
    lines = []
    for section in range(random_numbers.randint(1, 4)):
        lines.append(f"## Section {section} of {path.stem}")
        for _ in range(random_numbers.randint(1, 6)):
            lines.append(" ".join(random_numbers.choices(WORDS, k=random_numbers.randint(3, 12))))
    path.write_text("\n".join(lines) + "\n")


def make_files(folder, random_numbers):
    folder.mkdir()
    (folder / "more").mkdir()
    for i in range(FILES):
        name = f"file{i:02}" + (".md" if i % 3 else ".txt")
        write_text(folder / ("more" if i % 5 == 0 else "") / name, random_numbers)
    (folder / "image.bin").write_bytes(b"\x89\x00\x01")


class Digest(Program):
    """One process. Its trace comes through a pipe, so that a test can wait for it."""

    def __init__(self, program, folder, home, trace_fd):
        super().__init__([program, "files", "--yes", "--json", "--durability", "sync",
                          "--thread", "t1", "--data", home / "data", "--out", home / "report.md",
                          "--jobs", "4", "--delay-ms", "30", "--trace", home / "trace"],
                         cwd=folder)
        self.trace = Lines(trace_fd)
        self.watched.append(self.trace)

    def finished_files(self):
        """The files whose result this process reported, those kept from before included."""
        out = set()
        for line in self.out.lines:
            part = json.loads(line)
            if part["type"] == "updates" and "read" in part["data"]:
                out.update(facts["file"] for facts in part["data"]["read"]["results"])
        return out


class Home:
    """The folder of one digest: its data, report and trace."""

    def __init__(self, path):
        path.mkdir()
        os.mkfifo(path / "trace")
        self.path = path
        self.trace_fd = os.open(path / "trace", os.O_RDWR | os.O_NONBLOCK)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.trace_fd)

    def report(self):
        left = sorted(p.name for p in self.path.iterdir())
        expect(left == ["data", "report.md", "trace"], f"more is left than the report: {left}")
        return (self.path / "report.md").read_bytes()


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def pick_moment(random_numbers, seconds):
    """How to tell that the moment has come: a text, and a function of the running digest."""
    kind = random_numbers.choice(["trace", "update", "time", "time"])
    if kind == "time":
        wait = seconds * random_numbers.uniform(0.02, 1.0)
        return f"after {wait:.3f} s", lambda d: d.wait_until(lambda: False, wait)
    if kind == "trace":
        count = random_numbers.randint(1, FILES)
        return f"after {count} reads", lambda d: d.wait_until(lambda: len(d.trace.lines) >= count)
    count = random_numbers.randint(1, FILES + 4)
    return f"after {count} lines", lambda d: d.wait_until(lambda: len(d.out.lines) >= count)


def check_reads(digest, finished, counts):
    again = finished & set(digest.trace.lines)
    expect(not again, f"finished files were read again: {sorted(again)}")
    counts.update(digest.trace.lines)


def survive(program, folder, home, moments):
    """Kills a digest at each of the moments, lets the last one end; gives the number of kills."""
    finished, counts, kills = set(), collections.Counter(), 0
    for _, wait in moments:
        with Digest(program, folder, home.path, home.trace_fd) as digest:
            wait(digest)
            killed = digest.process.poll() is None
            digest.kill()
            check_reads(digest, finished, counts)
            finished |= digest.finished_files()
        if not killed:
            break
        kills += 1
    with Digest(program, folder, home.path, home.trace_fd) as digest:
        code = digest.end()
        expect(code == 0, f"exit code {code}: {digest.err.lines}")
        check_reads(digest, finished, counts)
    expect(len(counts) == FILES, f"{len(counts)} of {FILES} files were read")
    expect(max(counts.values()) <= 1 + kills, f"read too often: {counts.most_common(3)}")
    return kills, len(finished)


def main(bin_dir):
    program = programs_folder(bin_dir) / "digest"
    random_numbers = random.Random(SEED)
    kills = kept = 0
    with tempfile.TemporaryDirectory(prefix="troupe-kill-") as temporary:
        folder = pathlib.Path(temporary)
        make_files(folder / "files", random_numbers)
        with Home(folder / "undisturbed") as home:
            begin = time.monotonic()
            survive(program, folder, home, [])
            seconds = time.monotonic() - begin
            wanted = home.report()
        expect(wanted.startswith(b"# Digest"), f"no report: {wanted[:80]}")
        for number in range(MOMENTS):
            moments = [pick_moment(random_numbers, seconds)
                       for _ in range(random_numbers.choice([1, 1, 2, 3]))]
            try:
                with Home(folder / f"moment{number}") as home:
                    more = survive(program, folder, home, moments)
                    kills, kept = kills + more[0], kept + more[1]
                    expect(home.report() == wanted, "the report differs from the undisturbed one's")
            except (AssertionError, Stuck, subprocess.SubprocessError) as e:
                sys.exit(f"digest_kill: seed {SEED}, moment {number}, killed "
                         f"{[text for text, _ in moments]}: {e}")
    expect(kills >= MOMENTS // 2, f"only {kills} kills hit a running digest")
    print(f"digest_kill: ok: {MOMENTS} moments, {kills} kills, {kept} finished files kept, "
          f"{seconds:.2f} s undisturbed")


if __name__ == "__main__":
    main(sys.argv[1])
