"""Threads that the command line keeps in a Postgres database.

Arguments: the folder of the programs, and the source folder.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from postgres_server import Server
from programs import json_lines, programs_folder, run

DONE, USAGE, PAUSED, NOTHING_STORED = 0, 2, 3, 6
TROUPE = programs_folder(sys.argv[1]) / "troupe"


class Postgres(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-cli-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def troupe(self, *arguments, code=DONE, **options):
        done = run([TROUPE, *arguments], cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_thread_from_its_start_to_its_history(self):
        place = ["--thread", "t", "--postgres", self.server.conninfo]
        self.troupe("run", "ask", *place, code=NOTHING_STORED)
        paused = self.troupe("run", "ask", *place, "--input", "{}", "--once", code=PAUSED)
        self.assertIn(f"--postgres 'host={self.server.folder} dbname=postgres user=troupe' --thread t "
                      "--resume JSON", paused.stderr)
        self.assertIn("Hello, Ada!", self.troupe("run", "ask", *place, "--resume", '"Ada"').stdout)
        self.assertIn("Hello, Ada!", self.troupe("state", "ask", *place).stdout)
        made = self.troupe("update", "ask", *place, "--values", '{"text": "x"}').stdout.strip()
        history = json_lines(self.troupe("history", "ask", *place, "--json").stdout)
        self.assertEqual(history[0]["checkpoint_id"], made)
        self.assertIn("+ /text", self.troupe("diff", "ask", *place).stdout)
        self.troupe("resume", "ask", *place[2:])
        threads = json_lines(self.troupe("threads", *place[2:], "--json").stdout)
        self.assertIn("t", [line["thread"] for line in threads])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_environment_names_it_and_a_data_directory_comes_first(self):
        there = {"env": {**os.environ, "TROUPE_POSTGRES": self.server.conninfo}}
        self.troupe("run", "hello", "--thread", "e", "--input", "{}", **there)
        self.assertIn('"count": 3', self.troupe("state", "hello", "--thread", "e", **there).stdout)
        self.troupe("run", "hello", "--thread", "e", "--data", "d", code=NOTHING_STORED, **there)
        self.assertFalse((self.folder / "d").exists())

    def test_chat_and_mcp_keep_their_threads_there(self):
        self.troupe("chat", "--thread", "c", "--postgres", self.server.conninfo, input="hi\n")
        self.assertIn("hi", self.troupe("state", "chat", "--thread", "c", "--postgres",
                                        self.server.conninfo).stdout)
        greeting = {"protocolVersion": "2025-11-25", "capabilities": {}}
        asked = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting},
                 {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                  "params": {"name": "hello", "arguments": {"thread_id": "m"}}}]
        self.troupe("mcp", "hello", "--postgres", self.server.conninfo,
                    input="".join(json.dumps(m) + "\n" for m in asked))
        self.assertIn('"count": 3', self.troupe("state", "hello", "--thread", "m", "--postgres",
                                                self.server.conninfo).stdout)

    def test_conflicts_and_passwords_are_refused(self):
        both = self.troupe("run", "hello", "--postgres", self.server.conninfo, "--data", "d", code=USAGE)
        self.assertIn("--data", both.stderr)
        for secret in ["host=h password=s3cret", "postgresql://u:s3cret@h/db"]:
            done = self.troupe("threads", "--postgres", secret, code=USAGE)
            self.assertIn("PGPASSWORD", done.stderr)
            self.assertNotIn("s3cret", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
