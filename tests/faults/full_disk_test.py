"""A disk that is full: a small tmpfs, where this process may mount one.

Arguments: the folder of the programs, and the source folder.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "process"))
from programs import json_lines, programs_folder, run  # noqa: E402

BIN = programs_folder(sys.argv[1])
DONE, STORAGE = 0, 5
SIZE = "4m"
INSIDE = "TROUPE_TEST_SMALL_DISK"  # the folder, in the process that has mounted it


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.disk = pathlib.Path(os.environ[INSIDE])

    def loop(self, data, thread):
        return run([BIN / "troupe", "run", "loop", "--data", self.disk / data, "--thread", thread,
                    "--json", "--input", json.dumps({"until": 3})])

    def store_much(self, data, thread):
        """A run that needs more room than a store has in its free pages."""
        return run([BIN / "troupe", "run", "ask", "--data", self.disk / data, "--thread", thread,
                    "--json", "--input", json.dumps({"name": os.urandom(50_000).hex()})])

    def checkpoints(self, data, thread):
        return run([BIN / "troupe", "history", "loop", "--data", self.disk / data, "--thread",
                    thread, "--json"])

    def fill(self, name):
        with (self.disk / name).open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass

    def test_a_full_disk_is_an_error_loses_nothing_and_works_again_with_space(self):
        self.assertEqual(self.loop("old", "t").returncode, DONE)
        kept = self.checkpoints("old", "t").stdout
        self.fill("filler")
        for data in ["old", "new"]:  # a store that is there, and one to be made
            done = self.store_much(data, "v")
            self.assertEqual(done.returncode, STORAGE, done.stdout + done.stderr)
            self.assertIn("storage_full", done.stdout)
        self.assertEqual(self.checkpoints("old", "t").stdout, kept)
        (self.disk / "old" / "troupe.mdb-lock").unlink()
        self.fill("more")
        self.assertEqual(self.checkpoints("old", "t").returncode, STORAGE)
        (self.disk / "filler").unlink()
        for data in ["old", "new"]:
            done = self.loop(data, "u")
            self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
            self.assertGreaterEqual(json_lines(done.stdout)[-1]["output"]["count"], 3)
        self.assertEqual(self.checkpoints("old", "t").stdout, kept)


def on_a_small_disk():
    """This script again, in namespaces of its own where it is root and may mount."""
    with tempfile.TemporaryDirectory(prefix="troupe-disk-") as folder:
        mount = f'mount -t tmpfs -o size={SIZE} tmpfs "$0" || exit 77; exec "$@"'
        try:
            return subprocess.run(["unshare", "-rm", "sh", "-c", mount, folder, sys.executable, "-B",
                                   *sys.argv], env={**os.environ, INSIDE: folder}).returncode
        except FileNotFoundError:
            return 77


if __name__ == "__main__":
    if INSIDE in os.environ:
        unittest.main(argv=sys.argv[:1], verbosity=1)
    may_mount = subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0
    status = on_a_small_disk() if may_mount else 77
    if status == 77:
        print("skipped: this process may not mount a tmpfs (unshare -rm)")
    sys.exit(0 if status == 77 else status)
