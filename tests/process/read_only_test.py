"""A data directory that this user may not write to: all commands that look at it work, and nothing
in it changes.

Needs the rights of root, to become another user. Arguments: the folder of the programs, and the
source folder.
"""
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from programs import json_lines, programs_folder, run

TROUPE = programs_folder(sys.argv[1]) / "troupe"
STORAGE = 5
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def contents(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


class ReadOnly(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-read-only-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"
        self.folder.chmod(0o777)
        for _ in range(2):
            self.ok("run", "hello", "--thread", "t", "--data", self.data, "--input", "{}")

    def call(self, *arguments, **user):
        return run([TROUPE, *arguments], cwd=self.folder, **user)

    def ok(self, *arguments, **user):
        done = self.call(*arguments, **user)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def protect(self):
        self.data.chmod(0o555)
        for file in self.data.iterdir():
            file.chmod(0o444)

    def look(self, **user):
        thread = ["hello", "--thread", "t", "--data", self.data]
        return [self.ok("threads", "--json", "--data", self.data, **user),
                self.ok("state", *thread, "--json", **user),
                self.ok("history", *thread, "--json", **user),
                self.ok("diff", *thread, **user),
                self.ok("store", "export", "--data", self.data, **user),
                self.ok("store", "check", "--data", self.data, **user),
                self.ok("store", "prune", "--keep-latest", "1", "--dry-run", "--data", self.data, **user)]

    def test_another_user_sees_what_the_owner_sees_and_changes_nothing(self):
        before = self.look()
        self.protect()
        files = contents(self.data)
        self.assertEqual(self.look(**NOBODY), before)
        stats = json_lines(self.ok("store", "stats", "--json", "--data", self.data, **NOBODY))[0]
        self.assertEqual(stats["threads"], 1)
        self.assertEqual(contents(self.data), files)

    def test_another_user_may_copy_it(self):
        self.protect()
        for command in ["backup", "compact"]:
            self.ok("store", command, self.folder / command, "--data", self.data, **NOBODY)
            self.assertEqual(self.ok("threads", "--data", self.folder / command),
                             self.ok("threads", "--data", self.data))

    def test_a_copy_without_a_lock_file_can_be_looked_at(self):
        (self.data / "troupe.mdb-lock").unlink()
        self.protect()
        files = contents(self.data)
        self.assertIn("t", self.ok("threads", "--data", self.data, **NOBODY))
        self.assertEqual(contents(self.data), files)

    def test_what_writes_is_refused(self):
        self.protect()
        for command in [["run", "hello", "--thread", "t", "--input", "{}"],
                        ["store", "prune", "--keep-latest", "1"]]:
            done = self.call(*command, "--data", self.data, **NOBODY)
            self.assertEqual(done.returncode, STORAGE, done.stdout + done.stderr)
            self.assertIn(str(self.data), done.stderr)

    def test_what_this_user_may_not_even_read_is_named(self):
        self.data.chmod(0o700)
        done = self.call("threads", "--data", self.data, **NOBODY)
        self.assertEqual(done.returncode, STORAGE, done.stdout + done.stderr)
        self.assertIn("ermission denied", done.stderr)
        self.assertIn("let this user read the directory", done.stderr)


def why_not():
    if os.geteuid() != 0:
        return "only root can become another user"
    try:
        if run([TROUPE, "--version"], **NOBODY).returncode == 0:
            return None
    except PermissionError:
        pass
    return "the programs are not for everybody"


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
