"""The wall clocks of a home and its worker jump by an hour, there and back: no lease notices.

Arguments: the folder of the programs, and the source folder (or --help).
"""
import argparse
import json
import os
import pathlib
import shutil
import struct
import tempfile

from hosts import Certificates, Process

HOUR = 3600
JUMPS = [("home", HOUR), ("worker", HOUR), ("home", 0), ("worker", -HOUR), ("home", -HOUR),
         ("worker", 0), ("home", 0)]
STEPS = 300  # after each jump


class Clock:
    """How far the wall clock of a process is ahead."""

    def __init__(self, programs, path):
        self.path = path
        self.set(0)
        library = programs.parent / "lib" / "wall_clock.so"
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "WALL_CLOCK_FILE": str(path)}
        assert library.exists(), f"{library} is missing"

    def set(self, seconds):
        with open(self.path, "r+b" if self.path.exists() else "wb") as file:
            file.write(struct.pack("q", seconds))


def steps_of(home):
    return sum(line.startswith("step ") for _, line in list(home.out))


def wait_for_steps(home, count):
    assert home.wait_until(lambda: steps_of(home) >= count), f"the run stands still: {home.err[-3:]}"


def try_all(programs, folder):
    certificates = Certificates(programs, folder)
    network = programs / "troupe-network"
    clocks = {who: Clock(programs, folder / f"{who}.clock") for who in ("home", "worker")}
    worker = Process(None, [network, "worker", folder / "effects", "b", certificates.of("b"), 16,
                            "127.0.0.1:0", "-"], env=clocks["worker"].environment)
    home = None
    try:
        ready = worker.wait_for("ready")
        assert ready, f"no worker: {worker.err[-3:]}"
        order = json.dumps({"rounds": 1_000_000, "tasks": 1})
        home = Process(None, [network, "home", folder / "data", folder / "effects",
                              certificates.of("a"), "-", "no", order,
                              f"127.0.0.1:{ready[1].split()[1]}"], env=clocks["home"].environment)
        wait_for_steps(home, 20)
        for who, seconds in JUMPS:
            clocks[who].set(seconds)
            wait_for_steps(home, steps_of(home) + STEPS)
        said = [line for _, line in [*home.err, *worker.err]]
        sessions = [line for line in said if "session" in line or "lease" in line]
        assert len(sessions) == 2, f"there was more than one session: {sessions}"
    finally:
        for process in filter(None, [home, worker]):
            process.end()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path, nargs="?")
    options = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-clock-"))
    try:
        try_all(options.bin.resolve(), folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
