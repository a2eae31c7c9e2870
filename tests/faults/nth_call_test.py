"""The n-th call that reaches for memory or the disk fails, for n = 1, 2, 3 ... until none is left.

Each run ends with success or an error of the store, never with a crash or a hang; what was
acknowledged is there afterwards, and a further run completes.
Arguments: the folder of the programs, and the source folder.
"""
import concurrent.futures
import errno
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "process"))
from programs import json_lines, programs_folder, run  # noqa: E402

BIN = programs_folder(sys.argv[1])
LIBRARY = BIN.parent / "lib" / "failing_calls.so"
DONE, FAILED, STORAGE = 0, 1, 5
AT_ONCE = 2

# Kind, error, for how long, and to save time: only every so many calls. An error of 0 is a write that
# comes out short.
FAULTS = [("write", errno.EIO, "once"), ("write", errno.ENOSPC, "forever"), ("write", 0, "once"),
          ("sync", errno.EIO, "once"), ("sync", errno.EIO, "forever"),
          ("mmap", errno.ENOMEM, "once"), ("mmap", errno.ENOMEM, "forever"),
          ("ftruncate", errno.EIO, "once")]
MEMORY = [("malloc", errno.ENOMEM, "once"), ("malloc", errno.ENOMEM, "forever", 3)]


def failing(kind="write", n=0, error=0, how="once", **more):
    return {**os.environ, "LD_PRELOAD": str(LIBRARY),
            "TROUPE_FAIL": f"{kind}:{n}:{error}:{how}", **more}


class NthCall(unittest.TestCase):
    def setUp(self):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # faster than a disk
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-faults-", dir=memory))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def each(self, work, items):
        """Calls work for each item, some at once; fails with what any of them complains of."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            wrong = [complaint for complaint in threads.map(work, items) if complaint]
        self.assertFalse(wrong, "\n".join(wrong))

    def test_a_store_survives_each_failing_call(self):
        def use(fault):
            folder = self.folder / "-".join(map(str, fault))
            folder.mkdir()
            done = run([BIN / "store_faults", folder, *fault], timeout=600,
                       env={**os.environ, "LD_PRELOAD": str(LIBRARY)})
            print(done.stdout, end="", flush=True)
            return done.stdout + done.stderr if done.returncode else ""

        self.each(use, MEMORY + FAULTS)

    def test_a_run_of_a_graph_survives_each_failing_call(self):
        """Not for memory: CAF ends the process when it has none."""
        points = [(kind, n, error, how, durability) for durability in ["sync", "async"]
                  for kind, error, how in FAULTS for n in range(1, self.calls(kind, durability) + 1)]
        self.assertGreater(len(points), 50)
        self.each(self.try_graph, points)

    def loop(self, data, durability, **options):
        return run([BIN / "troupe", "run", "loop", "--data", data, "--thread", "t", "--json",
                    "--durability", durability, "--input", json.dumps({"until": 3})], **options)

    def calls(self, kind, durability):
        counted = self.folder / f"{kind}-{durability}.calls"
        data = self.folder / f"{kind}-{durability}"
        self.loop(data, durability, env=failing(kind, TROUPE_FAIL_CALLS=str(counted)))
        shutil.rmtree(data)
        return int(counted.read_text())

    def try_graph(self, point):
        kind, n, error, how, durability = point
        data = self.folder / "-".join(map(str, point))
        done = self.loop(data, durability, env=failing(kind, n, error, how))
        wrong = []
        if done.returncode not in [DONE, STORAGE]:
            wrong.append(f"ended with {done.returncode}: {done.stdout} {done.stderr}")
        parts = json_lines(done.stdout)
        again = self.loop(data, durability)
        count = json_lines(again.stdout)[-1]["output"]["count"] if again.returncode == DONE else 0
        if count not in [3, 4]:  # 4: the first run had stored its end, and this one ran on from it
            wrong.append(f"the next run: {again.returncode}: {again.stdout} {again.stderr}")
        history = run([BIN / "troupe", "history", "loop", "--data", data, "--thread", "t", "--json"])
        if history.returncode != DONE:
            wrong.append(f"the history: {history.returncode}: {history.stderr}")
        elif durability == "sync":  # what was reported is stored
            steps = sum(part["type"] == "updates" for part in parts)
            stored = sum(s["metadata"]["source"] == "loop" for s in json_lines(history.stdout))
            if stored < steps:
                wrong.append(f"{steps} steps were reported, {stored} are stored")
        shutil.rmtree(data, ignore_errors=True)
        return f"{point}: " + "; ".join(wrong) if wrong else ""


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
