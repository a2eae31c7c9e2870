"""`troupe run` is given again for a thread: what it starts, resumes, shows and refuses.

Also the flags that say how to run: --checkpoint, --context, --configurable, --metadata, and update.
Arguments: the folder of the programs, and the source folder.
"""
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

from programs import Program, json_lines, programs_folder, run

DONE, FAILED, USAGE, PAUSED, DRAINED, STORAGE, NOTHING_STORED = 0, 1, 2, 3, 4, 5, 6
BIN = programs_folder(sys.argv[1])
GRAPHS = BIN.parent / "lib" / "librun_graphs.so"
TROUPE = BIN / "troupe"
SEED = int(os.environ.get("TROUPE_TEST_SEED", "1"))


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-again-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def troupe(self, *arguments, code=DONE, **options):
        done = run([TROUPE, *arguments], cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_graph(self, graph, thread, *more, **options):
        return self.troupe("run", graph, "--thread", thread, "--data", "data", *more, **options)

    def pay(self, *more, thread="o1", **options):
        return self.run_graph(f"{GRAPHS}:pay", thread, *more, **options)

    def paid(self):
        file = self.folder / "paid"
        return file.read_text().splitlines() if file.exists() else []

    def history(self, thread, graph):
        done = self.troupe("history", graph, "--thread", thread, "--data", "data", "--json")
        return json_lines(done.stdout)


class Again(RunTest):
    def test_a_finished_thread_shows_its_result_and_runs_nothing(self):
        self.pay("--input", '{"who": "ann"}')
        for more in [[], ["--input", '{"who": "ann"}', "--once"]]:
            again = self.pay(*more)
            self.assertEqual(json.loads(again.stdout), {"who": "ann", "done": "paid ann"})
            self.assertIn("thread `o1` is finished; --input JSON", again.stderr)
            result, = json_lines(self.pay("--json", *more).stdout)
            self.assertEqual((result["type"], result["status"]), ("result", "done"))
        self.assertEqual(self.paid(), ["ann"])
        self.pay("--input", '{"who": "bob"}')
        self.assertEqual(self.paid(), ["ann", "bob"])

    def test_an_unknown_thread_is_not_started(self):
        for existing in [False, True]:
            done = self.pay(thread="typo", code=NOTHING_STORED)
            for word in ["thread `typo`", "--input JSON", "troupe threads --data data"]:
                self.assertIn(word, done.stderr)
            self.assertEqual(self.paid(), ["ann"] if existing else [])
            self.assertEqual((self.folder / "data").exists(), existing, "a look made a data directory")
            self.pay("--input", '{"who": "ann"}', "--once")

    def test_once_ignores_another_input_and_tells(self):
        self.pay("--input", '{"who": "ann"}', "--once")
        again = self.pay("--input", '{"who": "eve"}', "--once")
        self.assertIn('another input; this one is ignored: {"who":"eve"}', again.stderr)
        self.assertEqual(self.paid(), ["ann"])

    def test_once_needs_an_input_and_a_thread(self):
        self.pay("--once", code=USAGE)
        self.troupe("run", "hello", "--input", "{}", "--once", code=USAGE)

    def test_once_waits_for_the_answer(self):
        for _ in range(2):
            done = self.run_graph("ask", "t", "--input", "{}", "--once", code=PAUSED)
            self.assertIn("What is your name?", done.stdout)
            self.assertIn("--thread t --resume JSON", done.stderr)
        self.run_graph("ask", "t", "--resume", '"Ada"')
        self.assertIn("Hello, Ada!", self.run_graph("ask", "t", "--input", "{}", "--once").stdout)
        self.run_graph("ask", "t", "--resume", '"Eve"', code=USAGE)

    def test_an_input_for_an_unfinished_thread_starts_over_and_tells(self):
        self.run_graph("ask", "t", "--input", "{}", code=PAUSED)
        done = self.run_graph("ask", "t", "--input", "{}", code=PAUSED)
        self.assertIn("starts over", done.stderr)

    def test_nothing_is_advised_where_nothing_was_stored(self):
        def small_files_only():
            import resource
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))

        self.run_graph("hello", "other", "--input", "{}")
        (self.folder / "in.json").write_text(json.dumps({"who": os.urandom(1 << 20).hex()}))
        done = self.pay("--input", "@in.json", "--durability", "sync", code=STORAGE,
                        preexec_fn=small_files_only)
        self.assertIn("nothing of this run is stored: run the same command again", done.stderr)
        self.assertNotIn("resume with", done.stderr)
        self.pay(code=NOTHING_STORED)
        self.assertFalse(self.paid())


class Killed(RunTest):
    """One command, killed at any moment and given again, gives the right result."""

    def once(self, home, durability):
        return [TROUPE, "run", "loop", "--thread", "t", "--data", home, "--once", "--json",
                "--durability", durability, "--input", '{"until": 20, "delay_ms": 3}']

    def test_at_any_moment(self):
        random_numbers = random.Random(SEED)
        for number in range(18):
            durability = ["sync", "async", "exit"][number % 3]
            home = f"data{number}"
            waits = [random_numbers.uniform(0, 0.12) for _ in range(random_numbers.randint(1, 3))]
            for wait in waits:
                with Program(self.once(home, durability), cwd=self.folder) as program:
                    program.wait_until(lambda: False, wait)
                    program.kill()
            with self.subTest(durability=durability, waits=waits, seed=SEED):
                done = run(self.once(home, durability), cwd=self.folder)
                self.assertEqual(done.returncode, DONE, done.stderr)
                self.assertEqual(json_lines(done.stdout)[-1]["output"]["count"], 20)
                again = run(self.once(home, durability), cwd=self.folder)
                self.assertEqual([p["type"] for p in json_lines(again.stdout)], ["result"])

    def test_before_the_first_store(self):
        with Program(self.once("data", "exit"), cwd=self.folder) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 3))
            program.kill()
        self.run_graph("loop", "t", code=NOTHING_STORED)
        self.assertEqual(json_lines(run(self.once("data", "exit"), cwd=self.folder).stdout)
                         [-1]["output"]["count"], 20)


class Flags(RunTest):
    def test_a_checkpoint_is_run_again(self):
        self.run_graph("loop", "t", "--input", '{"until": 3}')
        older = self.history("t", "loop")[2]
        self.assertEqual(older["values"]["count"], 1)
        done = self.run_graph("loop", "t", "--checkpoint", older["checkpoint_id"], "--json")
        parts = json_lines(done.stdout)
        self.assertEqual([p["type"] for p in parts], ["updates", "updates", "result"])
        self.assertEqual(parts[-1]["output"]["count"], 3)
        for command in ["run", "state"]:
            refused = self.troupe(command, "loop", "--thread", "t", "--data", "data",
                                  "--checkpoint", "nope", code=USAGE)
            self.assertIn("thread t has no checkpoint nope; history lists them", refused.stderr)

    def test_an_update_is_a_new_checkpoint(self):
        update = ["update", "loop", "--data", "data", "--thread", "t", "--values"]
        self.assertIn("t", self.troupe(*update, "{}", code=STORAGE).stderr)
        self.run_graph("loop", "t", "--input", '{"until": 3}')
        made = self.troupe(*update, '{"until": 5}', "--as-node", "step").stdout.strip()
        self.assertEqual(self.history("t", "loop")[0]["checkpoint_id"], made)
        result = json_lines(self.run_graph("loop", "t", "--json").stdout)[-1]
        self.assertEqual(result["output"]["count"], 5)
        older = self.history("t", "loop")[-2]["checkpoint_id"]
        forked, = json_lines(self.troupe(*update, '{"until": 1}', "--checkpoint", older, "--json").stdout)
        self.assertEqual(self.history("t", "loop")[0]["checkpoint_id"], forked["checkpoint_id"])
        for values, more, word in [("[1]", [], "--values"), ('{"untl": 1}', [], "untl"),
                                   ('{"until": "x"}', [], "until"),
                                   ('{"until": 1}', ["--checkpoint", "nope"], "nope")]:
            self.assertIn(word, self.troupe(*update, values, *more, code=USAGE).stderr)
        refused = self.troupe(*update, '{"until": 1}', "--as-node", "nobody", code=USAGE)
        self.assertIn("--as-node: graph loop has no node `nobody`; it has `step`", refused.stderr)

    def test_a_difference_to_a_checkpoint_that_was_pruned_asks_for_another(self):
        self.run_graph("loop", "t", "--input", '{"until": 3}')
        self.troupe("store", "prune", "--keep-latest", "1", "--data", "data")
        refused = self.troupe("diff", "loop", "--thread", "t", "--data", "data", code=USAGE)
        self.assertIn("was removed: name another one with --from", refused.stderr)

    def test_context_configurable_and_metadata_reach_the_run(self):
        done = self.run_graph(f"{GRAPHS}:reads_context", "t", "--input", "{}", "--context",
                              '{"user": "ann"}', "--configurable", "tier=3", "--configurable",
                              '{"mode": "fast"}', "--metadata", '{"ticket": "T-1"}', "--json")
        self.assertEqual(json_lines(done.stdout)[-1]["output"]["read"], "ann")
        newest = self.history("t", f"{GRAPHS}:reads_context")[0]["metadata"]
        self.assertEqual((newest["ticket"], newest["tier"], newest["mode"]), ("T-1", 3, "fast"))
        for flag, text in [("--context", "{"), ("--configurable", "tier"), ("--metadata", "[]")]:
            refused = self.troupe("run", "hello", flag, text, code=USAGE)
            self.assertIn(flag, refused.stderr)

    def test_a_fault_of_the_graph_is_not_wrong_usage(self):
        done = self.run_graph(f"{GRAPHS}:wrong_type", "t", "--input", "{}", code=FAILED)
        self.assertIn("done", done.stderr)
        done = self.pay("--input", '{"who": 5}', code=USAGE)
        self.assertIn("--input: channel `who`", done.stderr)
        done = self.pay("--input", "[1,2]", code=USAGE)
        self.assertIn("--input: ", done.stderr)

    def test_an_answer_that_is_refused_is_wrong_usage_and_the_question_waits(self):
        graph = f"{GRAPHS}:asks_number"
        self.run_graph(graph, "t", "--input", "{}", code=PAUSED)
        done = self.run_graph(graph, "t", "--resume", '"many"', code=USAGE)
        self.assertIn("--resume: ", done.stderr)
        self.assertIn("--thread t --resume JSON", done.stderr)
        self.run_graph(graph, "t", "--resume", "7")

    def test_a_library_lists_its_graphs(self):
        lines = json_lines(self.troupe("graphs", GRAPHS, "--json").stdout)
        self.assertEqual([line["name"] for line in lines],
                         [f"{GRAPHS}:{n}" for n in ["asks_number", "pay", "reads_context", "wrong_type"]])
        self.assertIn("write, read", self.troupe("graphs", GRAPHS).stdout)
        (self.folder / "text.so").write_text("no library")
        self.assertIn("text.so", self.troupe("graphs", "./text.so", code=USAGE).stderr)

    def test_commands_and_texts_that_are_wrong_are_explained(self):
        self.assertIn("did you mean threads?", self.troupe("thraeds", code=USAGE).stderr)
        self.assertIn("commands are run,", self.troupe("frobnicate", code=USAGE).stderr)
        (self.folder / "latin1.json").write_bytes(b'{"count": "\xe4"}')
        done = self.troupe("run", "hello", "--input", "@latin1.json", code=USAGE)
        self.assertIn("--input: JSON must be UTF-8, but byte 12 is not", done.stderr)
        done = self.run_graph("loop", "t", "--input", '{"until": 9}', "--recursion-limit", "2",
                              code=FAILED)
        self.assertNotIn(".;", done.stderr)

    def test_odd_flags_are_explained(self):
        for arguments, words in [
                (["run", "hello", "--recursion-limit", "0"], ["--recursion-limit", "from 1"]),
                (["run", "ask", "--thread", "t", "--resume", "yes"], ["--resume '\"yes\"'"]),
                (["run", "hello", "--thread", "", "--input", "{}"], ["--thread"]),
                (["run", "hello", "--thread", "a\nb", "--input", "{}"], ["--thread", "control"])]:
            done = self.troupe(*arguments, code=USAGE)
            self.assertLess(len(done.stderr), 300)
            for word in words:
                self.assertIn(word, done.stderr)
        shown = self.troupe("run", "--help").stdout
        for mode in ["values", "updates", "custom", "checkpoints", "tasks", "debug", "messages", "tools"]:
            self.assertIn(mode, shown)
        self.assertFalse((self.folder / "data").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
