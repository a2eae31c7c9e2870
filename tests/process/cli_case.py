"""The command line in a folder of its own, for the tests of `troupe` and `digest`.

Arguments of these tests: the folder of the programs, and the source folder.
"""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from programs import programs_folder, run

DONE, FAILED, USAGE, PAUSED, DRAINED, STORAGE, STOPPED = 0, 1, 2, 3, 4, 5, 130
BIN = programs_folder(sys.argv[1])
LIB = BIN.parent / "lib"
TROUPE = BIN / "troupe"
SHELL = {**os.environ, "NO_COLOR": ""}


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"

    def troupe(self, *arguments, **options):
        return run([TROUPE, *arguments], cwd=self.folder, **options)

    def kept(self, command, graph, thread, *more, **options):
        return self.troupe(command, graph, "--data", self.data, "--thread", thread, *more,
                           **options)

    def begun(self, graph, thread, *more, **options):
        return self.kept("run", graph, thread, "--input", "{}", *more, **options)

    def ok(self, done, code=DONE):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def refused(self, done, code, *words, program="troupe"):
        """Ended with that code, and one line on stderr has the reason in these words."""
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        complaints = [line for line in done.stderr.splitlines()
                      if line and not line.startswith("thread ")]
        self.assertEqual(len(complaints), 1, done.stderr)
        self.assertTrue(complaints[0].startswith(program + ": "), complaints[0])
        for word in words:
            self.assertIn(word, complaints[0])
        return complaints[0]
