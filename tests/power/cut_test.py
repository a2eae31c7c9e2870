"""The power goes at every moment of a recorded run of fifty steps.

From what the run wrote and synced, disks are built as a power cut could have left them; each must
hold all that had been acknowledged. Every disk's store is opened and read record by record. A store
whose records equal, byte for byte, those of an earlier disk of the same run is not decoded again.
Arguments: the folder of the programs, the source folder, and how many disks of a random kind (or
--help).
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))

from crash_program import Home, Looker, Shower, Violation, check_acknowledged, is_sanitized, \
    undisturbed  # noqa: E402
from disk_model import WRITE, Disk, read_log  # noqa: E402


def record(program, folder, durability, **environment):
    """The home of a recorded run, and its log."""
    log = folder / f"{durability}.log"
    recorder = program.parent.parent / "lib" / "libpower_recorder.so"
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    home = Home(program, folder / f"recorded-{durability}", durability,
                {"LD_PRELOAD": str(recorder), "TROUPE_POWER_LOG": str(log),
                 "TROUPE_POWER_FOLDER": str(folder / f"recorded-{durability}"),
                 "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0", **environment})
    home.run_until()
    return home, list(read_log(log))


class Cuts:
    """Checks the disks of one recorded run."""

    def __init__(self, home, log, expected, looker, folder):
        self.home, self.log, self.expected, self.looker = home, log, expected, looker
        self.data = folder / "images" / "data"
        self.notes_inode = os.stat(home.notes_file).st_ino
        self.checked = collections.Counter()
        self.distinct = set()  # hashes of the images
        self.dumps = {}  # by the number of the contents
        self.passed = {}  # (number of the contents, notes) -> the acknowledgements found
        self.acknowledged = 0

    def check(self, disk, notes, keeps, numbers=None):
        image = disk.image(str(self.home.data / "troupe.mdb"), keeps, numbers)
        self.data.mkdir(parents=True)
        if image is not None:
            (self.data / "troupe.mdb").write_bytes(image.bytes())
            self.distinct.add(hash(image.key()))
        number, dump = self.looker.look(self.data)
        if dump is not None:
            self.expected.check_store(dump)
            self.dumps[number] = dump
        at = number, len(notes)
        if at not in self.passed:
            self.passed[at] = check_acknowledged(self.dumps[number], notes, self.home.durability)
        self.acknowledged += self.passed[at]
        self.checked[keeps] += 1
        for file in self.data.iterdir():
            file.unlink()
        self.data.rmdir()

    def moments(self):
        """The disk after each entry, and the notes that had been written."""
        disk, notes = Disk(self.home.folder), []
        for position, (kind, inode, at, data) in enumerate(self.log):
            if inode == self.notes_inode and kind == WRITE:
                notes.append(data.decode().removesuffix("\n"))  # one write each
                continue
            disk.take(kind, inode, at, data)
            yield position, disk, notes

    def run(self, some, seed, every=1):
        positions = sum(1 for _ in self.moments())
        for number, (position, disk, notes) in enumerate(self.moments()):
            share = some * (number + 1) // positions - some * number // positions
            kinds = ["none", "all"] if number % every == seed % every else []
            try:
                for keeps in kinds + share * ["some"]:
                    if keeps == "none" or disk.pending():
                        self.check(disk, notes, keeps, random.Random(f"{seed} {self.checked}"))
            except Violation as e:
                raise Violation(f"{self.home.durability}, power off behind entry {position} of "
                                f"{len(self.log)}, seed {seed}, with {keeps} of what was not "
                                f"synced, see {self.data}: {e}") from None


def cut(program, folder, durability, some, seed, every=1, **environment):
    """How many disks of each kind were checked, and how many acknowledgements found on them."""
    folder.mkdir()
    with Shower(program) as shower, Looker(program) as looker:
        expected = undisturbed(program, folder / "undisturbed", durability, shower)
        home, log = record(program, folder, durability, **environment)
        cuts = Cuts(home, log, expected, looker, folder)
        cuts.run(some, seed, every)
    return cuts


def must_be_noticed(program, folder, seed, **environment):
    """A run on a disk that lies, or with a guarantee broken."""
    try:
        cut(program, folder, "sync", 0, seed, 7, **environment)
    except Violation as e:
        print(f"power_cut: with {environment}: {str(e)[:300]}")
        return
    raise Violation(f"passed with {environment}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("--images", type=int, default=250, help="of a random kind, each mode, at most")
    options.add_argument("--every", type=int, default=5, help="of the moments: one of so many")
    options.add_argument("--seed", type=int, default=int(os.environ.get("TROUPE_TEST_SEED", "1")))
    options = options.parse_args()
    program = options.bin.resolve() / "troupe-crash"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-power-"))
    begin = time.monotonic()
    try:
        total, acknowledged, distinct, contents = collections.Counter(), 0, 0, 0
        slow = 5 if is_sanitized(program) else 1
        for durability in ("sync", "async"):
            cuts = cut(program, folder / durability, durability, options.images // slow,
                       options.seed, options.every * slow)
            total += cuts.checked
            acknowledged += cuts.acknowledged
            distinct += len(cuts.distinct)
            contents += len(cuts.dumps)
        for lie in ("sync", "through"):
            must_be_noticed(program, folder / f"lie-{lie}", options.seed, TROUPE_POWER_LIES=lie)
    except Violation as e:
        sys.exit(f"power_cut: {e}")
    shutil.rmtree(folder)
    print(f"power_cut: ok: {sum(total.values())} disks {dict(total)}, at least {distinct} of them "
          f"distinct, {contents} contents, {acknowledged} acknowledgements found on them, "
          f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
