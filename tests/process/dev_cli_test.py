"""`troupe dev`: libraries that are built anew while they are served.

A build is one of the prepared libraries libcounts_*.so, put in the place of the served one. They count up:
libcounts_two.so in steps of two, the others in steps of one.

Arguments: the folder of the programs, and the source folder.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import unittest
import urllib.request

from api_case import ApiTest
from cli_case import DONE, LIB, TROUPE, USAGE
from programs import Program

ONE, TWO, NEXT = (LIB / f"libcounts_{name}.so" for name in ("one", "two", "next"))


class Dev(ApiTest):
    def setUp(self):
        super().setUp()
        self.library = self.folder / "build" / "libcounts.so"
        self.library.parent.mkdir()
        shutil.copyfile(ONE, self.library)
        self.seen = 0

    @contextlib.contextmanager
    def developing(self, *arguments):
        """The URL of a server; self.program prints its lines."""
        command = [TROUPE, "dev", *arguments, "--listen", "127.0.0.1:0", "--json"]
        shell = {name: v for name, v in os.environ.items() if not name.startswith("TROUPE_")}
        with Program(command, cwd=self.folder, env=shell) as self.program:
            yield self.next_line("serve")["url"]
            self.program.process.terminate()
            self.assertEqual(self.program.end(), DONE, self.program.err.lines)

    def serving(self):
        return self.developing("build/libcounts.so:counts", "--in-memory")

    def next_line(self, *kinds):
        """The next line that the server prints, which is of one of these kinds."""
        lines = self.program.out.lines
        self.assertTrue(self.program.wait_until(lambda: len(lines) > self.seen), self.program.err.lines)
        line = json.loads(lines[self.seen])
        self.seen += 1
        self.assertIn(line["type"], kinds, line)
        return line

    def replace(self, build):
        """As most linkers: a new file under the old name."""
        content = build if isinstance(build, bytes) else build.read_bytes()
        draft = self.library.with_suffix(".tmp")
        draft.write_bytes(content)
        draft.rename(self.library)

    def rewrite(self, build):
        """The same file with other bytes."""
        shutil.copyfile(build, self.library)

    def save(self, name, text):
        """As most editors: nobody reads half of it."""
        draft = self.folder / "draft"
        draft.write_text(text)
        draft.rename(self.folder / name)

    def refused(self, *words):
        line = self.next_line("not_reloaded")
        for word in words:
            self.assertIn(word, line["message"])

    def count(self, url, until=3, thread=None):
        path = f"/threads/{thread}/runs/wait" if thread else "/runs/wait"
        status, state = self.ask(url, path, {"assistant_id": "counts", "input": {"until": until}})
        self.assertEqual(status, 200, state)
        return state["count"]

    def test_new_runs_use_a_rebuilt_library_and_a_run_in_flight_keeps_its_own(self):
        with self.serving() as url:
            thread = self.ask(url, "/threads", {})[1]["thread_id"]
            run = {"assistant_id": "counts", "input": {"until": 10**12}, "stream_mode": "updates",
                   "config": {"recursion_limit": 10**9}}
            request = urllib.request.Request(f"{url}/threads/{thread}/runs/stream", json.dumps(run).encode(),
                                             {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as stream:
                updates = (json.loads(line[6:])["work"]["count"] for line in stream
                           if line.startswith(b'data: {"work"'))
                self.assertEqual(next(updates), 1)
                for put, build, expected in [(self.replace, TWO, 4), (self.rewrite, ONE, 3), (self.rewrite, TWO, 4)]:
                    put(build)
                    line = self.next_line("reloaded")
                    self.assertEqual((line["library"], line["graphs"]), (str(self.library), ["counts"]))
                    self.assertEqual(self.count(url), expected)
                # More than what waited in buffers.
                self.assertEqual({next(updates) for _ in range(50_000)}, {1})
                run = self.ask(url, f"/threads/{thread}/runs")[1][0]
                self.assertEqual(run["status"], "running")
                status, _ = self.ask(url, f"/threads/{thread}/runs/{run['run_id']}/cancel?wait=1", method="POST")
                self.assertLess(status, 300)
            # The thread goes on with the new build.
            before = self.ask(url, f"/threads/{thread}/state")[1]["values"]["count"]
            self.assertEqual(self.count(url, before + 1, thread), before + 2)

    def test_a_build_that_cannot_be_loaded_leaves_the_one_before(self):
        with self.serving() as url:
            whole = TWO.read_bytes()
            for build, words in [(b"not a library\n", ["libcounts.so", "not a loadable shared library"]),
                                 (b"", ["written in part"]),
                                 (whole[:len(whole) // 2], ["written in part, build it again"]),
                                 ((LIB / "libserver_graphs.so").read_bytes(), ["exports no graph", "TROUPE_GRAPH(counts)"])]:
                self.replace(build)
                self.refused(*words)
                self.assertEqual(self.count(url), 3)
            self.library.unlink()
            self.refused("libcounts.so", "No such file")
            self.replace(TWO)
            self.next_line("reloaded")
            self.assertEqual(self.count(url), 4)
            self.replace(b"broken again")
            self.refused("not a loadable shared library")
            self.replace(TWO)  # which is served already
            self.next_line("reloaded")
            self.assertEqual(self.count(url), 4)

    def test_of_quick_rebuilds_the_last_one_is_served(self):
        with self.serving() as url:
            for build in (TWO, NEXT, TWO, NEXT, TWO):
                self.replace(build)
            self.next_line("reloaded")
            while self.count(url) != 4:
                self.next_line("reloaded")

    def test_a_folder_that_is_removed_and_made_anew_is_watched(self):
        with self.serving() as url:
            shutil.rmtree(self.library.parent)
            self.refused("No such file")
            self.library.parent.mkdir()
            self.replace(TWO)
            self.next_line("reloaded")
            self.assertEqual(self.count(url), 4)

    def test_a_library_behind_a_link_is_followed(self):
        target = self.library.with_name("libcounts.so.1")
        self.library.rename(target)
        self.library.symlink_to(target.name)
        with self.serving() as url:
            shutil.copyfile(TWO, target)
            self.next_line("reloaded")
            self.assertEqual(self.count(url), 4)
            other = self.library.with_name("libcounts.so.2")
            shutil.copyfile(ONE, other)
            link = self.library.with_suffix(".tmp")
            link.symlink_to(other.name)
            link.rename(self.library)
            self.next_line("reloaded")
            self.assertEqual(self.count(url), 3)

    def test_a_thread_on_the_disk_goes_on_with_the_new_build(self):
        with self.developing("build/libcounts.so:counts") as url:
            thread = self.ask(url, "/threads", {})[1]["thread_id"]
            self.assertEqual(self.count(url, 3, thread), 3)
            self.replace(TWO)
            self.next_line("reloaded")
            self.assertEqual(self.count(url, 4, thread), 5)
            self.assertEqual(len(self.ask(url, f"/threads/{thread}/history")[1]), 8)
        self.assertTrue((self.folder / ".troupe" / "server.mdb").exists())

    def test_a_changed_configuration_asks_for_a_restart(self):
        self.write(".env", "A=1\n")
        self.write("troupe.json", {"graphs": {"mine": "build/libcounts.so:counts"}, "env": ".env"})
        with self.developing("--in-memory") as url:
            self.assertEqual([one["graph_id"] for one in self.ask(url, "/assistants/search", {})[1]], ["mine"])
            self.save("troupe.json", (self.folder / "troupe.json").read_text())  # as it was: not reported
            self.save(".env", "A=2\n")
            self.assertEqual(self.next_line("restart_needed")["file"], str(self.folder / ".env"))
            self.save("troupe.json", '{"graphs": {}}')
            self.assertEqual(self.next_line("restart_needed")["file"], str(self.folder / "troupe.json"))
            self.replace(TWO)
            self.assertEqual(self.next_line("reloaded")["graphs"], ["mine"])

    def test_copies_of_builds_are_removed(self):
        def copies():
            return sorted(file.name for file in self.library.parent.iterdir() if file.name.startswith("."))
        gone = subprocess.Popen(["true"])
        gone.wait()
        (self.library.parent / f".libcounts.so.troupe-{gone.pid}-1").touch()
        (self.library.parent / ".libcounts.so.mine").touch()
        with self.serving():
            self.replace(TWO)
            self.next_line("reloaded")
            self.assertEqual([name.split("-")[-1] for name in copies()], [".libcounts.so.mine", "1", "2"])
        self.assertEqual(copies(), [".libcounts.so.mine"])

    def test_what_is_served_is_printed_for_people(self):
        with Program([TROUPE, "dev", "build/libcounts.so:counts", "--in-memory", "--listen", "127.0.0.1:0"],
                     cwd=self.folder) as self.program:
            out, err = self.program.out.lines, self.program.err.lines
            self.assertTrue(self.program.wait_until(lambda: len(out) == 6), err)
            self.assertEqual(out[0], "serving counts")
            self.assertRegex("\n".join(out), r"API +http://127\.0\.0\.1:\d+\n +docs +http://127\.0\.0\.1:\d+/docs\n")
            self.assertIn(str(self.library), out[5])
            self.replace(TWO)
            self.assertTrue(self.program.wait_until(lambda: len(out) == 7), err)
            self.assertEqual(out[6], f"reloaded {self.library}: new runs of counts use it")
            self.replace(b"broken")
            self.assertTrue(self.program.wait_until(lambda: bool(err)))
            self.assertRegex(err[0], "not reloaded: .*the build before is still served")
            self.program.process.terminate()
            self.assertEqual(self.program.end(), DONE)

    def test_a_library_that_is_not_built_yet_is_refused_at_the_start(self):
        self.library.unlink()
        done = self.troupe("dev", "build/libcounts.so:counts", "--in-memory")
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("libcounts.so", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
