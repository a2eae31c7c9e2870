"""The command line as a person or a script meets it: output, exit codes, bad input.

Arguments: the folder of the programs, and the source folder.
"""
import json
import re
import shutil
import signal
import sys
import tempfile
import unittest

from cli_case import BIN, DONE, DRAINED, FAILED, LIB, PAUSED, SHELL, STOPPED, TROUPE, USAGE, CliTest
from programs import Program, json_lines, run


class Help(CliTest):
    def test_help_names_every_command_and_the_exit_codes(self):
        text = self.ok(self.troupe("--help"))
        for word in ["run", "threads", "state", "history", "graphs", "draw", "Exit codes", "130"]:
            self.assertIn(word, text)

    def test_help_of_a_command_names_its_flags(self):
        text = self.ok(self.troupe("run", "--help"))
        for flag in ["--input", "--thread", "--data", "--durability", "--stream", "--resume",
                     "--recursion-limit", "--json", "--actors"]:
            self.assertIn(flag, text)

    def test_help_of_digest_names_its_flags(self):
        text = self.ok(run([BIN / "digest", "--help"]))
        for flag in ["--yes", "--thread", "--data", "--out", "--durability", "--delay-ms",
                     "--trace", "--resume", "--json", "--quiet"]:
            self.assertIn(flag, text)

    def test_no_command_is_wrong_usage(self):
        self.assertEqual(self.troupe().returncode, USAGE)

    def test_version_is_a_name_and_a_number(self):
        self.assertRegex(self.ok(self.troupe("--version")), r"^troupe \d+\.\d+\.\d+\n$")


class Run(CliTest):
    def test_output_for_people_is_plain_where_it_is_no_terminal(self):
        text = self.ok(self.troupe("run", "hello", env=SHELL))
        self.assertIn('"count": 3', text)
        self.assertEqual(text.count("add"), 3)
        self.assertNotIn("\33", text)

    def test_json_is_an_object_a_line(self):
        *parts, result = json_lines(self.ok(self.troupe("run", "hello", "--json")))
        self.assertEqual([p["data"] for p in parts], [{"add": {"count": 1}}] * 3)
        self.assertEqual({p["type"] for p in parts}, {"updates"})
        self.assertEqual([p["seq"] for p in parts], [1, 2, 3])
        self.assertEqual((result["type"], result["status"]), ("result", "done"))
        self.assertEqual(result["output"], {"count": 3})

    def test_input_comes_from_the_flag_a_file_or_standard_input(self):
        (self.folder / "in.json").write_text('{"until": 3}')
        for given in ['{"until": 3}', "@in.json", "@-"]:
            with (self.folder / "in.json").open() as text:
                done = self.troupe("run", "loop", "--json", "--input", given, stdin=text)
            self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 3)

    def test_several_streams_at_once(self):
        self.ok(self.begun("ask", "t"), PAUSED)
        done = self.kept("run", "ask", "t", "--json", "--resume", '"Ada"',
                         "--stream", "values,updates,custom")
        parts = json_lines(self.ok(done))
        self.assertEqual({p["type"] for p in parts}, {"values", "updates", "custom", "result"})
        self.assertIn({"greeted": "Ada"}, [p.get("data") for p in parts])

    def test_actors_are_listed(self):
        done = self.troupe("run", "loop", "--actors", "--json", "--input", '{"until": 2}')
        lists = [p["actors"] for p in json_lines(self.ok(done)) if p["type"] == "actors"]
        self.assertTrue(lists)
        self.assertIn("run", {a["kind"] for a in lists[0]})
        self.assertEqual({"kind", "name", "state", "mailbox", "host", "thread"}, set(lists[0][0]))
        self.assertIn("mailbox", self.troupe("run", "loop", "--actors",
                                             "--input", '{"until": 2}').stderr)

    def test_a_thread_is_kept_and_a_new_one_is_named(self):
        done = self.troupe("run", "hello", "--data", self.data)
        self.ok(done)
        thread = re.search(r"thread (\S+),", done.stderr).group(1)
        threads = json_lines(self.ok(self.troupe("threads", "--data", self.data, "--json")))
        self.assertEqual([t["thread"] for t in threads], [thread])

    def test_a_finished_thread_runs_on_from_its_state(self):
        self.ok(self.begun("hello", "t"))
        self.assertIn('"count": 4', self.ok(self.begun("hello", "t")))

    def test_a_paused_run_is_answered_by_another_process(self):
        first = self.begun("ask", "t", "--json")
        result = json_lines(self.ok(first, PAUSED))[-1]
        self.assertEqual(result["status"], "paused")
        self.assertEqual(result["interrupts"][0]["value"], {"question": "What is your name?"})
        again = self.kept("run", "ask", "t")
        self.assertIn("What is your name?", self.ok(again, PAUSED))
        self.assertIn("--resume", again.stderr)
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "t", "--resume", '"Ada"')))

    def test_a_question_is_answered_by_id(self):
        result = json_lines(self.begun("ask", "t", "--json").stdout)[-1]
        answer = json.dumps({result["interrupts"][0]["id"]: "Ada"})
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "t", "--resume", answer)))

    def test_state_and_history_show_what_is_kept(self):
        self.ok(self.begun("ask", "t"), PAUSED)
        state = json_lines(self.ok(self.kept("state", "ask", "t", "--json")))[0]
        self.assertEqual(state["next"], ["ask"])
        self.assertEqual(state["interrupts"][0]["value"]["question"], "What is your name?")
        self.ok(self.kept("run", "ask", "t", "--resume", '"Ada"'))
        self.assertIn("Hello, Ada!", self.ok(self.kept("state", "ask", "t")))
        history = json_lines(self.ok(self.kept("history", "ask", "t", "--json")))
        self.assertEqual([s["metadata"]["step"] for s in history],
                         sorted((s["metadata"]["step"] for s in history), reverse=True))
        older = history[-1]["checkpoint_id"]
        shown = self.ok(self.kept("state", "ask", "t", "--json", "--checkpoint", older))
        self.assertEqual(json.loads(shown)["checkpoint_id"], older)
        self.assertEqual(len(self.ok(self.kept("history", "ask", "t", "--limit", "1")).splitlines()), 1)

    def test_diff_shows_what_changed_between_two_checkpoints(self):
        self.ok(self.begun("loop", "t"))
        text = self.ok(self.kept("diff", "loop", "t"))
        for line in ["- /count 9", "+ /count 10", "- next: step"]:
            self.assertIn(line, text)
        steps = json_lines(self.ok(self.kept("history", "loop", "t", "--json")))
        newest, older = steps[0]["checkpoint_id"], steps[4]["checkpoint_id"]
        diff = json_lines(self.ok(self.kept("diff", "loop", "t", "--from", older, "--json")))[0]
        self.assertEqual((diff["from"], diff["to"], diff["steps"]), (older, newest, 4))
        self.assertEqual(diff["values"], [{"path": "/count", "before": 6, "after": 10}])
        self.refused(self.kept("diff", "loop", "t", "--to", "nope"), USAGE, "nope", "history")
        self.refused(self.kept("diff", "loop", "other"), USAGE, "other", "threads")


class Stopping(CliTest):
    def loop(self, delay_ms, until):
        return Program([TROUPE, "run", "loop", "--data", self.data, "--thread", "t", "--json",
                        "--recursion-limit", "1000", "--input",
                        json.dumps({"until": until, "delay_ms": delay_ms})], cwd=self.folder)

    def test_ctrl_c_stops_at_the_end_of_the_step_and_the_thread_goes_on(self):
        with self.loop(10, 300) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 2))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), DRAINED, program.err.lines)
            steps = [json.loads(line) for line in program.out.lines]
            self.assertIn("resume with: troupe run loop", "\n".join(program.err.lines))
        done = sum(s["type"] == "updates" for s in steps)
        self.assertEqual(steps[-1]["code"], "graph_drained")
        state = json_lines(self.ok(self.kept("state", "loop", "t", "--json")))[0]
        self.assertEqual((state["values"]["count"], state["next"]), (done, ["step"]))
        rest = self.kept("run", "loop", "t", "--json", "--recursion-limit", "1000")
        rest = json_lines(self.ok(rest))
        self.assertEqual(rest[-1]["output"]["count"], 300)
        self.assertEqual(sum(s["type"] == "updates" for s in rest), 300 - done)

    def test_a_second_ctrl_c_stops_at_once(self):
        with self.loop(3_600_000, 2) as program:
            self.assertTrue(self.wait_for_data(program))
            program.signal(signal.SIGINT)
            self.assertTrue(program.wait_until(lambda: "stopping" in "".join(program.err.lines)))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), STOPPED)

    def wait_for_data(self, program):
        """Until the run has stored its input: then it is under way."""
        while program.process.poll() is None:
            if (self.data / "troupe.mdb").exists():
                state = self.kept("state", "loop", "t")
                if state.returncode == DONE:
                    return True
        return False

    def test_a_killed_run_goes_on(self):
        with self.loop(10, 100) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 5))
            program.kill()
        done = self.kept("run", "loop", "t", "--json", "--recursion-limit", "1000")
        self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 100)


class BadInput(CliTest):
    def test_wrong_flags(self):
        for arguments in [("run",), ("run", "hello", "--nope"), ("frobnicate",), ("state", "hello"),
                          ("run", "hello", "--durability", "often"),
                          ("run", "hello", "--recursion-limit", "0"),
                          ("run", "hello", "--recursion-limit", "-1"),
                          ("run", "hello", "--recursion-limit", "many"),
                          ("run", "hello", "--stream", "colours"),
                          ("run", "hello", "--input", "{}", "--resume", "1"),
                          ("history", "hello", "--thread", "t", "--limit", "-3")]:
            with self.subTest(arguments):
                self.refused(self.troupe(*arguments), USAGE, "--help")

    def test_a_count_is_at_least_one(self):
        for command in ["history", "resume", "chat"]:
            flag = "--limit" if command == "history" else "--recursion-limit"
            with self.subTest(command):
                told = self.troupe(command, "hello", "--thread", "t", flag, "0")
                self.refused(told, USAGE, "a number from 1 to 999999999 is expected: 0")

    def test_json_that_is_none(self):
        for text in ["{", "", "{'a': 1}", "[1,]", "nul", '{"a":1} x', '"\\ud800']:
            with self.subTest(text):
                self.refused(self.troupe("run", "hello", "--input", text), USAGE, "--input")
        self.refused(self.kept("run", "hello", "t", "--resume", "yes"), USAGE, "--resume")
        self.assertFalse(self.data.exists(), "a typo made a data directory")

    def test_json_that_is_too_deep(self):
        for depth in [129, 1_000_000]:
            for left, right in [("[", "]"), ('{"a":', "}")]:
                (self.folder / "deep.json").write_text(left * depth + "1" + right * depth)
                with self.subTest(depth=depth, of=left):
                    self.refused(self.troupe("run", "hello", "--input", "@deep.json"), USAGE,
                                 "--input", "too deep")

    def test_json_that_is_too_large(self):
        (self.folder / "large.json").write_text('{"a": "' + "x" * (65 << 20) + '"}')
        self.refused(self.troupe("run", "hello", "--input", "@large.json"), USAGE, "--input")

    def test_input_that_is_no_map_or_of_the_wrong_kind(self):
        self.assertNotEqual(self.troupe("run", "hello", "--input", "[1]").returncode, DONE)
        self.refused(self.troupe("run", "hello", "--input", '{"count": {"a": 1}}'), FAILED, "the input", "`count`")

    def test_input_for_a_channel_the_graph_does_not_have(self):
        self.refused(self.troupe("run", "ask", "--input", '{"nmae": "Ada"}'), USAGE, "nmae", "name")

    def test_input_files_that_can_not_be_read(self):
        self.refused(self.troupe("run", "hello", "--input", "@nowhere.json"), USAGE, "nowhere.json")
        self.refused(self.troupe("run", "hello", "--input", "@" + str(self.folder)), USAGE, "--input")

    def test_a_graph_nobody_knows(self):
        self.refused(self.troupe("run", "nope"), USAGE, "nope", "hello")
        self.refused(self.troupe("draw", "nope"), USAGE, "nope")
        self.refused(self.troupe("run", "./nowhere.so:nope"), USAGE, "nowhere.so")
        (self.folder / "text.so").write_text("no library")
        self.refused(self.troupe("run", "./text.so:nope"), USAGE, "text.so")
        self.refused(self.troupe("run", f"{LIB / 'libdigest.so'}:nope"), USAGE, "nope")

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_a_library_of_another_abi(self):
        source = ('extern "C" int troupe_abi_version_old() { return 0; }\n'
                  'extern "C" void* troupe_graph_old() { __builtin_trap(); }\n')
        self.ok(run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", self.folder / "old.so"],
                    stdin=self.text_file(source)))
        self.refused(self.troupe("run", "./old.so:old"), USAGE, "ABI", "old.so")

    def text_file(self, text):
        file = tempfile.TemporaryFile("w+")
        self.addCleanup(file.close)
        file.write(text)
        file.seek(0)
        return file

    def test_threads_nobody_knows(self):
        self.ok(self.begun("hello", "t"))
        for command in ["state", "history"]:
            self.refused(self.kept(command, "hello", "other"), USAGE, "other", "troupe threads")
        self.refused(self.kept("run", "hello", "other", "--resume", "1"), USAGE, "other")
        self.refused(self.kept("state", "hello", "t", "--checkpoint", "nope"), USAGE)
        self.refused(self.begun("hello", "x" * 401), USAGE, "400")

    def test_a_resume_with_nothing_to_resume(self):
        self.refused(self.troupe("run", "ask", "--resume", "1"), USAGE, "nothing to resume")
        self.ok(self.begun("hello", "t"))
        before = self.ok(self.kept("history", "hello", "t", "--json"))
        self.refused(self.kept("run", "hello", "t", "--resume", "1"), USAGE, "nothing to resume")
        self.ok(self.begun("ask", "t2"), PAUSED)
        answer = json.dumps({"0" * 32: "Ada"})
        self.refused(self.kept("run", "ask", "t2", "--resume", answer), USAGE, "0" * 32)
        self.assertEqual(self.ok(self.kept("history", "hello", "t", "--json")), before)

    def test_a_loop_without_end_meets_the_recursion_limit(self):
        done = self.kept("run", "loop", "t", "--input", '{"until": 100}', "--recursion-limit", "5")
        self.refused(done, FAILED, "limit")
        done = self.kept("run", "loop", "t", "--recursion-limit", "200", "--json")
        self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 100)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
