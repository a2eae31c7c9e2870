"""The data directory of a server: backups of it, and damage.

Arguments: the folder of the programs, and the source folder.
"""
import contextlib
import json
import os
import sys
import unittest

from api_case import ApiTest
from cli_case import DONE, STORAGE, TROUPE
from programs import Program, json_lines


class ServedData(ApiTest):
    @contextlib.contextmanager
    def serving(self, data, **keys):
        command = [TROUPE, "serve", "hello", "loop", "--data", data, "--listen", "127.0.0.1:0", "--json"]
        shell = {name: v for name, v in os.environ.items() if not name.startswith("TROUPE_")} | keys
        with Program(command, cwd=self.folder, env=shell) as program:
            self.assertTrue(program.wait_until(lambda: program.out.lines), program.err.lines)
            yield json.loads(program.out.lines[0])["url"]
            program.process.terminate()
            self.assertEqual(program.end(), DONE, program.err.lines)

    def got(self, *asked, **more):
        status, body = self.ask(*asked, **more)
        self.assertLess(status, 300, body)
        return body

    def store(self, command, *arguments, data="data"):
        return self.troupe("store", command, *arguments, "--data", data)

    def check(self, data):
        done = self.store("check", "--json", data=data)
        return done.returncode, json_lines(done.stdout)

    def test_a_backup_restores_assistants_threads_runs_and_crons(self):
        with self.serving("data") as url:
            assistant = self.got(url, "/assistants", {"graph_id": "hello", "name": "mine"})["assistant_id"]
            thread = self.got(url, "/threads", {"metadata": {"owner": "ann"}})["thread_id"]
            run = self.got(url, f"/threads/{thread}/runs", {"assistant_id": assistant, "input": {}})["run_id"]
            self.got(url, f"/threads/{thread}/runs/{run}/join")
            cron = self.got(url, "/runs/crons", {"assistant_id": assistant, "schedule": "0 5 1 1 *", "input": {}})
            self.got(url, "/store/items", {"namespace": ["n"], "key": "k", "value": {"v": 1}}, method="PUT")
            busy = self.got(url, "/threads", {})["thread_id"]
            wait = {"until": 40, "delay_ms": 50}
            flying = self.got(url, f"/threads/{busy}/runs", {"assistant_id": "loop", "input": wait,
                              "config": {"recursion_limit": 100}})["run_id"]
            self.ok(self.store("backup", "copy"))  # by another process, while it is served
            self.ok(self.store("compact", "small"))
            self.got(url, f"/threads/{busy}/runs/{flying}/cancel?wait=1", method="POST")
        self.assertNotEqual(self.store("backup", "copy").returncode, DONE)  # it holds threads
        for copy in ("copy", "small"):
            code, lines = self.check(copy)
            self.assertEqual((code, lines[-1]["damaged"]), (DONE, 0), lines)
            with self.serving(copy) as url:
                self.assertEqual(self.got(url, f"/assistants/{assistant}")["name"], "mine")
                self.assertEqual(self.got(url, f"/threads/{thread}")["metadata"]["owner"], "ann")
                self.assertEqual(self.got(url, f"/threads/{thread}/state")["values"], {"count": 3})
                self.assertEqual([r["status"] for r in self.got(url, f"/threads/{thread}/runs")], ["success"])
                self.assertEqual([c["cron_id"] for c in self.got(url, "/runs/crons/search", {})], [cron["cron_id"]])
                self.assertEqual(self.got(url, "/store/items?namespace=n&key=k")["value"], {"v": 1})
                # The run that was in flight is taken up, and ends.
                self.assertEqual(self.got(url, f"/threads/{busy}/runs/{flying}/join")["count"], 40)

    def test_the_key_of_the_documents_is_rotated(self):
        keys = [{"TROUPE_STORE_KEYS": text} for text in
                ("k1:" + "1" * 64, "k1:" + "1" * 64 + ",k2:" + "2" * 64, "k2:" + "2" * 64)]
        with self.serving("data", **keys[0]) as url:
            thread = self.got(url, "/threads", {"metadata": {"owner": "ann"}})["thread_id"]
        done = self.troupe("store", "rotate-keys", "--data", "data", "--json", env={**os.environ, **keys[1]})
        rotated = json_lines(self.ok(done))[0]
        self.assertEqual((rotated["files"], rotated["rewrapped"]), (1, 1))
        with self.serving("data", **keys[2]) as url:
            self.assertEqual(self.got(url, f"/threads/{thread}")["metadata"], {"owner": "ann"})

    def test_a_damaged_file_of_documents_is_reported(self):
        with self.serving("data") as url:
            for n in range(20):
                self.got(url, "/threads", {"metadata": {"n": n}})
        file = self.folder / "data" / "server.mdb"
        whole = file.read_bytes()
        self.assertEqual(self.check("data")[0], DONE)
        pages = bytearray(whole)
        for page in range(2, len(pages) // 4096):
            pages[page * 4096 + 100] ^= 0xff
            pages[page * 4096 + 4000] ^= 0xff
        for damaged, word in [(pages, "damaged: restore a copy"), (b"", "empty"), (whole[:len(whole) // 2], "server.mdb")]:
            file.write_bytes(damaged)
            code, lines = self.check("data")
            self.assertEqual((code, lines[-1]["damaged"]), (STORAGE, 1), lines)
            self.assertIn("server.mdb", lines[0]["what"])
            self.assertIn(word, lines[0]["what"])
        file.write_bytes(b"")
        self.refused(self.store("backup", "copy"), STORAGE, "server.mdb is empty")
        self.assertEqual([f.name for f in (self.folder / "copy").iterdir()], [])
        file.write_bytes(whole)
        self.ok(self.store("backup", "copy"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
