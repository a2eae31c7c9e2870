"""Homes and workers as processes: started by hand, looked at, drained, killed.

Arguments: the folder of the programs, and the source folder.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from programs import DEADLINE_S, Lines, Program, json_lines, programs_folder, run

DONE, FAILED, USAGE, NOT_DRAINED = 0, 1, 2, 8
BIN = programs_folder(sys.argv[1])
TROUPE = BIN / "troupe"
WORD_COUNT = f"{BIN.parent / 'lib' / 'libcluster.so'}:word_count"
FILES = 20


class WorkerTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-worker-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.files = []
        for words in range(1, FILES + 1):
            path = self.folder / f"{words}.txt"
            path.write_text("word " * words)
            self.files.append(str(path))

    def worker(self, *arguments):
        """A worker that listens, and where."""
        program = Program([TROUPE, "worker", WORD_COUNT, "--plain", "--json", *arguments])
        self.addCleanup(program.__exit__)
        self.assertTrue(program.wait_until(lambda: program.out.lines), program.err.lines)
        return program, f"127.0.0.1:{json_lines(program.out.lines[0])[0]['port']}"

    def home(self, *arguments):
        files = ",".join(f'"{path}"' for path in self.files)
        return [TROUPE, "run", WORD_COUNT, "--input", f'{{"files": [{files}], "group_size": 5}}',
                "--json", *arguments]

    def words(self, text):
        """The result of the run."""
        return json_lines(text)[-1]["output"]["words"]

    def test_a_graph_runs_on_workers_and_without_any(self):
        _, one = self.worker("--name", "one")
        _, two = self.worker("--name", "two")
        for flags in [[], ["--plain", "--worker", one, "--worker", two]]:
            done = run(self.home(*flags))
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertEqual(self.words(done.stdout), FILES * (FILES + 1) // 2)

    def test_status_shows_what_answers_and_what_does_not(self):
        _, at = self.worker("--name", "one", "--label", "gpu", "--capacity", "3")
        done = run([TROUPE, "cluster", "status", "--plain", "--json", at])
        self.assertEqual(done.returncode, DONE, done.stderr)
        status = json_lines(done.stdout)[0]["status"]
        self.assertEqual([status[k] for k in ["kind", "name", "labels", "capacity", "running"]],
                         ["worker", "one", ["gpu"], 3, 0])
        self.assertEqual(status["homes"], [])  # the asking process is not one of them
        table = run([TROUPE, "cluster", "status", "--plain", at]).stdout.splitlines()
        self.assertRegex(table[0], "^ADDRESS +WORKER +STATE +LABELS +USED +LEASE AGE MS +TASKS")
        self.assertRegex(table[1], rf"^{at} +one +up +gpu +0/3 +- +0 +- +- +0 +[0-9a-f]{{12}}$")
        graphs = status["graphs"]
        self.assertIn("word_count", [graph["name"] for graph in graphs])
        for graph in graphs:
            self.assertEqual(set(graph), {"name", "hash", "build", "version"})
            self.assertRegex(graph["build"], "^[0-9a-f]{12}")
        self.assertTrue(graphs[0]["build"].startswith(table[1].split()[-1]), table[1])

    def test_status_shows_how_long_tasks_took(self):
        _, at = self.worker("--name", "one")
        done = run(self.home("--plain", "--worker", at))  # groups of five files, 5 ms each
        self.assertEqual(done.returncode, DONE, done.stderr)
        status = json_lines(run([TROUPE, "cluster", "status", "--plain", "--json", at]).stdout)
        tasks = status[0]["status"]["tasks"]
        self.assertEqual(tasks["count"], FILES // 5)
        self.assertLessEqual(25, tasks["p50_ms"])
        self.assertLessEqual(tasks["p50_ms"], tasks["p99_ms"])
        self.assertLessEqual(tasks["p99_ms"], tasks["most_ms"])
        table = run([TROUPE, "cluster", "status", "--plain", at]).stdout.splitlines()
        self.assertIn("P50 MS  P99 MS", table[0])
        count, p50, p99, _, _ = table[1].split()[-5:]
        self.assertEqual(int(count), FILES // 5)
        self.assertAlmostEqual(float(p50), tasks["p50_ms"], delta=0.5)
        self.assertAlmostEqual(float(p99), tasks["p99_ms"], delta=0.5)

    def test_status_of_a_home_shows_how_long_each_worker_takes(self):
        release = self.hold_a_file(self.files[-1])
        with socket.create_server(("127.0.0.1", 0)) as free:
            at = f"127.0.0.1:{free.getsockname()[1]}"
        self.worker("--name", "one", "--label", "gpu", "--join", at)
        home = Program(self.home("--plain", "--listen", at))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        status = json_lines(run([TROUPE, "cluster", "status", "--plain", "--json", at]).stdout)
        worker, = status[0]["status"]["workers"]
        self.assertEqual((worker["name"], worker["running"], worker["tasks"]["count"]),
                         ("one", 1, 3))
        self.assertLessEqual(25, worker["tasks"]["p50_ms"])
        self.assertLessEqual(worker["tasks"]["p50_ms"], worker["tasks"]["p99_ms"])
        table = run([TROUPE, "cluster", "status", "--plain", at]).stdout.splitlines()
        self.assertRegex(table[1], rf"^{at} +\(home\) +up ")
        row = table[2].split()
        self.assertEqual(row[:5], ["its", "worker", "one", "up", "gpu"])
        self.assertRegex(row[5], "^1/")
        self.assertEqual(row[7], "3")
        self.assertAlmostEqual(float(row[8]), worker["tasks"]["p50_ms"], delta=0.5)
        release(self.files[-1])

    def test_one_that_does_not_answer_does_not_hide_the_others(self):
        _, at = self.worker("--name", "one")
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and sends nothing
            mute = f"127.0.0.1:{silent.getsockname()[1]}"
            done = run([TROUPE, "cluster", "status", "--plain", mute, at])
        self.assertEqual(done.returncode, FAILED, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[1], f"^{mute} +- +no answer")
        self.assertIn(f"troupe: ask {mute}: no answer in 5000 ms", done.stderr)
        self.assertRegex(lines[2], f"^{at} +one +up")

    def test_a_watch_prints_an_object_a_second_over_one_link_until_it_is_told_to_stop(self):
        _, at = self.worker("--name", "one")
        program = Program([TROUPE, "cluster", "status", "--plain", "--watch", "--json", at])
        self.addCleanup(program.__exit__)
        self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 3))
        for line in json_lines("\n".join(program.out.lines)):
            peer, = line["peers"]
            self.assertEqual((line["type"], peer["address"], peer["status"]["name"]),
                             ("peers", at, "one"))
        program.signal(signal.SIGINT)
        self.assertEqual(program.end(), DONE)
        self.assertEqual(program.err.lines, [])

    def test_a_watch_of_a_terminal_draws_over_what_it_drew(self):
        _, at = self.worker("--name", "one")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
        with subprocess.Popen([TROUPE, "cluster", "status", "--plain", "--watch", at],
                              stdout=theirs) as program:
            os.close(theirs)
            screen = Lines(ours)
            while len(screen.lines) < 4:
                self.assertTrue(select.select([ours], [], [], DEADLINE_S)[0])
                screen.read()
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(DEADLINE_S), DONE)
        os.close(ours)
        head, one, again, *_ = [line.rstrip("\r") for line in screen.lines]
        self.assertRegex(head, r"^\rADDRESS +WORKER")
        self.assertRegex(one, rf"^\r{at} +one +up")
        self.assertTrue(again.startswith("\x1b[J\x1b[2A\rADDRESS"), again)  # over the first
        for line in [head, one]:
            self.assertLessEqual(len(line.replace("\r", "").replace("\x1b[K", "")), 50)

    def test_a_name_is_looked_up(self):
        _, at = self.worker("--name", "one")
        name = at.replace("127.0.0.1", "localhost")
        done = run(self.home("--plain", "--worker", name))
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(self.words(done.stdout), FILES * (FILES + 1) // 2)
        self.assertIn("`localhost` is 127.0.0.1", done.stderr)

    def test_a_worker_may_join_a_home_that_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        worker = Program([TROUPE, "worker", WORD_COUNT, "--plain", "--json", "--name", "joins",
                          "--listen", "", "--join", f"localhost:{port}"])
        self.addCleanup(worker.__exit__)
        done = run(self.home("--plain", "--listen", f"127.0.0.1:{port}"))
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(self.words(done.stdout), FILES * (FILES + 1) // 2)
        self.assertIn("joins: capacity", done.stderr)

    def test_a_drained_worker_ends(self):
        program, at = self.worker("--name", "one")
        done = run([TROUPE, "cluster", "drain", "--plain", at])
        self.assertEqual((done.returncode, done.stdout), (DONE, "one drains; it has 0 tasks\n"))
        self.assertEqual(program.end(), DONE)

    def test_a_drain_may_be_waited_for(self):
        release = self.hold_a_file(self.files[-1])
        program, at = self.worker("--name", "one")
        home = Program(self.home("--plain", "--worker", at))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        done = run([TROUPE, "cluster", "drain", "--plain", at, "--wait", "0.1"])
        self.assertEqual((done.returncode, done.stdout), (NOT_DRAINED, "one drains; it has 1 tasks\n"))
        self.assertIn("worker `one` still drains after 0.1 s", done.stderr)
        table = run([TROUPE, "cluster", "status", "--plain", at]).stdout.splitlines()
        self.assertRegex(table[1], rf"^{at} +one +draining")
        home.kill()
        release(self.files[-1])
        done = run([TROUPE, "cluster", "drain", "--plain", at, "--timeout", "0", "--wait"])
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "one has drained")
        self.assertEqual(program.end(), DONE)
        text = run([TROUPE, "cluster", "drain", "--help"]).stdout
        self.assertIn("--wait", text)

    def counts(self, name):
        return f"{BIN.parent / 'lib' / f'libcounts_{name}.so'}:counts"

    def counting_worker(self, library, *flags):
        program = Program([TROUPE, "worker", self.counts(library), "--plain", "--json", *flags])
        self.addCleanup(program.__exit__)
        self.assertTrue(program.wait_until(lambda: program.out.lines), program.err.lines)
        return program, f"127.0.0.1:{json_lines(program.out.lines[0])[0]['port']}"

    def count(self, at, *flags):
        return run([TROUPE, "run", self.counts("one"), "--plain", "--worker", at, "--json", "--input",
                    "{}", *flags])

    def test_another_build_of_a_graph_is_refused_on_both_sides_and_mixed_by_choice_only(self):
        worker, at = self.counting_worker("two")
        for flags in [[], ["--allow-other-builds"]]:
            done = self.count(at, *flags)
            self.assertNotEqual(done.returncode, DONE, done.stdout)
            self.assertIn("another build of", done.stderr)
        self.assertTrue(worker.wait_until(lambda: any("another build of it" in line
                                                      for line in worker.err.lines)),
                        worker.err.lines)
        _, at = self.counting_worker("two", "--allow-other-builds")
        self.assertNotEqual(self.count(at).returncode, DONE)
        done = self.count(at, "--allow-other-builds")
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["output"]["count"], 4)  # twice two, not thrice one

    def test_another_version_of_a_graph_is_refused_and_the_status_shows_it(self):
        _, at = self.counting_worker("next", "--allow-other-builds")
        table = run([TROUPE, "cluster", "status", "--plain", at]).stdout.splitlines()
        self.assertRegex(table[1], r" counts next:[0-9a-f]{12}$")
        done = self.count(at, "--allow-other-builds")
        self.assertNotEqual(done.returncode, DONE, done.stdout)
        self.assertIn("version next", done.stderr)

    def test_a_frozen_worker_is_noticed_after_the_lease_that_was_asked_for(self):
        self.hold_a_file(self.files[-1])
        worker, at = self.worker("--name", "one", "--lease", "4", "--heartbeat", "0.5")
        home = Program(self.home("--plain", "--worker", at, "--lease", "1"))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        worker.signal(signal.SIGSTOP)
        self.addCleanup(worker.signal, signal.SIGCONT)

        def losses():
            return [line for line in home.err.lines if "for its lease of" in line]

        self.assertTrue(home.wait_until(losses), home.err.lines)
        # Its last answer may be older than the last sign of it, or the same.
        self.assertRegex(losses()[0], "(was silent|did not answer this home) for its lease of 4000 ms; "
                                      "1 task handed out again")
        self.assertIn("warning", losses()[0])

    def test_a_killed_worker_is_noticed_long_before_its_lease_is_over(self):
        release = self.hold_a_file(self.files[-1])
        one, one_at = self.worker("--name", "one", "--capacity", "4")
        lease = ["--lease", "60", "--heartbeat", "1"]
        listed = self.folder / "workers"
        listed.write_text(one_at)
        home = Program(self.home("--plain", "--workers-file", listed, *lease))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        release(self.files[-1])  # for who begins from here on
        _, two_at = self.worker("--name", "two")
        listed.write_text(f"{one_at}\n{two_at}")
        self.assertTrue(home.wait_until(lambda: any("two: capacity" in line for line in home.err.lines)),
                        home.err.lines)
        one.kill()
        self.assertEqual(home.end(), DONE, home.err.lines)
        self.assertEqual(self.words("\n".join(home.out.lines)), FILES * (FILES + 1) // 2)
        self.assertTrue([line for line in home.err.lines
                         if "one: its process has ended; 1 task handed out again" in line],
                        home.err.lines)

    def test_a_killed_home_is_noticed_long_before_its_lease_is_over(self):
        self.hold_a_file(self.files[-1])
        worker, at = self.worker("--name", "one", "--lease", "60", "--heartbeat", "1")
        home = Program(self.home("--plain", "--worker", at))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        home.kill()
        self.assertTrue(worker.wait_until(lambda: any(
            "the process of the home has ended; 1 task dropped" in line for line in worker.err.lines)),
            worker.err.lines)

    def test_a_home_that_ends_is_not_logged_as_silent(self):
        worker, at = self.worker("--name", "one")
        done = run(self.home("--plain", "--worker", at))
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertTrue(worker.wait_until(lambda: any("the home has ended" in line
                                                      for line in worker.err.lines)),
                        worker.err.lines)
        self.assertFalse([line for line in worker.err.lines if "did not answer" in line])

    def test_a_worker_is_drained_by_its_name_among_several_or_through_its_home(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            at = f"127.0.0.1:{free.getsockname()[1]}"
        first, one = self.worker("--name", "one")
        second, two = self.worker("--name", "two")
        among = ["--at", one, "--at", two]
        done = run([TROUPE, "cluster", "drain", "--plain", "two", *among])
        self.assertEqual((done.returncode, done.stdout), (DONE, "two drains; it has 0 tasks\n"))
        self.assertEqual(second.end(), DONE)
        self.assertIsNone(first.process.poll())

        self.hold_a_file(self.files[-1])
        third = Program([TROUPE, "worker", WORD_COUNT, "--plain", "--name", "three", "--listen", "",
                         "--join", at])
        self.addCleanup(third.__exit__)
        home = Program(self.home("--plain", "--listen", at))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        for arguments, word in [
            (["four", "--at", at], f"worker `four`: no worker of this name was found at: {at}"),
            (["three"], "--at HOST:PORT"),
            ([at], f"{at} is a home, not a worker"),
        ]:
            done = run([TROUPE, "cluster", "drain", "--plain", *arguments])
            self.assertNotEqual(done.returncode, DONE)
            self.assertIn(word, done.stderr)
        done = run([TROUPE, "cluster", "drain", "--plain", "--timeout", "0", "three", "--at", at])
        self.assertEqual((done.returncode, done.stdout), (DONE, "three drains; it has 1 tasks\n"))
        self.assertEqual(third.end(), DONE)

    def test_one_whose_name_is_taken_is_refused_and_says_so_on_both_sides(self):
        _, one = self.worker("--name", "same")
        second, two = self.worker("--name", "same")
        self.hold_a_file(self.files[-1])
        listed = self.folder / "workers"
        listed.write_text(one)
        home = Program(self.home("--plain", "--workers-file", listed))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        listed.write_text(f"{one}\n{two}")

        def refusals(program):
            return [line for line in program.err.lines if "another worker has this name" in line]

        for program in [second, home]:
            self.assertTrue(program.wait_until(lambda: refusals(program)), program.err.lines)
        answer = run([TROUPE, "cluster", "status", "--plain", "--json", two])  # it continues
        self.assertEqual(json_lines(answer.stdout)[0]["status"]["homes"], [])

    def test_a_worker_that_is_told_to_stop_ends(self):
        program, _ = self.worker()
        program.signal(signal.SIGTERM)
        self.assertEqual(program.end(), DONE)

    def test_what_a_drained_worker_does_not_end_in_time_goes_on_elsewhere(self):
        release = self.hold_a_file(self.files[-1])
        old, one = self.worker("--name", "one")
        listed = self.folder / "workers"
        listed.write_text(one)
        home = Program(self.home("--plain", "--workers-file", listed))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        release(self.files[-1])  # for who begins from here on
        _, two = self.worker("--name", "two")
        listed.write_text(f"{one}\n{two}")
        done = run([TROUPE, "cluster", "drain", "--plain", "--timeout", "0.1", one])
        self.assertEqual((done.returncode, done.stdout), (DONE, "one drains; it has 1 tasks\n"))
        self.assertEqual(home.end(), DONE, home.err.lines)
        self.assertEqual(self.words("\n".join(home.out.lines)), FILES * (FILES + 1) // 2)
        self.assertTrue(old.wait_until(lambda: any("were taken back" in line
                                                   for line in old.err.lines)), old.err.lines)

    def test_a_home_that_is_killed_goes_on_when_it_is_started_again(self):
        data, last = self.folder / "data", self.files[-1]
        release = self.hold_a_file(last)
        workers = [flag for name in ["one", "two"]
                   for flag in ["--worker", self.worker("--name", name)[1]]]
        home = Program(self.home("--plain", *workers, "--data", data, "--thread", "t",
                                 "--durability", "sync"))
        self.addCleanup(home.__exit__)
        self.assertTrue(home.wait_until(lambda: len(home.out.lines) == 3), home.err.lines)
        living = run([TROUPE, "resume", WORD_COUNT, "--data", data, "--list", "--json"])
        self.assertEqual((living.returncode, living.stdout), (DONE, ""))
        home.kill()
        release(last)
        listed = run([TROUPE, "resume", WORD_COUNT, "--data", data, "--list", "--json"])
        self.assertEqual([line["thread"] for line in json_lines(listed.stdout)], ["t"])
        done = run([TROUPE, "resume", WORD_COUNT, "--data", data, "--plain", *workers, "--json"])
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(json_lines(done.stdout),
                         [{"type": "thread", "thread": "t", "state": "done"}])
        state = json_lines(run([TROUPE, "state", WORD_COUNT, "--data", data, "--thread", "t",
                                "--json"]).stdout)[0]
        self.assertEqual(state["values"]["words"], FILES * (FILES + 1) // 2)
        again = run([TROUPE, "resume", WORD_COUNT, "--data", data])
        self.assertEqual((again.returncode, again.stdout), (DONE, ""))
        self.assertIn("nothing to resume", again.stderr)

    def hold_a_file(self, path):
        """A reader of the file is held; the answer puts the words back for later readers."""
        words = pathlib.Path(path).read_text()
        os.remove(path)
        os.mkfifo(path)
        held = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, held)

        def release(path):
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(words)
            os.replace(path + ".new", path)

        return release

    def test_bad_orders_say_what_is_wrong(self):
        for arguments, word in [
            (["worker", WORD_COUNT], "TLS"),
            (["worker", WORD_COUNT, "--plain", "--listen", "nowhere"], "nowhere"),
            (["worker", WORD_COUNT, "--plain", "--listen", "0.0.0.0:0"], "TLS"),
            (["worker", WORD_COUNT, "--tls-cert", "a.pem"], "--tls-key"),
            (["worker", "no_such_graph", "--plain"], "no_such_graph"),
            (["cluster", "status", "nowhere", "--plain"], "nowhere"),
        ]:
            done = run([TROUPE, *arguments])
            self.assertNotEqual(done.returncode, DONE, arguments)
            self.assertIn(word, done.stderr)

    def test_a_kill_in_the_middle_changes_nothing_but_the_time(self):
        done = run([BIN / "cluster"])
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "worker two is killed, worker four comes",
            "240 files in 12 groups, 28920 words; 28920 were written"])
        self.assertTrue(re.search(r"two: its process has ended; [1-9]\d* tasks? handed out again", done.stderr),
                        done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
