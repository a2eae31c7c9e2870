"""The command line and a data directory: `troupe store`, keys, damage, a full disk.

Arguments: the folder of the programs, and the source folder.
"""
import fcntl
import json
import os
import resource
import signal
import sys
import unittest

import store_damage
from cli_case import PAUSED, STORAGE, TROUPE, USAGE, CliTest
from programs import json_lines, run


class Store(CliTest):
    """Looking after a data directory."""

    def setUp(self):
        super().setUp()
        self.ok(self.begun("loop", "t"))
        self.ok(self.begun("ask", "asks"), PAUSED)

    def store(self, command, *arguments, data=None, **options):
        return self.troupe("store", command, *arguments, "--data", data or self.data, **options)

    def history(self, thread="t", graph="loop", data=None):
        return json_lines(self.ok(self.troupe("history", graph, "--data", data or self.data,
                                              "--thread", thread, "--json")))

    def test_check_finds_a_whole_store_whole(self):
        self.assertIn("0 damaged", self.ok(self.store("check")))
        report = json_lines(self.ok(self.store("check", "--json")))[-1]
        self.assertEqual((report["type"], report["damaged"]), ("check", 0))
        self.assertEqual(report["checkpoints"], len(self.history()) + len(self.history("asks", "ask")))

    def test_check_names_what_is_damaged(self):
        self.assertGreater(store_damage.flip_checkpoints(self.data / "troupe.mdb"), 0)
        result = self.store("check")
        self.assertEqual(result.returncode, STORAGE)
        self.assertIn("thread `t`: read a checkpoint record", result.stdout)
        self.assertEqual(self.store("check", "--json").returncode, STORAGE)

    def test_stats(self):
        stats = json_lines(self.ok(self.store("stats", "--json")))[0]
        self.assertEqual(stats["threads"], 2)
        self.assertEqual(stats["file_bytes"], (self.data / "troupe.mdb").stat().st_size)
        self.assertGreater(stats["records"]["checkpoint"]["records"], 10)
        self.assertIn("checkpoint", self.ok(self.store("stats")))

    def test_prune_keeps_what_its_flags_name_and_the_thread_goes_on(self):
        before = self.history()
        pruned = json_lines(self.ok(self.store("prune", "--thread", "t", "--keep-latest", "3", "--json")))[0]
        self.assertEqual(pruned["checkpoints"], len(before) - 3)
        self.assertEqual([(s["checkpoint_id"], s["values"]) for s in self.history()],
                         [(s["checkpoint_id"], s["values"]) for s in before[:3]])
        self.assertIn("0 damaged", self.ok(self.store("check")))
        self.refused(self.store("prune"), USAGE, "--keep-latest", "--dry-run")
        counted = json_lines(self.ok(self.store("prune", "--thread", "t", "--keep-latest", "1",
                                                "--dry-run", "--json")))[0]
        self.assertEqual((counted["checkpoints"], counted["dry_run"]), (2, True))
        self.assertEqual(len(self.history()), 3)
        self.ok(self.store("prune", "--keep-latest", "1"))
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "asks", "--resume", '"Ada"')))
        self.assertEqual(len(self.history()), 1)
        self.ok(self.store("prune", "--keep-latest", "1", "--older-than", "1"))
        self.refused(self.store("prune", "--keep-latest", "0"), USAGE, "keep-latest")
        for days in ("-1", "0s", "36501", "nan"):
            self.refused(self.store("prune", "--older-than", days), USAGE, "older-than", "from 0 to 36500", days)

    def test_backup_and_compact_hold_the_same_threads(self):
        for command in ["backup", "compact"]:
            to = self.folder / command
            self.ok(self.store(command, to))
            self.assertEqual(self.history(data=to), self.history())
            self.refused(self.store(command, to), STORAGE, "troupe.mdb")

    def test_exported_threads_are_imported_as_they_were(self):
        lines = self.ok(self.store("export"))
        self.assertEqual({line["thread"] for line in json_lines(lines)}, {"t", "asks"})
        to = self.folder / "imported"
        self.ok(self.store("import", data=to, input=lines))
        for thread, graph in [("t", "loop"), ("asks", "ask")]:
            self.assertEqual(self.history(thread, graph, to), self.history(thread, graph))
        self.assertEqual(self.ok(self.store("export", data=to)), lines)
        self.assertIn("0 damaged", self.ok(self.store("check", data=to)))
        answered = self.troupe("run", "ask", "--data", to, "--thread", "asks", "--resume", '"Ada"')
        self.assertIn("Hello, Ada!", self.ok(answered))

        self.refused(self.store("import", data=to, input=lines), USAGE, "`asks`", "already")
        self.refused(self.store("import", data=to, input="no json\n"), USAGE, "line 1")
        self.refused(self.store("import", data=to, input='{"type": "checkpoint"}\n'), USAGE, "line 1")
        self.refused(self.store("export", "--thread", "nobody"), USAGE, "nobody")

    def test_a_directory_without_threads_is_left_alone(self):
        for command in [["check"], ["stats"], ["prune", "--keep-latest", "1"], ["export"]]:
            self.refused(self.store(*command, data=self.folder / "none"), STORAGE, "none")
        self.assertFalse((self.folder / "none").exists())


class Keys(CliTest):
    def with_keys(self, *keys):
        text = ",".join(f"{key}:{key[-1] * 64}" for key in keys)
        return {"env": {**os.environ, "TROUPE_STORE_KEYS": text}}

    def rotate(self, *keys):
        return self.troupe("store", "rotate-keys", "--data", self.data, "--json",
                           **self.with_keys(*keys))

    def test_an_encrypted_thread_needs_its_key_and_its_key_is_rotated(self):
        self.ok(self.begun("hello", "t", **self.with_keys("k1")))
        self.assertNotIn(b"branch:to:", (self.data / "troupe.mdb").read_bytes())
        self.refused(self.kept("state", "hello", "t"), STORAGE, "`k1`", "TROUPE_STORE_KEY_FILE")
        self.refused(self.troupe("threads", "--data", self.data), STORAGE, "`k1`")
        self.refused(self.rotate("k2"), STORAGE, "`k1`")
        rotated = json_lines(self.ok(self.rotate("k1", "k2")))
        self.assertEqual(rotated, [{"type": "rotated", "key": "k2", "threads": 1, "files": 0,
                                    "rewrapped": 1}])
        self.ok(self.kept("state", "hello", "t", **self.with_keys("k2")))
        self.assertIn("t", self.ok(self.troupe("threads", "--data", self.data,
                                               **self.with_keys("k2"))))

    def test_keys_come_from_a_file_that_nobody_else_reads(self):
        file = self.folder / "keys"
        file.write_text("k1 " + "1" * 64 + "\n")
        environment = {"env": {**os.environ, "TROUPE_STORE_KEY_FILE": str(file)}}
        file.chmod(0o640)
        self.refused(self.begun("hello", "t", **environment), USAGE, str(file), "chmod 600")
        file.chmod(0o600)
        self.ok(self.begun("hello", "t", **environment))
        self.ok(self.troupe("store", "rotate-keys", "--data", self.data, **environment))

    def test_rotating_without_keys_or_a_store_is_refused(self):
        self.refused(self.rotate("k1"), STORAGE, str(self.data))
        self.ok(self.begun("hello", "t"))
        done = self.troupe("store", "rotate-keys", "--data", self.data)
        self.refused(done, USAGE, "TROUPE_STORE_KEY_FILE")
        self.refused(self.rotate(), USAGE, "TROUPE_STORE_KEYS")


class BadDataDirectory(CliTest):
    def refuses_data(self, *words, commands=("threads", "state", "run"), **options):
        for command in commands:
            more = [] if command == "threads" else ["hello", "--thread", "t"]
            with self.subTest(command):
                done = self.troupe(command, *more, "--data", self.data, **options)
                self.refused(done, STORAGE, *words)

    def test_missing(self):
        self.refuses_data(str(self.data), commands=["threads", "state"])
        self.assertFalse(self.data.exists(), "a look made a data directory")
        self.data = self.folder / "no" / "such" / "parent"
        self.refuses_data(str(self.data))

    def test_a_file_in_its_place(self):
        self.data.write_text("a file")
        self.refuses_data(str(self.data))
        self.data = self.data / "below"
        self.refuses_data(str(self.data))

    def test_a_folder_without_threads_is_not_changed_by_a_look(self):
        self.data.mkdir()
        self.refuses_data(str(self.data), commands=["threads", "state"])
        self.assertEqual(list(self.data.iterdir()), [])

    def test_unwritable(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            if run([TROUPE, "--version"], **nobody).returncode != 0:
                raise PermissionError
        except PermissionError:
            self.skipTest("the programs are not for everybody")
        self.folder.chmod(0o755)
        self.data.mkdir()
        self.data.chmod(0o555)
        self.refuses_data(str(self.data), commands=["run"], **nobody)
        self.data.chmod(0o755)

    def test_no_store_at_all(self):
        self.ok(self.begun("hello", "t"))
        file = self.data / "troupe.mdb"
        file.write_bytes(b"\xa5" * file.stat().st_size)
        self.refuses_data("troupe.mdb")

    def test_cut_to_nothing(self):
        self.ok(self.begun("hello", "t"))
        os.truncate(self.data / "troupe.mdb", 0)
        self.refuses_data("troupe.mdb is empty")
        self.refused(self.troupe("resume", "hello", "--data", self.data), STORAGE, "is empty")
        for command, *more in [["stats"], ["prune", "--keep-latest", "1"],
                               ["backup", self.folder / "copy"], ["export"]]:
            with self.subTest(command):
                done = self.troupe("store", command, *more, "--data", self.data)
                self.refused(done, STORAGE, "is empty")
        checked = self.troupe("store", "check", "--data", self.data)
        self.assertEqual(checked.returncode, STORAGE)
        self.assertIn("troupe.mdb is empty", checked.stdout)
        self.assertEqual((self.data / "troupe.mdb").stat().st_size, 0)

    def test_cut_short(self):
        self.ok(self.begun("hello", "t"))
        os.truncate(self.data / "troupe.mdb", 8192)
        self.refuses_data(commands=["state"])

    def test_damaged_records(self):
        self.ok(self.begun("hello", "t"))
        self.assertIn("0 damaged", self.ok(self.troupe("store", "check", "--data", self.data)))
        self.assertGreater(store_damage.flip_checkpoints(self.data / "troupe.mdb"), 0)
        checked = self.troupe("store", "check", "--data", self.data)
        self.assertEqual(checked.returncode, STORAGE)
        self.assertIn("checksum does not match", checked.stdout)
        self.refuses_data("checksum", commands=["state", "run"])
        listed = self.troupe("threads", "--data", self.data)
        self.assertEqual(listed.returncode, STORAGE)
        self.assertRegex(listed.stdout, "^t +damaged: .*checksum")
        self.assertIn("1 of 1 damaged", listed.stderr)

    def test_a_newer_format(self):
        self.ok(self.begun("hello", "t"))
        self.assertGreater(store_damage.make_newer(self.data / "troupe.mdb"), 0)
        before = (self.data / "troupe.mdb").read_bytes()
        self.refuses_data("newer")
        self.assertEqual((self.data / "troupe.mdb").read_bytes(), before)

    def test_locked(self):
        self.ok(self.begun("hello", "t"))
        with (self.data / "troupe.mdb-lock").open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            self.refuses_data(str(self.data), commands=["threads", "run"], timeout=30)
        self.ok(self.kept("state", "hello", "t"))

    def test_full(self):
        self.ok(self.begun("hello", "t"))

        def small_files_only():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))

        (self.folder / "in.json").write_text(json.dumps({"name": os.urandom(1 << 20).hex()}))
        done = self.kept("run", "ask", "t2", "--input", "@in.json", preexec_fn=small_files_only)
        self.refused(done, STORAGE)
        self.assertIn('"count": 3', self.ok(self.kept("state", "hello", "t")))
        self.assertIn('"count": 4', self.ok(self.begun("hello", "t")))

    def test_a_failure_is_a_json_line_too(self):
        done = self.troupe("threads", "--data", self.data, "--json")
        self.refused(done, STORAGE)
        self.assertEqual(json_lines(done.stdout)[0]["code"], "storage_failed")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
